"""Kernels, and blocks of K: never more of it at once than fits into memory.

Items are prepared so that a kernel has no scale left; then a kernel is "linear", a `Distance` or a `Function`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vendirl._checks import AnyArray, SameArray
from vendirl.score.large.input_checks import check, refuse_unknown

Kernel = Callable[[Any, Any], AnyArray]  # (A, D) and (B, D) items of NumPy or JAX -> (A, B) block of K

KERNELS = ("linear", "rbf", "laplace")
PASS = 2.5e10  # kernel values that one pass over K may cost; 200,000 items by symmetry
TILE = 2048


@dataclass(frozen=True)
class Distance:
    """A kernel that falls with the distance; items are multiplied by sqrt(scale), or by scale, beforehand."""

    root: bool

    def of_square(self, square: Float[SameArray, "A B"]) -> Float[SameArray, "A B"]:
        """The kernel's values at squared distances."""
        xp: ModuleType = np if isinstance(square, np.ndarray) else jnp
        return xp.exp(-(xp.sqrt(square) if self.root else square))

    def spread(self, rng: np.random.Generator, shape: tuple[int, ...]) -> float | Float[np.ndarray, " ..."]:
        """What normal frequencies are multiplied by: sqrt(2) for the normal, 1/|normal| for the Cauchy distribution."""
        return 1 / np.abs(rng.normal(size=shape)) if self.root else math.sqrt(2)


@dataclass(frozen=True)
class Function:
    """A kernel of the user's, and the relative rounding ε of the values it returns."""

    call: Kernel  # a function of ours around it, which has a hash whatever the kernel is
    eps: float

    def __call__(self, x: Float[AnyArray, "A D"], y: Float[AnyArray, "B D"]) -> AnyArray:
        return self.call(x, y)


Prepared = Literal["linear"] | Distance | Function


def prepared(X: Float[np.ndarray, "N D"], kernel: Any, scale: Any) -> tuple[Float[np.ndarray, "N D"], Prepared]:
    """Items such that the kernel has no scale left, centred or of unit length; and the kernel."""
    if isinstance(kernel, str):
        refuse_unknown(kernel, KERNELS, "kernel")
    elif not callable(kernel):
        raise TypeError(
            f"kernel must be one of {', '.join(KERNELS)} or a function of two (batches of) items, not {kernel!r}"
        )
    check(isinstance(scale, int | float | np.number) and 0 < scale < math.inf, "scale", "be a positive number", scale)
    if kernel in ("rbf", "laplace"):
        centred = X - np.median(X, 0)  # so that differences of squares lose little
        return centred * (scale if kernel == "laplace" else math.sqrt(scale)), Distance(kernel == "laplace")
    if scale != 1:
        raise ValueError(f"scale is {scale}, but only the kernels rbf and laplace have one; leave it at 1")
    if kernel == "linear":
        if (empty := np.flatnonzero(~X.any(1))).size:
            raise ValueError(f"items: row {empty[0]} is all zero and has no direction; remove it")
        X = X / np.abs(X).max(1, keepdims=True)
        return X / np.linalg.norm(X, axis=1, keepdims=True), "linear"
    few = X[:64]
    dtype = getattr(kernel(few, few), "dtype", np.dtype(np.float64))
    function = Function(lambda x, y: kernel(x, y), float(np.finfo(dtype if dtype.kind == "f" else np.float64).eps))
    K = block(function, few, few)
    if np.abs(np.diagonal(K) - 1).max() > 1e-3:
        raise ValueError(f"kernel: k(x, x) must be 1, but is {np.diagonal(K)[np.abs(np.diagonal(K) - 1).argmax()]:.6g}")
    if np.abs(K - K.T).max() > 1e-4:
        raise ValueError("kernel: k(x, y) must equal k(y, x), but does not among the first items")
    return X, function


def block(kernel: Prepared, x: Float[np.ndarray, "A D"], y: Float[np.ndarray, "B D"]) -> Float[np.ndarray, "A B"]:
    """(A, B) of K in float64, by differences where the kernel has distances, so that equal items have similarity 1."""
    if isinstance(kernel, Distance):
        from scipy.spatial.distance import cdist

        return kernel.of_square(cdist(x, y, "sqeuclidean"))
    if kernel == "linear":
        return x @ y.T
    K = np.asarray(kernel(x, y), np.float64)
    if K.shape != (len(x), len(y)):
        raise ValueError(f"kernel must return a ({len(x)}, {len(y)}) block for that many items, but returned {K.shape}")
    if not np.isfinite(K.sum()):
        raise ValueError("kernel returned values that are not finite")
    return K


def traced_block(kernel: Prepared, x: Float[Array, "A D"], y: Float[Array, "B D"]) -> Float[Array, "A B"]:
    """(A, B) of K inside `jit`, in the type of the items."""
    if isinstance(kernel, Distance):
        return kernel.of_square(jnp.maximum(squared_distances(x, y)[0], 0))
    return x @ y.T if kernel == "linear" else jnp.asarray(kernel(x, y), x.dtype)


def squared_distances(
    x: Float[Array, "A D"], y: Float[Array, "B D"]
) -> tuple[Float[Array, "A B"], Float[Array, "A B"]]:
    """‖x_i - y_j‖² by a product of matrices, and a bound of its rounding, (D + 8) ε (‖x_i‖² + ‖y_j‖²)."""
    xx, yy = jnp.sum(x * x, 1)[:, None], jnp.sum(y * y, 1)
    square = xx + yy - 2 * jnp.matmul(x, y.T, precision="highest")
    return square, (x.shape[1] + 8) * float(jnp.finfo(x.dtype).eps) * (xx + yy)


def tiles(X: Float[np.ndarray, "N D"]) -> list[Float[np.ndarray, "L D"]]:
    """(N, D) items in pieces of equal length; the rows that fill the last one are NaN."""
    count = -(-len(X) // TILE)
    length = -(-len(X) // count)
    padded = np.full((count * length, X.shape[1]), np.nan)
    padded[: len(X)] = X
    return list(padded.reshape(count, length, -1))
