"""State coverage: how many cells of the state space the skills visit."""

from __future__ import annotations

import dataclasses

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


def metra_coverage(data: Trajectories, features: Features = None) -> Measure:
    """State coverage by METRA's protocol (Park et al. 2024): cells of width 1, with the states that episodes begin in.

    What is published is of x and y over 48 episodes of skills drawn anew, acting without noise: the episodes are for
    whoever makes the data to choose, and a note says where they differ in number.

    Args:
        data: skill data.
        features: names or numbers; the first two if None.

    Example:
        >>> from vendirl.data import Trajectories
        >>> metra_coverage(Trajectories.of([[[1.5, 0.0], [2.5, 0.0]]], first_observations=[[0.5, 0.0]])).value
        3.0
    """
    found = cells(with_starts(data), features, 1.0)
    notes = [] if len(data) == 48 else [f"METRA's are of 48 episodes, these are {len(data)}"]
    if data.first_observations is None:
        notes.append("the data do not say where episodes began, so that is left out")
    settings = {**found.settings, "steps": len(data.observations), "start": data.first_observations is not None}
    return Measure("state coverage (METRA)", found.count, settings, "cells", "higher", "; ".join(notes) or None)


def with_starts(data: Trajectories) -> Trajectories:
    """The observations of each episode with that before its first step, where the data have it; nothing else."""
    bare = dataclasses.replace(data, actions=None, rewards=None, first_observations=None)
    if data.first_observations is None:
        return bare
    starts = np.cumsum(data.lengths) - data.lengths
    points = np.insert(np.asarray(data.observations), starts, data.first_observations, axis=0)
    return dataclasses.replace(bare, observations=points, lengths=data.lengths + 1)
