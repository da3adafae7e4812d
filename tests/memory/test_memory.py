"""The skill memory: a queue per skill, in slots by time step."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vendirl as vr
from tests import reference
from tests.generators import skill_set
from vendirl import similarity as s
from vendirl.memory import Queue


def pushed(points, position, observations):
    """The queue after each push, one at a time."""
    points = np.array(points)
    states = []
    for x in observations:
        points[position] = x
        position = (position + 1) % len(points)
        states.append(points.copy())
    return states, position


@pytest.mark.parametrize("episodes", [1, 3])
@pytest.mark.parametrize("position", [0, 1, 5])
@pytest.mark.parametrize("c", [1, 4, 6, 7, 20])
def test_queue(episodes, position, c):
    points = np.arange(12.0).reshape(6, 2)
    new = 100 + np.arange(2.0 * c).reshape(c, 2)
    states, end = pushed(points, position, new)
    queue = Queue(jnp.asarray(points), jnp.asarray(position), episodes)
    for t in (0, c // 2, c - 1):
        np.testing.assert_array_equal(queue.after(jnp.asarray(new), t).pooled, states[t])
        assert queue.after(jnp.asarray(new), t).points.shape == (episodes, 6 // episodes, 2)
    after = queue.push(jnp.asarray(new))
    np.testing.assert_array_equal(after.observations, states[-1])
    assert after.position == end
    gone = queue.displaced(jnp.asarray(new))
    before = [points, *states[:-1]]
    expected = [before[t][(position + t) % 6] for t in range(c)]
    np.testing.assert_array_equal(gone, expected)


def test_the_memory_is_its_kernel_matrix_and_one_skill_is_replaced():
    k = 0.5 * s.mmd() + 0.5 * s.covariance()
    x = skill_set(np.random.default_rng(0), 5, 2, 6, 2).astype(np.float32)
    memory = vr.SkillMemory.fill(k, jnp.asarray(x))
    np.testing.assert_allclose(memory.kernel, vr.kernel_matrix(k, x), atol=1e-6)
    y = np.random.default_rng(1).normal(size=(12, 2)).astype(np.float32)

    @jax.jit
    def replaced(memory, y):
        queue, summaries = memory.track(jnp.asarray(2)).roll(k, y)
        return memory.store(k, jnp.asarray(2), queue, jax.tree.map(lambda leaf: leaf[-1], summaries))

    after = replaced(memory, jnp.asarray(y))
    x[2] = y.reshape(2, 6, 2)
    np.testing.assert_allclose(after.kernel, vr.kernel_matrix(k, x), atol=1e-5)
    np.testing.assert_array_equal(after.observations, x.reshape(5, 12, 2))
    np.testing.assert_array_equal(memory.track(jnp.asarray(2)).observations, memory.observations[2])


def test_rolling_covariances_do_not_drift_far_from_the_origin():
    """The reference point of the running moments is near the data, so that float32 does not cancel."""
    rng = np.random.default_rng(0)
    x, y = 1000 + rng.normal(size=(2, 1, 50, 2)), 1000 + rng.normal(size=(50, 2))
    x, y = x.astype(np.float32), y.astype(np.float32)
    k = s.covariance()
    memory = vr.SkillMemory.fill(k, jnp.asarray(x))
    rewards, _ = vr.relabel(k, memory, 0, jnp.asarray(y))
    expected, _ = reference.algorithm_1(reference.covariance, x, 0, y)
    np.testing.assert_allclose(rewards, expected, rtol=1e-4)


def test_a_memory_of_moments_does_not_grow_with_the_length_of_an_episode():
    k = 0.5 * s.mmd() + 0.5 * s.covariance()

    def size(T):
        memory = vr.FadingMemory.fill(k, jnp.zeros((4, T, 3)))
        return sum(leaf.size for leaf in jax.tree.leaves(memory))

    assert size(10) == size(1000)


@pytest.mark.parametrize("memory", [vr.SkillMemory, vr.FadingMemory])
@pytest.mark.parametrize(
    ("trajectories", "message"),
    [
        (np.ones((2, 3)), r"trajectories must have shape \(skills, T, D\) or \(skills, N, T, D\), but has shape"),
        (np.ones((2, 0, 3)), r"trajectories has shape \(2, 0, 3\): there are no steps"),
        (np.full((2, 3, 2), np.nan), r"trajectories must be finite"),
        ([np.ones((2, 2)), np.ones((3, 2))], r"trajectories differ in length"),
    ],
)
def test_errors(memory, trajectories, message):
    with pytest.raises(ValueError, match=message):
        memory.fill(s.mmd(), trajectories)


def test_errors_of_similarities_that_do_not_fit():
    with pytest.raises(ValueError, match=r"overlap.* needs whole trajectories, .*use a queue"):
        vr.FadingMemory.fill(s.overlap(), jnp.zeros((2, 5, 2)))
    with pytest.raises(ValueError, match=r"overlap needs at least 4 observations of each skill, but skill 0 has 3"):
        vr.SkillMemory.fill(s.overlap(), jnp.zeros((2, 3, 2)))
    with pytest.raises(ValueError, match=r"is the name of a feature, but these observations have none"):
        vr.SkillMemory.fill(s.mmd().on("x"), jnp.zeros((2, 3, 2)))
    with pytest.raises(TypeError, match=r"needs whole trajectories: it has no running moments"):
        s.overlap().moments(s.Observations(jnp.zeros((1, 5, 2))))
