"""Counting cells: state coverage and binned mutual information."""

import math

import numpy as np
import pytest

from vendirl.data import Trajectories
from vendirl.evaluation.measures.cells import cells
from vendirl.evaluation.measures.coverage import metra_coverage, state_coverage
from vendirl.evaluation.measures.information import braxlines_information, mutual_information


def snake(rows, columns, step):
    """A walk that visits every point of a grid once, (rows * columns, 2)."""
    points = [(i, j if i % 2 == 0 else columns - 1 - j) for i in range(rows) for j in range(columns)]
    return step * np.array(points, float)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_coverage_of_a_grid_walk(dtype):
    walk = snake(7, 11, 0.1) - 0.3  # on the edges of the cells, negative ones included
    data = Trajectories.of([walk.astype(dtype), walk[:22].astype(dtype)])
    assert state_coverage(data, bin=0.1).value == 77
    assert state_coverage(data, bin=0.1, per_skill=True).value == (77 + 22) / 2
    assert state_coverage(data, bin=0.5).value == len(np.unique(np.floor(walk / 0.5 + 1e-6), axis=0))
    assert state_coverage(data, features=[1], bin=0.1).value == 11
    assert state_coverage(data, bin=[0.1, 100]).value == 7 * 2  # y < 0 and y >= 0


def test_coverage_equals_distinct_rows_in_many_features():
    x = np.random.default_rng(0).normal(0, 1e7, (3, 40, 6))
    x[:, 20:] = x[:, :20]
    data = Trajectories.of(x)
    expected = len(np.unique(np.floor(x.reshape(-1, 6)), axis=0))
    assert state_coverage(data, features=range(6), bin=1.0).value == expected == 60


def test_cells_so_many_that_their_numbers_would_overflow():
    x = np.zeros((1, 1025, 2))
    x[0, :, 0] = np.arange(1025)
    x[0, 1:3, 1] = [-(2.0**53), 2.0**53 - 1]
    assert state_coverage(Trajectories.of(x), bin=1.0).value == 1025


def test_settings_and_default_bin():
    x = np.array([[[0.0, -3.0, 5.0], [1.0, 40.0, 5.0]]])
    found = state_coverage(Trajectories.of(x, features=["x", "y", "z"]))
    assert found.settings == {"features": ["x", "y"], "bin": [0.05, 2.0], "skills": 1, "trajectories": 1, "steps": 2}
    assert "give bin" in found.note
    assert state_coverage(Trajectories.of(x), bin=1.0).note is None
    last_bit = 64 * np.random.default_rng(0).integers(2, size=(2, 5, 2))  # of float32 near 1e9
    assert cells(Trajectories.of(1e9 + last_bit)).count == 1  # rounding noise is no range
    assert cells(Trajectories.of(np.zeros((2, 5, 2)))).count == 1


def test_refusals():
    data = Trajectories.of(np.full((2, 3, 2), 1e10), features=["x", "y"])
    for bin, says in ((0.0, "positive"), (np.nan, "positive"), ([1.0] * 3, "each of the 2"), (1e-9, "too small")):
        with pytest.raises(ValueError, match=says):
            state_coverage(data, bin=bin)
    with pytest.raises(ValueError, match="no feature is called"):
        state_coverage(data, features=["q"])
    x = np.zeros((2, 3, 2))
    x[1, 2, 0] = np.nan
    with pytest.raises(ValueError, match="step 2 of episode 1 is nan"):
        state_coverage(Trajectories.of(x))
    assert state_coverage(Trajectories.of(x), features=[1]).value == 1  # what is not looked at does not matter
    with pytest.raises(ValueError, match="correction"):
        mutual_information(data, correction="jackknife")


def test_information_of_disjoint_and_identical_skills():
    x = np.random.default_rng(0).uniform(size=(1, 30, 2))
    identical = Trajectories.of(np.repeat(x, 5, 0))
    assert mutual_information(identical, bin=0.1).value == pytest.approx(0, abs=1e-12)
    disjoint = Trajectories.of(x + 10 * np.arange(5)[:, None, None])
    found = mutual_information(disjoint, bin=0.1)
    assert found.value == pytest.approx(math.log(5))
    assert found.settings["at_most"] == math.log(5)
    assert mutual_information(disjoint, bin=1000.0).value == 0
    assert mutual_information(Trajectories.of(x)).value == 0  # one skill


def entropy(p):
    return -sum(x * math.log(x) for x in p if x > 0)


@pytest.mark.parametrize("correction", ["none", "miller-madow"])
def test_information_by_hand_with_unequal_amounts_of_data(correction):
    visits = [[0, 0, 0, 1], [1, 2], [2, 2, 2, 2, 0, 3]]  # cells of three skills
    data = Trajectories.of([np.array(v, float)[:, None] + 0.5 for v in visits])
    p = np.array([[v.count(cell) / len(v) for cell in range(4)] for v in visits])
    whole, parts = entropy(p.mean(0)), [entropy(row) for row in p]
    if correction == "miller-madow":
        whole += (4 - 1) / (2 * 12)
        parts = [h + (len(set(v)) - 1) / (2 * len(v)) for h, v in zip(parts, visits, strict=True)]
    found = mutual_information(data, bin=1.0, correction=correction)
    assert found.value == pytest.approx(whole - np.mean(parts))
    assert found.unit == "nats"


def test_coverage_by_the_protocol_of_metra():
    """Cells of width 1, wherever the data are, with the starts: (0, 0), (1, 0), (1, 1) and (-1, 0)."""
    walks = [[[1.2, 0.3], [1.9, 1.0]], [[1.0, 0.5], [-0.1, 0.2]]]
    starts = [[0.5, 0.5], [0.9, 0.1]]
    found = metra_coverage(Trajectories.of(walks, skill=[0, 1], first_observations=starts))
    assert (found.value, found.settings["start"], found.settings["bin"]) == (4, True, [1, 1])
    assert "these are 2" in found.note
    without = metra_coverage(Trajectories.of(walks, skill=[0, 1]))
    assert (without.value, without.settings["start"]) == (3, False)
    assert "began" in without.note


def test_information_as_braxlines_bins_it():
    """The last halves: skill 0 is once in each of bins 0 and 1 of 1000, skill 1 once in bin 1, and once in none."""
    x = np.array([[9.0, 9.0, -1.0, -0.9979], [9.0, 9.0, -0.9971, 5.0]])[..., None]
    found = braxlines_information(Trajectories.of(x), bounds=[[-1, 1]])
    whole = -(0.25 * math.log(0.25) + 0.5 * math.log(0.5))
    assert found.value == pytest.approx(whole - (math.log(2) + 0.5 * math.log(2)) / 2)
    assert (found.settings["bins"], found.settings["steps"]) == (1000, 4)
    flat = Trajectories.of(np.concatenate([x, x], -1))
    assert braxlines_information(flat, bounds=[[-1, 1]] * 2).settings["bins"] == 30
    assert "range of these data" in braxlines_information(flat).note
    for wrong in ({"bounds": [[1, -1]] * 2}, {"bins": 0}, {"features": [0, 1, 2]}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            braxlines_information(Trajectories.of(np.zeros((2, 4, 3))), **wrong)
