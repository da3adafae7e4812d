"""Numbers at the ends of what floats can hold: right scores, or a refusal with the reason."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vendirl as vr


@pytest.mark.parametrize("q", [10**400, -(10**400), -1, float("nan"), [1, 10**400], None])
def test_orders_that_are_none_are_refused(q):
    with pytest.raises(ValueError, match="q must be a number"):
        vr.vendi_score(np.eye(2), q=q)
    with pytest.raises(ValueError, match="q must be a number"):
        vr.vendi_score_of_items(np.eye(2), q=q)


@pytest.mark.parametrize("K", [[[1, 5], [5, 1]], [[1, -5], [-5, 1]], jnp.array([[1.0, 5.0], [5.0, 1.0]])])
def test_more_than_alike_is_no_similarity(K):
    for score in (vr.vendi_score, vr.vendi):
        with pytest.raises(ValueError, match=r"K\[0, 1\] = -?5, .* cannot have one beyond 1"):
            score(K)


def test_weights_of_any_size_count_by_their_ratio():
    for weights in ([1e308, 1e308], [5e-324, 5e-324], [1e-300, 1e-300]):
        assert vr.vendi_score(np.eye(2), weights=weights) == pytest.approx(2)
    weights = jnp.array([3e38, 3e38])
    assert float(vr.vendi_score(jnp.eye(2), weights=weights)) == pytest.approx(2)
    compiled = jax.jit(lambda K, p: vr.vendi_score(K, weights=p))
    assert np.isnan(compiled(jnp.eye(2), weights))  # where nothing can be checked; never a wrong number


@pytest.mark.parametrize(
    "text", ["1e308*mmd + 1e308*cosine", "1e20*(1e20*mmd)", "1e-20*(1e-20*mmd)", "(1e20*mmd)*(1e20*cosine)"]
)
def test_weights_that_float32_cannot_add_are_refused(text):
    with pytest.raises(ValueError, match="only their ratios count"):
        vr.similarity.parse(text)


def test_whole_numbers_beyond_floats_are_refused():
    with pytest.raises(ValueError, match="weight of a similarity must be positive and finite"):
        10**400 * vr.similarity.mmd()
    for make in (lambda: vr.similarity.mmd(scale=10**400), lambda: vr.similarity.mmd(scale=1e308)):
        with pytest.raises(ValueError, match="scale must be a positive finite number of at most"):
            make()
    with pytest.raises(ValueError, match="center must be a number"):
        vr.similarity.cosine(center=10**400)


def test_observations_whose_squares_overflow_are_refused():
    x = np.random.default_rng(0).normal(size=(3, 4, 2))
    np.testing.assert_allclose(vr.kernel_matrix("cosine", x * 1e120), vr.kernel_matrix("cosine", x))
    for large in (x * 1e160, jnp.asarray(x, jnp.float32) * 1e25):
        with pytest.raises(ValueError, match="whose squares are too large for float"):
            vr.kernel_matrix("cosine", large)
