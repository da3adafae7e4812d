"""Gymnasium's environments: ids, functions, vector environments and all their ways to reset."""

import os
import time

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed (vendirl[gymnasium])")

from gymnasium.vector import AutoresetMode, SyncVectorEnv  # noqa: E402
from gymnasium.wrappers import TimeLimit  # noqa: E402

import vendirl as vr  # noqa: E402
from vendirl.environments import Box, Discrete, EnvironmentFailure, as_environment, parse_environment  # noqa: E402
from vendirl.environments.suites.gymnasium import GymnasiumEnvironment  # noqa: E402
from vendirl.skills.host_rollout import Stage  # noqa: E402


class Counter(gymnasium.Env):
    """Counts its steps in twos, ends after three if it is `mortal`, and tells a height that is not observed."""

    observation_space = gymnasium.spaces.Dict(
        {"count": gymnasium.spaces.Box(-np.inf, np.inf, (1,)), "pair": gymnasium.spaces.Box(-1, 1, (2,))}
    )
    action_space = gymnasium.spaces.Box(np.array([0.0, -4.0], np.float32), np.array([2.0, 4.0], np.float32))

    def __init__(self, mortal=True, trouble=None):
        self.mortal, self.trouble, self.count = mortal, trouble, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return self._observe(), {"height": 0.5}

    def step(self, action):
        self.count += 1
        if self.trouble and self.count == 2:
            {"crash": self._crash, "hang": lambda: time.sleep(60), "die": lambda: os._exit(7)}[self.trouble]()
        done = self.mortal and self.count == 3
        return self._observe(), float(action[1]), done, False, {"height": 0.5 + self.count, "reward_part": 1.0}

    def _observe(self):
        return {"count": np.array([2.0 * self.count], np.float32), "pair": np.array([0.1, 0.2], np.float32)}

    def _crash(self):
        raise ArithmeticError("lost count")


def half(observations, times, noise):
    E = len(observations)
    return np.full((E, 2), 0.5, np.float32), np.zeros(E, np.float32)


def check_rows(rows):
    """Episodes of three steps that end for good, with their true last observation and the height beside it."""
    assert rows.observation[0, :5, 0].tolist() == [0, 2, 4, 0, 2]
    assert rows.next_observation[0, :5, 0].tolist() == [2, 4, 6, 2, 4]
    assert rows.next_observation[0, :5, 3].tolist() == [1.5, 2.5, 3.5, 1.5, 2.5]
    assert rows.terminated[:, :5].tolist() == [[False, False, True, False, False]] * len(rows.terminated)
    assert not rows.truncated[:, :5].any()
    assert rows.reward[0, 0] == 2  # 0.5 of [-1, 1] is 2 of [-4, 4]


def test_a_function_in_processes():
    world = GymnasiumEnvironment(Counter, episode_length=10, workers=2)
    assert world.feature_names == ("count", "pair_0", "pair_1", "height")
    assert world.visible == 3
    assert world.actions == Box(2)
    stage = Stage(world, 3, 0)
    processes = [*stage.scenes._scenes.processes]
    check_rows(stage.roll(half, np.zeros(3, int), np.zeros((3, 5, 2))))
    stage.close()
    assert [process.poll() for process in processes] == [0, 0]


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_vector_environments_of_every_mode(mode):
    def vector(num_envs):
        return SyncVectorEnv([Counter] * num_envs, autoreset_mode=mode)

    stage = Stage(GymnasiumEnvironment(vector, episode_length=10), 3, 0)
    check_rows(stage.roll(half, np.zeros(3, int), np.zeros((3, 5, 2))))
    stage.close()


def pendulum():
    return gymnasium.make("Pendulum-v1")


@pytest.mark.parametrize(
    "made",
    [pendulum, *(lambda num_envs, m=m: SyncVectorEnv([pendulum] * num_envs, autoreset_mode=m) for m in AutoresetMode)],
)
def test_scenes_that_are_seeded_anew_are_as_new_scenes(made):
    def push(observations, times, noise):
        return np.full((2, 1), 0.5, np.float32), np.zeros(2, np.float32)

    world = GymnasiumEnvironment(made, episode_length=200)
    rows = []
    for first in (3, 4):
        stage = Stage(world, 2, first)
        if first != 3:
            stage.roll(push, np.zeros(2, int), np.zeros((2, 202, 1)))
            stage.restart(seed=3)
        rows.append(stage.roll(push, np.zeros(2, int), np.zeros((2, 204, 1))).next_observation)
        stage.close()
    assert np.array_equal(*rows)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_an_episode_is_cut_off_before_the_environment_would(mode):
    def vector(num_envs):
        return SyncVectorEnv([lambda: Counter(mortal=False)] * num_envs, autoreset_mode=mode)

    stage = Stage(GymnasiumEnvironment(vector, episode_length=2), 2, 0)
    rows = stage.roll(half, np.zeros(2, int), np.zeros((2, 4, 2)))
    assert rows.next_observation[0, :, 0].tolist() == [2, 4, 2, 4]
    assert rows.truncated[0].tolist() == [False, True, False, True]
    stage.close()


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        ("crash", "ArithmeticError: lost count .*in _crash"),
        ("die", "a process that stepped it ended with exit code 7"),
        ("hang", "step did not return within 3 s"),
    ],
)
def test_processes_that_fail_are_named_and_gone(trouble, words):
    def troubled():
        return Counter(trouble=trouble)

    world = GymnasiumEnvironment(troubled, episode_length=10, workers=2)
    stage = Stage(world, 2, 0)
    world.timeout = 3.0 if trouble == "hang" else 60.0
    processes = [*stage.scenes._scenes.processes]
    with pytest.raises(EnvironmentFailure, match=f"gymnasium:troubled failed: .*{words}"):
        stage.roll(half, np.zeros(2, int), np.zeros((2, 5, 2)))
    assert all(process.poll() is not None for process in processes)


