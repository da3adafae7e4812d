"""The Vendi Score: every path against the reference, the package and the known cases."""

import functools
import math
import warnings

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

import vendirl as vr
from tests import reference
from tests.compiling import compiled_as_for_users
from tests.generators import KINDS, PRECISIONS, PSD_KINDS, kernel, kernels, precision, tolerance

ORDERS = (0, 0.5, 1, 1.0001, 2, 3, 1000, math.inf)
ABOVE = (1, 1.0001, 2, 3, 1000, math.inf)
seeds = st.integers(0, 2**32 - 1)
compiled = compiled_as_for_users(vr.vendi_score, static_argnames=("q", "psd"))
mapped = compiled_as_for_users(jax.vmap(vr.vendi_score, (0, None)), static_argnums=1)


def noise(dtype, n):
    """Below this, relative to the largest, an eigenvalue is rounding (and counts as zero for q < 1)."""
    return 4 * n * float(np.finfo(dtype).eps)


def with_gap(K, dtype):
    """Whether no eigenvalue is near the size of rounding, where a count of the non-zero ones has no answer."""
    lam = reference.spectrum(K)
    small = lam / lam.max()
    return not ((small > noise(dtype, len(K)) / 20) & (small < 1e-3)).any()


def reference_scores(kernels, orders, weights=None, tolerance=0.0):
    spectra = [reference.spectrum(K, weights) for K in kernels]
    return np.array([[reference.hill_number(lam, q, tolerance) for q in orders] for lam in spectra])


# ---- against the reference -------------------------------------------------------------------------------------------


@given(kernels())
def test_numpy_score_is_the_reference_at_every_order(K):
    expected = [reference.vendi_score(K, q, tolerance=noise(np.float64, len(K))) for q in ORDERS]
    found = vr.vendi_score(K, ORDERS)
    assert isinstance(found, np.ndarray)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    for q, score in zip(ORDERS, expected, strict=True):
        np.testing.assert_allclose(vr.vendi_score(K, q), score, rtol=1e-9)


@pytest.mark.parametrize("dtype", PRECISIONS)
@given(K=kernels())
def test_jax_score_eager_and_jit_is_the_reference(dtype, K):
    with precision(dtype):
        K = jnp.asarray(K, dtype)
        rounded = np.asarray(K, np.float64)
        orders = ORDERS if with_gap(rounded, dtype) else ABOVE
        expected = [reference.vendi_score(rounded, q, tolerance=noise(dtype, len(K))) for q in orders]
        for found in (vr.vendi_score(K, orders), compiled(K, q=orders)):
            assert found.dtype == dtype
            np.testing.assert_allclose(found, expected, rtol=tolerance(dtype))


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("n", [2, 8, 33])
def test_score_under_vmap_at_batch_256(dtype, n):
    rng = np.random.default_rng(n)
    with precision(dtype):
        K = jnp.asarray([kernel(rng, n, KINDS[i % len(KINDS)]) for i in range(256)], dtype)
        expected = reference_scores(np.asarray(K, np.float64), ABOVE)
        for found in (vr.vendi_score(K, ABOVE), mapped(K, ABOVE), compiled(K, q=ABOVE)):
            np.testing.assert_allclose(found, expected, rtol=tolerance(dtype))


@pytest.mark.parametrize("n", [64, 150])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", PRECISIONS)
def test_large_kernels(n, kind, dtype):
    with precision(dtype):
        K = jnp.asarray(kernel(np.random.default_rng(n), n, kind), dtype)
        expected = reference_scores([K], ABOVE)[0]
        np.testing.assert_allclose(compiled(K, q=ABOVE), expected, tolerance(dtype))


@pytest.mark.parametrize("dtype", PRECISIONS)
@given(K=kernels(), seed=seeds)
def test_weights(dtype, K, seed):
    p = np.random.default_rng(seed).integers(0, 5, len(K)) / 4
    p[0] += 0.25
    with precision(dtype):
        K, p = jnp.asarray(K, dtype), jnp.asarray(p, dtype)
        expected = reference_scores([K], ABOVE, p)[0]
        scaled = vr.vendi_score(np.asarray(K), ABOVE, weights=17 * np.asarray(p))
        for found in (vr.vendi_score(K, ABOVE, p), compiled(K, q=ABOVE, weights=p), scaled):
            np.testing.assert_allclose(found, expected, rtol=tolerance(dtype))


