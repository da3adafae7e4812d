"""Diffusion Time on chains whose hitting times are known."""

import numpy as np
import pytest

from vendirl.data import Trajectories
from vendirl.evaluation.measures.diffusion import diffusion_time, mean_hitting_time


def walks(*cells, skill=None):
    return Trajectories.of([np.array(walk, float)[:, None] for walk in cells], skill=skill or [0] * len(cells))


def test_a_chain_of_three():
    """To an end it takes 4 steps from the other end and 3 from the middle, to the middle 1: (3.5 + 1 + 3.5) / 3."""
    found = diffusion_time(walks([0, 1, 2, 1, 0]), bin=1.0)
    assert found.value == pytest.approx(8 / 3)
    assert "left only" in found.note


def test_against_one_linear_system_for_each_goal():
    P = np.random.default_rng(0).dirichlet(np.ones(6), 6)
    times = []
    for g in range(6):
        rest = np.delete(np.arange(6), g)
        times.append(np.linalg.solve(np.eye(5) - P[np.ix_(rest, rest)], np.ones(5)).mean())
    assert mean_hitting_time(P) == pytest.approx(np.mean(times))


def test_skills_count_alike_where_they_were_seen():
    """In cell 0 skill 0 stays three times in four, skill 1 always leaves: together 5/8 leave. Back is certain."""
    data = walks([0, 0, 0, 0, 1, 0], [0, 1, 0, 1, 0, 1], skill=[0, 1])
    assert diffusion_time(data, bin=1.0).value == pytest.approx((8 / 5 + 1) / 2)


def test_only_cells_that_are_reached_from_one_another_count():
    found = diffusion_time(walks([0, 1, 0, 1, 7, 8]), bin=1.0)
    assert found.value == pytest.approx(1)
    assert "2 of 4 cells" in found.note
    with pytest.raises(ValueError, match="restarts"):
        diffusion_time(walks([0, 1, 2]), bin=1.0)
    assert diffusion_time(walks([0, 1, 2]), bin=1.0, restarts=True).value == pytest.approx(1.5)  # a circle
    with pytest.raises(ValueError, match="at most 2"):
        diffusion_time(walks([0, 1, 2, 1, 0]), bin=1.0, most=2)


def test_the_first_observation_is_where_the_first_step_begins():
    data = Trajectories.of([[[1.0], [0.0]]], first_observations=[[0.0]])
    assert diffusion_time(data, bin=1.0).value == pytest.approx(1)
    with pytest.raises(ValueError, match="no two cells"):
        diffusion_time(Trajectories.of([[[1.0], [0.0]]]), bin=1.0)


def test_what_is_no_chain_is_refused():
    for wrong, says in (([[1.0]], "two states"), ([[0.5, 0.6], [1.0, 0.0]], "sum 1"), ([[1.5, -0.5]] * 2, "negative")):
        with pytest.raises(ValueError, match=says):
            mean_hitting_time(wrong)