def test_an_id_with_settings_of_its_own():
    world = parse_environment("gymnasium:CartPole-v1(episode_length=30, sutton_barto_reward=True)")
    assert world.actions == Discrete(2)
    assert world.episode_length == 30
    assert world.settings == {"sutton_barto_reward": True}
    stage = Stage(world, 2, 0)
    assert stage.features.shape == (2, 4)
    stage.close()


def test_a_function_is_an_environment():
    pendulum = as_environment(lambda: gymnasium.make("Pendulum-v1"))
    assert pendulum.episode_length == 200
    assert pendulum.feature_names == ("cos_angle", "sin_angle", "angle_velocity")


def test_bodies_have_names():
    pytest.importorskip("mujoco", reason="mujoco is not installed (vendirl[gymnasium])")
    ant = parse_environment("gymnasium:Ant-v5(episode_length=100)")
    assert ant.feature_names[:2] == ("height", "quaternion_w")
    assert ant.feature_names[13:16] == ("x_velocity", "y_velocity", "height_velocity")
    assert ant.feature_names[ant.visible :] == ("x", "y", "distance_from_origin")
    walker = parse_environment("gymnasium:Walker2d-v5")
    assert {"height", "pitch", "x_velocity", "thigh_joint", "x"} <= set(walker.feature_names)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gymnasium:CartPol-v1", "Did you mean CartPole-v1"),
        ("gymnasium:Counter-v0", "Where a package registers it, write 'package:Counter-v0'"),
        ("gymnasiun:CartPole-v1", "Did you mean gymnasium:CartPole-v1"),
        ("gymnasium:CartPole-v1(episode_length)", "There is no environment"),
    ],
)
def test_wrong_names_get_a_hint(text, words):
    with pytest.raises(ValueError, match=words):
        parse_environment(text)


def test_episodes_without_a_limit_have_200_steps_and_a_warning_says_so():
    words = "gymnasium:Counter has no time limit of its own, so its episodes are cut off after 200 steps; say how long"
    with pytest.warns(UserWarning, match=words):
        world = GymnasiumEnvironment(Counter)
    assert world.episode_length == 200


@pytest.mark.parametrize(("asked", "length"), [(None, 7), (5, 5), (9, 7)])
def test_the_limit_of_a_wrapper_is_respected(asked, length):
    """Whatever is warned of is an error here: one who has a limit is not warned."""
    world = GymnasiumEnvironment(lambda: TimeLimit(Counter(mortal=False), 7), episode_length=asked)
    assert world.episode_length == length


def test_a_function_is_trained_with_the_length_it_is_given():
    settings = {"skills": 2, "scenes": 8, "steps": 4000, "method": "random"}
    run = vr.train(lambda: Counter(mortal=False), "mmd(scale=1).on(height)", episode_length=50, **settings)
    assert run.environment.episode_length == run.settings.episode_length == 50
    points = run.rollout()
    assert points.shape == (2, 1, 50, 4)
    assert points[:, 0, :, 0].tolist() == [[2.0 * step for step in range(1, 51)]] * 2  # one episode, whole


class Odd(Counter):
    action_space = gymnasium.spaces.MultiDiscrete([2, 3])


class Image(Counter):
    observation_space = gymnasium.spaces.Box(0, 255, (84, 84, 3))


@pytest.mark.parametrize(("world", "words"), [(Odd, "space of type MultiDiscrete"), (Image, "such as an image")])
def test_spaces_that_cannot_be_used_are_refused(world, words):
    with pytest.raises((TypeError, ValueError), match=words):
        GymnasiumEnvironment(world, episode_length=5)


def test_a_function_that_makes_an_environment_in_jax_is_refused_with_what_to_do():
    with pytest.raises(TypeError, match=r"made a Plane, which is not a Gymnasium environment; .* is passed itself"):
        as_environment(lambda: vr.environments.Plane())
