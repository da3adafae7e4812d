"""The bordered kernel: scores of K with one row replaced, without its spectrum, against the reference."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vendirl as vr
from tests import reference
from tests.compiling import compiled_as_for_users
from tests.generators import KINDS, PRECISIONS, PSD_KINDS, kernel, precision, tolerance


def bordered(rng, n, kind, rows):
    """A kernel matrix and new rows for its skill g; with any of them in place it is of the same kind."""
    g = int(rng.integers(n))
    K = kernel(rng, n + rows, kind)
    others = [i for i in range(n) if i != g]
    new = np.ones((rows, n))
    for r in range(rows):
        new[r, others] = K[n + r, others]
    return K[:n, :n], g, new


def expected_scores(K, g, rows, q):
    found = []
    for row in np.asarray(rows, np.float64):
        changed = np.array(K, np.float64)
        changed[g, :] = changed[:, g] = row
        changed[g, g] = 1
        found.append(reference.vendi_score(changed, q))
    return found


@functools.partial(jax.jit, static_argnums=(3, 4))
def scores(K, g, rows, q, psd):
    return vr.Border.of(K, q, psd).scores(g, rows)


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("n", [1, 2, 8, 64])
@pytest.mark.parametrize(("q", "psd"), [(1.0, True), (2.0, True), (3.0, True), (1.0, False), (math.inf, False)])
def test_scores_are_the_reference(dtype, n, q, psd):
    rng = np.random.default_rng(n)
    for kind in PSD_KINDS if psd else KINDS:
        K, g, rows = bordered(rng, n, kind, 5)
        with precision(dtype):
            K, rows = jnp.asarray(K, dtype), jnp.asarray(rows, dtype)
            expected = expected_scores(K, g, rows, q)
            found = scores(K, g, rows, q, psd)
            assert found.dtype == dtype
            np.testing.assert_allclose(found, expected, rtol=tolerance(dtype), err_msg=kind)
            if n == 8:
                eager = vr.Border.of(K, q, psd).scores(jnp.asarray(g), rows)
                np.testing.assert_allclose(eager, expected, rtol=tolerance(dtype), err_msg=kind)


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("n", [8, 33])
@pytest.mark.parametrize(("q", "psd"), [(1.0, True), (2.0, True), (1.0, False)])
def test_scores_under_vmap_at_batch_256(dtype, n, q, psd):
    rng = np.random.default_rng(n)
    K, g, rows = zip(*(bordered(rng, n, PSD_KINDS[i % len(PSD_KINDS)], 3) for i in range(256)), strict=True)
    with precision(dtype):
        K, rows = jnp.asarray(K, dtype), jnp.asarray(rows, dtype)
        mapped = compiled_as_for_users(jax.vmap(lambda K, g, rows: vr.Border.of(K, q, psd).scores(g, rows)))
        found = mapped(K, jnp.asarray(g), rows)
        expected = [expected_scores(*case, q) for case in zip(K, g, rows, strict=True)]
        np.testing.assert_allclose(found, expected, rtol=tolerance(dtype))


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_extreme_rows(dtype):
    """A skill like no other, one that is the twin of another, and one that lies in the span of the others."""
    n = 6
    u = np.linspace(0, math.pi, n, endpoint=False)
    X = np.stack([np.cos(u), np.sin(u)], -1)  # cosine in the plane: rank 2
    K = X @ X.T
    rows = np.stack([K[2], K[3], np.cos(u - 0.1), np.cos(u - 3)])
    with precision(dtype):
        for kernel_, new in ((K, rows), (np.eye(n), np.eye(n)[1:]), (np.ones((n, n)), np.ones((1, n)))):
            kernel_, new = jnp.asarray(kernel_, dtype), jnp.asarray(new, dtype)
            for q in (1.0, 2.0):
                found = scores(kernel_, 0, new, q, True)
                np.testing.assert_allclose(found, expected_scores(kernel_, 0, new, q), rtol=tolerance(dtype))
        zeros = jnp.zeros((1, n), dtype)
        np.testing.assert_allclose(scores(jnp.eye(n, dtype=dtype), 2, zeros, 1.0, True), n, rtol=tolerance(dtype))


@pytest.mark.parametrize("n", [4, 32])
@pytest.mark.parametrize("apart", [0.0, 1e-4])
def test_a_twin_that_becomes_the_twin_of_another(n, apart):
    """The worst case for rounding: before and after, K is (all but) singular; the bound is far below the usual one."""
    rng = np.random.default_rng(n)
    border = jax.jit(jax.vmap(lambda K, g, rows: vr.Border.of(K, psd=True).scores(g, rows)))
    whole = np.stack([np.eye(n)[rng.integers(n // 2, size=n + 4)] for _ in range(32)])
    whole = (1 - apart) * whole @ whole.swapaxes(1, 2) + apart * np.eye(n + 4)
    K, rows = whole[:, :n, :n].astype(np.float32), whole[:, n:, :n].astype(np.float32)
    g = rng.integers(n, size=32)
    expected = [expected_scores(*case, 1.0) for case in zip(K, g, rows, strict=True)]
    np.testing.assert_allclose(border(K, g, rows), expected, rtol=1e-5)


def test_the_own_entry_of_a_row_is_not_read():
    K = jnp.asarray(kernel(np.random.default_rng(0), 5, "full"))
    row = K[1:2]
    for q, psd in ((1.0, True), (2.0, True), (3.0, False)):
        np.testing.assert_array_equal(scores(K, 1, row, q, psd), scores(K, 1, row.at[0, 1].set(99), q, psd))


@pytest.mark.parametrize("psd", [True, False])
def test_gradient_of_the_scores_in_the_row(psd):
    """Trajectory optimisation differentiates the reward; psd=True must agree with the whole spectrum."""
    K, g, rows = bordered(np.random.default_rng(0), 5, "full", 1)
    h, E = 1e-6, np.random.default_rng(1).normal(size=(1, 5))
    with precision(np.float64):
        found = jax.grad(lambda rows: scores(jnp.asarray(K), g, rows, 1.0, psd).sum())(jnp.asarray(rows))
        up, down = (np.asarray(expected_scores(K, g, rows + sign * h * E, 1.0)) for sign in (1, -1))
        E[0, g] = 0
        np.testing.assert_allclose(np.sum(found * E), (up - down)[0] / (2 * h), rtol=1e-6)
