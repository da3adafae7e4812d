import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from vendirl.skills.statistics import RunningStatistics


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=5),
    offset=st.floats(-100, 100),
    scale=st.floats(0.1, 100),
)
def test_batches_add_up_to_the_whole(seed, sizes, offset, scale):
    rng = np.random.default_rng(seed)
    batches = [(offset + scale * (i + rng.normal(size=(size, 3)))).astype(np.float32) for i, size in enumerate(sizes)]
    statistics = RunningStatistics.empty(3)
    for batch in batches:
        statistics = statistics.update(jnp.asarray(batch))
    whole = np.concatenate(batches).astype(np.float64)
    size = np.abs(whole).max()
    assert statistics.count == len(whole)
    np.testing.assert_allclose(statistics.mean, whole.mean(0), rtol=1e-4, atol=1e-5 * size)
    np.testing.assert_allclose(statistics.variance, whole.var(0), rtol=1e-3, atol=1e-5 * size**2)


def test_all_leading_axes_are_the_batch():
    x = jax.random.normal(jax.random.key(0), (4, 5, 3))
    by_scene, flat = RunningStatistics.empty(3).update(x), RunningStatistics.empty(3).update(x.reshape(20, 3))
    np.testing.assert_array_equal(by_scene.mean, flat.mean)
    np.testing.assert_array_equal(by_scene.variance, flat.variance)


def test_stays_right_over_many_batches():
    """A thousand batches of 12,800: sums of squares in float32 would have drifted."""
    x = 5.0 + 0.1 * jax.random.normal(jax.random.key(0), (12_800, 2))
    once = RunningStatistics.empty(2).update(x)
    statistics = jax.lax.fori_loop(0, 1000, lambda _, s: s.update(x), RunningStatistics.empty(2))
    assert statistics.count == 12_800_000
    np.testing.assert_allclose(statistics.mean, once.mean, rtol=1e-5)
    np.testing.assert_allclose(statistics.variance, once.variance, rtol=1e-3)


def test_normalises():
    x = jax.random.normal(jax.random.key(0), (1000, 2)) * jnp.array([3.0, 0.01]) + jnp.array([-7.0, 0.5])
    y = jax.vmap(RunningStatistics.empty(2).update(x).normalise)(x)
    np.testing.assert_allclose(y.mean(0), 0.0, atol=1e-3)
    np.testing.assert_allclose(y.std(0), 1.0, rtol=1e-3)


def test_changes_nothing_before_it_has_seen_anything():
    np.testing.assert_allclose(RunningStatistics.empty(2).normalise(jnp.array([0.3, -2.0])), [0.3, -2.0])


def test_constant_features_become_zero_and_far_ones_are_cut():
    statistics = RunningStatistics.empty(2).update(jnp.array([[1.0, 0.0], [1.0, 2.0]]))
    np.testing.assert_array_equal(statistics.normalise(jnp.array([1.0, 500.0])), [0.0, 10.0])


def test_no_gradient_reaches_the_statistics():
    statistics = RunningStatistics.empty(2).update(jnp.array([[1.0, 0.0], [3.0, 2.0]]))
    gradient = jax.grad(lambda s: s.normalise(jnp.array([0.1, 0.2])).sum())(statistics)
    assert all((leaf == 0).all() for leaf in jax.tree.leaves(gradient))
