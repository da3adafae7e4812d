"""The parts of the Vendi Score between and within skills, with trajectories as the items.

With K the similarities of all N trajectories, N_g of them by skill g and p_g = N_g / N, the entropy S of the spectrum
of K/N splits exactly,

    S(K/N)  =  [ S(K/N) - Σ_g p_g S(K_g/N_g) ]  +  Σ_g p_g S(K_g/N_g)
     total  =              between              +        within

and the Vendi Score, exp S, is the product of its parts. "Within" is the effective number of different trajectories of
a skill, 1 if a skill always does the same. "Between" is the effective number of skills that the labels stand for: 1 if
all skills do the same, and at most exp(-Σ p_g log p_g) <= n, which it is if no skill resembles another. Both bounds
are those of Holevo's information, and need a positive semidefinite K.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from jaxtyping import Float, Int, Shaped

from vendirl._checks import AnyArray
from vendirl.data.trajectories import Trajectories
from vendirl.evaluation.measures.leinster import checked_kernel
from vendirl.evaluation.measures.measure import Measure
from vendirl.similarity import Similarity, kernel_matrix


class ConditionalVendi(NamedTuple):
    """The whole and its two factors."""

    total: Measure
    between: Measure
    within: Measure


def conditional_vendi(
    data: Trajectories, similarity: Similarity, limit: int = 2000, steps: int | None = None, seed: int = 0
) -> ConditionalVendi:
    """How much of the diversity of trajectories is between skills, and how much within them.

    Args:
        data: skill data.
        similarity: k, here between single trajectories.
        limit: of more trajectories a sample of so many is used, of each skill in proportion and at least one.
        steps: of a longer trajectory so many steps are used, evenly spaced; None for all. For similarities that
            compare every step with every other.
        seed: of the sample.

    Example:
        >>> import numpy as np, vendirl as vr
        >>> from vendirl.data import Trajectories
        >>> east, north = np.tile([1.0, 0.0], (3, 5, 1)), np.tile([0.0, 1.0], (3, 5, 1))
        >>> parts = conditional_vendi(Trajectories.of(np.stack([east, north])), vr.similarity.cosine())
        >>> [round(part.value, 6) for part in parts]        # two skills, each of which does one thing
        [2.0, 2.0, 1.0]
    """
    if steps is not None and steps < 1:
        raise ValueError(f"steps must be at least 1, or None for all, but is {steps}")
    chosen = sample_of_each(data, limit, seed)
    episodes = list(data)
    used = [_evenly(episodes[e], steps) for e in chosen]
    K = kernel_matrix(similarity, used, data.features)
    settings = {
        "similarity": str(similarity),
        "trajectories": len(data),
        "trajectories_used": len(chosen),
        "steps_each": max(map(len, used)),
        "seed": seed,
    }
    return conditional_vendi_of(K, data.skill[chosen], settings)


def conditional_vendi_of(
    K: Float[AnyArray, "N N"] | Any,
    skill: Shaped[AnyArray, " N"] | Any,
    settings: dict[str, Any] | None = None,
) -> ConditionalVendi:
    """The same from a kernel matrix of trajectories.

    Args:
        K: (N, N) similarities of trajectories, K_ii = 1. Negative eigenvalues are clipped, as in `vendi_score`; the
            parts then need not obey the bounds above, and a note says so.
        skill: (N,) the skill of each.
        settings: to be stored with the result.
    """
    K = checked_kernel(K)
    who = np.asarray(skill)
    if who.shape != (len(K),):
        raise ValueError(f"skill must name one skill for each of the {len(K)} trajectories, but has shape {who.shape}")
    labels, index, counts = np.unique(who, return_inverse=True, return_counts=True)
    total, negative = _entropy(K)
    p, within = counts / len(K), 0.0
    for g in range(len(labels)):
        mine = np.flatnonzero(index == g)
        part, lost = _entropy(K[np.ix_(mine, mine)])
        within += p[g] * part
        negative = max(negative, lost)
    at_most = math.exp(-np.sum(p * np.log(p)))
    settings = {**(settings or {}), "skills": len(labels)}
    notes = []
    if negative > 1e-6:
        notes.append(f"K is not positive semidefinite (negative mass {negative:.2g}, clipped), so bounds may not hold")
    if len(labels) == len(K):
        notes.append("there is one trajectory of each skill, so nothing varies within skills")
    note = "; ".join(notes) or None
    between = total - within
    if negative <= 1e-6:
        between = max(between, 0.0)  # rounding
    return ConditionalVendi(
        Measure("vendi total", math.exp(total), settings, "trajectories", "higher", note),
        Measure("vendi between", math.exp(between), {**settings, "at_most": at_most}, "skills", "higher", note),
        Measure("vendi within", math.exp(within), settings, "trajectories", None, note),
    )


def _entropy(K: Float[np.ndarray, "n n"]) -> tuple[float, float]:
    """The entropy of the spectrum of K/n, negatives clipped and the rest rescaled; and how much was clipped."""
    lam = scipy.linalg.eigvalsh(K / len(K), check_finite=False)
    negative = -float(lam[lam < 0].sum())
    lam = lam[lam > 0] / lam[lam > 0].sum()
    return max(0.0, -float(np.sum(lam * np.log(lam)))), negative


def sample_of_each(data: Trajectories, limit: int, seed: int) -> Int[np.ndarray, " some"]:
    """The numbers of all episodes, or of `limit`, of each skill in proportion."""
    if limit < 1:
        raise ValueError(f"limit must be at least 1 trajectory, but is {limit}")
    if len(data) <= limit:
        return np.arange(len(data))
    rng = np.random.default_rng(seed)
    share = [max(1, math.floor(limit * len(mine) / len(data))) for mine in data.of_skill]
    drawn = [rng.choice(mine, k, replace=False) for mine, k in zip(data.of_skill, share, strict=True)]
    return np.sort(np.concatenate(drawn))


def _evenly(episode: Float[np.ndarray, "T D"], steps: int | None) -> Float[np.ndarray, "some D"]:
    if steps is None or len(episode) <= steps:
        return episode
    return episode[np.linspace(0, len(episode) - 1, steps).round().astype(int)]
