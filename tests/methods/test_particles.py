"""Particles: distances to the nearest, and which states of a batch they are sought among."""

import jax.numpy as jnp
import numpy as np
import pytest

from vendirl.methods.particles import nearest, particle_entropy, references


def test_distances_and_entropy_by_hand():
    x = jnp.array([[0.0], [1.0], [3.0], [7.0]])
    np.testing.assert_allclose(nearest(x, x, 2), [[0, 1], [0, 1], [0, 2], [0, 4]], atol=1e-5)
    np.testing.assert_allclose(particle_entropy(x[None], 2, 4)[0], np.log1p([0.5, 0.5, 1, 2]), atol=1e-5)


@pytest.mark.parametrize(("count", "steps"), [(256, 50), (128, 50), (256, 64), (128, 100), (256, 200), (100, 50)])
def test_references_are_spread_over_scenes_and_steps(count, steps):
    """Each is another state, and a quarter of them is in each quarter of the episodes, and of the scenes."""
    scene, step = np.meshgrid(np.arange(256.0), np.arange(float(steps)), indexing="ij")
    chosen = references(np.stack([scene, step], -1), count)
    assert len(np.unique(chosen, axis=0)) == len(chosen) == count
    for column, size in ((0, 256), (1, steps)):
        quarters = np.bincount((chosen[:, column] * 4 // size).astype(int), minlength=4)
        assert abs(quarters - count / 4).max() <= 0.1 * count, quarters


def test_all_are_references_where_there_are_no_more():
    x = np.arange(12.0).reshape(2, 3, 2)
    np.testing.assert_array_equal(references(x, 6), x.reshape(6, 2))
    np.testing.assert_array_equal(references(x, 256), x.reshape(6, 2))
    assert len(np.unique(references(x, 5), axis=0)) == 5
