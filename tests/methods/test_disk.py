"""DISk: what is paid, what is kept, and whose replayed steps are."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.methods.batches import batch
from tests.methods.test_methods import KEY, POLICY, TWO, bound
from vendirl.algorithms import SAC
from vendirl.methods.disk import DISk, PublishedDISk, Scaled, States
from vendirl.training.problem import build, new_policy
from vendirl.training.settings import Settings


def test_disk_pays_distance_to_earlier_skills_less_distance_to_its_own():
    kept = jnp.stack([jnp.zeros((4, 2)), jnp.array([[1.0, 0.0], [2.0, 0.0], [1.0, 0.0], [2.0, 0.0]])])
    state = States(kept, jnp.array(9), jnp.array(10))
    method = bound(DISk(states=4, neighbours=1, consistency=0.5), scenes=3)
    rows = batch([TWO[0]], [1])
    np.testing.assert_array_equal(method.goals(state, jnp.array(9), KEY), [1, 1, 1])
    _, rewards, _ = method.reward(state, rows)
    α = 0.5 * (9 - 5) / 5
    np.testing.assert_allclose(rewards, [[1 - α * 0, 2 - α * 0]], atol=1e-4)
    first = States(kept, jnp.array(0), jnp.array(10))
    np.testing.assert_allclose(method.reward(first, rows)[1], 0, atol=1e-5)  # nothing came before, and α is 0


def test_disk_keeps_no_more_states_than_there_are():
    method = bound(DISk(states=128), scenes=3)
    state = method.start(POLICY, KEY)
    rows = batch([TWO[0]] * 3, [0, 0, 0])
    state, _ = method.learn(state, rows, KEY)
    np.testing.assert_array_equal(state.kept[0], np.asarray(rows.next_observation).reshape(6, 2))


def test_under_sac_the_skills_before_stay_as_they_are_and_the_current_one_learns_from_what_they_did():
    """Two skills, the second of which is current: the replay is the first one's, and only the second moves."""
    sac = SAC(updates=2, batch=8, warmup=0, capacity=4 * 50 * 4, hidden=(4,))
    asked = Settings(method="disk", skills=2, learner="sac", sac=sac, scenes=4, steps=4 * 50 * 10, hidden=(4,))
    settings, loop = build(asked)

    @eqx.filter_jit
    def after(key):
        training = loop.start(new_policy(settings, loop, key), key)
        method = eqx.tree_at(lambda m: m.epoch, training.method, jnp.array(7, jnp.int32))
        first = jax.tree.map(jnp.zeros_like, training.learner.replay.rows)  # all of skill 0
        learner = eqx.tree_at(lambda l: l.replay.rows, training.learner, first)
        learner = eqx.tree_at(lambda l: l.replay.written, learner, jnp.array(12, jnp.int32))
        training = eqx.tree_at(lambda t: (t.method, t.learner), training, (method, learner))
        return training.policy.actor, loop.epoch(training)[0].policy.actor

    before, now = after(KEY)
    for old, new in zip(before.layers, now.layers, strict=True):
        np.testing.assert_array_equal(old.weight[0], new.weight[0])
        assert np.abs(np.asarray(old.weight[1] - new.weight[1])).max() > 0
    with pytest.raises(ValueError, match=r"disk lets the current skill learn.*use sac.relabel=True"):
        build(dataclasses.replace(asked, learner="sac(relabel=False)"))


def kth(x, others, k):
    """Distances to the k-th nearest, by sorting, in float64."""
    x, others = np.asarray(x, float), np.asarray(others, float)
    return np.sort(np.linalg.norm(x[..., None, :] - others, axis=-1), -1)[..., k - 1]


def test_default_and_published_rewards_are_those_of_plain_numpy():
    generator = np.random.default_rng(0)
    kept = generator.normal(size=(3, 7, 2))
    rows = batch(generator.normal(size=(4, 3, 2)), [2, 2, 2, 2])
    state = States(jnp.asarray(kept, jnp.float32), jnp.array(8), jnp.array(10))  # the third skill
    after, before = np.asarray(rows.next_observation, float), kept[:2].reshape(-1, 2)
    t = (8 - 20 / 3) / (10 / 3)
    far = np.mean([kth(after, before, k) for k in (1, 2, 3)], 0)
    near = np.mean([kth(after, kept[2], k) for k in (2, 3, 4)], 0)
    found = bound(DISk(diversity=2.0), skills=3).reward(state, rows)[1]
    np.testing.assert_allclose(found, 2 * far - 0.2 * t * near, rtol=1e-3, atol=1e-3)
    method = bound(PublishedDISk().on("x", "y"), skills=3)
    scaled = Scaled(state.kept, state.epoch, state.epochs, jnp.zeros(2), jnp.zeros(()), jnp.array([0.5, 4.0]))
    change = after - np.asarray(rows.observation, float)
    expected = kth(change, before, 3) / 0.5 - 60 * np.tanh(4 * (2 * t - 1)) * kth(change, kept[2], 3) / 4
    new, found, _ = method.reward(scaled, rows)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(new.total, [kth(change, before, 3).mean(), kth(change, kept[2], 3).mean()], rtol=1e-3)
    first = Scaled(state.kept, jnp.array(1), state.epochs, jnp.zeros(2), jnp.zeros(()), jnp.ones(2))
    np.testing.assert_allclose(method.reward(first, rows)[1], 1 - 60 * kth(change, kept[0], 3), rtol=1e-3, atol=1e-2)


def test_published_distances_are_divided_by_their_means_before_the_skill_began():
    method = bound(PublishedDISk(), skills=2)
    state = Scaled(
        jnp.zeros((2, 4, 2)), jnp.array(4), jnp.array(10), jnp.array([3.0, 6.0]), jnp.array(3.0), jnp.ones(2)
    )
    np.testing.assert_allclose(method.finish(state).usual, [1, 2])  # the second skill is next
    np.testing.assert_allclose(method.finish(method.finish(state)).usual, [1, 2])
