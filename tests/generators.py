"""What the tests are fed: kernels and skill sets, degenerate ones included, in either precision."""

import contextlib

import hypothesis.strategies as st
import jax
import numpy as np

PRECISIONS = (np.float32, np.float64)


def tolerance(dtype):
    """What is promised: 1e-4 relative in float32, 1e-9 in float64."""
    return 1e-4 if dtype == np.float32 else 1e-9


def precision(dtype):
    """A context in which JAX computes in that type."""
    return jax.enable_x64(True) if dtype == np.float64 else contextlib.nullcontext()


def kernel(rng, n, kind):
    """A kernel matrix: 'full' rank, 'deficient', with 'repeated' items, 'blocks' of identical ones, or 'indefinite'."""
    if kind == "indefinite":
        K = rng.uniform(-0.9, 1, (n, n))
        K = (K + K.T) / 2
        np.fill_diagonal(K, 1)
        return K
    if kind == "blocks":
        label = rng.integers(0, max(n // 2, 1), n)
        return (label[:, None] == label[None, :]).astype(float)
    X = rng.normal(size=(n, max(n // 2, 1) if kind == "deficient" else n + 2))
    if kind == "repeated":
        X = X[rng.integers(0, max(n // 2, 1), n)]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    K = X @ X.T
    np.fill_diagonal(K, 1)
    return (K + K.T) / 2


KINDS = ("full", "deficient", "repeated", "blocks", "indefinite")
PSD_KINDS = KINDS[:-1]


@st.composite
def kernels(draw, sizes=(1, 2, 5, 8), kinds=KINDS, batch=None):
    """Kernel matrices (n, n), or a batch of them (batch, n, n) of one size and of various kinds."""
    n = draw(st.sampled_from(sizes))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if batch is None:
        return kernel(rng, n, draw(st.sampled_from(kinds)))
    return np.stack([kernel(rng, n, kinds[i % len(kinds)]) for i in range(batch)])


def skill(rng, N, T, D, kind, others):
    """(N, T, D) observations on a grid of 1/16 (so that ties and zeros are exact in float32 too), of some kind."""
    x = rng.integers(-24, 25, (N, T, D)) / 16
    if kind == "repeated" and others:
        return others[-1]
    if kind == "constant":
        return np.broadcast_to(x[:1, :1], x.shape)
    if kind == "line":
        return np.broadcast_to(x[..., :1], x.shape)
    if kind == "zero":
        return np.zeros_like(x)
    return x


SKILL_KINDS = ("free", "repeated", "constant", "line", "zero")


def skill_set(rng, n, N, T, D, kinds=SKILL_KINDS):
    """(n, N, T, D), the first skill free and the others of any kind."""
    found = [skill(rng, N, T, D, "free", [])]
    while len(found) < n:
        found.append(skill(rng, N, T, D, kinds[rng.integers(len(kinds))], found))
    return np.stack(found)


@st.composite
def skill_sets(draw, shapes=((4, 1, 6, 2),), kinds=SKILL_KINDS):
    """(n, N, T, D) of one of the shapes; few, because each is compiled anew."""
    shape = draw(st.sampled_from(shapes))
    return skill_set(np.random.default_rng(draw(st.integers(0, 2**32 - 1))), *shape, kinds)
