"""The quality-weighted Vendi Score (Nguyen and Dieng 2024): many skills that differ, all of them good."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from vendirl._checks import AnyArray
from vendirl.data.trajectories import Trajectories
from vendirl.evaluation.measures.leinster import checked_kernel
from vendirl.evaluation.measures.measure import Measure
from vendirl.evaluation.measures.returns import no_task, returns
from vendirl.score.score import vendi_score


def quality_weighted_vendi(
    K: Float[AnyArray, "n n"] | Any,
    quality: Trajectories | Float[AnyArray, " n"] | Any,
    q: float | Any = 1.0,
    offset: float = 0.0,
) -> Measure:
    """The mean quality of the skills times their Vendi Score:

        qVS = (1/n Σ_i s_i) VS_q(K),    s_i >= 0

    Args:
        K: (n, n) similarities with K_ii = 1.
        quality: (n,) s; or skill data with rewards, whose s_i is the mean return of skill i.
        q: the order of the Vendi Score.
        offset: the least possible quality, taken from each, so that none is negative.

    Example:
        >>> import numpy as np
        >>> round(quality_weighted_vendi(np.eye(3), [1.0, 0.0, 2.0]).value, 6)
        3.0
    """
    K = checked_kernel(K)
    given, notes = "given", []
    if isinstance(quality, Trajectories):
        total, given, notes = returns(quality), "mean return", no_task(quality)
        quality = np.array([total[mine].mean() for mine in quality.of_skill])
    s = np.asarray(quality, np.float64)
    if s.shape != (len(K),) or not np.isfinite(s).all():
        raise ValueError(f"quality must be {len(K)} finite numbers, one for each skill, but is {s.tolist()}")
    if not np.isfinite(offset):
        raise ValueError(f"offset must be finite, but is {offset}")
    if s.min() < offset:
        raise ValueError(
            f"qualities must not be negative, but the {given} of skill {int(s.argmin())} is {s.min():.4g}; give the "
            "least possible as offset to quality_weighted_vendi"
        )
    value = float(np.mean(s - offset)) * float(vendi_score(K, q))
    settings = {"quality": given, "offset": offset, "q": "inf" if q == np.inf else float(q), "skills": len(K)}
    return Measure("quality-weighted Vendi Score", value, settings, "", "higher", "; ".join(notes) or None)
