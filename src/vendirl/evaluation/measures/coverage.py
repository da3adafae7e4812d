"""State coverage: how many cells of the state space the skills visit."""

from __future__ import annotations

import numpy as np

from vendirl.data.trajectories import Trajectories
from vendirl.evaluation.measures.cells import Bin, cells
from vendirl.evaluation.measures.measure import Measure
from vendirl.evaluation.measures.observed import Features


def state_coverage(data: Trajectories, features: Features = None, bin: Bin = None, per_skill: bool = False) -> Measure:
    """The number of distinct cells floor(x / bin) that all trajectories visit, or the mean of it over the skills.

    It grows with the number of trajectories and steps and with 1 / bin: only values with equal settings compare.
    Published values are for cells of 1 in x and y over 48 trajectories (METRA) or 200 (LSD), among others.

    Args:
        data: skill data.
        features, bin: as in `cells`: the first two features, a twentieth of their range.
        per_skill: count each skill's cells by themselves and take the mean.

    Example:
        >>> import numpy as np
        >>> from vendirl.data import Trajectories
        >>> walks = Trajectories.of(np.array([[[0.5, 0.5], [1.5, 0.5]], [[0.5, 0.5], [0.5, 1.5]]]))
        >>> state_coverage(walks, bin=1.0).value, state_coverage(walks, bin=1.0, per_skill=True).value
        (3.0, 2.0)
    """
    found = cells(data, features, bin)
    if per_skill:
        value = len(np.unique(found.index * data.n + found.skill)) / data.n
        return Measure("state coverage per skill", value, found.settings, "cells", "higher", found.note)
    return Measure("state coverage", found.count, found.settings, "cells", "higher", found.note)