@given(kernels(), seeds)
def test_vendi_is_the_reference(K, seed):
    rng = np.random.default_rng(seed)
    for weights in (None, rng.uniform(0.1, 1, len(K))):
        raw = reference.spectrum(K, weights, clip=False)
        for q in (1, 2, 3.0, math.inf):
            found = vr.vendi(K, q, weights)
            np.testing.assert_allclose(found.score, reference.vendi_score(K, q, weights), rtol=1e-9)
            np.testing.assert_allclose(found.contributions, reference.contributions(K, q, weights), atol=1e-9)
        np.testing.assert_allclose(found.spectrum, reference.spectrum(K, weights)[::-1], atol=1e-12)
        np.testing.assert_allclose(found.spectrum.sum(), 1)
        np.testing.assert_allclose(found.negative_mass, -raw[raw < 0].sum(), atol=1e-12)
        if (raw > -1e-12).all():
            assert found.negative_mass == 0


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_vendi_of_batches_in_the_graph(dtype):
    rng = np.random.default_rng(0)
    with precision(dtype):
        K = jnp.asarray([kernel(rng, 5, KINDS[i % len(KINDS)]) for i in range(256)], dtype)
        eager, jitted = vr.vendi(K, [1, 2]), compiled_as_for_users(lambda K: vr.vendi(K, [1, 2]))(K)
        mapped = compiled_as_for_users(jax.vmap(lambda K: vr.vendi(K, [1, 2])))(K)
        for found in (eager, jitted, mapped):
            assert found.score.shape == (256, 2)
            assert found.spectrum.shape == (256, 5)
            assert found.negative_mass.shape == (256,)
            assert found.contributions.shape == (256, 5, 2)
        for i in range(0, 256, 5):
            for c, q in enumerate((1, 2)):
                expected = reference.contributions(np.asarray(K[i], np.float64), q)
                for found in (eager, jitted, mapped):
                    np.testing.assert_allclose(found.contributions[i, :, c], expected, atol=tolerance(dtype))


def test_contribution_of_the_only_item_with_weight_is_the_whole_score():
    found = vr.vendi(np.eye(3), weights=[1, 0, 0])
    np.testing.assert_allclose(found.contributions, [1, 0, 0], atol=1e-12)
    jitted = jax.jit(lambda K, p: vr.vendi(K, weights=p).contributions)(jnp.eye(3), jnp.array([1.0, 0, 0]))
    np.testing.assert_allclose(jitted, [1, 0, 0], atol=1e-6)
    np.testing.assert_allclose(vr.vendi(np.ones((1, 1))).contributions, [1])


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize(("n", "d"), [(7, 3), (3, 7), (5, 5), (1, 2), (4, 1), (100, 4)])
def test_features_by_the_kernel_or_its_dual(n, d, dtype):
    rng = np.random.default_rng(n * d)
    orders = [0, 0.5, 1, 1.0001, 2, 1000, math.inf]
    with precision(dtype):
        X = rng.normal(size=(256 if n < 10 else 4, n, d))
        X[1] = X[1, :1]  # repeated items
        X[2, :, 1:] = 0  # a line
        X = jnp.asarray(X, dtype)
        p = jnp.asarray(rng.uniform(0.5, 1, n), dtype)
        for weights in (None, p):
            U = np.asarray(X, np.float64)
            U = U / np.linalg.norm(U, axis=-1, keepdims=True)
            K = U @ np.swapaxes(U, -1, -2)
            expected = reference_scores(K, orders, weights, noise(dtype, max(n, d)))
            fine = [with_gap(k, dtype) for k in K]

            def score(X, p):
                return vr.vendi_score_features(X, orders, p)

            for found in (score(X, weights), jax.jit(jax.vmap(score, (0, None)))(X, weights)):
                np.testing.assert_allclose(found[:, 2:], expected[:, 2:], rtol=tolerance(dtype))
                # orders below one too, where they have an answer
                np.testing.assert_allclose(np.asarray(found)[fine], expected[fine], rtol=tolerance(dtype))


