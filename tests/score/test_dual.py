"""Scores of items of few features with one item replaced, by the small matrix, against those of the whole kernel."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.compiling import compiled_as_for_users
from tests.generators import PRECISIONS, precision, tolerance
from tests.score.test_border import expected_scores
from vendirl.score.dual import Dual

KINDS = ("free", "twins", "blocks", "line")


def items(rng, n, d, kind):
    """(n, d) features of length one: free ones, twins, so few different ones that C is singular, or all but alike."""
    X = rng.normal(size=(n, d))
    if kind == "twins":
        X = X[rng.integers(0, max(n // 2, 1), n)]
    if kind == "blocks":
        X = np.eye(d)[rng.integers(0, max(d // 2, 1), n)]
    if kind == "line":
        X = X[:1] + 1e-3 * X
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def case(rng, n, d, kind, new=4):
    X = items(rng, n + new, d, kind)
    g = int(rng.integers(n))
    rows = X[n:] @ X[:n].T
    rows[:, g] = 1
    return X[:n], g, X[n:], X[:n] @ X[:n].T, rows


@functools.partial(jax.jit, static_argnums=3)
def scores(X, g, new, q):
    return Dual.of(X, q).scores(g, new)


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("q", [1.0, 2.0, math.inf])
def test_scores_are_those_of_the_whole_kernel(dtype, q):
    rng = np.random.default_rng(0)
    for n, d in ((1, 1), (2, 1), (40, 7), (4, 9)):
        for kind in KINDS:
            X, g, new, K, rows = case(rng, n, d, kind)
            with precision(dtype):
                found = scores(jnp.asarray(X, dtype), g, jnp.asarray(new, dtype), q)
                assert found.dtype == dtype
                expected = expected_scores(K, g, rows, q)
                np.testing.assert_allclose(found, expected, rtol=tolerance(dtype), err_msg=f"{n} {d} {kind}")


@pytest.mark.parametrize(("dtype", "q"), [(np.float32, 1.0), (np.float64, 1.0), (np.float64, 2.0)])
def test_scores_under_vmap_at_batch_256(dtype, q):
    rng = np.random.default_rng(1)
    X, g, new, K, rows = zip(*(case(rng, 17, 3, KINDS[i % 4], new=2) for i in range(256)), strict=True)
    with precision(dtype):
        mapped = compiled_as_for_users(jax.vmap(lambda X, g, new: Dual.of(X, q).scores(g, new)))
        found = mapped(jnp.asarray(X, dtype), jnp.asarray(g), jnp.asarray(new, dtype))
        expected = [expected_scores(*one, q) for one in zip(K, g, rows, strict=True)]
        np.testing.assert_allclose(found, expected, rtol=tolerance(dtype))


def test_an_item_that_takes_its_features_with_it():
    """The only item in its direction leaves it, or comes back: C loses rank and gains it."""
    X = np.repeat(np.eye(3), [1, 2, 3], 0)
    for new in np.eye(3):
        K, rows = X @ X.T, (X @ new)[None]
        rows[:, 0] = 1
        with precision(np.float64):
            found = scores(jnp.asarray(X), 0, jnp.asarray(new[None]), 1.0)
        np.testing.assert_allclose(found, expected_scores(K, 0, rows, 1.0), rtol=1e-9)
        found = scores(jnp.asarray(X, jnp.float32), 0, jnp.asarray(new[None], jnp.float32), 1.0)
        np.testing.assert_allclose(found, expected_scores(K, 0, rows, 1.0), rtol=1e-5)


def test_several_orders_are_refused():
    with pytest.raises(ValueError, match="q must be one order"):
        Dual.of(jnp.eye(2), [1.0, 2.0])
