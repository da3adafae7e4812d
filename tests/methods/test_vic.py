"""VIC and RVIC: what is paid at the end of what a skill did, and where that means nothing."""

import dataclasses
import math

import jax
import numpy as np
import pytest

import vendirl as vr
from tests.methods.batches import batch, linear
from tests.methods.test_methods import KEY, TWO, bound, log_softmax
from vendirl.environments import Plane
from vendirl.methods.vic import RVIC, VIC
from vendirl.training.problem import build
from vendirl.training.settings import Settings


def test_vic_pays_at_the_end_of_the_episode_only():
    rows = batch(TWO, [0, 1])
    model = linear([[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])  # of (s_0, s')
    rewards = np.asarray(VIC().rewards(model, rows))
    assert (rewards[:, 0] == 0).all()
    assert rewards[0, 1] == pytest.approx(log_softmax([2.0, 0.0])[0] + math.log(2), rel=1e-5)
    loss, _ = VIC().loss(model, rows, KEY)
    assert float(loss) == pytest.approx(-log_softmax([2.0, 0.0])[0], rel=1e-5)


def test_rvic_pays_what_the_beginning_adds():
    rows = batch(TWO, [0, 1])
    relative, absolute = linear([[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]), linear([[1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(RVIC().rewards((relative, absolute), rows), 0, atol=1e-6)  # the end says it all
    blind = linear([[0.0, 0.0], [0.0, 0.0]])
    expected = log_softmax([2.0, 0.0])[0] + math.log(2)
    assert float(RVIC().rewards((relative, blind), rows)[0, 1]) == pytest.approx(expected, rel=1e-5)


def test_a_skill_that_is_replaced_before_the_episode_ends_is_paid_where_it_is_replaced():
    """No episode of these stretches ends: what the skills did ends with them."""
    rows = batch(TWO, [0, 1], ended=np.zeros((2, 2), bool))
    model = linear([[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    rewards = np.asarray(VIC().rewards(model, rows))
    np.testing.assert_allclose(rewards[:, 0], 0)
    np.testing.assert_allclose(rewards[:, 1], log_softmax([2.0, 0.0])[0] + math.log(2), rtol=1e-5)
    assert float(VIC().loss(model, rows, KEY)[0]) == pytest.approx(-log_softmax([2.0, 0.0])[0], rel=1e-5)


def test_updates_that_see_a_part_of_what_a_skill_did_are_refused():
    with pytest.raises(ValueError, match=r"vic pays a skill for where it led.*use updates=1"):
        build(Settings(method="vic", updates=2))
    build(Settings(method="vic", updates=2, epoch=2))
    build(Settings(method="rvic", epoch=0.5))


class Scattered(Plane):
    """A plane whose episodes begin anywhere."""

    def reset(self, key):
        return self._state(jax.random.uniform(key, (2,)))


def test_rvic_says_where_it_means_nothing():
    assert "all episodes begin alike" in RVIC().bind(dataclasses.replace(bound(RVIC()).problem, steps=50)).caveat
    few = {"skills": 2, "scenes": 4, "steps": 4 * 50, "hidden": (4,), "ppo": {"minibatches": 2, "epochs": 1}}
    assert "all episodes begin alike" in vr.train("maze", method="diayn + rvic", progress=False, **few).note
    problem = bound(RVIC()).problem
    assert bound(VIC()).caveat is None
    assert RVIC().bind(dataclasses.replace(problem, environment=Scattered(), steps=50)).caveat is None
    assert RVIC().bind(dataclasses.replace(problem, steps=25)).caveat is None  # a skill may begin in mid-episode