def test_features_of_any_size():
    X = np.random.default_rng(0).normal(size=(5, 3))
    expected = vr.vendi_score_features(X)
    for size in (1e-200, 1e-6, 1e6, 1e200):
        np.testing.assert_allclose(vr.vendi_score_features(size * X), expected)
    for size in (1e-25, 1e25):
        jitted = jax.jit(vr.vendi_score_features)(jnp.asarray(size * X, jnp.float32))
        np.testing.assert_allclose(jitted, expected, rtol=1e-4)


# ---- negative eigenvalues --------------------------------------------------------------------------------------------

INDEFINITE = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1.0]])


def test_clip_renormalises_and_never_takes_absolute_values():
    lam = np.linalg.eigvalsh(INDEFINITE / 3)
    assert lam[0] < -0.2
    kept = lam[lam > 0] / lam[lam > 0].sum()
    np.testing.assert_allclose(vr.vendi_score(INDEFINITE), np.exp(-(kept * np.log(kept)).sum()), rtol=1e-12)


def test_psd_error():
    with pytest.raises(ValueError, match=r"K is not positive semidefinite.*eigenvalue -0.*psd='clip'"):
        vr.vendi_score(INDEFINITE, psd="error")
    with pytest.raises(Exception, match="not positive semidefinite"):
        jax.jit(lambda K: vr.vendi_score(K, psd="error"))(jnp.asarray(INDEFINITE)).block_until_ready()
    for K in (np.eye(3), np.ones((3, 3)), jnp.ones((3, 3))):
        np.testing.assert_allclose(vr.vendi_score(K, psd="error"), vr.vendi_score(K), rtol=1e-6)
        jitted = jax.jit(lambda K: vr.vendi_score(K, psd="error"))(jnp.asarray(K))
        np.testing.assert_allclose(jitted, vr.vendi_score(K), rtol=1e-6)


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_nearest_correlation(dtype):
    rng = np.random.default_rng(1)
    K = np.stack([INDEFINITE] + [kernel(rng, 3, KINDS[i % len(KINDS)]) for i in range(9)])
    with precision(dtype):
        K = jnp.asarray(K, dtype)
        nearest = [reference.nearest_correlation(k) for k in K]
        expected = [reference.vendi_score(k) for k in nearest]
        mapped = jax.jit(jax.vmap(lambda K: vr.vendi_score(K, psd="nearest")))
        for found in (vr.vendi_score(K, psd="nearest"), compiled(K, psd="nearest"), mapped(K)):
            np.testing.assert_allclose(found, expected, rtol=tolerance(dtype))
        weights = jnp.asarray([0.2, 0.3, 0.5], dtype)
        expected = [reference.vendi_score(k, 2, weights) for k in nearest]
        np.testing.assert_allclose(vr.vendi_score(K, 2, weights, psd="nearest"), expected, rtol=tolerance(dtype))


def test_vendi_nearest_reports_the_spectrum_it_scored():
    found = vr.vendi(INDEFINITE, psd="nearest")
    np.testing.assert_allclose(np.exp(-(found.spectrum[:2] * np.log(found.spectrum[:2])).sum()), found.score, rtol=1e-6)
    assert found.negative_mass > 0.2


# ---- gradients -------------------------------------------------------------------------------------------------------


