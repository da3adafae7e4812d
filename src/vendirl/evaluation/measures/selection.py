"""The effective number of skills that are selected (Eysenbach et al. 2019)."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from vendirl._checks import AnyArray
from vendirl.data.trajectories import Trajectories
from vendirl.evaluation.measures.measure import Measure


def selected_number(selection: Trajectories | Float[AnyArray, " n"] | Any) -> Measure:
    """exp of the entropy of the skill-selection distribution, exp(-Σ p_g log p_g): from 1 (always the same) to n.

    It is about which skills are chosen, not about what they do: n copies of a skill, chosen equally often, score n.

    Args:
        selection: (n,) probabilities or counts, scaled to sum to one; or skill data, whose episodes are counted.

    Example:
        >>> round(selected_number([0.5, 0.5, 0.0]).value, 6)
        2.0
    """
    note = None
    if isinstance(selection, Trajectories):
        counts, given = np.bincount(selection.skill, minlength=selection.n).astype(float), "episodes in the data"
        if counts.min() == counts.max():
            note = "the data hold equally many episodes of each skill, so this is only their number"
    else:
        counts, given = np.asarray(selection, np.float64), "given"
    if counts.ndim != 1 or not len(counts):
        raise ValueError(f"selection must be one number for each skill, but has shape {counts.shape}")
    if not np.isfinite(counts).all() or (counts < 0).any() or not counts.any():
        raise ValueError(f"selection must be finite, not negative and not all zero, but is {counts.tolist()}")
    p = counts / counts.max()
    p = p[p > 0] / p.sum()
    value = np.exp(-np.sum(p * np.log(p)))
    settings = {"selection": given, "skills": len(counts)}
    return Measure("effective number of selected skills", value, settings, "skills", "higher", note)
