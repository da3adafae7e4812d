"""Algorithm 1: each way of refilling, chunking and rewarding is what it says; and it learns."""

import dataclasses
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vendirl as vr
from vendirl.memory import SkillMemory
from vendirl.reward import relabel
from vendirl.training.settings import Settings

SMALL = Settings(similarity="mmd(scale=4)", skills=3, scenes=8, refill="shared", steps=8 * 50 * 10, hidden=(8,))
SMALL = dataclasses.replace(SMALL, ppo=dataclasses.replace(SMALL.ppo, minibatches=2, epochs=1))


def started(settings, seed=0):
    environment, _, algorithm = settings.build()

    def start(key):
        policy_key, key = jax.random.split(key)
        return algorithm.start(settings.policy(environment, policy_key), key)

    return algorithm, eqx.filter_jit(start)(jax.random.key(seed))


@pytest.mark.parametrize(
    "changes",
    [
        {"refill": "scene", "reward": "raw", "order": 2.0},
        {"refill": "pool(4)", "epoch": 0.5, "reward": "log", "separate": True},
        {"refill": "off", "synchronise": 2, "episodes": 2},
        {"epoch": 2.0, "updates": 4, "reward": "penalty", "time": False},
        {"similarity": "overlap", "env": "point(discrete=True)", "order": 0.5},
    ],
    ids=str,
)
def test_an_epoch_of_every_kind_gives_finite_metrics_and_moves_the_skills(changes):
    settings = dataclasses.replace(SMALL, **changes)
    algorithm, training = started(settings)
    epoch = eqx.filter_jit(algorithm.epoch)
    new, metrics = epoch(training)
    new, metrics = epoch(new)
    assert all(np.isfinite(value) for value in metrics.values())
    assert int(new.epoch) == 2
    assert 1 <= float(metrics["score"]) <= 3 + 1e-4
    old_weights, weights = (jax.tree.leaves(eqx.filter(t.policy.actor, eqx.is_array)) for t in (training, new))
    assert any(not np.array_equal(a, b) for a, b in zip(old_weights, weights, strict=True))


def test_the_score_of_an_epoch_is_that_of_the_relabelled_memory():
    """Repeat an epoch by hand: refill, roll out, relabel each scene on its own with the public functions."""
    algorithm, training = started(dataclasses.replace(SMALL, refill="pool(2)"))
    _, metrics = eqx.filter_jit(algorithm.epoch)(training)
    _, fill_key, goal_key, chunk_key = jax.random.split(training.key, 4)
    memory = algorithm.refill(training.policy, fill_key)
    goals = jax.random.randint(goal_key, (8,), 0, 3)
    rollout_key, _ = jax.random.split(jax.random.split(chunk_key, 1)[0])
    _, _, batch = algorithm._act(training.policy, training.states, training.elapsed, goals, rollout_key)
    scores, rewards = [], []
    for scene in range(8):
        own = jax.tree.map(lambda leaf, scene=scene: leaf[scene // 4], memory)
        reward, after = relabel(algorithm.similarity, own, goals[scene], batch.next_observation[scene], "derivative")
        rewards.append(reward)
        scores.append(vr.vendi_score(after.kernel))
    assert float(metrics["score"]) == pytest.approx(float(np.mean(scores)), rel=1e-4)
    assert float(metrics["reward"]) == pytest.approx(float(np.mean(rewards)), rel=1e-3, abs=1e-6)


def test_a_fraction_of_an_episode_fills_the_slots_where_the_scene_is():
    settings = dataclasses.replace(SMALL, epoch=0.5, refill="off", synchronise=100)
    algorithm, training = started(settings)
    epoch = eqx.filter_jit(algorithm.epoch)
    first, _ = epoch(training)
    assert np.all(np.asarray(first.elapsed) == 25)
    second, _ = epoch(first)
    assert np.all(np.asarray(second.elapsed) == 0)
    assert isinstance(second.memory, SkillMemory)
    before, after = np.asarray(first.memory.observations), np.asarray(second.memory.observations)
    changed = (before != after).any(axis=(1, 3))  # (scenes, slots)
    assert not changed[:, :25].any()
    assert changed[:, 25:].any(axis=1).all()


def test_refill_off_synchronises_when_due():
    algorithm, training = started(dataclasses.replace(SMALL, refill="off", synchronise=2))
    epoch = eqx.filter_jit(algorithm.epoch)
    kept = [training]
    for _ in range(3):
        kept.append(epoch(kept[-1])[0])
    same = [np.array_equal(a.memory.observations[0], b.memory.observations[0]) for a, b in itertools.pairwise(kept[1:])]
    share = [
        np.mean(np.asarray(a.memory.observations) == np.asarray(b.memory.observations))
        for a, b in itertools.pairwise(kept[1:])
    ]
    assert not any(same)
    assert share[0] > 0.5  # the second epoch kept two of three skills' queues
    assert share[1] < 0.2  # the third began with a refill


def test_early_termination_keeps_the_queue_full():
    """A world that ends after 7 steps: scenes reset, and the queue goes on filling."""
    from vendirl.environments import Plane

    class Short(Plane):
        def step(self, state, action, key):
            new = super().step(state, action, key)
            far = jnp.abs(new.observation - 0.5).max() > 0.2
            return eqx.tree_at(lambda s: s.terminated, new, far)

    algorithm, _ = started(SMALL)
    algorithm = dataclasses.replace(algorithm, environment=Short())
    environment = algorithm.environment
    training = algorithm.start(SMALL.policy(environment, jax.random.key(0)), jax.random.key(1))
    new, metrics = eqx.filter_jit(algorithm.epoch)(training)
    assert np.isfinite(float(metrics["score"]))
    assert int(new.elapsed.min()) >= 0
    assert int(new.elapsed.max()) < 50
