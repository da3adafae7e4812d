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


@pytest.mark.parametrize(
    "text",
    [
        "mmd(scale=0.5)",
        "angle(scale=4)",
        "cosine",
        "covariance(scale=2)",
        "covariance(log=True)",
        "final_state",
        "wasserstein",
        "mmd(kernel='rbf')",
        "0.5*mmd + 0.5*covariance",
        "mmd*wasserstein",
        "mmd.on(0) + final_state",
    ],
)
def test_the_kernel_of_places_is_that_of_the_episodes_one_of_which_may_count_twice(text):
    generator, k = np.random.default_rng(0), vr.similarity.parse(text)
    episodes = [generator.normal(size=(length, 2)) for length in (3, 5, 4, 3, 3, 6)]
    deal = [[0, 1, 1], [2, 3], [4, 5, 3]]
    dealer = k.regroup(episodes)
    expected = vr.kernel_matrix(k, [[episodes[e] for e in chosen] for chosen in deal])
    np.testing.assert_allclose(dealer.matrices([deal])[0], expected, atol=1e-9)
    places = dealer.places([deal])
    np.testing.assert_allclose(dealer.of_places(places)[0], expected, atol=1e-9)
    moved = dealer.of_places(places + places.mean(1, keepdims=True) - places)[0]
    np.testing.assert_allclose(moved, 1, atol=1e-6)


def test_overlap_and_alignment_have_no_places():
    episodes = list(np.random.default_rng(0).normal(size=(4, 5, 2)))
    for text in ("overlap", "alignment", "0.5*mmd + 0.5*overlap"):
        assert vr.similarity.parse(text).regroup(episodes).places([[[0, 1], [2, 3]]]) is None
