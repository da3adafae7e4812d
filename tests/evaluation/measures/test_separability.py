"""LSEPIN, WSEP and PWSEP: how well skills can be told apart, on cases computed by hand."""

import math

import numpy as np
import pytest

from vendirl.data import Trajectories
from vendirl.evaluation.measures.cells import cells
from vendirl.evaluation.measures.distances import pairwise_wasserstein
from vendirl.evaluation.measures.lsepin import lsepin
from vendirl.evaluation.measures.pwsep import pwsep, to_nearest_mixture
from vendirl.evaluation.measures.wsep import wsep


def on_a_line(*skills):
    return Trajectories.of([[np.array(skill, float)[:, None]] for skill in skills])


def entropy(*p):
    return -sum(x * math.log(x) for x in p if x)


def test_lsepin_is_that_of_the_skill_that_is_hardest_to_tell():
    """Skill 1 shares cell 0 with skill 0, and cell 1 with skill 2. Over cells 0, 1, 5 the mean is (1/2, 1/3, 1/6)."""
    found = lsepin(on_a_line([0, 0], [0, 1], [1, 5]), bin=1.0)
    whole = entropy(1 / 2, 1 / 3, 1 / 6)
    of_0 = whole - 0 - 2 / 3 * entropy(1 / 4, 1 / 2, 1 / 4)
    of_1 = whole - 1 / 3 * math.log(2) - 2 / 3 * entropy(1 / 2, 1 / 4, 1 / 4)
    of_2 = whole - 1 / 3 * math.log(2) - 2 / 3 * entropy(3 / 4, 1 / 4)
    assert found.value == pytest.approx(min(of_0, of_1, of_2))
    assert of_1 < min(of_0, of_2)
    assert "skill 1" in found.note
    assert found.settings["at_most"] == pytest.approx(entropy(1 / 3, 2 / 3))


def test_lsepin_against_its_definition():
    rng = np.random.default_rng(0)
    data = Trajectories.of([rng.normal(size=(rng.integers(3, 9), 2)) for _ in range(10)], skill=np.arange(10) % 4)
    found = cells(data, bin=1.0)
    p = np.stack([np.bincount(found.index[found.skill == g], minlength=found.count) for g in range(4)]).astype(float)
    p /= p.sum(1, keepdims=True)
    each = [entropy(*p.mean(0)) - entropy(*p[g]) / 4 - 3 / 4 * entropy(*np.delete(p, g, 0).mean(0)) for g in range(4)]
    assert lsepin(data, bin=1.0).value == pytest.approx(min(each))


def test_lsepin_has_its_bounds():
    assert lsepin(on_a_line([0, 1], [0, 1]), bin=1.0).value == 0
    apart = lsepin(on_a_line([0], [1], [2], [3]), bin=1.0)
    assert apart.value == pytest.approx(entropy(1 / 4, 3 / 4)) == pytest.approx(apart.settings["at_most"])
    with pytest.raises(ValueError, match="one skill"):
        lsepin(on_a_line([0, 1]))


def test_wsep_adds_over_ordered_pairs():
    mean = pairwise_wasserstein(on_a_line([0, 1], [2, 3], [6, 7]))  # 2, 4 and 6 apart
    assert (mean.value, wsep(mean).value) == (pytest.approx(4), pytest.approx(24))
    assert wsep(mean).settings == mean.settings
    assert "one skill" in wsep(pairwise_wasserstein(on_a_line([0]))).note


def test_pwsep_is_nought_for_a_skill_that_the_others_can_replace():
    """From 0 and 4 the mixture with weights 3/4 and 1/4 is skill 2's; the others are 1 and 3 from skill 2."""
    found = pwsep(on_a_line([0, 0, 0, 0], [4, 4, 4, 4], [0, 0, 0, 4]))
    assert found.value == pytest.approx((1 + 3 + 0) / 3)
    assert "skill 2, 0" in found.note
    assert pairwise_wasserstein(on_a_line([0, 0, 0, 4], [0, 0, 0, 0])).value == pytest.approx(1)


def test_the_nearest_mixture_need_not_be_all_there():
    """A point in the middle is as far from any mixture of the ends; one beyond an end is nearest to that end alone."""
    ends = [np.zeros((1, 2)), np.array([[4.0, 0.0]])]
    assert to_nearest_mixture(np.array([[2.0, 0.0]]), ends) == pytest.approx(2)
    assert to_nearest_mixture(np.array([[7.0, 4.0]]), ends) == pytest.approx(5)
    assert to_nearest_mixture(np.array([[0.0, 3.0], [4.0, 3.0]]), ends) == pytest.approx(3)
    assert to_nearest_mixture(np.ones((2, 2)), [np.ones((3, 2))]) == 0


def test_pwsep_samples_by_its_seed_and_refuses_too_many():
    rng = np.random.default_rng(0)
    data = Trajectories.of(rng.normal(size=(3, 2, 30, 2)))
    assert pwsep(data, points=30) == pwsep(data, points=30)
    assert pwsep(data, points=30).value != pwsep(data, points=30, seed=1).value
    assert pwsep(data, points=32).settings["points"] == 30
    for wrong, points, says in ((np.zeros((17, 1, 2)), 256, "17 skills"), (np.zeros((3, 1, 2)), 2, "points"),
                                (np.zeros((1, 3, 2)), 256, "one skill")):  # fmt: skip
        with pytest.raises(ValueError, match=says):
            pwsep(Trajectories.of(wrong), points=points)
