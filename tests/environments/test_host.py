"""Scenes outside of compiled programs: what they return, and what becomes of those that fail."""

import threading
import time

import numpy as np
import pytest

import vendirl as vr
from vendirl.environments import Box, EnvironmentFailure, HostEnvironment, Scenes, Step
from vendirl.environments.checking import check
from vendirl.skills.host_rollout import Stage


class Counting(HostEnvironment):
    """Counts its steps; ends after `end` of them, and does as `trouble` says at step `at`."""

    name = "counting"
    feature_names = ("count", "episode")
    visible = 1
    actions = Box(1)

    def __init__(self, episode_length=5, end=99, trouble=None, at=3):
        self.episode_length, self.end, self.trouble, self.at = episode_length, end, trouble, at
        self.timeout = 2.0 if trouble == "hang" else 60.0  # a step that does nothing may wait for a busy machine
        self.release = threading.Event()
        self.closed = 0

    def _open(self, scenes, seed):
        return _Counting(self, scenes)


class _Counting(Scenes):
    def __init__(self, world, scenes):
        self.world, self.rows, self.steps = world, np.zeros((scenes, 2), np.float32), 0

    def reset(self, which):
        self.rows[which, 0] = 0
        self.rows[which, 1] += 1
        return self.rows.copy()

    def reseed(self, seed):
        return True  # nothing in it is random

    def step(self, actions):
        self.steps += 1
        self.rows[:, 0] += 1
        features, rewards = self.rows.copy(), np.zeros(len(self.rows), np.float32)
        if self.steps == self.world.at:
            if self.world.trouble == "crash":
                raise RuntimeError("the wheel came off")
            if self.world.trouble == "hang":
                self.world.release.wait(20)
            if self.world.trouble == "nan":
                features[1, 0] = np.nan
            if self.world.trouble == "reward":
                rewards[1] = np.inf
            if self.world.trouble == "shape":
                features = features[:, :1]
        ended = self.rows[:, 0] >= self.world.end
        return Step(features, ended, np.zeros_like(ended), rewards)

    def close(self):
        self.world.closed += 1


def nothing(observations, times, noise):
    E = len(observations)
    return np.zeros((E, 1), np.float32), np.zeros(E, np.float32)


def test_a_stage_resets_at_the_time_limit_and_keeps_the_true_successors():
    stage = Stage(Counting(episode_length=5), 3, 0)
    rows = stage.roll(nothing, np.zeros(3, int), np.zeros((3, 12, 1)))
    stage.close()
    assert rows.observation[0, :, 0].tolist() == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]
    assert rows.next_observation[0, :, 0].tolist() == [1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2]
    assert rows.truncated[0].nonzero()[0].tolist() == [4, 9]
    assert not rows.terminated.any()
    assert rows.time[0, :6] == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 0])
    assert rows.next_time[0, 4] == 1
    assert stage.elapsed.tolist() == [2, 2, 2]


def test_termination_is_not_truncation():
    stage = Stage(Counting(episode_length=4, end=3), 2, 0)
    rows = stage.roll(nothing, np.zeros(2, int), np.zeros((2, 7, 1)))
    stage.close()
    assert rows.terminated[0].nonzero()[0].tolist() == [2, 5]
    assert not rows.truncated.any()


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        ("crash", "step raised RuntimeError: the wheel came off"),
        ("nan", "step returned nan as count in scene 1"),
        ("reward", "step returned the reward inf in scene 1"),
        ("shape", r"step returned features of shape \(3, 1\), not \(3, 2\)"),
        ("hang", "step did not return within 2 s"),
    ],
)
def test_whatever_goes_wrong_names_the_environment(trouble, words):
    world = Counting(trouble=trouble)
    stage = Stage(world, 3, 0)
    with pytest.raises(EnvironmentFailure, match=f"the environment counting failed: {words}"):
        stage.roll(nothing, np.zeros(3, int), np.zeros((3, 12, 1)))
    assert world.closed == 1
    with pytest.raises(EnvironmentFailure, match="have been closed"):
        stage.restart()
    world.release.set()
    deadline = time.monotonic() + 5
    while any("counting" in thread.name for thread in threading.enumerate()) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any("counting" in thread.name for thread in threading.enumerate())


@pytest.mark.parametrize("trouble", ["crash", "nan", "hang"])
def test_a_run_in_a_failing_environment_is_saved_and_says_how_to_go_on(tmp_path, trouble):
    world = Counting(trouble=trouble, at=400)
    settings = {"skills": 2, "scenes": 8, "steps": 2e4, "hidden": (8,), "ppo": {"minibatches": 1, "epochs": 1}}
    with pytest.raises(EnvironmentFailure, match=r"counting failed.*Training stopped and saved at epoch \d+. Go on"):
        vr.train(world, "mmd(scale=1)", out=tmp_path / "run", **settings)
    world.release.set()
    again = vr.load(tmp_path / "run", env=Counting())
    assert again.done >= 10
    assert again.done % 10 == 0


def test_features_outside_the_observation_reach_the_similarity_and_not_the_policy():
    run = vr.train(Counting(), "mmd(scale=1).on(episode)", skills=2, scenes=8, steps=500)
    assert run.skills.statistics.size == 1
    assert run.rollout().shape == (2, 1, 5, 2)
    assert str(run.similarity).endswith(".on(episode)") or "1" in str(run.similarity)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"episode_length": 0}, "Counting.episode_length must be a whole number"),
        ({"feature_names": ("count", "count")}, "feature_names has the same name twice: count"),
        ({"feature_names": ("count",), "visible": 2}, "visible is 2, but there are only 1"),
        ({"actions": "left"}, "actions must be vendirl.environments.Box or Discrete, but is str"),
    ],
)
def test_wrong_attributes_are_named(changes, words):
    world = Counting()
    for name, value in changes.items():
        setattr(world, name, value)
    with pytest.raises((ValueError, TypeError), match=words):
        check(world)
