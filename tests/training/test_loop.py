"""The loop of Algorithm 1: each way of refilling, chunking and rewarding is what it says."""

import dataclasses
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vendirl as vr
from vendirl.memory import SkillMemory
from vendirl.memory.reward import relabel
from vendirl.methods import known, parse_method
from vendirl.skills.rollout import act_out
from vendirl.training.problem import Objects, build, new_policy
from vendirl.training.settings import Settings

SMALL = Settings(similarity="mmd(scale=4)", skills=3, scenes=8, refill="shared", steps=8 * 50 * 10, hidden=(8,))
SMALL = dataclasses.replace(SMALL, ppo=dataclasses.replace(SMALL.ppo, minibatches=2, epochs=1))


def started(settings, seed=0, environment=None):
    _, loop = build(settings, Objects(environment))

    def start(key):
        policy_key, key = jax.random.split(key)
        return loop.start(new_policy(settings, loop, policy_key), key)

    return loop, eqx.filter_jit(start)(jax.random.key(seed))


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
    loop, training = started(settings)
    epoch = eqx.filter_jit(loop.epoch)
    new, metrics = epoch(training)
    new, metrics = epoch(new)
    assert all(np.isfinite(value) for value in metrics.values())
    assert int(new.epoch) == 2
    assert 1 <= float(metrics["score"]) <= 3 + 1e-4
    old_weights, weights = (jax.tree.leaves(eqx.filter(t.policy.actor, eqx.is_array)) for t in (training, new))
    assert any(not np.array_equal(a, b) for a, b in zip(old_weights, weights, strict=True))


@pytest.mark.parametrize(
    ("method", "learner"),
    [
        (name, learner)
        for name in sorted(known())
        for learner in ("ppo", "sac")
        if learner == "sac" or not parse_method(name).learns_from_replay
    ],
)
def test_an_epoch_keeps_the_types_of_everything_so_that_the_next_is_not_compiled_anew(method, learner):
    settings = dataclasses.replace(SMALL, method=method, learner=learner)
    _, loop = build(settings)
    before = eqx.filter_eval_shape(lambda key: loop.start(new_policy(settings, loop, key), key), jax.random.key(0))
    after, _ = eqx.filter_eval_shape(loop.epoch, before)
    before, after = (eqx.filter(t, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct)) for t in (before, after))
    for (path, x), y in zip(jax.tree.leaves_with_path(before), jax.tree.leaves(after), strict=True):
        assert (x.shape, x.dtype, x.weak_type) == (y.shape, y.dtype, y.weak_type), jax.tree_util.keystr(path)


def test_the_score_of_an_epoch_is_that_of_the_relabelled_memory():
    """Repeat an epoch by hand: refill, roll out, relabel each scene on its own with the public functions."""
    loop, training = started(dataclasses.replace(SMALL, refill="pool(2)"))
    _, metrics = eqx.filter_jit(loop.epoch)(training)
    _, fill_key, goal_key, chunk_key = jax.random.split(training.key, 4)
    points = act_out(loop.problem.environment, training.policy, jnp.arange(3), fill_key, episodes=2).next_observation
    memory = loop.method.filled(points)
    goals = jax.random.randint(goal_key, (8,), 0, 3)
    rollout_key = jax.random.split(chunk_key, (1, 2))[0, 0]
    _, _, batch = loop._act(training.policy, training.states, training.elapsed, goals, rollout_key)
    scores, rewards = [], []
    for scene in range(8):
        own = jax.tree.map(lambda leaf, scene=scene: leaf[scene // 4], memory)
        reward, after = relabel(loop.method.similarity, own, goals[scene], batch.next_observation[scene], "derivative")
        rewards.append(reward)
        scores.append(vr.vendi_score(after.kernel))
    assert float(metrics["score"]) == pytest.approx(float(np.mean(scores)), rel=1e-4)
    assert float(metrics["reward"]) == pytest.approx(float(np.mean(rewards)), rel=1e-3, abs=1e-6)


def test_a_fraction_of_an_episode_fills_the_slots_where_the_scene_is():
    settings = dataclasses.replace(SMALL, epoch=0.5, refill="off", synchronise=100)
    loop, training = started(settings)
    epoch = eqx.filter_jit(loop.epoch)
    first, _ = epoch(training)
    assert np.all(np.asarray(first.elapsed) == 25)
    second, _ = epoch(first)
    assert np.all(np.asarray(second.elapsed) == 0)
    assert isinstance(second.method.memory, SkillMemory)
    before, after = np.asarray(first.method.memory.observations), np.asarray(second.method.memory.observations)
    changed = (before != after).any(axis=(1, 3))  # (scenes, slots)
    assert not changed[:, :25].any()
    assert changed[:, 25:].any(axis=1).all()


def test_refill_off_synchronises_when_due():
    loop, training = started(dataclasses.replace(SMALL, refill="off", synchronise=2))
    epoch = eqx.filter_jit(loop.epoch)
    kept = [training]
    for _ in range(3):
        kept.append(epoch(kept[-1])[0])
    same = [
        np.array_equal(a.method.memory.observations[0], b.method.memory.observations[0])
        for a, b in itertools.pairwise(kept[1:])
    ]
    share = [
        np.mean(np.asarray(a.method.memory.observations) == np.asarray(b.method.memory.observations))
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

    loop, training = started(SMALL, environment=Short())
    new, metrics = eqx.filter_jit(loop.epoch)(training)
    assert np.isfinite(float(metrics["score"]))
    assert int(new.elapsed.min()) >= 0
    assert int(new.elapsed.max()) < 50


def test_goals_are_uniform():
    """What the loop asks its method for, over many epochs' keys."""
    loop, training = started(SMALL)
    keys = jax.random.split(jax.random.key(0), 500)
    goals = jax.vmap(lambda key: loop.method.goals(training.method, jnp.array(0), key))(keys)
    counts = np.bincount(np.asarray(goals).ravel(), minlength=3)
    expected = 500 * 8 / 3
    assert ((counts - expected) ** 2 / expected).sum() < 13.8  # chi-squared with 2 degrees of freedom, p = 0.001
