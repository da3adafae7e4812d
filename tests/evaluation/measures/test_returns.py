"""Measures of reward: returns of skills, the QD score by return, and the quality-weighted Vendi Score."""

import numpy as np
import pytest

from vendirl.data import Trajectories
from vendirl.evaluation.measures import measures
from vendirl.evaluation.measures.archive import qd_score
from vendirl.evaluation.measures.quality import quality_weighted_vendi
from vendirl.evaluation.measures.returns import return_distribution, return_quantiles, returns


@pytest.fixture
def data():
    """Returns 1, 3 and 5 of skill a, 10 of skill b, and -2 and 0 of skill c."""
    return Trajectories.of(
        [np.full((length, 1), place) for length, place in ((2, 0.1), (1, 0.2), (3, 0.9), (1, 0.6), (1, 0.3), (2, 0.9))],
        skill=["a", "a", "a", "b", "c", "c"],
        rewards=[[0.0, 1.0], [3.0], [1.0, 1.0, 3.0], [10.0], [-2.0], [-1.0, 1.0]],
    )


def test_returns_are_of_episodes_as_they_were(data):
    assert returns(data).tolist() == [1, 3, 5, 10, -2, 0]
    np.testing.assert_allclose(return_quantiles(data, [0, 0.5, 0.75]), [[1, 3, 4], [10, 10, 10], [-2, -1, -0.5]])


def test_the_worst_the_median_and_the_best_skill(data):
    worst, median, best = return_distribution(data, [0, 1])
    assert [worst.value, median.value, best.value] == [-1, 3, 10]
    assert worst.note == "skill c, 0 %, 100 % of its episodes: -2, 0"
    assert "skill a" in median.note
    assert "skill b" in best.note


def test_the_qd_score_adds_the_best_return_of_each_cell(data):
    """Of two cells the first holds 0.1, 0.2 and 0.3 with 1, 3 and -2, the second 0.6 and 0.9 with 10, 5 and 0."""
    found = qd_score(data, bounds=[[0, 1]], cells=2)
    assert (found.value, found.settings["fitness"]) == (13, "sum of rewards")


def test_quality_weighted_vendi():
    K = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])  # eigenvalues of K/n: 2/3, 1/3
    score = 3 / 2 ** (2 / 3)
    assert quality_weighted_vendi(K, [1.0, 2.0, 6.0]).value == pytest.approx(3 * score)
    assert quality_weighted_vendi(K, [1.0, 2.0, 6.0], offset=1.0).value == pytest.approx(2 * score)
    assert quality_weighted_vendi(K, [1.0, 2.0, 6.0], q=2).value == pytest.approx(3 * 9 / 5)
    with pytest.raises(ValueError, match="3 finite"):
        quality_weighted_vendi(K, [1.0, 2.0])


def test_the_quality_of_skill_data_is_the_mean_return(data):
    with pytest.raises(ValueError, match=r"mean return of skill 2 is -1.*offset"):
        quality_weighted_vendi(np.eye(3), data)
    found = quality_weighted_vendi(np.eye(3), data, offset=-1.0)
    assert found.value == pytest.approx((4 + 11 + 0) / 3 * 3)
    assert found.settings["quality"] == "mean return"


def test_where_every_reward_is_0_measures_of_quality_say_so(data):
    idle = Trajectories.of(np.zeros((2, 2, 5, 2)).reshape(4, 5, 2), skill=[0, 0, 1, 1], rewards=np.zeros((4, 5)))
    for found in (qd_score(idle), quality_weighted_vendi(np.eye(2), idle), *return_distribution(idle)):
        assert "every reward is 0" in found.note
    for found in (qd_score(data), quality_weighted_vendi(np.eye(3), data, offset=-1.0), *return_distribution(data)):
        assert "every reward" not in (found.note or "")


def test_without_rewards_there_is_a_reason():
    found = {m.name: m for m in measures(Trajectories.of(np.zeros((2, 2, 5, 2))), K=np.eye(2))}
    for name in ("return of the best skill", "quality-weighted Vendi Score"):
        assert (found[name].value, found[name].note) == (None, "the data have no rewards")
    with pytest.raises(ValueError, match="rewards must be finite"):
        returns(Trajectories.of([[[0.0]]], skill=[0], rewards=[[np.nan]]))
    with pytest.raises(ValueError, match="levels"):
        return_quantiles(Trajectories.of([[[0.0]]], skill=[0], rewards=[[1.0]]), [2])
