"""MuJoCo Playground's environments, as VendiRL's."""

import importlib.util
import pickle
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vendirl.environments.spaces import Box
from vendirl.environments.suites import playground
from vendirl.environments.suites.playground import PlaygroundEnvironment

installed = pytest.mark.skipif(
    importlib.util.find_spec("mujoco_playground") is None,
    reason="MuJoCo Playground is not installed: pip install 'vendirl[playground]'",
)

CHEETAH = ["height", "pitch", "bthigh", "bshin", "bfoot", "fthigh", "fshin", "ffoot"]
SCENES, STEPS = 4, 12


@pytest.fixture(scope="module")
def point():
    return PlaygroundEnvironment("PointMass")


@pytest.fixture(scope="module")
def compiled(point):
    """Starts of scenes from keys, and all states of scenes from starts and actions."""

    def scene(state, actions):
        def step(state, action):
            state = point.step(state, action, jax.random.key(0))
            return state, state

        return jax.lax.scan(step, state, actions)[1]

    return jax.jit(jax.vmap(point.reset)), jax.jit(jax.vmap(scene))


@installed
def test_names_of_what_is_seen_and_hidden():
    cheetah = PlaygroundEnvironment("CheetahRun")
    velocities = [f"{name}_velocity" for name in ["x", *CHEETAH]]
    assert cheetah.feature_names == (*CHEETAH, *velocities, "x")
    assert (cheetah.visible, cheetah.observation_size) == (17, 18)
    assert cheetah.actions == Box(6, -1.0, 1.0)
    assert cheetah.episode_length == 1000
    assert cheetah.costly_reset
    assert not cheetah.differentiable


@installed
@pytest.mark.parametrize(
    ("name", "hidden"), [("CheetahRun", "x"), ("WalkerRun", "x height"), ("FishSwim", "x y height")]
)
def test_features_are_what_their_names_say(name, hidden):
    """Of a random state, against MuJoCo itself: hidden places are the root's in the world, entries named by a joint are
    that joint's, and what the policy sees is Playground's own observation."""
    import mujoco

    environment = PlaygroundEnvironment(name)
    theirs, simulation = _theirs(environment), environment.simulation
    model, rng = theirs.mj_model, np.random.default_rng(1)
    data = mujoco.MjData(model)
    data.qpos[:] = rng.uniform(-0.3, 0.3, model.nq)
    data.qvel[:] = rng.normal(size=model.nv)
    mujoco.mj_forward(model, data)

    empty = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), jax.eval_shape(theirs.reset, _raw_key()))
    at = {name: jnp.asarray(getattr(data, name), jnp.float32) for name in ("qpos", "qvel", "xpos", "sensordata")}
    at["xmat"] = jnp.asarray(data.xmat, jnp.float32).reshape(-1, 3, 3)
    filled = empty.data.replace(**at)
    features = simulation.features(empty.replace(data=filled, obs=theirs._get_obs(filled, empty.info)))
    of = dict(zip(environment.feature_names, np.asarray(features), strict=True))

    assert environment.feature_names[environment.visible :] == tuple(hidden.split())
    for axis, place in zip(("x", "y", "height"), data.xpos[model.jnt_bodyid[0]], strict=True):
        if axis in hidden.split():
            assert of[axis] == pytest.approx(place, abs=1e-6)
    for joint in range(model.njnt):
        if model.joint(joint).name in of:
            assert of[model.joint(joint).name] == np.float32(data.qpos[model.jnt_qposadr[joint]])
    velocities = [value for feature, value in of.items() if feature.endswith("_velocity")]
    np.testing.assert_array_equal(velocities, data.qvel.astype(np.float32))


@installed
def test_a_turn_is_named_by_its_axis_not_by_its_joint():
    """The swimmer's joint "rootz" turns it, and "rooty" moves it."""
    import mujoco

    from vendirl.environments.suites.simulation import coordinates

    text = """<mujoco><worldbody><body name="head"><joint name="rootx" type="slide" axis="1 0 0"/>
      <joint name="rooty" type="slide" axis="0 1 0"/><joint name="rootz" type="hinge" axis="0 0 1"/><geom size="1"/>
      <body name="arm" pos="2 0 0"><joint name="elbow-1" type="hinge" axis="0 0 1"/><geom size="1"/></body></body>
      <body name="box"><freejoint/><geom size="1"/></body></worldbody></mujoco>"""
    positions, velocities, root = coordinates(mujoco.MjModel.from_xml_string(text))
    assert positions[:7] == ["x", "y", "yaw", "elbow_1", "box_x", "box_y", "box_height"]
    assert velocities[:5] == ["x_velocity", "y_velocity", "yaw_velocity", "elbow_1_velocity", "box_x_velocity"]
    assert root == {"x": 0.0, "y": 0.0}


