"""Environments of one's own, looked at before anything is compiled."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vendirl as vr
from vendirl.environments import Box, Environment, Maze, OpenPlane, State
from vendirl.environments.checking import check


class Line(Environment):
    """A point on a line: what a user would write."""

    episode_length: int = 20
    observation_size: int = 1
    feature_names: tuple[str, ...] = ("x",)
    actions: Box = Box(1)

    def reset(self, key):
        return self._state(0.1 * jax.random.normal(key, (1,)))

    def step(self, state, action, key):
        return self._state(state.physics + 0.1 * jnp.clip(action, -1, 1))

    def _state(self, x):
        return State(physics=x, observation=x, terminated=jnp.array(False), reward=jnp.array(0.0))


def test_good_environments_pass():
    for world in (Line(), OpenPlane(), Maze(), Maze(discrete=True)):
        check(world)


def test_an_environment_of_ones_own_trains_as_an_object(tmp_path):
    run = vr.train(Line(), "mmd(scale=4)", skills=2, scenes=16, steps=2e4, out=tmp_path / "run")
    assert run.settings.env == "object:Line"
    assert run.scores[0] > 1.5
    assert (tmp_path / "run" / "figure.png").exists()
    with pytest.raises(ValueError, match="Line, was an object, which its text cannot rebuild; pass it again"):
        vr.load(tmp_path / "run")
    assert vr.load(tmp_path / "run", env=Line()).scores == pytest.approx(run.scores)


def changed(**changes):
    class Changed(Line):
        def reset(self, key):
            state = super().reset(key)
            return changes["reset"](state, key) if "reset" in changes else state

        def step(self, state, action, key):
            state = super().step(state, action, key)
            return changes["step"](state) if "step" in changes else state

    return Changed()


def with_(field, value):
    """A state with one field replaced."""

    def change(state, key=None):
        return eqx.tree_at(lambda s: getattr(s, field), state, value() if callable(value) else value)

    return change


def draw():
    return jnp.array([np.random.rand()], np.float32)


@pytest.mark.parametrize(
    ("world", "words"),
    [
        (changed(reset=lambda s, k: s.observation), "reset must return a vendirl.environments.State"),
        (changed(step=with_("observation", jnp.zeros(2))), r"step returned observation of shape \(2,\)"),
        (changed(step=with_("terminated", jnp.array(0.0))), "step returned terminated of type float32"),
        (changed(step=with_("reward", jnp.array(1))), "step returned reward of type int32"),
        (changed(step=with_("physics", jnp.zeros(3))), "step turned a part of physics"),
        (changed(step=lambda s: with_("reward", float(s.reward))(s)), "step cannot be compiled by JAX"),
        (changed(reset=with_("terminated", jnp.array(True))), "reset returned terminated=True"),
        (changed(reset=with_("observation", draw)), "reset gave different results for the same key"),
    ],
)
def test_mistakes_are_named_with_the_method_at_fault(world, words):
    with pytest.raises((ValueError, TypeError), match=words):
        check(world)


def test_what_is_no_environment_is_refused():
    with pytest.raises(TypeError, match="pass the function"):
        vr.train(3)
