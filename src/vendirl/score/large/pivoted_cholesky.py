"""Pivoted Cholesky: K = F F' + E with F of rank m and E positive semidefinite, whose trace is known from diagonals.

If μ are the eigenvalues of F'F/N and τ = tr(E)/N, then λ_i >= μ_i for every i (Weyl) and Σ(λ_i - μ_i) = τ. Among all
such spectra μ + τe_1 majorises every one, and max(μ, c), c filling up to a sum of one, is majorised by every one. The
Vendi Score of any order is Schur-concave, so that, with certainty and for every q,

    VS_q(μ + τ e_1)  <=  VS_q(K)  <=  VS_q(max(μ, c)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from jaxtyping import Float

from vendirl.score.hill import hill
from vendirl.score.large.intervals import ROUNDING
from vendirl.score.large.kernel_blocks import Function, Prepared, block


@dataclass(frozen=True)
class LowRank:
    """K = F F' + E: F (N, m), the eigenvalues μ of F'F/N, τ = tr(E)/N, and the bounds these give."""

    factor: Float[np.ndarray, "N m"]
    spectrum: Float[np.ndarray, " m"]
    residual: float
    lower: float
    upper: float


def factorise(
    kernel: Prepared, X: Float[np.ndarray, "N D"], q: float, tolerance: float, rank: int, rng: np.random.Generator
) -> LowRank:
    """Pivots in blocks, drawn with probability proportional to the residual diagonal, until the bounds are near enough.

    Of each block only those are kept that, next to the others in it, still reduce the residual much.
    """
    n, eps = len(X), kernel.eps if isinstance(kernel, Function) else float(np.finfo(float).eps)
    F = np.empty((n, rank))
    d = np.ones(n)
    m, check, found = 0, 16, 1
    while True:
        weights = np.maximum(d, 0)
        residual = float(np.abs(d).mean())  # negative ones are rounding, and count as doubt
        done = m == rank or residual <= max(4 * n * np.finfo(float).eps, 1e-13)
        done = done or found == 0 or not weights.any()  # what is left is rounding of the kernel's values
        if done or m >= check:
            spectrum = np.maximum(np.linalg.eigvalsh(F[:, :m].T @ F[:, :m] / n)[::-1], 0)
            spectrum *= (1 - residual) / spectrum.sum()
            lower, upper = _spectrum_bounds(spectrum, residual, n, q)
            if done or math.sqrt(upper / lower) - 1 <= tolerance:
                return LowRank(F[:, :m], spectrum, residual, lower, upper)
            check = 2 * m
        size = min(max(m, 16), 128, rank - m, int((weights > 0).sum()))
        pivots = rng.choice(n, size, replace=False, p=weights / weights.sum())
        G = block(kernel, X, X[pivots]) - F[:, :m] @ F[pivots, :m].T
        # a pivot near the rounding of the kernel's values would magnify it
        least = max(min(residual / 10, float(d[pivots].max()) / 2), 300 * eps if isinstance(kernel, Function) else 0)
        L, order, found, _ = scipy.linalg.lapack.dpstrf(G[pivots], tol=least, lower=1)
        if found == 0:
            continue
        kept = order[:found] - 1
        new = scipy.linalg.solve_triangular(L[:found, :found], G[:, kept].T, lower=True, check_finite=False).T
        F[:, m : m + found] = new
        m += found
        d -= np.square(new).sum(1)
        d[pivots[kept]] = 0
        if not d.min() >= -math.sqrt(eps):
            raise ValueError(
                f"kernel is not positive semidefinite: item {int(d.argmin())} has a residual of {d.min():.3g} after "
                f"{m} pivots. Use method='exact' on fewer items, or a kernel that is positive semidefinite"
            )


def _spectrum_bounds(mu: Float[np.ndarray, " m"], residual: float, n: int, q: float) -> tuple[float, float]:
    """VS_q(μ + τ e_1) and VS_q(max(μ, c)): the least and the most diverse spectrum that μ and τ leave possible.

    μ: (m,) descending, with sum 1 - τ; n: the number of eigenvalues.
    """
    noise = 4 * n * np.finfo(float).eps
    least = mu.copy()
    least[0] += residual
    lower = float(hill(least, q, noise, np))
    padded = np.concatenate([mu, np.zeros(n - len(mu))])
    if q == 0:  # as many as τ can lift above the noise
        short = np.maximum(noise * mu[0] - padded, 0)
        upper = float(np.sum(short.cumsum() <= residual))
    else:
        equal = (residual + padded[::-1].cumsum()[::-1]) / np.arange(n, 0, -1)  # of the rest, if the first j stay
        upper = float(hill(np.maximum(padded, equal[np.argmax(equal >= padded)]), q, 0.0, np))
    return lower * (1 - ROUNDING), upper * (1 + ROUNDING)