@installed
def test_states_keep_structure_and_types(point):
    state = jax.eval_shape(point.reset, jax.random.key(0))
    after = jax.eval_shape(point.step, state, jnp.zeros(2), jax.random.key(0))
    assert jax.tree.structure(state) == jax.tree.structure(after)
    for leaf, successor in zip(jax.tree.leaves(state), jax.tree.leaves(after), strict=True):
        assert (leaf.shape, leaf.dtype, leaf.weak_type) == (successor.shape, successor.dtype, successor.weak_type)
        assert leaf.size > 0  # Orbax saves no empty arrays
    assert state.observation.shape == (point.observation_size,)
    assert state.observation.dtype == state.reward.dtype == jnp.float32
    assert state.terminated.dtype == bool


@installed
def test_compiled_scenes(point, compiled):
    reset, scenes = compiled
    keys = jax.random.split(jax.random.key(3), SCENES)
    start = reset(keys)
    actions = jnp.broadcast_to(jnp.array([1.0, -1.0]), (SCENES, STEPS, 2))
    states = scenes(start, actions)
    assert states.observation.shape == (SCENES, STEPS, 4)
    assert np.isfinite(states.observation).all()
    assert not states.terminated.any()
    np.testing.assert_array_equal(states.observation[..., :2], states.physics.data.qpos)

    np.testing.assert_array_equal(reset(keys).observation, start.observation)
    assert len(np.unique(start.observation[:, 0])) == SCENES
    np.testing.assert_array_equal(scenes(start, actions).observation, states.observation)
    np.testing.assert_array_equal(scenes(start, 5 * actions).observation, states.observation)  # actions end at 1
    assert not np.array_equal(scenes(start, 0.5 * actions).observation, states.observation)

    fresh = jax.tree.map(lambda new, old: jnp.where(states.terminated[0, 0], new, old), start, start)
    assert jax.tree.structure(fresh) == jax.tree.structure(start)


@installed
def test_a_simulation_that_blows_up_terminates(point, compiled):
    reset, scenes = compiled
    start = reset(jax.random.split(jax.random.key(3), SCENES))
    data = start.physics.data
    broken = start.physics.replace(data=data.replace(qvel=data.qvel.at[1].set(jnp.nan)))
    states = scenes(eqx.tree_at(lambda start: start.physics, start, broken), jnp.zeros((SCENES, STEPS, 2)))
    np.testing.assert_array_equal(states.terminated[:, -1], [False, True, False, False])
    np.testing.assert_array_equal(states.observation[1], np.tile(start.observation[1], (STEPS, 1)))
    assert np.isfinite(states.reward).all()


@installed
def test_static_and_equal_by_settings(point):
    assert point == PlaygroundEnvironment("PointMass")
    assert hash(point) == hash(PlaygroundEnvironment("PointMass"))
    assert pickle.loads(pickle.dumps(point)) == point
    assert jax.tree.leaves(point) == []
    shorter = PlaygroundEnvironment("PointMass", episode_length=7, ctrl_dt=0.04)
    assert shorter != point
    assert shorter.episode_length == 7
    assert _theirs(shorter).dt == 0.04


@installed
def test_loading_while_something_is_traced_leaves_no_trace(point):
    playground._load.cache_clear()
    for _ in range(2):
        jax.eval_shape(lambda key: point.step(point.reset(key), jnp.zeros(2), key).observation, jax.random.key(0))


@installed
def test_loading_says_nothing(capfd, tmp_path, monkeypatch):
    """MuJoCo has a warning on the cheetah's model, and writes it to a file."""
    monkeypatch.chdir(tmp_path)
    playground._load.cache_clear()
    PlaygroundEnvironment("CheetahRun")
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


@installed
def test_robots_that_would_be_downloaded_are_refused(monkeypatch, tmp_path):
    from mujoco_playground._src import mjx_env

    def download():
        raise AssertionError("nobody asked for a download")

    monkeypatch.setattr(mjx_env, "MENAGERIE_PATH", tmp_path / "nothing")
    monkeypatch.setattr(mjx_env, "ensure_menagerie_exists", download)
    for name in ("Go1JoystickFlatTerrain", "PandaPickCube"):
        with pytest.raises(FileNotFoundError, match=f"{name} needs the robots of MuJoCo Menagerie.*fetch them once"):
            PlaygroundEnvironment(name)


@installed
def test_refusals():
    with pytest.raises(ValueError, match=r"no environment 'cheetarun'\. Did you mean 'CheetahRun'"):
        PlaygroundEnvironment("cheetarun")
    with pytest.raises(ValueError, match=r"PointMass has no setting 'control_dt'\. Did you mean 'ctrl_dt'"):
        PlaygroundEnvironment("PointMass", control_dt=0.1)
    with pytest.raises(ValueError, match="episode_length=0 must be at least 1"):
        PlaygroundEnvironment("PointMass", episode_length=0)
    with pytest.raises(TypeError, match=r"ctrl_dt=.* must be a number"):
        PlaygroundEnvironment("PointMass", ctrl_dt=np.ones(2))


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco_playground", None)
    with pytest.raises(ImportError, match=r"Playground is not installed.*pip install 'vendirl\[playground\]'"):
        PlaygroundEnvironment("CheetahRun")


def _theirs(environment):
    """The library's own environment."""
    return environment.simulation._step.__self__


def _raw_key():
    return jax.random.key_data(jax.random.key(0))
