"""Skill spaces: what they sample, and the fixed skills that are evaluated."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vendirl.skills.spaces import CentredOneHot, Cube, Gaussian, OneHot, Sphere

KEY = jax.random.key(0)


def test_numbers_and_their_vectors():
    space = OneHot(4)
    goals = np.asarray(space.sample(KEY, 4000))
    assert set(goals) == {0, 1, 2, 3}
    assert np.abs(np.bincount(goals) / 4000 - 0.25).max() < 0.04
    np.testing.assert_array_equal(space.vector(2), [0, 0, 1, 0])
    np.testing.assert_array_equal(space.fixed(4), [0, 1, 2, 3])
    with pytest.raises(ValueError, match="there are 4 skills, not 5"):
        space.fixed(5)


def test_centred_vectors_add_up_to_zero_and_are_one_at_their_own_place():
    Z = np.stack([CentredOneHot(5).vector(g) for g in range(5)])
    np.testing.assert_allclose(Z.sum(0), 0, atol=1e-6)
    np.testing.assert_allclose(np.diag(Z), 1, atol=1e-6)


@pytest.mark.parametrize("d", [2, 3])
def test_unit_vectors(d):
    z = np.asarray(Sphere(d).sample(KEY, 2000))
    np.testing.assert_allclose(np.linalg.norm(z, axis=1), 1, rtol=1e-5)
    assert np.abs(z.mean(0)).max() < 0.06
    fixed = np.asarray(Sphere(d).fixed(8))
    np.testing.assert_array_equal(fixed, Sphere(d).fixed(8))
    if d == 2:
        np.testing.assert_allclose(fixed.sum(0), 0, atol=1e-5)  # evenly spaced


def test_the_skill_along_a_direction():
    direction = jnp.array([3.0, -4.0])
    assert OneHot(2).along(direction) == CentredOneHot(2).along(direction) == 0
    np.testing.assert_allclose(Sphere(2).along(direction), [0.6, -0.8], rtol=1e-6)
    np.testing.assert_array_equal(Sphere(2).along(0 * direction), [0, 0])
    length = np.linalg.norm(Gaussian(2).sample(KEY, 4000), axis=1).mean()
    np.testing.assert_allclose(Gaussian(2).along(direction), length * np.array([0.6, -0.8]), rtol=0.03)


def test_gaussian_and_box():
    z = np.asarray(Gaussian(3).sample(KEY, 4000))
    assert np.abs(z.mean(0)).max() < 0.06
    assert np.abs(z.std(0) - 1).max() < 0.06
    z = np.asarray(Cube(2).sample(KEY, 4000))
    assert z.min() >= -1
    assert z.max() < 1
    assert np.abs(z.std(0) - 3**-0.5).max() < 0.03
    np.testing.assert_array_equal(Cube(2).fixed(8), Cube(2).fixed(8))


def test_sizes_are_checked():
    with pytest.raises(ValueError, match="size must be at least 1"):
        Sphere(0)


def test_what_lies_between_goals_is_a_goal():
    weights = jnp.array([0.25, 0.75])
    circle = Sphere(2).mixed(jnp.eye(2), weights)
    np.testing.assert_allclose(circle, np.array([1.0, 3.0]) / np.sqrt(10), rtol=1e-6)
    with pytest.raises(ValueError, match="opposite"):
        Sphere(2).mixed(jnp.array([[1.0, 0.0], [-1.0, 0.0]]), jnp.array([0.5, 0.5]))
    goals = jnp.asarray(np.random.default_rng(0).normal(size=(4000, 2, 3)), jnp.float32)
    drawn = jax.jit(jax.vmap(Gaussian(3).mixed, (0, None)))(goals, weights)
    np.testing.assert_allclose(np.cov(drawn.T), np.eye(3), atol=0.1)  # as each of them is distributed
    np.testing.assert_allclose(Cube(2).mixed(jnp.array([[1.0, -1.0], [-1.0, -1.0]]), weights), [-0.5, -1.0])
