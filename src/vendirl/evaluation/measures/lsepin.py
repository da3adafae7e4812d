"""LSEPIN, the least separability and informativeness of a set of skills (Yang et al. 2024)."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from vendirl.data.trajectories import Trajectories
from vendirl.evaluation.measures.cells import Bin, cells, occupancy
from vendirl.evaluation.measures.measure import Measure
from vendirl.evaluation.measures.observed import Features


def lsepin(data: Trajectories, features: Features = None, bin: Bin = None) -> Measure:
    """How much a state's cell tells of the skill that is hardest to tell from the others, in nats:

        LSEPIN = min_z I(S; 1_z),    I(S; 1_z) = H(p) - (1/n) H(p_z) - (1 - 1/n) H(p_not z)

    where p_z is the distribution of skill z over cells, p_not z the mean of those of the others and p the mean of all,
    since skills are equally likely whatever their share of the data. Between 0 (some skill does what the others do
    together) and the entropy of a coin that falls heads once in n. Small cells with few visits bias it upwards.

    Of the paper (arXiv:2506.10629) the abstract and the opening were read, which call it a measure of disentanglement
    and do not define it. The minimum over skills of I(S; z) is what its public reviews quote; that 1_z stands for "is
    it skill z or not", and that cells stand for states, is how it is read here.

    Args:
        data: skill data.
        features, bin: as in `cells`: the first two features, a twentieth of their range.

    Example:
        >>> import numpy as np
        >>> from vendirl.data import Trajectories
        >>> apart = Trajectories.of(np.array([[[0.0], [1.0]], [[2.0], [3.0]]]))
        >>> round(lsepin(apart, bin=1.0).value, 6)        # log 2
        0.693147
    """
    n = data.n
    if n < 2:
        raise ValueError("there is one skill, so no others to tell it from")
    found = cells(data, features, bin)
    cell, skill, p = occupancy(found, n)
    whole = np.bincount(cell, p, found.count)  # n times the mean of all
    others = _information(whole / (n - 1))
    # Without skill z, only the cells that z visits weigh less.
    fewer = np.maximum(whole[cell] - p, 0) / (n - 1)
    without = others.sum() + np.bincount(skill, _information(fewer) - others[cell], n)
    own = np.bincount(skill, _information(p), n)
    each = _information(whole / n).sum() - own / n - (1 - 1 / n) * without
    at_most = math.log(n) - (1 - 1 / n) * math.log(n - 1)
    worst = int(each.argmin())
    value = min(max(float(each[worst]), 0.0), at_most)  # rounding
    notes = [f"the least is that of skill {data.labels[worst]}"] + ([found.note] if found.note else [])
    return Measure("LSEPIN", value, {**found.settings, "at_most": at_most}, "nats", "higher", "; ".join(notes))


def _information(p: Float[np.ndarray, " cells"]) -> Float[np.ndarray, " cells"]:
    """-p log p, 0 where p is 0."""
    return -p * np.log(np.where(p > 0, p, 1))
