"""Mutual information between skill and state, from counts in cells."""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import numpy as np

from vendirl.data.trajectories import Trajectories
from vendirl.evaluation.measures.cells import Bin, cells
from vendirl.evaluation.measures.measure import Measure
from vendirl.evaluation.measures.observed import Features

Correction = Literal["none", "miller-madow"]


def mutual_information(
    data: Trajectories, features: Features = None, bin: Bin = None, correction: Correction | Any = "none"
) -> Measure:
    """What a state's cell tells about the skill, in nats, with skills equally likely whatever their share of the data:

        I = H(mean_g p_g) - mean_g H(p_g),      p_g the distribution of skill g over cells

    Between 0 (all skills visit the same cells equally often) and log n (no cell is shared). Small cells with few
    visits each bias it upwards; "miller-madow" adds (visited cells - 1) / (2 steps) to every entropy, which assumes
    independent steps and so corrects too little, and may take the value out of those bounds.

    Args:
        data: skill data.
        features, bin: as in `cells`: the first two features, a twentieth of their range.
        correction: "none" or "miller-madow".

    Example:
        >>> import numpy as np
        >>> from vendirl.data import Trajectories
        >>> apart = Trajectories.of(np.array([[[0.0], [1.0]], [[2.0], [3.0]]]))
        >>> round(mutual_information(apart, bin=1.0).value, 6)        # log 2
        0.693147
    """
    if correction not in get_args(Correction):
        raise ValueError(f"correction must be one of {', '.join(get_args(Correction))}, but is {correction!r}")
    found, n = cells(data, features, bin), data.n
    pairs, counts = np.unique(found.index * n + found.skill, return_counts=True)
    cell, skill = pairs // n, pairs % n
    steps = np.bincount(skill, counts, n)
    p = counts / steps[skill]  # of a cell given the skill
    marginal = np.bincount(cell, p / n, found.count)
    whole = -np.sum(marginal * np.log(marginal))
    parts: np.ndarray = np.bincount(skill, -p * np.log(p), n)
    if correction == "miller-madow":
        whole += (found.count - 1) / (2 * steps.sum())
        parts = parts + (np.bincount(skill, minlength=n) - 1) / (2 * steps)
    value = whole - parts.mean()
    if correction == "none":
        value = min(max(value, 0.0), math.log(n))  # rounding
    settings = {**found.settings, "correction": correction, "at_most": math.log(n)}
    note = "there is one skill, so nothing to be told apart" if n == 1 else found.note
    return Measure("mutual information", value, settings, "nats", "higher", note)
