"""Measures of goal reaching, on episodes and goals computed by hand."""

import numpy as np
import pytest

from vendirl.data import Trajectories
from vendirl.evaluation.measures.goals import goal_achievement, latent_goal_reaching, zero_shot_goals

GOALS = [[3.0, 4.0, 0.0], [0.0, 1.0, 0.0]]


@pytest.fixture
def data():
    """Two episodes for the first goal, of four steps and of one; one for the second, of two."""
    episodes = [
        [[0.0, 0.0, 9.0], [3.0, 4.0, 9.0], [3.0, 4.0, 9.0], [3.0, 2.0, 9.0]],
        [[0.0, 0.0, 9.0]],
        [[9.0, 9.0, 9.0], [4.0, 4.0, 9.0]],
    ]
    return Trajectories.of([np.array(e) for e in episodes], skill=[0, 0, 1], features=["x", "y", "z"])


def test_latent_goal_reaching_is_of_the_last_halves(data):
    """sqrt(mean over x and y): 0 and sqrt(4/2); sqrt(25/2); sqrt((16 + 9)/2)."""
    found = latent_goal_reaching(data, GOALS)
    assert found.value == pytest.approx((np.sqrt(2) / 2 + np.sqrt(12.5) + np.sqrt(12.5)) / 3)
    assert found.note == f"off by {(0 + 3 + 4) / 3:.3g} in x, {(1 + 4 + 3) / 3:.3g} in y"
    assert found.settings == {"features": ["x", "y"], "goals": 2, "trajectories": 3}


def test_zero_shot_goals_count_where_episodes_were_near(data):
    hit, end, steps, distance = (m.value for m in zero_shot_goals(data, GOALS, radius=1.0))
    assert (hit, end) == (pytest.approx(1 / 3), 0)
    assert steps == pytest.approx((2 / 4 + 0 + 0) / 3)
    assert distance == pytest.approx((2 + 5 + 5) / 3)
    assert [m.value for m in zero_shot_goals(data, GOALS, radius=2.0)][1] == pytest.approx(1 / 3)
    assert [m.better for m in zero_shot_goals(data, GOALS, radius=2.0)] == ["higher"] * 3 + ["lower"]


def test_goals_are_achieved_in_each_feature_by_itself(data):
    """At the end x is off by 0, 3 and 4, and y by 2, 4 and 3."""
    found = goal_achievement(data, GOALS, ranges=[30.0, 20.0])
    assert found.value == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert found.note == "0.667 in x, 0.333 in y"
    assert goal_achievement(data, GOALS, ranges=[5.0], tolerance=0.8, features=["y"]).value == 1


def test_what_does_not_fit_is_refused(data):
    for call, says in (
        (lambda: latent_goal_reaching(data, [[0.0, 0.0]]), "goals must be finite, one of 3 features"),
        (lambda: zero_shot_goals(data, GOALS, radius=0.0), "radius"),
        (lambda: goal_achievement(data, GOALS, ranges=[1.0]), "ranges"),
        (lambda: goal_achievement(data, GOALS, ranges=[1.0, 1.0], tolerance=-1.0), "tolerance"),
    ):
        with pytest.raises(ValueError, match=says):
            call()
