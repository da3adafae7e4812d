"""The Vendi Score (Definition 1): the effective number of dissimilar items, from a matrix of their similarities.

With λ the eigenvalues of A = K/n (or, with weights p, of A_ij = sqrt(p_i p_j) K_ij), which sum to one,

    VS_q(K) = (Σ λ_i^q)^(1/(1-q)),      VS_1(K) = exp(-Σ λ_i log λ_i),      VS_∞(K) = 1 / max λ_i,

the Hill number of order q of the spectrum: 1 when all items are alike, n when none resembles another. Order 0 counts
the non-zero eigenvalues, order 1 is the paper's, order 2 is n²/‖K‖_F². It never increases with q.

NumPy input (or lists) is evaluated in float64 by LAPACK and checked; JAX input keeps its type, and under `jit`,
`vmap` or `grad` it is evaluated in the graph, where values cannot be checked but shapes and settings are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache, partial
from types import ModuleType
from typing import Any, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike, Float

from vendirl.spectrum import eigenvalues

PSD = Literal["clip", "error", "nearest"]
Order = float | Sequence[float]


def vendi_score(
    K: Float[ArrayLike, "*batch n n"], q: Order = 1.0, weights: ArrayLike | None = None, psd: PSD = "clip"
) -> Any:
    """The Vendi Score of order q of a kernel matrix, or of a batch of them.

    Args:
        K: (..., n, n) similarities with K_ii = 1, NumPy or JAX.
        q: the order, in [0, ∞], or a list of orders, which adds a last axis to the result.
        weights: (..., n) abundance p_i >= 0 of each item, scaled to sum to one; uniform if None.
        psd: what to do with negative eigenvalues, which a similarity that is not positive semidefinite may have:
            "clip" sets them to zero and rescales the rest to the same sum, "error" refuses, "nearest" first
            replaces K by the nearest correlation matrix in the Frobenius norm (not differentiable in reverse).

    Returns:
        (...,) scores, or (..., len(q)). The gradient of order 1 is dVS/dK = -(VS/n)(log(K/n) + I); those of the other
        orders, whose spectrum is scaled to sum to one, are orthogonal to I. They are finite at repeated eigenvalues,
        and at zero ones, where the logarithm is cut off.

    Example:
        >>> import numpy as np, vendirl as vr
        >>> float(vr.vendi_score(np.eye(4)).round(6)), float(vr.vendi_score(np.ones((4, 4))).round(6))
        (4.0, 1.0)
    """
    K, orders, weights, tolerance, back = _checked(K, q, weights, psd)
    if weights is None and psd != "nearest" and _namespace(K) is np:  # spares a large K the copy that is K/n
        scores = _hill_numbers_of(_spectrum(K) / K.shape[-1], orders, psd, tolerance)
    else:
        scores = _hill_numbers(_weighted(K, weights), K, orders, psd, tolerance)
    return back(scores if _is_list(q) else scores[..., 0])


class Vendi(eqx.Module):
    """A Vendi Score with what it was made of (`vendi`).

    Attributes:
        score: (...,) VS_q, or (..., len(q)).
        spectrum: (..., n) eigenvalues of K/n, descending, after the treatment that `psd` asked for; they sum to one.
        negative_mass: (...,) minus the sum of the negative eigenvalues of K/n; 0 for a positive semidefinite K.
        contributions: (..., n), or (..., n, len(q)): VS - VS without item i. Near 1 for an item like no other, near 0
            for one that has a twin, and negative for one whose removal would balance the set.
        q: the order or orders.
    """

    score: Any
    spectrum: Any
    negative_mass: Any
    contributions: Any
    q: Any = eqx.field(static=True)


def vendi(
    K: Float[ArrayLike, "*batch n n"], q: Order = 1.0, weights: ArrayLike | None = None, psd: PSD = "clip"
) -> Vendi:
    """`vendi_score` with the spectrum, the negative mass, and each item's marginal contribution.

    Example:
        >>> import numpy as np, vendirl as vr
        >>> twins = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
        >>> vr.vendi(twins).contributions.round(3)          # a twin that goes leaves a better balanced pair
        array([-0.11, -0.11,  0.89])
    """
    K, orders, weights, tolerance, back = _checked(K, q, weights, psd)
    xp, n = _namespace(K), K.shape[-1]
    A = _weighted(K, weights)
    scores = _hill_numbers(A, K, orders, psd, tolerance)
    raw = _spectrum(A)
    lam, _ = _treated(raw, _spectrum(_weighted(_nearest_correlation(K), weights)) if psd == "nearest" else raw)
    if n == 1:
        contributions = scores[..., None, :]  # an empty set has no diversity
    else:
        others = np.array([[j for j in range(n) if j != i] for i in range(n)])
        rest = K[..., others[:, :, None], others[:, None, :]]
        p, some = None, True
        if weights is not None:
            p = weights[..., others]
            some = p.sum(-1, keepdims=True) > 0  # else all the weight is on the item that goes
            p = xp.where(some, p, 1)
            p = p / p.sum(-1, keepdims=True)
        without = _hill_numbers(_weighted(rest, p), rest, orders, psd, tolerance)
        contributions = scores[..., None, :] - xp.where(some, without, 0)
    one = slice(None) if _is_list(q) else 0
    return Vendi(
        score=back(scores[..., one]),
        spectrum=back(xp.flip(lam, -1)),
        negative_mass=back(-xp.where(raw < -tolerance, raw, 0).sum(-1)),
        contributions=back(contributions[..., one]),
        q=tuple(orders) if _is_list(q) else orders[0],
    )


def vendi_score_features(X: Float[ArrayLike, "*batch n d"], q: Order = 1.0, weights: ArrayLike | None = None) -> Any:
    """The Vendi Score of K = X X', rows of X scaled to unit length, by whichever of K and its dual is smaller.

    The d x d matrix X' diag(p) X has the same non-zero eigenvalues as the n x n kernel, so n items with few features
    cost O(n d²) instead of O(n³).

    Args:
        X: (..., n, d) features, no row all zero.
        q, weights: as in `vendi_score`.

    Example:
        >>> import numpy as np, vendirl as vr
        >>> X = np.random.default_rng(0).normal(size=(1000, 3))
        >>> bool(np.isclose(vr.vendi_score_features(X), 3, rtol=0.01))
        True
    """
    X, weights, tolerance, back = _arrays(X, "X", weights)
    xp = _namespace(X)
    if X.ndim < 2 or 0 in X.shape[-2:]:
        raise ValueError(f"X must be a (..., n, d) array of features, but has shape {X.shape}")
    if xp is np:
        _refuse_non_finite(X, "X")
        if (empty := np.argwhere(~X.any(-1))).size:
            raise ValueError(f"X: row {_place(empty[0])} is all zero and has no direction; remove it")
    orders, weights = _orders(q), _checked_weights(weights, X.shape[-2])
    n, d = X.shape[-2:]
    top = xp.abs(X).max(-1, keepdims=True)
    X = X / xp.where(top == 0, 1, top)  # so that the squares neither overflow nor vanish
    norm = xp.sqrt(xp.sum(X * X, -1, keepdims=True))
    root = (1 / math.sqrt(n)) if weights is None else xp.sqrt(weights)[..., None]
    Y = X / xp.where(norm == 0, 1, norm) * root
    A = xp.swapaxes(Y, -1, -2) @ Y if d < n else Y @ xp.swapaxes(Y, -1, -2)
    scores = back(_hill_numbers(A, A, orders, "clip", tolerance))
    return scores if _is_list(q) else scores[..., 0]


# ---- the spectrum and its Hill numbers -----------------------------------------------------------------------------


def _hill_numbers(A, K, orders: list[float], psd: PSD, tolerance: float):
    """(..., len(orders)) scores of the trace-one A made from K; `tolerance`: the relative size of rounding noise."""
    if psd == "nearest":  # A = K * root root', so its diagonal (K_ii = 1) holds the weights
        p = _namespace(A).diagonal(A, axis1=-2, axis2=-1)
        A = _weighted(_nearest_correlation(K), p)
    if _namespace(A) is jnp:
        if psd == "error":
            least = _spectrum(A)[..., 0]
            A = eqx.error_if(A, jnp.any(least < -tolerance), "K is not positive semidefinite, and psd='error'")
        return _hill_of_matrix(A, tuple(orders), tolerance)
    return _hill_numbers_of(_spectrum(A), orders, psd, tolerance)


def _hill_numbers_of(lam: np.ndarray, orders: list[float], psd: PSD, tolerance: float) -> np.ndarray:
    """(..., len(orders)) scores of a spectrum (..., n) with sum one."""
    if psd == "error" and lam.size and lam.min() < -tolerance:
        raise ValueError(
            f"K is not positive semidefinite: K/n has an eigenvalue {lam.min():.3g}, and psd='error'. "
            "Use psd='clip' or psd='nearest', or a similarity that is positive semidefinite"
        )
    if lam.min() < 0:
        lam, _ = _treated(lam, lam)
    if len(orders) == 1:
        return _hill(lam, orders[0], tolerance, np)[..., None]
    return np.stack([_hill(lam, q, tolerance, np) for q in orders], -1)


def _treated(raw, lam) -> tuple[Any, Any]:
    """λ with negatives set to zero, rescaled to the sum it had (one); and the factor of that rescaling."""
    xp = _namespace(lam)
    clipped = xp.maximum(lam, 0)
    factor = raw.sum(-1, keepdims=True) / clipped.sum(-1, keepdims=True)
    return clipped * factor, factor


def _hill(lam, q: float, tolerance: float, xp: ModuleType):
    """The Hill number of order q of λ >= 0 (..., n) with sum one.

    Off order 1 the sum is divided out: an error ε in it, which rounding makes, would become ε/(1 - q) in log VS.
    """
    if q == 1:
        return xp.exp(-xp.sum(lam * xp.log(xp.where(lam > 0, lam, 1)), -1))
    top = lam.max(-1, keepdims=True)
    if q < 1:  # noise in zero eigenvalues would count
        lam = xp.where(lam > tolerance * top, lam, 0)
    total = lam.sum(-1, keepdims=True)
    if q == math.inf:
        return (total / top)[..., 0]
    if q == 0:
        return xp.sum(lam > 0, -1).astype(lam.dtype)
    lam, top = lam / total, top / total
    if abs(q - 1) < 0.5:  # Σ λ^q - 1 without cancellation
        log_sum = xp.log1p(xp.sum(lam * xp.expm1((q - 1) * xp.log(xp.where(lam > 0, lam, 1))), -1))
    else:  # scaled by the largest, so that λ^q does not underflow
        log_sum = q * xp.log(top[..., 0]) + xp.log(xp.sum((lam / top) ** q, -1))
    return xp.exp(log_sum / (1 - q))


def _hill_gradient(lam, q: float, tolerance: float):
    """dVS_q/dλ (..., n) for λ >= 0 with sum one, with zero eigenvalues lifted to the tolerance where it is infinite.

    With P = Σ λ^q:  -VS (log λ_j + 1) for order 1,  VS q/(1-q) (λ_j^(q-1)/P - 1) for the others.
    """
    score = _hill(lam, q, tolerance, jnp)[..., None]
    top = lam.max(-1, keepdims=True)
    lifted = jnp.maximum(lam, tolerance * top)
    if q == 1:
        return -score * (jnp.log(lifted) + 1)
    if q == math.inf:  # ties share the derivative
        ties = (lam >= top * (1 - tolerance)).astype(lam.dtype)
        return score * (1 - score * ties / ties.sum(-1, keepdims=True))
    if q == 0:
        return jnp.zeros_like(lam)
    if abs(q - 1) < 0.5:  # (λ_j^(q-1) - 1) - (P - 1) without cancellation
        power = jnp.expm1((q - 1) * jnp.log(lifted))
        excess = jnp.sum(lam * power, -1, keepdims=True)
        return score * (q / (1 - q)) * (power - excess) / (1 + excess)
    power = (lifted / top) ** (q - 1) / top
    return score * (q / (1 - q)) * (power / jnp.sum((lam / top) ** q, -1, keepdims=True) - 1)


@partial(jax.custom_jvp, nondiff_argnums=(1, 2))
def _hill_of_matrix(A, orders: tuple[float, ...], tolerance: float):
    """VS_q (..., len(orders)) of a symmetric matrix A (..., n, n) of trace one, negative eigenvalues clipped."""
    raw = _spectrum(A)
    lam, _ = _treated(raw, raw)
    return jnp.stack([_hill(lam, q, tolerance, jnp) for q in orders], -1)


@_hill_of_matrix.defjvp
def _hill_of_matrix_jvp(orders, tolerance, primals, tangents):
    """For a function f of the spectrum, df = <U diag(f'(λ)) U', dA>, whether or not eigenvalues repeat.

    With μ = λ⁺ τ/S, τ = Σλ, S = Σλ⁺ (τ = S and μ = λ if none is negative) and g = df/dμ,
    df/dλ_j = 1[λ_j > 0] (τ/S) (g_j - ḡ) + ḡ,  ḡ = Σ g_i λ_i⁺ / S,  except that for τ = S the zeros keep g_j too.
    """
    (A,), (dA,) = primals, tangents
    raw, U = jnp.linalg.eigh(A)
    lam, factor = _treated(raw, raw)
    change = jnp.sum(U * (dA @ U), -2)  # u_j' dA u_j

    def derivative(q):
        g = _hill_gradient(lam, q, tolerance)
        mean = jnp.sum(g * lam, -1, keepdims=True) / jnp.sum(lam, -1, keepdims=True)
        slope = jnp.where(raw < -tolerance, mean, factor * g + (1 - factor) * mean)
        return jnp.sum(slope * change, -1)

    scores = jnp.stack([_hill(lam, q, tolerance, jnp) for q in orders], -1)
    return scores, jnp.stack([derivative(q) for q in orders], -1)


def _spectrum(A):
    """(..., n) ascending eigenvalues."""
    if _namespace(A) is jnp:
        return eigenvalues(A)
    if A.shape[-1] < 256:
        return np.linalg.eigvalsh(A)
    import scipy.linalg  # late, since it takes a fifth of a second that training has no use for

    # SciPy brings a LAPACK of its own, the faster one for large matrices. It wants them by columns: a symmetric matrix
    # that is transposed is copied as it is, which spares up to a tenth of the time.
    each = [scipy.linalg.eigvalsh(one.T, check_finite=False) for one in A.reshape(-1, *A.shape[-2:])]
    return np.array(each).reshape(A.shape[:-1])


def _nearest_correlation(K, iterations: int = 500):
    """The nearest positive semidefinite matrix with unit diagonal (Higham 2002: alternating projections).

    Y ← (R₊ with unit diagonal), R = Y - ΔS, ΔS ← R₊ - R, where R₊ drops R's negative eigenvalues; ΔS is
    Dykstra's correction, without which the limit would be feasible but not nearest.
    """
    xp, n = _namespace(K), K.shape[-1]
    eye = np.eye(n, dtype=K.dtype)

    def project(R):
        lam, U = xp.linalg.eigh(R)
        return (U * xp.maximum(lam, 0)[..., None, :]) @ xp.swapaxes(U, -1, -2)

    def step(Y, correction):
        R = Y - correction
        positive = project(R)
        return positive * (1 - eye) + eye, positive - R

    tolerance = 10 * float(np.finfo(K.dtype).eps)
    if xp is np:
        Y, correction = K, np.zeros_like(K)
        for _ in range(iterations):
            previous = Y
            Y, correction = step(Y, correction)
            if np.abs(Y - previous).max(initial=0) <= tolerance:
                break
        return Y

    def go_on(carry):
        i, change, *_ = carry
        return (i < iterations) & (change > tolerance)

    def body(carry):
        i, _, Y, correction = carry
        new, correction = step(Y, correction)
        return i + 1, jnp.abs(new - Y).max(), new, correction

    start = (0, jnp.asarray(jnp.inf, K.dtype), K, jnp.zeros_like(K))
    return jax.lax.while_loop(go_on, body, start)[2]


def _weighted(K, weights):
    """A_ij = sqrt(p_i p_j) K_ij, which has trace one."""
    if weights is None:
        return K / K.shape[-1]
    root = _namespace(K).sqrt(weights)
    return K * root[..., :, None] * root[..., None, :]


# ---- input ---------------------------------------------------------------------------------------------------------


def _checked(K, q, weights, psd):
    """The input as arrays of one library, or an error that names what was wrong."""
    if psd not in get_args(PSD):
        raise ValueError(f"psd must be one of {', '.join(get_args(PSD))}, but is {psd!r}")
    orders = _orders(q)
    K, weights, tolerance, back = _arrays(K, "K", weights)
    if K.ndim < 2 or K.shape[-1] != K.shape[-2]:
        raise ValueError(f"K must be a (..., n, n) kernel matrix, but has shape {K.shape}")
    if K.shape[-1] == 0:
        raise ValueError("K is a 0 x 0 matrix: there are no items to score")
    if _namespace(K) is np:
        _check_kernel(K)
    return K, orders, _checked_weights(weights, K.shape[-1]), tolerance, back


def _arrays(x, name: str, weights):
    """Input and weights as arrays of one library, the size of rounding noise, and the way back to the caller's type.

    Known values become float64 NumPy arrays, also if they came from JAX; traced ones stay in the graph.
    """
    given = [_array(x, name)] + ([] if weights is None else [_array(weights, "weights")])
    dtype = given[0].dtype
    n = given[0].shape[-1] if given[0].ndim else 1
    tolerance = 4 * max(n, 1) * _eps(dtype)
    if any(isinstance(array, jax.core.Tracer) for array in given):
        converted, back = [jnp.asarray(array) for array in given], lambda y: y
    else:
        converted = [np.asarray(array, np.float64) for array in given]
        back = (lambda y: jnp.asarray(y, dtype)) if isinstance(given[0], jax.Array) else (lambda y: y)
    return converted[0], (None if weights is None else converted[1]), tolerance, back


@lru_cache
def _eps(dtype) -> float:
    return float(jnp.finfo(dtype).eps)


def _check_kernel(K: np.ndarray) -> None:
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
        _refuse_non_finite(K, "K")
    diagonal = np.diagonal(K, axis1=-2, axis2=-1)
    if np.abs(diagonal - 1).max() > 1e-3:
        place = np.argwhere(np.abs(diagonal - 1) > 1e-3)[0]
        value = diagonal[tuple(place)]
        raise ValueError(
            f"K: item {_place(place)} has similarity {value:.6g} to itself, but k(a, a) must be 1"
            + (" (a zero diagonal cannot be normalised)" if value == 0 else "; use K / sqrt(outer(diag(K), diag(K)))")
        )
    gap = np.zeros(()) if sound else np.abs(K - np.swapaxes(K, -1, -2))
    if gap.max() > 1e-4:
        place = np.unravel_index(gap.argmax(), gap.shape)
        raise ValueError(
            f"K is not symmetric: K{_place(place)} = {K[place]:.6g}, but its mirror image differs by {gap[place]:.3g}. "
            "Use (K + K.T) / 2 if that is rounding, or a symmetric similarity"
        )


def _checked_weights(weights, n: int):
    if weights is None:
        return None
    if weights.ndim == 0 or weights.shape[-1] != n:
        raise ValueError(f"weights must have one entry for each of the {n} items, but has shape {weights.shape}")
    if isinstance(weights, np.ndarray):
        _refuse_non_finite(weights, "weights")
        if (weights < 0).any():
            place = np.unravel_index(weights.argmin(), weights.shape)
            raise ValueError(f"weights must not be negative, but weights{_place(place)} is {weights.min():.6g}")
        if (weights.sum(-1) <= 0).any():
            raise ValueError("weights are all zero: at least one item must have a positive weight")
    return weights / weights.sum(-1, keepdims=True)


def _orders(q: Order) -> list[float]:
    orders = list(q) if _is_list(q) else [q]  # type: ignore[arg-type]
    if not orders:
        raise ValueError("q is an empty list: give at least one order")
    for order in orders:
        if isinstance(order, jax.core.Tracer):
            raise TypeError("q must be a number that is known before compiling, not a traced value; make it static")
        if not isinstance(order, int | float | np.number | np.ndarray) or math.isnan(float(order)) or order < 0:
            raise ValueError(f"q must be a number in [0, inf] or a list of such, but is {order!r}")
    return [float(order) for order in orders]


def _is_list(q: Order) -> bool:
    if isinstance(q, int | float | jax.core.Tracer):
        return False
    return np.ndim(q) > 0


def _array(x, name: str):
    """An array of floating-point numbers, NumPy's or, for JAX input, JAX's."""
    if isinstance(x, jax.Array):
        if jnp.issubdtype(x.dtype, jnp.complexfloating):
            raise TypeError(f"{name} must be an array of real numbers, but has type {x.dtype}")
        return x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(float)
    try:
        array = np.asarray(x)
    except ValueError:
        raise ValueError(f"{name} must be a rectangular array of numbers, but its rows differ in length") from None
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} must be an array of real numbers, but has type {array.dtype}")
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def _refuse_non_finite(x: np.ndarray, name: str) -> None:
    if not np.isfinite(x.sum()) and not np.isfinite(x).all():  # the sum is the cheaper test
        place = np.argwhere(~np.isfinite(x))[0]
        raise ValueError(f"{name} must be finite, but {name}{_place(place)} is {x[tuple(place)]}")


def _namespace(x) -> ModuleType:
    return np if isinstance(x, np.ndarray) else jnp


def _place(index) -> str:
    return "[" + ", ".join(str(int(i)) for i in index) + "]"
