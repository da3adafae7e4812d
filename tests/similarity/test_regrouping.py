"""Kernel matrices of deals of unequal sizes, for similarities of pairs of trajectories."""

import jax.numpy as jnp
import numpy as np
import pytest

import vendirl as vr


def test_a_mean_over_pairs_of_trajectories_is_that_of_the_dealt_episodes_and_deals_may_be_uneven():
    @vr.similarity.trajectories
    def near_on_average(x, y, scale=1.0):
        return jnp.exp(-scale * jnp.mean((x - y) ** 2))

    episodes = list(np.random.default_rng(0).normal(size=(6, 4, 2)))
    k, dealer = near_on_average(), near_on_average().regroup(episodes)
    expected = vr.kernel_matrix(k, [[episodes[e] for e in chosen] for chosen in ([0, 3], [1, 2], [4, 5])])
    np.testing.assert_allclose(dealer.matrices([[[0, 3], [1, 2], [4, 5]]])[0], expected, rtol=1e-9)
    f = np.array([[np.exp(-np.mean((x - y) ** 2)) for x in episodes] for y in episodes])
    a, b = [0, 1, 2], [3, 4]
    own = f[np.ix_(a, a)].mean() * f[np.ix_(b, b)].mean()
    assert dealer.matrices([[a, b]])[0][0, 1] == pytest.approx(f[np.ix_(a, b)].mean() / own**0.5)
