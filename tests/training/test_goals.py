"""Goal reaching with a method and skills made by hand, in a world of JAX and in one outside of it."""

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vendirl.data import Trajectories
from vendirl.environments import Box, HostEnvironment, make
from vendirl.environments.host import Scenes, Step
from vendirl.methods import Method
from vendirl.skills.policy import SkillPolicy
from vendirl.training.goals import goal_measures, seek


@dataclasses.dataclass(frozen=True)
class Straight(Method):
    """Skills are directions, and the one for a goal points to it."""

    name: ClassVar[str] = "straight"
    knows_goals: ClassVar[bool] = True

    def goal_skill(self, state, observation, goal):
        way = goal - observation
        return way / jnp.maximum(jnp.linalg.norm(way), 1e-12)

    def reward(self, state, batch):
        raise NotImplementedError


class Aimless(Straight):
    name = "aimless"
    knows_goals = False


class OutsidePlane(HostEnvironment):
    """What `open` is in JAX: a point that moves by 0.05 of its action."""

    name, feature_names, visible, actions, episode_length = "outside", ("x", "y"), 2, Box(2), 20

    def _open(self, scenes, seed):
        return _Points(scenes)


class _Points(Scenes):
    def __init__(self, scenes):
        self.x = np.zeros((scenes, 2), np.float32)

    def reset(self, which):
        self.x[which] = 0.5
        return self.x.copy()

    def step(self, actions):
        self.x = self.x + np.float32(0.05) * np.clip(actions, -1, 1)
        nothing = np.zeros(len(self.x))
        return Step(self.x.copy(), nothing > 0, nothing > 0, nothing.astype(np.float32))


@pytest.fixture(scope="module")
def policy():
    """Skills whose action is z: tanh is a straight line close to 0."""
    made = SkillPolicy(2, Box(2), 2, key=jax.random.key(0), hidden=(2,), numbered=False, log_std=-20.0)
    weights = (jnp.array([[0, 0, 1e-2, 0], [0, 0, 0, 1e-2]]), 1e2 * jnp.eye(2))
    return eqx.tree_at(lambda p: tuple(layer.weight for layer in p.actor.layers), made, weights)


GOALS = np.array([[0.5, 0.75], [0.8, 0.9]])  # 5 and 10 steps of 0.05 from (0.5, 0.5)


@pytest.mark.parametrize("world", [make("open", episode_length=20), OutsidePlane()], ids=["JAX", "outside"])
def test_a_skill_goes_on_past_its_goal_unless_it_is_chosen_anew(world, policy):
    once, anew = seek(world, policy, Straight(), None, GOALS, jax.random.key(0), rollouts=2)
    assert once.skill.tolist() == anew.skill.tolist() == [0, 0, 1, 1]
    direction = np.array([[0, 1], [0.6, 0.8]])[once.skill]
    walked = 0.5 + 0.05 * np.arange(1, 21)[:, None] * direction[:, None]
    np.testing.assert_allclose(np.stack(list(once)), walked, atol=2e-3)
    np.testing.assert_allclose(np.stack(list(anew))[:2, :5], walked[:2, :5], atol=2e-3)
    assert np.linalg.norm(np.stack(list(anew))[:2, 5:] - GOALS[0], axis=-1).max() < 0.051


def test_the_measures_of_it(policy):
    """Chosen once, the skill ends 15 and 10 steps beyond its goals; its last half is from 6 to 15 and from 1 to 10."""
    data = Trajectories.of([[[0.0, 0.0], [1.0, 1.0]]], features=["x", "y"])
    world = make("open", episode_length=20)
    found = {m.name: m for m in goal_measures(world, policy, Straight(), None, data, goals=GOALS)}
    lgr = found["latent goal reaching"]
    assert lgr.value == pytest.approx(0.05 / np.sqrt(2) * (np.mean(range(6, 16)) + np.mean(range(1, 11))) / 2, abs=2e-3)
    assert found["zero-shot goals hit"].value == found["zero-shot goals at the end"].value == 1
    assert found["zero-shot goals hit"].settings["radius"] == pytest.approx(np.sqrt(2) / 10)
    assert found["zero-shot goals, share of steps"].value == pytest.approx((18 / 20 + 13 / 20) / 2)  # 2 and 7 too far
    assert found["goal achievement"].value == 1
    assert lgr.settings["goals_from"] == "given"


def test_a_method_that_does_not_know_says_so(policy):
    data = Trajectories.of(np.zeros((1, 2, 2)))
    found = goal_measures(make("open"), policy, Aimless(), None, data)
    assert len(found) == 6
    assert all(m.value is None and "aimless has no model" in m.note for m in found)
    assert "never leave" in goal_measures(make("open"), policy, Straight(), None, data)[0].note
    with pytest.raises(ValueError, match=r"shape \(G, 2\)"):
        goal_measures(make("open"), policy, Straight(), None, data, goals=[[1.0]])
