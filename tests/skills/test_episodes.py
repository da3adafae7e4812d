"""Episodes as they were: true lengths, and nothing from beyond an end."""

import equinox as eqx
import jax
import numpy as np
import pytest

import vendirl as vr
from vendirl.data import read_npz, write_npz
from vendirl.environments import Box, HostEnvironment, Scenes, Step
from vendirl.skills.episodes import first_episodes
from vendirl.skills.rollout import Transition
from vendirl.training.beginning import begin
from vendirl.training.blocks import make_block
from vendirl.training.problem import Objects


def test_an_episode_goes_from_its_first_observation_to_its_first_end():
    T, steps = 4, np.arange(2 * 4, dtype=np.float32).reshape(2, 1, 4)
    terminated = np.zeros((2, 1, T), bool)
    terminated[0, 0, [1, 3]] = True  # two falls in one stretch
    truncated = np.zeros((2, 1, T), bool)
    truncated[1, 0, 3] = True
    points = steps[..., None]
    rows = Transition(
        points, steps, points, steps, points + 1, steps, terminated, truncated, steps, np.zeros((2, 1), np.int32)
    )
    data = first_episodes(rows, [5, 7], ("count",))
    assert data.labels == ("5", "7")
    assert data.lengths.tolist() == [2, 4]
    assert [episode[:, 0].tolist() for episode in data] == [[1, 2], [5, 6, 7, 8]]
    assert data.first_observations[:, 0].tolist() == [0, 4]
    assert data.terminated.tolist() == [True, False]
    assert data.rewards.tolist() == data.actions[:, 0].tolist() == [0, 1, 4, 5, 6, 7]


@pytest.mark.parametrize("trained", [False, True])
def test_hopper_falls_when_it_falls_in_gymnasium_and_stays_there(tmp_path, trained):
    gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed (vendirl[gymnasium])")
    pytest.importorskip("mujoco", reason="mujoco is not installed (vendirl[gymnasium])")
    settings = vr.Settings(
        "gymnasium:Hopper-v5(episode_length=60)", "mmd(scale=1).on(x_velocity)", skills=2, method="environment",
        scenes=4, steps=2 * 4 * 60, hidden=(4,), ppo={"minibatches": 1, "epochs": 1, "learning_rate": 0.03},
    )  # fmt: skip
    run = begin(settings)
    if trained:
        block = make_block(run.loop, run.training, 1, settings.seed)
        arrays, static = eqx.partition(run.training, eqx.is_array)
        before, (arrays, _) = run.training.policy, block(arrays)
        block.close()
        run.training = eqx.combine(arrays, static)
        assert run.done == run.epochs == 2
        assert np.abs(before.actor.layers[0].weight - run.training.policy.actor.layers[0].weight).max() > 0.01
    data = run.episodes(episodes=3, deterministic=False)
    ends = np.cumsum(data.lengths)
    actions = np.split(data.actions, ends[:-1])
    seed = int(jax.random.randint(jax.random.key(0), (), 0, 2**31 - 1))
    world = gymnasium.make("Hopper-v5")
    x = data.features.index("x")
    for i, seen in enumerate(data):
        world.reset(seed=seed + i)
        first = world.reset()[0]
        np.testing.assert_allclose(data.first_observations[i, : len(first)], first, rtol=1e-6, atol=1e-6)
        found, fell = [], False
        while not fell and len(found) < 60:
            observation, _, fell, _, _ = world.step(np.clip(actions[i][len(found)], -1, 1))
            found.append(observation)
        assert data.lengths[i] == len(found)
        assert data.terminated[i] == fell
        np.testing.assert_allclose(seen[:, : len(first)], found, rtol=1e-5, atol=1e-5)
        moved = np.abs(
            np.diff(np.vstack([data.first_observations[i], seen])[:, [x, data.features.index("height")]], axis=0)
        )
        assert moved.max() < 10 * 0.008  # ten metres in a second
    world.close()
    assert data.terminated.any()
    assert data.lengths.min() < 60
    if trained:
        return
    again = read_npz(write_npz(tmp_path / "skills.npz", data))
    for name in ("observations", "lengths", "skill", "actions", "rewards", "first_observations", "terminated"):
        assert np.array_equal(getattr(again, name), getattr(data, name)), name
    some = read_npz(tmp_path / "skills.npz", features=["x"]).take([1, 4])
    assert np.array_equal(some.first_observations[:, 0], data.first_observations[[1, 4], x])
    assert np.array_equal(data.on("x").first_observations[:, 0], data.first_observations[:, x])


class Brief(HostEnvironment):
    """Every episode ends after two of its ten steps."""

    name, feature_names, visible, actions, episode_length = "brief", ("x", "y"), 2, Box(1), 10

    def _open(self, scenes, seed):
        return _Brief(scenes, seed)


class _Brief(Scenes):
    def __init__(self, scenes, seed):
        self.steps, self.chance = np.zeros(scenes), np.random.default_rng(seed)

    def reset(self, which):
        self.steps[which] = 0
        return self._seen()

    def step(self, actions):
        self.steps += 1
        return Step(self._seen(), self.steps >= 2, np.zeros(len(self.steps), bool), np.zeros(len(self.steps)))

    def _seen(self):
        return self.chance.normal(size=(len(self.steps), 2)).astype(np.float32)


def test_skills_that_end_too_early_to_be_compared_act_for_more_episodes():
    settings = vr.Settings(similarity="overlap(neighbours=3)", skills=2, method="random", scenes=8)
    run = begin(settings, objects=Objects(environment=Brief()))
    assert run.rollout().shape == (2, 1, 10, 2)
    assert run.episodes(episodes=3).lengths.tolist() == [2] * 6
    assert 1 <= run.score().score <= 2
