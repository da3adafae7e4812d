"""The wrapper for Brax pays exactly the rewards of `relabel`, and Brax's PPO learns with it."""

import dataclasses
import functools
import re
import subprocess
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vendirl as vr
from vendirl.wrappers.brax import wrap

T, n, E = 6, 3, 5


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=["pipeline_state", "obs", "reward", "done", "metrics", "info"],
    meta_fields=[],
)
@dataclasses.dataclass
class State:
    pipeline_state: jax.Array
    obs: jax.Array
    reward: jax.Array
    done: jax.Array
    metrics: dict
    info: dict

    def replace(self, **changes):
        return dataclasses.replace(self, **changes)


class Walk:
    """A point that moves by its action, from a random start. Episodes terminate where it leaves a strip."""

    observation_size, action_size = 2, 2

    def __init__(self, width=1.0, keyed=False):
        self.width, self.keyed = width, keyed

    def reset(self, rng):
        position = 0.5 + 0.1 * jax.random.normal(rng, (2,))
        zero = jnp.zeros(())
        return State(position, self._seen(position), zero, zero, {"height": zero}, {"moves": zero})

    def step(self, state, action):
        position = state.pipeline_state + 0.1 * action
        done = (jnp.abs(position[0] - 0.5) > self.width).astype(jnp.float32)
        info = state.info | {"moves": state.info["moves"] + 1}
        metrics = state.metrics | {"height": position[0]}
        return State(position, self._seen(position), 1.0 + position[1], done, metrics, info)

    def _seen(self, position):
        return {"state": position, "image": jnp.zeros((4, 4, 1))} if self.keyed else position


def compare(env, steps, seed=0):
    """Play random actions, and compare every whole episode with `relabel`: how many ended, how many by termination."""
    step, rng, repeat = jax.jit(env.step), np.random.default_rng(seed), env.action_repeat
    state = jax.jit(env.reset)(jax.random.split(jax.random.PRNGKey(seed), E))
    memories = [state.info["vendirl"].memory] * E
    paths, rewards = [[] for _ in range(E)], [[] for _ in range(E)]
    ended = terminations = 0
    for _ in range(steps):
        actions = rng.uniform(-1, 1, (E, 2)).astype(np.float32)
        before, state = state, step(state, actions)
        for e in range(E):
            paths[e].append(state.info["features"][e])
            rewards[e].append(float(state.reward[e]))
            if repeat == 1 or state.info["truncation"][e] or not state.done[e]:
                expected = before.obs[e, :2] + repeat * 0.1 * actions[e]
                np.testing.assert_allclose(state.info["features"][e], expected, atol=1e-6)
            assert int(before.info["skill"][e]) == before.obs[e, 2 : 2 + n].argmax()
            if not state.done[e]:
                continue
            c, skill = len(paths[e]), int(before.info["skill"][e])
            ended, terminations = ended + 1, terminations + (not state.info["truncation"][e])
            assert state.info["steps"][e] == repeat * c or terminations
            memory = jax.tree.map(lambda leaf, e=e: leaf[e], memories[e])
            padded = jnp.array(paths[e] + paths[e][-1:] * (T - c))  # one shape, compiled once
            made = (env.similarity, memory, skill, padded, env.transform, env.q)
            np.testing.assert_allclose(rewards[e], vr.relabel(*made)[0][:c], rtol=1e-5, atol=1e-5)
            memories[e], paths[e], rewards[e] = state.info["vendirl"].memory, [], []
    return ended, terminations


@pytest.mark.parametrize(
    ("similarity", "transform"),
    [
        ("mmd(scale=4)", "derivative"),
        ("cosine(center=0.5)", "raw"),
        ("covariance(scale=200)", "log"),
        ("0.5*cosine(center=0.5) + 0.5*covariance(scale=200)", "penalty"),
    ],
)
def test_rewards_are_those_of_relabel(similarity, transform):
    env = wrap(Walk(width=0.15), similarity, n, T, transform=transform)
    ended, terminations = compare(env, 20)
    assert ended > 3 * E
    assert 0 < terminations < ended


@pytest.mark.parametrize("settings", [{"action_repeat": 2}, {"fading": True}, {"full_reset": True}, {"time": True}])
def test_rewards_with(settings):
    length = T * settings.get("action_repeat", 1)
    ended, _ = compare(wrap(Walk(), "mmd(scale=4)", n, length, **settings), 2 * T)
    assert ended == 2 * E


