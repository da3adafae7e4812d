"""Diversity that knows similarity, from the same K as the Vendi Score: Leinster and Cobbold's, and magnitude.

With Z = K and abundances p, (Zp)_i is how ordinary item i is, the mean similarity of an item to it.
Where the Vendi Score takes the spectrum of K, these take its entries.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.linalg
from jaxtyping import Float

from vendirl._checks import AnyArray, an_array
from vendirl.evaluation.measures.measure import Measure
from vendirl.score.inputs import check_kernel


def leinster_cobbold(
    K: Float[AnyArray, "n n"] | Any, q: float | Any = 1.0, weights: Float[AnyArray, " n"] | Any | None = None
) -> Measure:
    """The Leinster-Cobbold diversity of order q,

        D_q = (Σ p_i (Zp)_i^(q-1))^(1/(1-q)),    D_1 = exp(-Σ p_i log (Zp)_i),    D_∞ = 1 / max (Zp)_i,

    sums and maximum over p_i > 0: from 1 (all alike) to n (none like another; then it is the Hill number of p). It
    never increases with q. Similarities must not be negative, as a cosine may be; then the value is None.

    Args:
        K: (n, n) similarities with K_ii = 1.
        q: the order, in [0, ∞].
        weights: (n,) abundances, scaled to sum to one; uniform if None.

    Example:
        >>> import numpy as np
        >>> round(leinster_cobbold(np.eye(4)).value, 6), round(leinster_cobbold(np.ones((4, 4)), q=2).value, 6)
        (4.0, 1.0)
    """
    Z = checked_kernel(K)
    n = len(Z)
    if not isinstance(q, int | float | np.number) or math.isnan(q) or q < 0:
        raise ValueError(f"q must be a number in [0, inf], but is {q!r}")
    p = np.full(n, 1 / n) if weights is None else np.asarray(weights, np.float64)
    if p.shape != (n,) or not np.isfinite(p).all() or (p < 0).any() or not p.any():
        raise ValueError(f"weights must be {n} finite numbers, not negative and not all zero")
    p = p / p.max()
    p = p / p.sum()
    settings = {"q": "inf" if q == math.inf else float(q), "skills": n, "weights": "uniform" if weights is None else p}

    def result(value: float | None, note: str | None = None) -> Measure:
        return Measure(f"Leinster-Cobbold diversity, q={q:g}", value, settings, "skills", "higher", note)

    if Z.min() < -1e-6:
        return result(None, f"K has similarities below 0 (the least is {Z.min():.3g}), which this diversity excludes")
    some = p > 0
    p, log_ordinary = p[some], np.log((np.maximum(Z, 0) @ p)[some])  # K_ii = 1, so Zp >= p > 0
    if q == 1:
        return result(math.exp(-np.sum(p * log_ordinary)))
    if q == math.inf:
        return result(math.exp(-log_ordinary.max()))
    if abs(q - 1) < 0.5:  # without cancellation
        log_sum = math.log1p(np.sum(p * np.expm1((q - 1) * log_ordinary)))
    else:
        from scipy.special import logsumexp

        log_sum = logsumexp((q - 1) * log_ordinary, b=p)
    return result(math.exp(log_sum / (1 - q)))


def magnitude(K: Float[AnyArray, "n n"] | Any) -> Measure:
    """The magnitude |K| = Σ w_i, where K w = 1: an effective number of points, 1 if all are alike, n if K = I.

    For invertible K it is the sum of the entries of K⁻¹. For singular K every weighting w has the same sum, if there is
    one; if there is none, the value is None. If some w_i are negative it may leave [1, n], and a note says so.

    Args:
        K: (n, n) similarities with K_ii = 1.

    Example:
        >>> round(magnitude([[1.0, 0.5], [0.5, 1.0]]).value, 6)
        1.333333
    """
    K = checked_kernel(K)
    n = len(K)
    settings = {"skills": n}
    lam, U = scipy.linalg.eigh(K, check_finite=False)
    along = U.sum(0)  # the coordinates of 1
    size = np.abs(lam).max()
    kept = np.abs(lam) > 1e-10 * size
    if np.abs(along[~kept]).max(initial=0) > 1e-6:
        note = "K is singular and has no weighting: K w = 1 has no solution"
        return Measure("magnitude", None, settings, "skills", "higher", note)
    w = U[:, kept] @ (along[kept] / lam[kept])
    notes = []
    if w.min() < -1e-6:
        notes.append("some weights are negative, so the magnitude need not lie between 1 and n")
    if np.abs(lam[kept]).min() < 1e-7 * size:
        notes.append("K is nearly singular, so the magnitude depends on rounding in K")
    return Measure("magnitude", w.sum(), settings, "skills", "higher", "; ".join(notes) or None)


def checked_kernel(K: Float[AnyArray, "n n"] | Any) -> Float[np.ndarray, "n n"]:
    """K as a symmetric float64 matrix; what is not a matrix of similarities is refused."""
    K = np.asarray(an_array(K, "K"), np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or not len(K):
        raise ValueError(f"K must be an (n, n) kernel matrix, but has shape {K.shape}")
    check_kernel(K)
    return (K + K.T) / 2