def gradients(orders, weights=None):
    """A compiled function of K that returns the gradients of all the orders."""
    return jax.jit(jax.jacrev(lambda K: vr.vendi_score(K, orders, weights)))


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_gradient_is_the_closed_form(dtype):
    orders = (0.5, 1, 1.0001, 1.3, 2, 3, 7.5)
    with precision(dtype):
        K = jnp.asarray(0.8 * kernel(np.random.default_rng(3), 6, "full") + 0.2 * np.eye(6), dtype)
        expected = [reference.gradient(K, q) for q in orders]
        close = functools.partial(np.testing.assert_allclose, rtol=tolerance(dtype), atol=tolerance(dtype))
        close(gradients(orders)(K), expected)
        close(jax.grad(vr.vendi_score)(K), expected[1])
        mapped = jax.jit(jax.vmap(jax.grad(vr.vendi_score)))(jnp.broadcast_to(K, (256, 6, 6)))
        close(mapped, np.broadcast_to(expected[1], mapped.shape))


@pytest.mark.parametrize("kind", ["full", "indefinite"])
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_by_finite_differences(kind, weighted):
    orders = (0.5, 1, 1.0001, 1.3, 2, 3, 1000, math.inf)
    rng = np.random.default_rng(5)
    K, E = kernel(rng, 6, kind), rng.normal(size=(6, 6))
    E = E + E.T
    np.fill_diagonal(E, 0)
    p = rng.uniform(0.5, 1, 6) if weighted else None
    h = 1e-6
    difference = (vr.vendi_score(K + h * E, orders, p) - vr.vendi_score(K - h * E, orders, p)) / (2 * h)
    with precision(np.float64):
        found = gradients(orders, p)(jnp.asarray(K))
        np.testing.assert_allclose(np.sum(found * E, (1, 2)), difference, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_gradient_is_finite_at_repeated_and_zero_eigenvalues(dtype):
    with precision(dtype):
        derivatives = gradients(ORDERS)
        for K in (np.eye(4), np.ones((4, 4)), np.kron(np.eye(2), np.ones((2, 2))), np.ones((1, 1))):
            found = np.asarray(derivatives(jnp.asarray(K, dtype)))
            assert np.isfinite(found).all()
            sizes = np.abs(found).max((1, 2), keepdims=True)
            assert (np.abs(found - np.swapaxes(found, 1, 2)) <= 1e-4 * sizes).all()


def test_gradient_at_repeated_eigenvalues_is_right():
    K = np.kron(np.eye(2), 0.5 + 0.5 * np.eye(2))  # eigenvalues 1.5, 1.5, 0.5, 0.5
    with precision(np.float64):
        expected = [reference.gradient(K, q) for q in (1, 2, 3)]
        np.testing.assert_allclose(gradients((1, 2, 3))(jnp.asarray(K)), expected, atol=1e-9)


def test_gradient_ascent_on_features_makes_them_dissimilar():
    X = jnp.asarray(np.random.default_rng(0).normal(size=(4, 4)) * 0.1 + 1)
    step = jax.jit(lambda X: X + 0.1 * jax.grad(vr.vendi_score_features)(X))
    before = vr.vendi_score_features(X)
    for _ in range(200):
        X = step(X)
    assert before < 1.1
    assert vr.vendi_score_features(X) > 3.9


# ---- against the package ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("q", [1, 2, "inf"])
@given(K=kernels(sizes=(2, 8), kinds=PSD_KINDS), seed=seeds)
def test_the_vendi_score_package_agrees(q, K, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        package = pytest.importorskip("vendi_score.vendi")
        order = math.inf if q == "inf" else q
        for p in (None, np.random.default_rng(seed).dirichlet(np.ones(len(K)))):
            # score_K in its two parts: its dispatch on sparse input needs a module that newer SciPy has removed
            theirs = np.exp(package.entropy_q(np.linalg.eigvalsh(package.weight_K(K, p)), q=q))
            np.testing.assert_allclose(vr.vendi_score(K, order, p), theirs, rtol=1e-9)
            if q != "inf" and hasattr(package.scipy.sparse, "csr"):
                np.testing.assert_allclose(vr.vendi_score(K, order, p), package.score_K(K, q=q, p=p), rtol=1e-9)


def test_the_vendi_score_package_agrees_on_features():
    package = pytest.importorskip("vendi_score.vendi")
    X = np.random.default_rng(0).normal(size=(40, 5))
    np.testing.assert_allclose(vr.vendi_score_features(X), package.score_dual(X), rtol=1e-9)
    np.testing.assert_allclose(vr.vendi_score_features(X, 2), package.score_dual(X, q=2), rtol=1e-9)


# ---- known answers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 7, 50])
def test_identical_items_are_one_and_orthogonal_ones_are_n(n):
    both = np.stack([np.ones((n, n)), np.eye(n)])
    expected = np.array([[1], [n]]) * np.ones(len(ORDERS))
    np.testing.assert_allclose(vr.vendi_score(both, ORDERS), expected, rtol=1e-12)
    np.testing.assert_allclose(vr.vendi_score(jnp.asarray(both), ORDERS), expected, rtol=1e-6)
    np.testing.assert_allclose(compiled(jnp.asarray(both), q=ORDERS), expected, rtol=1e-4)


@given(kernels(sizes=(2, 5, 8, 20)))
def test_the_score_never_increases_with_the_order_and_lies_between_one_and_n(K):
    scores = vr.vendi_score(K, [0, 0.1, 0.5, 0.9, 0.999, 1, 1.001, 1.4, 1.6, 2, 5, 100, 1e6, math.inf])
    assert (np.diff(scores) <= 1e-9 * scores[:-1]).all()
    assert (scores >= 1 - 1e-9).all()
    assert (scores <= len(K) * (1 + 1e-9)).all()


def test_the_order_has_no_jump_at_one_even_if_the_diagonal_is_off_by_rounding():
    K = kernel(np.random.default_rng(0), 5, "full") + 2e-4 * np.eye(5)
    scores = vr.vendi_score(K, [0.9999, 1, 1.0001, 1.001])
    np.testing.assert_allclose(scores, scores[1], rtol=2e-3)


@pytest.mark.parametrize(("n", "m"), [(2, 1), (8, 3), (10, 5), (9, 8)])
def test_two_blocks_of_identical_items(n, m):
    label = np.arange(n) < m
    K = (label[:, None] == label[None, :]).astype(float)
    p = np.array([m / n, 1 - m / n])
    np.testing.assert_allclose(vr.vendi_score(K), np.exp(-(p * np.log(p)).sum()))
    np.testing.assert_allclose(vr.vendi_score(K, 2), 1 / (p**2).sum())
    np.testing.assert_allclose(vr.vendi_score(K, [0, math.inf]), [2, 1 / p.max()])


@pytest.mark.parametrize("r", [-0.5, 0.0, 0.3, 1.0])
def test_equal_correlations(r):
    n = 3
    lam = np.array([(1 + (n - 1) * r) / n, (1 - r) / n, (1 - r) / n])
    lam = lam[lam > 0]
    expected = np.exp(-(lam * np.log(lam)).sum())
    np.testing.assert_allclose(vr.vendi_score(r + (1 - r) * np.eye(n)), expected)


@given(kernels(), seeds)
def test_the_order_of_items_does_not_matter(K, seed):
    rng = np.random.default_rng(seed)
    order, p = rng.permutation(len(K)), rng.uniform(0.1, 1, len(K))
    shuffled = K[np.ix_(order, order)]
    for q in (1, 2, 3):
        np.testing.assert_allclose(vr.vendi_score(shuffled, q, p[order]), vr.vendi_score(K, q, p), rtol=1e-9)
    np.testing.assert_allclose(vr.vendi(shuffled).contributions, vr.vendi(K).contributions[order], atol=1e-9)


def test_an_item_of_weight_zero_is_not_there_and_a_repeated_one_is_its_weights_together():
    K = kernel(np.random.default_rng(0), 5, "full")
    np.testing.assert_allclose(
        vr.vendi_score(K, weights=[1, 2, 0, 3, 1]),
        vr.vendi_score(np.delete(np.delete(K, 2, 0), 2, 1), weights=[1, 2, 3, 1]),
    )
    twice = K[np.ix_([0, 1, 1], [0, 1, 1])]
    np.testing.assert_allclose(vr.vendi_score(twice), vr.vendi_score(K[:2, :2], weights=[1, 2]))
