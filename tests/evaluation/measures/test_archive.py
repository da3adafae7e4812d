"""QD score and coverage of an archive; the effective number of selected skills."""

import numpy as np
import pytest

from vendirl.data import Trajectories
from vendirl.evaluation.measures.archive import archive_coverage, qd_score
from vendirl.evaluation.measures.selection import selected_number

UNIT = [[0, 1], [0, 1]]


def test_archive_by_hand():
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 6, 40)
    episodes = [rng.uniform(size=(T, 2)) for T in lengths]
    rewards = [rng.normal(size=T) for T in lengths]
    data = Trajectories.of(episodes, skill=np.arange(40) % 4, rewards=rewards)
    for descriptor in ("final", "mean"):
        best = {}
        for x, r in zip(episodes, rewards, strict=True):
            place = x[-1] if descriptor == "final" else x.mean(0)
            cell = (int(place[0] * 5), int(place[1] * 3))
            best[cell] = max(best.get(cell, -np.inf), r.sum())
        options = {"bounds": UNIT, "cells": (5, 3), "descriptor": descriptor}
        assert archive_coverage(data, **options).value == pytest.approx(len(best) / 15)
        assert qd_score(data, offset=-10.0, **options).value == pytest.approx(sum(f + 10 for f in best.values()))
        assert "below offset=0" in qd_score(data, **options).note
        assert qd_score(data, offset=-10.0, **options).note is None


def test_without_rewards_cells_are_counted():
    x = np.array([[[0.1, 0.1]], [[0.15, 0.1]], [[0.9, 0.9]]])
    found = qd_score(Trajectories.of(x), bounds=UNIT, cells=10)
    assert found.value == 2
    assert "no rewards" in found.note
    assert found.settings["fitness"] == "occupancy"


def test_bounds():
    x = np.array([[[-5.0, 0.5]], [[1.0, 0.5]], [[9.0, 9.0]]])
    given = archive_coverage(Trajectories.of(x), bounds=UNIT, cells=2)
    assert given.value == 2 / 4
    assert "2 descriptors lie beyond" in given.note
    assert archive_coverage(Trajectories.of([[[0.3]], [[0.7]]]), bounds=[[0, 1]], cells=10).settings["cells"] == [10]
    ranged = archive_coverage(Trajectories.of(x), cells=2)
    assert ranged.settings["bounds"] == [[-5, 9], [0.5, 9]]
    assert archive_coverage(Trajectories.of(np.ones((3, 4, 2))), cells=2).value == 1 / 4  # constant features


def test_refusals():
    data = Trajectories.of(np.zeros((2, 3, 2)))
    for wrong, says in (
        ({"bounds": [[0, 1]]}, "each of the 2"),
        ({"bounds": [[0, 1], [1, 1]]}, "low < high"),
        ({"cells": 0}, "cells"),
        ({"cells": 10**5}, "fewer"),
        ({"descriptor": "first"}, "descriptor"),
        ({"offset": np.nan}, "offset"),
    ):
        with pytest.raises(ValueError, match=says):
            qd_score(data, **wrong)
    bad = Trajectories.of(np.zeros((2, 3, 2)), skill=[0, 1], rewards=np.full((2, 3), np.inf))
    with pytest.raises(ValueError, match="rewards must be finite"):
        qd_score(bad)


def test_selected_number():
    assert selected_number([1, 1, 1, 1]).value == pytest.approx(4)
    assert selected_number([5, 0, 0]).value == 1
    p = np.array([0.7, 0.2, 0.1])
    assert selected_number(p).value == pytest.approx(np.prod(p**-p))
    assert selected_number([1.7e308, 1.7e308]).value == pytest.approx(2)
    data = Trajectories.of(np.zeros((4, 3, 2)), skill=["a", "a", "a", "b"])
    counted = selected_number(data)
    assert counted.value == pytest.approx(0.75**-0.75 * 0.25**-0.25)
    assert counted.note is None
    assert "only their number" in selected_number(Trajectories.of(np.zeros((4, 3, 2)))).note
    for wrong in ([], [0, 0], [1, -1], [np.nan], [[1]]):
        with pytest.raises(ValueError, match="selection"):
            selected_number(wrong)
