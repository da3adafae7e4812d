"""Brax's environments, as VendiRL's."""

import importlib.util
import pickle
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vendirl.environments.spaces import Box
from vendirl.environments.suites import brax
from vendirl.environments.suites.brax import BraxEnvironment

installed = pytest.mark.skipif(
    importlib.util.find_spec("brax") is None, reason="Brax is not installed: pip install 'vendirl[brax]'"
)

LEGS = [f"{part}_{leg}" for leg in range(1, 5) for part in ("hip", "ankle")]
TURNS = [f"quaternion_{part}" for part in "wxyz"]
ROOT = ["x", "y", "height", "roll", "pitch", "yaw"]
SCENES, STEPS = 4, 40


@pytest.fixture(scope="module")
def ant():
    """An ant that dies if it sinks by a little, and whose episodes are over before most do."""
    return BraxEnvironment("ant", episode_length=5, healthy_z_range=(0.5, 1.0))


@pytest.fixture(scope="module")
def compiled(ant):
    """Starts of scenes from keys, and all states of scenes from starts and actions."""

    def scene(state, actions):
        def step(state, action):
            state = ant.step(state, action, jax.random.key(0))
            return state, state

        return jax.lax.scan(step, state, actions)[1]

    return jax.jit(jax.vmap(ant.reset)), jax.jit(jax.vmap(scene))


@installed
def test_names_of_what_is_seen_and_hidden(ant):
    velocities = [f"{name}_velocity" for name in [*ROOT, *LEGS]]
    assert ant.feature_names == ("height", *TURNS, *LEGS, *velocities, "x", "y")
    assert (ant.visible, ant.observation_size) == (27, 29)
    assert ant.actions == Box(8, -1.0, 1.0)
    assert ant.costly_reset
    assert not ant.differentiable
    assert BraxEnvironment("reacher").episode_length == 1000


@installed
@pytest.mark.parametrize(
    ("name", "settings", "some", "hidden"),
    [
        ("ant", {"exclude_current_positions_from_observation": False}, ("x", "y", "height", *TURNS), ()),
        ("walker2d", {}, ("height", "pitch", "thigh_joint"), ("x",)),
        ("reacher", {}, ("joint0_cos", "joint1_cos", "joint0_sin", "joint1_sin", "target_x", "target_y", "obs_6"), ()),
    ],
)
def test_other_observations(name, settings, some, hidden):
    environment = BraxEnvironment(name, **settings)
    assert environment.feature_names[: len(some)] == some
    assert environment.feature_names[environment.visible :] == hidden


@installed
def test_states_keep_structure_and_types(ant):
    state = jax.eval_shape(ant.reset, jax.random.key(0))
    after = jax.eval_shape(ant.step, state, jnp.zeros(8), jax.random.key(0))
    assert jax.tree.structure(state) == jax.tree.structure(after)
    for leaf, successor in zip(jax.tree.leaves(state), jax.tree.leaves(after), strict=True):
        assert (leaf.shape, leaf.dtype, leaf.weak_type) == (successor.shape, successor.dtype, successor.weak_type)
        assert leaf.size > 0  # Orbax saves no empty arrays
    assert state.observation.shape == (29,)
    assert state.observation.dtype == state.reward.dtype == jnp.float32
    assert state.terminated.dtype == bool


@installed
def test_compiled_scenes(ant, compiled):
    reset, scenes = compiled
    keys = jax.random.split(jax.random.key(3), SCENES)
    start = reset(keys)
    actions = jnp.sign(jax.random.normal(jax.random.key(4), (SCENES, STEPS, 8)))
    states = scenes(start, actions)
    assert states.observation.shape == (SCENES, STEPS, 29)
    assert np.isfinite(states.observation).all()

    physics, names = states.physics.pipeline_state, ant.feature_names
    for name, value in {
        "x": physics.x.pos[..., 0, 0],
        "y": physics.x.pos[..., 0, 1],
        "height": physics.x.pos[..., 0, 2],
        "hip_1": physics.q[..., 7],
        "ankle_4_velocity": physics.qd[..., -1],
    }.items():
        np.testing.assert_allclose(states.observation[..., names.index(name)], value, atol=1e-6)
    assert np.ptp(states.observation[..., names.index("x")]) > 0.1

    np.testing.assert_array_equal(reset(keys).observation, start.observation)
    assert len(np.unique(start.observation[:, 0])) == SCENES
    again = scenes(start, 3 * actions)  # actions end at 1
    np.testing.assert_array_equal(again.observation, states.observation)
    np.testing.assert_array_equal(again.reward, states.reward)


@installed
def test_a_fall_terminates_and_the_end_of_time_does_not(ant, compiled):
    reset, scenes = compiled
    start = reset(jax.random.split(jax.random.key(3), SCENES))
    states = scenes(start, jnp.zeros((SCENES, STEPS, 8)))
    height = states.observation[..., ant.feature_names.index("height")]
    fallen = (height < 0.5) | (height > 1.0)
    np.testing.assert_array_equal(states.terminated, fallen)
    assert fallen.any()
    assert not fallen[:, 0].all()
    assert not fallen[:, ant.episode_length].all()  # no termination for having used up the episode
    assert not start.terminated.any()
    # Nothing is reset: what has fallen lies where it fell.
    first = fallen.argmax(axis=1)
    scene = int(fallen.any(axis=1).argmax())
    assert abs(height[scene, first[scene] + 1] - height[scene, first[scene]]) < 0.1


@installed
def test_steps_leave_the_state_alone(ant, compiled):
    """Brax writes into the dictionaries of the state that it is given."""
    start = jax.tree.map(lambda leaf: leaf[0], compiled[0](jax.random.split(jax.random.key(3), SCENES)))
    before = jax.tree.map(np.asarray, start)
    jax.eval_shape(lambda action: ant.step(start, action, jax.random.key(0)), jnp.zeros(8))
    jax.tree.map(np.testing.assert_array_equal, start, before)


@installed
def test_static_and_equal_by_settings(ant):
    same = BraxEnvironment("ant", episode_length=5, healthy_z_range=[0.5, 1.0], backend="spring")
    assert ant == same
    assert hash(ant) == hash(same)
    assert pickle.loads(pickle.dumps(ant)) == ant
    assert jax.tree.leaves(ant) == []


@installed
def test_loading_says_nothing(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    brax._load.cache_clear()
    BraxEnvironment("halfcheetah")
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


@installed
def test_refusals():
    with pytest.raises(ValueError, match=r"no environment 'Cheetah'\. Did you mean 'halfcheetah'"):
        BraxEnvironment("Cheetah")
    with pytest.raises(ValueError, match=r"ant has no setting 'healthy_range'\. Did you mean 'healthy_z_range'"):
        BraxEnvironment("ant", healthy_range=(0.1, 1.0))
    with pytest.raises(ValueError, match="backend='bullet' must be one of spring, generalized"):
        BraxEnvironment("ant", backend="bullet")
    with pytest.raises(ValueError, match="swimmer does not run with backend='spring'"):
        BraxEnvironment("swimmer")
    with pytest.raises(TypeError, match=r"episode_length=2\.5 must be a whole number"):
        BraxEnvironment("ant", episode_length=2.5)


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "brax", None)
    with pytest.raises(ImportError, match=r"Brax is not installed.*pip install 'vendirl\[brax\]'"):
        BraxEnvironment("ant")
