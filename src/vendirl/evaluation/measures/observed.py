"""Which observations a measure looks at: chosen features, and a seeded sample of the steps where there are many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from vendirl.data.trajectories import Trajectories
from vendirl.similarity.features import feature_indices

Features = Sequence[int | str] | None | Any
"""Names or numbers of features; whatever `feature_indices` does not refuse."""


def columns_of(data: Trajectories, features: Features, default: int | None = None) -> list[int]:
    """The numbers of the chosen features; if None, of the first `default`, or of all."""
    if features is None:
        return list(range(len(data.features)))[:default]
    return feature_indices(features, data.features, len(data.features), data.source, distinct=True)


def names_of(data: Trajectories, chosen: Sequence[int]) -> list[str]:
    return [data.features[c] for c in chosen]


def observed(
    data: Trajectories, chosen: Sequence[int], rows: Int[np.ndarray, " M"] | None = None
) -> Float[np.ndarray, "M k"]:
    """(M, k) float64 values of k chosen features in chosen steps (None: all); what is not finite is refused."""
    x = data.observations if rows is None else data.observations[rows]
    x = np.asarray(x[:, list(chosen)], np.float64)
    if not np.isfinite(x).all():
        data.on(*chosen).check_finite()  # says where
    return x


def skill_of_step(data: Trajectories) -> Int[np.ndarray, " steps"]:
    """(steps,) which skill acted."""
    return np.repeat(data.skill, data.lengths)


def sample_steps(data: Trajectories, limit: int, seed: int) -> Int[np.ndarray, " some"]:
    """The rows of all steps or, if there are more than `limit`, of limit / n steps of each skill drawn without
    replacement (all of a skill that has fewer; at least one of each)."""
    if limit < 1:
        raise ValueError(f"limit must be at least 1 observation, but is {limit}")
    skill = skill_of_step(data)
    if len(skill) <= limit:
        return np.arange(len(skill))
    rng = np.random.default_rng(seed)
    share = max(1, limit // data.n)
    order = np.argsort(skill, kind="stable")
    mine = np.split(order, np.cumsum(np.bincount(skill, minlength=data.n))[:-1])
    return np.concatenate([np.sort(rng.choice(rows, min(share, len(rows)), replace=False)) for rows in mine])


def sampled(
    data: Trajectories, chosen: Sequence[int], limit: int, seed: int
) -> tuple[Float[np.ndarray, "M k"], Int[np.ndarray, " M"], Int[np.ndarray, " M"]]:
    """k chosen features of a sample of at most so many steps, which skill acted in each, and their rows."""
    rows = sample_steps(data, limit, seed)
    return observed(data, chosen, rows), skill_of_step(data)[rows], rows


def scaling(x: Float[np.ndarray, "M D"]) -> tuple[Float[np.ndarray, " D"], Float[np.ndarray, " D"]]:
    """(D,) centre and width of (M, D) values, (x - centre) / width having unit variance; the width of a feature that
    is constant but for rounding is infinite, which makes it 0 rather than noise."""
    middle = x.min(0) / 2 + x.max(0) / 2
    away = x - middle  # first, so that values far from 0 keep all digits in which they differ
    top = np.abs(away).max(0)
    unit = np.where(top > 0, top, 1)  # so that squares neither overflow nor vanish
    away = away / unit
    return middle + away.mean(0) * unit, np.where(constant(x), np.inf, away.std(0) * unit)


def constant(x: Float[np.ndarray, "M D"]) -> Bool[np.ndarray, " D"]:
    """(D,) which features of (M, D) values are constant but for rounding: that of float32 where all values of a
    feature are numbers of float32, as most simulators compute them, else that of float64."""
    low, high = x.min(0), x.max(0)
    with np.errstate(over="ignore"):
        single = (x == x.astype(np.float32)).all(0)
    eps = np.where(single, np.finfo(np.float32).eps, np.finfo(np.float64).eps)
    return high / 2 - low / 2 <= 4 * eps * np.maximum(np.abs(low), np.abs(high))
