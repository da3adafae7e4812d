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
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from vendirl._checks import AnyArray, finite, place
from vendirl._text import preformatted
from vendirl.score.hill import hill, hill_of_matrix
from vendirl.score.inputs import PSD, Order, arrays, checked, checked_weights, is_list, orders_of
from vendirl.score.nearest import nearest_correlation
from vendirl.score.spectrum import clipped, namespace, spectrum


def vendi_score(
    K: Float[AnyArray, "*batch n n"] | Any,
    q: Order | Any = 1.0,
    weights: Float[AnyArray, "*batch n"] | Any = None,
    psd: PSD | Any = "clip",
) -> Float[AnyArray, " ..."]:
    """The Vendi Score of order q of a kernel matrix, or of a batch of them.

    Args:
        K: (..., n, n) similarities with K_ii = 1, NumPy or JAX.
        q: the order, in [0, ∞], or a list of orders, which adds a last axis to the result.
        weights: (..., n) abundance p_i >= 0 of each item, scaled to sum to one; uniform if None. Under `jit` the score
            is NaN if their sum is beyond what their type can hold.
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
    K, orders, weights, tolerance, back = checked(K, q, weights, psd)
    scores: AnyArray
    if weights is None and psd != "nearest" and isinstance(K, np.ndarray):  # spares a large K the copy that is K/n
        scores = _of_spectrum(spectrum(K) / K.shape[-1], orders, psd, tolerance)
    else:
        scores = _of_matrix(_weighted(K, weights), K, orders, psd, tolerance)
    return back(scores if is_list(q) else scores[..., 0])


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

    score: Float[AnyArray, " ..."]
    spectrum: Float[AnyArray, "*batch n"]
    negative_mass: Float[AnyArray, "*batch"] | np.floating
    contributions: Float[AnyArray, "*batch n"] | Float[AnyArray, "*batch n orders"]
    q: float | tuple[float, ...] = eqx.field(static=True)

    def __str__(self) -> str:
        if np.ndim(self.score) or isinstance(self.score, jax.core.Tracer):
            return f"Vendi Scores of order {self.q}, of shape {np.shape(self.score)}"
        n, shown = self.spectrum.shape[-1], 8
        more = ", ..." if n > shown else ""

        def some(values: AnyArray) -> str:
            return ", ".join(f"{value:.3f}" for value in np.asarray(values)[:shown]) + more

        return (
            f"Vendi Score {float(self.score):.3f} of {n} items (order {self.q:g}), negative mass "
            f"{abs(float(self.negative_mass)):.3g}\n  spectrum       {some(self.spectrum)}\n"
            f"  contributions  {some(self.contributions)}"
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return preformatted(str(self))


def vendi(
    K: Float[AnyArray, "*batch n n"] | Any,
    q: Order | Any = 1.0,
    weights: Float[AnyArray, "*batch n"] | Any = None,
    psd: PSD | Any = "clip",
) -> Vendi:
    """`vendi_score` with the spectrum, the negative mass, and each item's marginal contribution.

    Example:
        >>> import numpy as np, vendirl as vr
        >>> twins = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
        >>> vr.vendi(twins).contributions.round(3)          # a twin that goes leaves a better balanced pair
        array([-0.11, -0.11,  0.89])
    """
    K, orders, weights, tolerance, back = checked(K, q, weights, psd)
    xp, n = namespace(K), K.shape[-1]
    A = _weighted(K, weights)
    scores = _of_matrix(A, K, orders, psd, tolerance)
    raw = spectrum(A)
    lam, _ = clipped(raw, spectrum(_weighted(nearest_correlation(K), weights)) if psd == "nearest" else raw)
    if n == 1:
        contributions = scores[..., None, :]  # an empty set has no diversity
    else:
        others = np.array([[j for j in range(n) if j != i] for i in range(n)])
        rest = K[..., others[:, :, None], others[:, None, :]]
        p: AnyArray | None = None
        some: AnyArray | bool = True
        if weights is not None:
            p = weights[..., others]
            some = p.sum(-1, keepdims=True) > 0  # else all the weight is on the item that goes
            p = xp.where(some, p, 1)
            p = p / p.sum(-1, keepdims=True)
        without = _of_matrix(_weighted(rest, p), rest, orders, psd, tolerance)
        contributions = scores[..., None, :] - xp.where(some, without, 0)
    one = slice(None) if is_list(q) else 0
    return Vendi(
        score=back(scores[..., one]),
        spectrum=back(xp.flip(lam, -1)),
        negative_mass=back(-xp.where(raw < -tolerance, raw, 0).sum(-1)),
        contributions=back(contributions[..., one]),
        q=tuple(orders) if is_list(q) else orders[0],
    )


def vendi_score_features(
    X: Float[AnyArray, "*batch n d"] | Any, q: Order | Any = 1.0, weights: Float[AnyArray, "*batch n"] | Any = None
) -> Float[AnyArray, " ..."]:
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
    X, weights, tolerance, back = arrays(X, "X", weights)
    xp = namespace(X)
    if X.ndim < 2 or 0 in X.shape[-2:]:
        raise ValueError(f"X must be a (..., n, d) array of features, but has shape {X.shape}")
    if isinstance(X, np.ndarray):
        finite(X, "X")
        if (empty := np.argwhere(~X.any(-1))).size:
            raise ValueError(f"X: row {place(empty[0])} is all zero and has no direction; remove it")
    orders, weights = orders_of(q), checked_weights(weights, X.shape[-2])
    n, d = X.shape[-2:]
    top = xp.abs(X).max(-1, keepdims=True)
    X = X / xp.where(top == 0, 1, top)  # so that the squares neither overflow nor vanish
    norm = xp.sqrt(xp.sum(X * X, -1, keepdims=True))
    root = (1 / math.sqrt(n)) if weights is None else xp.sqrt(weights)[..., None]
    Y = X / xp.where(norm == 0, 1, norm) * root
    A = xp.swapaxes(Y, -1, -2) @ Y if d < n else Y @ xp.swapaxes(Y, -1, -2)
    scores = back(_of_matrix(A, A, orders, "clip", tolerance))
    return scores if is_list(q) else scores[..., 0]


def _of_matrix(
    A: Float[AnyArray, "*weighted n n"],
    K: Float[AnyArray, "*batch n n"],
    orders: list[float],
    psd: PSD,
    tolerance: float,
) -> Float[AnyArray, "*weighted orders"]:
    """(..., len(orders)) scores of the trace-one A made from K; `tolerance`: the relative size of rounding noise."""
    if psd == "nearest":  # A = K * root root', so its diagonal (K_ii = 1) holds the weights
        p = namespace(A).diagonal(A, axis1=-2, axis2=-1)
        A = _weighted(nearest_correlation(K), p)
    if not isinstance(A, np.ndarray):
        if psd == "error":
            least = spectrum(A)[..., 0]
            A = eqx.error_if(A, jnp.any(least < -tolerance), "K is not positive semidefinite, and psd='error'")
        return hill_of_matrix(A, tuple(orders), tolerance)
    return _of_spectrum(spectrum(A), orders, psd, tolerance)


def _of_spectrum(
    lam: Float[np.ndarray, "*batch n"], orders: list[float], psd: PSD, tolerance: float
) -> Float[np.ndarray, "*batch orders"]:
    """(..., len(orders)) scores of a spectrum (..., n) with sum one."""
    if psd == "error" and lam.size and lam.min() < -tolerance:
        raise ValueError(
            f"K is not positive semidefinite: K/n has an eigenvalue {lam.min():.3g}, and psd='error'. "
            "Use psd='clip' or psd='nearest', or a similarity that is positive semidefinite"
        )
    if lam.min() < 0:
        lam, _ = clipped(lam, lam)
    if len(orders) == 1:
        return np.asarray(hill(lam, orders[0], tolerance, np))[..., None]
    return np.stack([hill(lam, q, tolerance, np) for q in orders], -1)


def _weighted(
    K: Float[AnyArray, "*batch n n"], weights: Float[AnyArray, "*weighted n"] | None
) -> Float[AnyArray, "*both n n"]:
    """A_ij = sqrt(p_i p_j) K_ij, which has trace one."""
    if weights is None:
        return K / K.shape[-1]
    root = namespace(K).sqrt(weights)
    return K * root[..., :, None] * root[..., None, :]
