"""`eigenvalues` against NumPy's float64 `eigvalsh`, which calls LAPACK."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.compiling import compiled_as_for_users
from vendirl.score.eigenvalues import eigenvalues

BATCH = 40  # large enough for the blocked kernel


def _symmetric(n, batch=(BATCH,), seed=0):
    A = np.random.default_rng(seed).normal(size=(*batch, n, n))
    return ((A + np.swapaxes(A, -1, -2)) / 2).astype(np.float32)


def _with_spectrum(lam, seed=0):
    """(BATCH, n, n) matrices in random bases, each with the eigenvalues lam."""
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(BATCH, len(lam), len(lam))))[0]
    return np.einsum("bij,j,bkj->bik", Q, lam, Q)


def _assert_spectrum(lam, A):
    """Ascending, and within 4 n eps max|λ| of the float64 answer, matrix by matrix."""
    expected = np.linalg.eigvalsh(np.asarray(A, np.float64))
    lam = np.asarray(lam)
    assert lam.shape == expected.shape
    assert (np.diff(lam) >= 0).all()
    tolerance = 4 * (expected.shape[-1] + 4) * np.finfo(lam.dtype).eps * np.abs(expected).max(-1, keepdims=True)
    assert (np.abs(lam - expected) <= tolerance).all(), np.max(np.abs(lam - expected) / tolerance)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 16, 33, 64])
def test_agrees_with_lapack(n):
    A = _symmetric(n)
    _assert_spectrum(compiled_as_for_users(eigenvalues)(A), A)


@pytest.mark.parametrize("shape", [(), (3,), (2, 25), (1000,)])
def test_any_batch_shape(shape):
    A = _symmetric(4, shape)
    _assert_spectrum(eigenvalues(jnp.asarray(A)), A)


def test_several_blocks():
    A = _symmetric(33, (700,))
    _assert_spectrum(jax.jit(eigenvalues)(A), A)


def test_eager_is_jit_at_batch_256():
    """In float64 also where one is optimised and the other is not; in float32 those round differently."""
    A = _symmetric(8, (256,))
    np.testing.assert_allclose(eigenvalues(jnp.asarray(A)), jax.jit(eigenvalues)(A), atol=2e-6)
    _assert_spectrum(compiled_as_for_users(eigenvalues)(A), A)
    with jax.enable_x64(True):
        wide = jnp.asarray(A, jnp.float64)
        np.testing.assert_allclose(eigenvalues(wide), compiled_as_for_users(eigenvalues)(wide), atol=2e-14)


def test_vmap_is_the_batch():
    A = jnp.asarray(_symmetric(6, (5, 4, 7)))
    batched = eigenvalues(A)
    for in_axes in (0, 1, 2):
        mapped = jax.jit(jax.vmap(eigenvalues, in_axes, in_axes))(A)
        np.testing.assert_array_equal(mapped, batched)
    np.testing.assert_array_equal(jax.vmap(jax.vmap(jax.vmap(eigenvalues)))(A), batched)


def test_vmap_uses_the_blocked_kernel_not_lapack():
    A = jnp.zeros((64, 8, 8))
    text = jax.jit(jax.vmap(eigenvalues)).lower(A).as_text()
    assert "syevd" not in text
    assert "syevd" in jax.jit(eigenvalues).lower(A[0]).as_text()


@pytest.mark.parametrize(
    "lam",
    [
        np.zeros(8),
        np.ones(8),
        np.r_[np.zeros(6), 1.0, 3.0],
        np.repeat([-2.0, 0.5, 1.0], 4),
        np.r_[-np.ones(5), np.ones(5)],
        np.logspace(-12, 3, 16),
        1e-30 * np.arange(1, 6),
        1e30 * np.arange(-2, 3),
    ],
    ids=["zero", "identity", "rank 2", "repeated", "indefinite", "graded", "tiny", "huge"],
)
def test_hard_spectra(lam):
    A = jnp.asarray(_with_spectrum(lam), jnp.float32)
    _assert_spectrum(compiled_as_for_users(eigenvalues)(A), A)


def test_exactly_structured_matrices():
    n = 9
    path = np.eye(n, k=1) + np.eye(n, k=-1)
    matrices = [
        np.zeros((n, n)),
        np.eye(n),
        -np.eye(n),
        np.ones((n, n)),
        np.diag(np.arange(n)),
        np.diag([1e-20, 1e20, 0, 1, -1, 1e-5, 3, -1e10, 1]),
        path,
        2 * np.eye(n) - path,
        np.kron(np.eye(3), np.ones((3, 3))),
        np.diag(10.0 ** np.arange(n)) + path,
        np.fliplr(np.eye(n)),
    ]
    A = jnp.asarray(np.stack(matrices * 4), jnp.float32)
    _assert_spectrum(compiled_as_for_users(eigenvalues)(A), A)


def test_float64():
    with jax.enable_x64(True):
        A = _with_spectrum(np.r_[np.zeros(8), np.logspace(-14, 1, 12)])
        lam = jax.jit(eigenvalues)(jnp.asarray(A))
        assert lam.dtype == jnp.float64
        _assert_spectrum(lam, A)


def test_nan_stays_in_its_matrix():
    A = _symmetric(8)
    A[3, 2, 1] = A[3, 1, 2] = np.nan
    lam = np.asarray(eigenvalues(jnp.asarray(A)))
    assert np.isnan(lam[3]).all()
    _assert_spectrum(np.delete(lam, 3, 0), np.delete(A, 3, 0))


@given(
    seed=st.integers(0, 2**32 - 1),
    rank=st.integers(0, 8),
    exponents=st.lists(st.integers(-12, 12), min_size=8, max_size=8),
)
def test_random_matrices_of_any_rank_and_scale(seed, rank, exponents):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(BATCH, 8, rank)) * 10.0 ** np.asarray(exponents)[:, None]
    A = np.asarray(X @ (rng.choice([-1, 1], rank)[:, None] * np.swapaxes(X, 1, 2)), np.float32)
    A = (A + np.swapaxes(A, 1, 2)) / 2
    _assert_spectrum(jax.jit(eigenvalues)(A), A)