def test_an_episode_ends_in_the_middle_of_a_repeated_action():
    env = wrap(Walk(width=0.15), "mmd(scale=4)", n, 2 * T, action_repeat=2)
    ended, terminations = compare(env, 2 * T)
    assert 0 < terminations <= ended
    state = jax.jit(env.reset)(jax.random.split(jax.random.PRNGKey(0), E))
    acted = jax.jit(lambda state, actions: env._acted(env._untold(state)[0], actions))
    after, paid, over = acted(state, jnp.tile(jnp.array([9.0, 0.0]), (E, 1)))
    np.testing.assert_allclose(after.pipeline_state[:, 0] - state.obs[:, 0], 0.9, atol=1e-6)
    np.testing.assert_allclose(paid, 1 + state.obs[:, 1], atol=1e-6)
    assert over.all()


def test_episodes_begin_where_they_should():
    """In the scene's first state, or anew; skills are drawn anew, and what the environment counts starts again."""
    for full in (False, True):
        env = wrap(Walk(), "mmd(scale=4)", n, T, full_reset=full, time=True)
        first = state = jax.jit(env.reset)(jax.random.split(jax.random.PRNGKey(0), 64))
        step = jax.jit(env.step)
        for t in range(1, T + 1):
            state = step(state, jnp.ones((64, 2)))
            np.testing.assert_allclose(state.obs[:, -1], t / T * (t < T))
        assert state.done.all()
        assert state.info["truncation"].all()
        assert (state.obs[:, :2] == first.obs[:, :2]).all() != full
        assert set(np.asarray(state.info["skill"])) == set(range(n))
        assert (state.info["skill"] != first.info["skill"]).any()
        np.testing.assert_allclose(state.info["moves"], 0 if full else T)
        state = step(state, jnp.ones((64, 2)))
        np.testing.assert_array_equal(state.info["steps"], 1)
        np.testing.assert_allclose(state.info["episode_metrics"]["length"], 1)
        assert not state.done.any()


def test_memories_differ_between_scenes():
    env = wrap(Walk(), "mmd(scale=4)", n, T)
    step, state = jax.jit(env.step), jax.jit(env.reset)(jax.random.split(jax.random.PRNGKey(0), E))
    np.testing.assert_allclose(state.info["vendi_score"], 1, atol=1e-5)
    state = jax.jit(env.follow)(state, jnp.arange(E) % n)
    np.testing.assert_array_equal(state.info["skill"], np.arange(E) % n)
    path = []
    for _ in range(T):
        state = step(state, jnp.ones((E, 2)))
        path.append(state.info["features"])
    stored = state.info["vendirl"].memory.observations
    for e in range(E):
        np.testing.assert_array_equal(stored[e, e % n], jnp.stack(path)[:, e])
        assert (stored[e, (e + 1) % n] == stored[e, (e + 1) % n, 0]).all()


def test_observations_of_several_kinds():
    env = wrap(
        Walk(keyed=True), "mmd(scale=4).on(x)", n, T, features=lambda s: s.obs["state"], feature_names=("x", "y")
    )
    state = jax.jit(env.reset)(jax.random.split(jax.random.PRNGKey(0), E))
    state = jax.jit(env.step)(state, jnp.ones((E, 2)))
    assert state.obs["state"].shape == (E, 2 + n)
    assert state.obs["image"].shape == (E, 4, 4, 1)
    assert wrap(Walk(), "mmd", n, T).observation_size == 2 + n
    with pytest.raises(TypeError, match="features=lambda"):
        wrap(Walk(keyed=True), "mmd", n, T).reset(jax.random.split(jax.random.PRNGKey(0), E))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"skills": 0}, "skills must be a positive"),
        ({"episode_length": 0}, "episode_length must be"),
        ({"action_repeat": 0}, "action_repeat must be"),
        ({"transform": "square"}, "transform must be one of"),
        ({"randomization_fn": print}, "no `sys`"),
    ],
)
def test_errors(settings, message):
    with pytest.raises(ValueError, match=message):
        wrap(Walk(), **{"similarity": "mmd", "skills": n, **settings})


ROOT = Path(__file__).parent.parent.parent
PYTHON = ROOT / ".venv-brax" / "bin" / "python"


@pytest.mark.skipif(not PYTHON.exists(), reason="Brax's learners need an older JAX; `make test` installs it")
def test_brax_ppo_learns():
    """In an environment of its own, by the example that people are shown."""
    done = subprocess.run([PYTHON, ROOT / "examples" / "brax_ppo.py"], capture_output=True, text=True, cwd=ROOT)
    found = re.search(r"Vendi Score (\S+) of (\S+) attainable", done.stdout)
    assert found, done.stderr[-2000:]
    assert float(found[1]) > 0.95 * float(found[2])
