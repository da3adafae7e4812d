"""Similarities of a user's own."""

import jax.numpy as jnp
import numpy as np
import pytest

import vendirl as vr
from tests import reference
from tests.generators import skill_set
from vendirl import similarity as s


@s.moments(psd=True, order=1)
def nearness(a, b, scale=1.0):
    return jnp.exp(-scale * jnp.linalg.norm(a.mean - b.mean))


@s.moments
def spread(a, b, scale=1.0):
    return 3 * jnp.exp(-scale * jnp.abs(jnp.trace(a.covariance) - jnp.trace(b.covariance)))


@s.trajectories
def path(x, y, scale=1.0):
    return jnp.exp(-scale * jnp.mean((x - y) ** 2))


@s.trajectories(name="lengthy")
def of_lengths(x, y, length_x, length_y, weights=(1, 2), power=2):
    first = jnp.ones(power).sum() * weights[0]  # whole numbers may be shapes and indices
    return jnp.exp(-first * jnp.abs(length_x - length_y) / 4)


def reference_spread(a, b, scale=1.0):
    traces = [np.trace(reference.sample_covariance(reference.pooled(skill))) for skill in (a, b)]
    return np.exp(-scale * abs(traces[0] - traces[1]))


def reference_path(a, b, scale=1.0):
    def mean(s, t):
        return np.mean([np.exp(-scale * np.mean((x - y) ** 2)) for x in s for y in t])

    return mean(a, b) / np.sqrt(mean(a, a) * mean(b, b))


@pytest.mark.parametrize("N", [1, 3])
def test_own_similarities(N):
    x = skill_set(np.random.default_rng(1), 4, N, 5, 2)
    skills = reference.as_skills(x)
    for k, pairwise in (
        (nearness(scale=0.5), lambda a, b: reference.mmd(a, b, scale=0.5)),
        (spread(scale=0.2), lambda a, b: reference_spread(a, b, 0.2)),
        (path(scale=0.7), lambda a, b: reference_path(a, b, 0.7)),
        (0.5 * spread() + 0.5 * path().on(0), None),
    ):
        if pairwise is None:
            expected = 0.5 * vr.kernel_matrix(spread(), x) + 0.5 * vr.kernel_matrix(path(), x[..., :1])
        else:
            expected = reference.kernel_matrix(pairwise, skills)
        np.testing.assert_allclose(vr.kernel_matrix(k, x), expected, rtol=1e-9)
        again = s.parse(str(k))
        np.testing.assert_allclose(vr.kernel_matrix(again, x), expected, rtol=1e-9)


def test_own_similarities_make_rewards_and_those_of_moments_stream():
    x, y = skill_set(np.random.default_rng(2), 3, 1, 5, 2), np.random.default_rng(3).normal(size=(7, 2))
    for k, pairwise in ((nearness(), reference.mmd), (spread(), reference_spread), (path(), reference_path)):
        expected, _ = reference.algorithm_1(pairwise, x, 1, y)
        memory = vr.SkillMemory.fill(k, jnp.asarray(x, jnp.float32))
        rewards = vr.relabel(k, memory, 1, jnp.asarray(y, jnp.float32))[0]
        np.testing.assert_allclose(rewards, expected, rtol=1e-4)
    assert nearness().streams
    assert spread().streams
    assert not path().streams
    assert nearness().psd
    assert not spread().psd
    vr.FadingMemory.fill(spread(), jnp.asarray(x))


def test_own_similarities_of_unequal_lengths_and_settings():
    skills = [np.zeros((2, 1)), np.zeros((6, 1)), np.zeros((4, 1))]
    k = s.parse("lengthy(weights=[3, 1], power=2)")
    np.testing.assert_allclose(vr.kernel_matrix(k, skills)[0, 1], np.exp(-6), rtol=1e-6)
    np.testing.assert_allclose(vr.kernel_matrix(s.known()["lengthy"](power=np.int64(1)), skills)[0, 1], np.exp(-1))
    with pytest.raises(ValueError, match=r"similarity path compares trajectories of equal length, but these differ"):
        vr.kernel_matrix(path(), skills)


def test_an_own_similarity_that_is_not_symmetric_is_made_so():
    @s.moments(order=1, name="lopsided")
    def lopsided(a, b):
        return jnp.exp(jnp.minimum(b.mean[0] - a.mean[0], 0.0))

    x = np.random.default_rng(0).normal(size=(3, 4, 1))
    expected = reference.kernel_matrix(
        lambda a, b: (1 + np.exp(-abs(reference.mean(a)[0] - reference.mean(b)[0]))) / 2, reference.as_skills(x)
    )
    np.testing.assert_allclose(vr.kernel_matrix(lopsided(), x), expected, rtol=1e-9)
    memory = vr.SkillMemory.fill(lopsided(), jnp.asarray(x))
    rewards, _ = vr.relabel(lopsided(), memory, 0, jnp.asarray(x[0]))
    np.testing.assert_allclose(rewards, vr.vendi_score(expected), rtol=1e-4)


def test_an_own_similarity_whose_value_with_itself_is_not_positive_is_zero():
    @s.moments(order=1, name="product_of_means")
    def product_of_means(a, b):
        return a.mean @ b.mean

    K = vr.kernel_matrix(product_of_means(), np.array([[[1.0, 0]], [[0, 0.0]], [[2.0, 0]]]))
    np.testing.assert_allclose(K, [[1, 0, 1], [0, 1, 0], [1, 0, 1]], atol=1e-12)


def test_errors_of_own_similarities():
    with pytest.raises(TypeError, match=r"similarity bad: setting 'scale' needs a default value"):
        s.moments(lambda a, b, scale: 1.0, name="bad")
    with pytest.raises(ValueError, match=r"order must be 1 \(mean\) or 2"):
        s.moments(lambda a, b: 1.0, order=3)
    with pytest.raises(TypeError, match=r"similarity nearness has no setting 'size'; it has scale"):
        nearness(size=1)
    with pytest.raises(ValueError, match=r"a similarity's name must be an identifier, but is '<lambda>'"):
        s.moments(lambda a, b: 1.0)
    x = skill_set(np.random.default_rng(0), 5, 1, 6, 3, ("free",))
    vector = s.moments(lambda a, b: a.mean, name="vector")
    with pytest.raises(ValueError, match=r"similarity vector must return one number, but returned shape \(3,\)"):
        vr.kernel_matrix(vector(), x)
    pair = s.trajectories(lambda x, y: x, name="pair")
    with pytest.raises(ValueError, match=r"similarity pair must return one number, but returned shape \(6, 3\)"):
        vr.kernel_matrix(pair(), x)
    first = s.moments(lambda a, b: jnp.trace(a.covariance), order=1, name="first")
    with pytest.raises(ValueError, match=r"declared with order=1, which has no covariance; declare order=2"):
        vr.kernel_matrix(first(), x)
