"""What `vendi_score` and its kin accept: kernel matrices, orders and weights, checked before anything is computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from vendirl._checks import AnyArray, as_float, finite, place, real_numbers, shown

PSD = Literal["clip", "error", "nearest"]
Order = float | Sequence[float]
Scores = AnyArray | np.floating
"""What a reduction gives: an array or, from all of a NumPy array, a number."""
Back = Callable[[Scores], Any]
"""From what was computed to the type that the caller's array was of."""


def checked(
    K: Any, q: Any, weights: Any, psd: Any
) -> tuple[Float[AnyArray, "*batch n n"], list[float], Float[AnyArray, "*weighted n"] | None, float, Back]:
    """The input as arrays of one library, or an error that names what was wrong."""
    if psd not in get_args(PSD):
        raise ValueError(f"psd must be one of {', '.join(get_args(PSD))}, but is {psd!r}")
    orders = orders_of(q)
    K, weights, tolerance, back = arrays(K, "K", weights)
    if K.ndim < 2 or K.shape[-1] != K.shape[-2]:
        raise ValueError(f"K must be a (..., n, n) kernel matrix, but has shape {K.shape}")
    if K.shape[-1] == 0:
        raise ValueError("K is a 0 x 0 matrix: there are no items to score")
    if isinstance(K, np.ndarray):
        check_kernel(K)
    return K, orders, checked_weights(weights, K.shape[-1]), tolerance, back


def arrays(
    x: Any, name: str, weights: Any
) -> tuple[Float[AnyArray, " ..."], Float[AnyArray, " ..."] | None, float, Back]:
    """Input and weights as arrays of one library, the size of rounding noise, and the way back to the caller's type.

    Known values become float64 NumPy arrays, also if they came from JAX; traced ones stay in the graph.
    """
    if type(x) is np.ndarray and x.dtype == np.float64 and weights is None:  # the shortest way, for small ones
        return x, None, 4 * max(x.shape[-1] if x.ndim else 1, 1) * _eps(x.dtype), _as_it_is
    given = [real_numbers(x, name)] + ([] if weights is None else [real_numbers(weights, "weights")])
    dtype = given[0].dtype
    n = given[0].shape[-1] if given[0].ndim else 1
    tolerance = 4 * max(n, 1) * _eps(dtype)
    converted: list[AnyArray]
    if any(isinstance(array, jax.core.Tracer) for array in given):
        converted, back = [jnp.asarray(array) for array in given], _as_it_is
    else:
        converted = [np.asarray(array, np.float64) for array in given]
        back = partial(jnp.asarray, dtype=dtype) if isinstance(given[0], jax.Array) else _as_it_is
    return converted[0], (None if weights is None else converted[1]), tolerance, back


def _as_it_is(y: Scores) -> Scores:
    return y


@lru_cache
def _eps(dtype: np.dtype) -> float:
    return float(jnp.finfo(dtype).eps)


def check_kernel(K: Float[np.ndarray, "*batch n n"]) -> None:
    """Refuse what is not a matrix of similarities; float32 rounding is forgiven."""
    with np.errstate(all="ignore"):
        if K.shape[-1] < 256:
            sound = np.abs(K - np.swapaxes(K, -1, -2)).max() <= 1e-6  # False for NaN
        else:  # products with a vector without zeros find, far cheaper than each entry, that nothing is amiss
            probe = 1 + 0.5 * np.sin(np.arange(K.shape[-1]) ** 2.0)
            # not by NumPy's BLAS, whose idle threads would be in the way of SciPy's LAPACK for a while
            rows, columns = np.einsum("...ij,j->...i", K, probe), np.einsum("...ij,i->...j", K, probe)
            sound = np.abs(rows - columns).max() <= 1e-6
    if not sound:
        finite(K, "K")
    diagonal = np.diagonal(K, axis1=-2, axis2=-1)
    if np.abs(diagonal - 1).max() > 1e-3:
        at = np.argwhere(np.abs(diagonal - 1) > 1e-3)[0]
        value = diagonal[tuple(at)]
        raise ValueError(
            f"K: item {place(at)} has similarity {value:.6g} to itself, but k(a, a) must be 1"
            + (" (a zero diagonal cannot be normalised)" if value == 0 else "; use K / sqrt(outer(diag(K), diag(K)))")
        )
    # without a copy of a large K
    if (np.abs(K).max() if K.shape[-1] < 256 else max(K.max(), -K.min())) > 1 + 1e-3:
        at = np.unravel_index(K.argmax() if K.max() > 1 + 1e-3 else K.argmin(), K.shape)
        raise ValueError(
            f"K{place(at)} = {K[at]:.6g}, but items that have similarity 1 to themselves cannot have one beyond 1 to "
            "others; use a similarity with |k(a, b)| <= 1"
        )
    if sound:
        return
    gap = np.abs(K - np.swapaxes(K, -1, -2))
    if gap.max() > 1e-4:
        at = np.unravel_index(gap.argmax(), gap.shape)
        raise ValueError(
            f"K is not symmetric: K{place(at)} = {K[at]:.6g}, but its mirror image differs by {gap[at]:.3g}. "
            "Use (K + K.T) / 2 if that is rounding, or a symmetric similarity"
        )


def checked_weights(weights: Float[AnyArray, " ..."] | None, n: int) -> Float[AnyArray, "*weighted {n}"] | None:
    """Weights that sum to one, or an error that says why they cannot be weights of n items."""
    if weights is None:
        return None
    if weights.ndim == 0 or weights.shape[-1] != n:
        raise ValueError(f"weights must have one entry for each of the {n} items, but has shape {weights.shape}")
    if isinstance(weights, np.ndarray):
        finite(weights, "weights")
        if (weights < 0).any():
            at = np.unravel_index(weights.argmin(), weights.shape)
            raise ValueError(f"weights must not be negative, but weights{place(at)} is {weights.min():.6g}")
        if (weights.max(-1) <= 0).any():
            raise ValueError("weights are all zero: at least one item must have a positive weight")
        weights = weights / weights.max(-1, keepdims=True)  # so that their sum is not beyond what a float can hold
    return weights / weights.sum(-1, keepdims=True)


def orders_of(q: Any) -> list[float]:
    """The order or orders in a list, or an error that says why they are none."""
    orders: list[Any] = list(q) if is_list(q) else [q]
    if not orders:
        raise ValueError("q is an empty list: give at least one order")
    for order in orders:
        if isinstance(order, jax.core.Tracer):
            raise TypeError("q must be a number that is known before compiling, not a traced value; make it static")
        if not isinstance(order, int | float | np.number | np.ndarray) or not as_float(order) >= 0:
            raise ValueError(
                f"q must be a number in [0, inf] that a float can hold, or a list of such, but is {shown(order)}"
            )
    return [float(order) for order in orders]


def is_list(q: Any) -> bool:
    """Whether several orders were asked for."""
    if isinstance(q, int | float | jax.core.Tracer):
        return False
    return np.ndim(q) > 0
