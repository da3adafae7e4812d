"""Mutual information between skill and state, from counts in cells."""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from vendirl._checks import AnyArray
from vendirl.data.trajectories import Trajectories
from vendirl.evaluation.measures.cells import Bin, cells, occupancy
from vendirl.evaluation.measures.measure import Measure
from vendirl.evaluation.measures.observed import Features, columns_of, constant, names_of, observed, skill_of_step

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
    cell, skill, p = occupancy(found, n)
    steps = np.bincount(found.skill, minlength=n)
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


def braxlines_information(
    data: Trajectories,
    features: Features = None,
    bounds: Float[AnyArray, "k 2"] | Any | None = None,
    bins: int | None = None,
) -> Measure:
    """Mutual information as Braxlines bins it (Gu et al. 2021): a fixed range, and the last half of each episode.

        I = H(p) - mean_g H(p_g),      p the histogram of all skills' states, p_g that of skill g's

    A state beyond the range falls into no bin, but counts among the states that a histogram is divided by, as there.
    With equally many states of each skill, p is the mean of the p_g; here it is that mean, whatever there are.

    Args:
        data: skill data.
        features: one or two, by name or number; the first two if None.
        bounds: (k, 2) the lowest and highest value of each, ±1 times its scale in Braxlines; that of these states if
            None.
        bins: along each feature; 1000 for one feature and 30 for two if None.

    Example:
        >>> import numpy as np
        >>> from vendirl.data import Trajectories
        >>> data = Trajectories.of(np.array([[[0.0], [-0.5]], [[0.0], [0.5]]]))
        >>> round(braxlines_information(data, bounds=[[-1, 1]]).value, 6)        # log 2: the first halves do not count
        0.693147
    """
    columns = columns_of(data, features, default=2)
    if len(columns) > 2:
        raise ValueError(f"features must be one or two, as in Braxlines, but are {len(columns)}")
    bins = (1000 if len(columns) == 1 else 30) if bins is None else bins
    if bins < 1:
        raise ValueError(f"bins must be at least 1, but is {bins}")
    place = np.arange(len(data.observations)) - np.repeat(np.cumsum(data.lengths) - data.lengths, data.lengths)
    rows = np.flatnonzero(place >= np.repeat(data.lengths // 2, data.lengths))
    x, skill, n = observed(data, columns, rows), skill_of_step(data)[rows], data.n
    note = None
    if bounds is None:
        low, high = x.min(0), x.max(0)
        high = np.where(constant(x), low + np.maximum(1, np.abs(low)), high)  # any width will do
        limits = np.stack([low, high], -1)
        note = "bounds are the range of these data; give bounds to compare with other data"
    else:
        limits = np.asarray(bounds, np.float64)
        if limits.shape != (len(columns), 2) or not np.isfinite(limits).all() or (limits[:, 0] >= limits[:, 1]).any():
            raise ValueError(f"bounds must be a finite pair low < high for each feature, but are {limits.tolist()}")
    sides = [(float(low), float(high)) for low, high in limits]
    p = np.stack([np.histogramdd(x[skill == g], bins, sides)[0].ravel() / np.sum(skill == g) for g in range(n)])
    value = _entropy(p.mean(0)) - float(np.mean([_entropy(each) for each in p]))
    settings = {
        "features": names_of(data, columns),
        "bounds": limits,
        "bins": bins,
        "steps": len(x),
        "skills": n,
        "trajectories": len(data),
        "at_most": math.log(n),
    }
    return Measure("mutual information (Braxlines)", value, settings, "nats", "higher", note)


def _entropy(p: Float[np.ndarray, " cells"]) -> float:
    return -float(np.sum(p * np.log(np.where(p > 0, p, 1))))
