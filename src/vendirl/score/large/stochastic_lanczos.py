"""Stochastic Lanczos: tr f(ρ) = E z'f(ρ)z over random signs z.

Each z'f(ρ)z lies between Lanczos' Gauss and Gauss-Radau quadratures (the derivatives of f = -x log x and x^q have
constant signs), and z'f(F F'/N)z, whose mean is known from a pivoted Cholesky, is subtracted: what is left to chance is
only what F F' leaves out.

For q = ∞ the largest Ritz value is a lower bound of λ_1, and a random start bounds how far below it can be
(Kuczyński and Woźniakowski 1992).
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from vendirl.score.large.convex_trace import allowance_for, convex_function
from vendirl.score.large.intervals import ROUNDING, student_quantile
from vendirl.score.large.kernel_blocks import Prepared, block, tiles, traced_block
from vendirl.score.large.pivoted_cholesky import LowRank


def interval_by_lanczos(
    kernel: Prepared,
    X: Float[np.ndarray, "N D"],
    q: float,
    tolerance: float,
    low_rank: LowRank,
    probes: int,
    steps: int,
    confidence: float,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """The interval of the score from `probes` random vectors and `steps` passes over K."""
    n = len(X)
    if q == math.inf:
        T = _tridiagonals(kernel, X, rng.normal(size=(probes, n)), steps, np.float64)
        top = max([*low_rank.spectrum[:1], *(np.linalg.eigvalsh(t)[-1] for t in T)])
        # P(λ_1 - θ > ε λ_1) <= 1.648 sqrt(n) exp(-sqrt(ε)(2 steps - 1)) for each start, and all of them would have to
        gap = math.log(1.648 * math.sqrt(n)) - math.log(1 - confidence) / probes
        epsilon = min((gap / (2 * steps - 1)) ** 2, 1 - top)
        return 1 / (top / (1 - epsilon)), min(1 / top * (1 + ROUNDING), n)
    convex, _, score = convex_function(q)

    def f(x: Float[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
        return np.where(x > 0, convex(np.where(x > 0, x, 1)), 0.0)

    dtype, allowance = _precision(kernel, X, q, tolerance, low_rank, rng)
    z = rng.choice([-1.0, 1.0], size=(probes, n))
    quadratures = np.array([_quadratures(t, f) for t in _tridiagonals(kernel, X, z, steps, dtype)]) * n
    mu, W = np.linalg.eigh(low_rank.factor.T @ low_rank.factor / n)
    keep = mu > 1e-12 * mu[-1]
    mu, W = mu[keep], W[:, keep]
    known = np.square(z @ low_rank.factor @ W) @ (f(mu) / (mu * n))  # z'f(F F'/N)z
    sample = quadratures.mean(1) - known
    half = student_quantile((1 - confidence) / 2, probes) * sample.std(ddof=1) / math.sqrt(probes) + allowance
    low, high = (f(mu).sum() + (quadratures - known[:, None]).mean(0)).tolist()
    return float(np.clip(score(high + half), 1, n)), float(np.clip(score(low - half), 1, n))


def _tridiagonals(
    kernel: Prepared,
    X: Float[np.ndarray, "N D"],
    starts: Float[np.ndarray, "P N"],
    steps: int,
    dtype: type[np.floating],
) -> list[Float[np.ndarray, "_ _"]]:
    """Lanczos on K/N from each of the (P, N) starts: P symmetric tridiagonal matrices, cut where β vanishes.

    Blocks of K are computed in `dtype` once for all starts in each step and forgotten; vectors are in float64.
    """
    with jax.enable_x64(True):
        units = jnp.asarray(starts / np.linalg.norm(starts, axis=1, keepdims=True))
        T = np.asarray(_lanczos(kernel, steps, units, jnp.asarray(np.nan_to_num(np.stack(tiles(X))), dtype)))
    return [_unbroken(t) for t in T]


@partial(jax.jit, static_argnums=(0, 1))
def _lanczos(
    kernel: Prepared, steps: int, starts: Float[Array, "P N"], Z: Float[Array, "B L D"]
) -> Float[Array, "P {steps} {steps}"]:
    """(P, N) unit starts, (B, L, D) tiles of items -> (P, steps, steps)."""
    from matfree import decomp

    n = starts.shape[1]
    count, length, _ = Z.shape

    def matvec(v: Float[Array, " N"], Z: Float[Array, "B L D"]) -> Float[Array, " N"]:
        V = jnp.pad(v, (0, count * length - n)).reshape(count, length)

        def rows(i: Int[Array, ""]) -> Float[Array, " L"]:
            def add(total: Float[Array, " L"], j: Int[Array, ""]) -> tuple[Float[Array, " L"], None]:
                K = traced_block(kernel, Z[i], Z[j])
                K = jnp.where((i == j) & jnp.eye(length, dtype=bool), 1, K)
                return total + K.astype(v.dtype) @ V[j], None

            return jax.lax.scan(add, jnp.zeros(length, v.dtype), jnp.arange(count))[0]

        return jax.lax.map(rows, jnp.arange(count)).reshape(-1)[:n] / n

    tridiagonal = decomp.tridiag_sym(steps, custom_vjp=False)
    return jax.vmap(lambda v: tridiagonal(matvec, v, Z).J_small)(starts)


def _unbroken(T: Float[np.ndarray, "steps steps"]) -> Float[np.ndarray, "m m"]:
    """T up to where its off-diagonal vanishes: there the start's Krylov space ends, and what follows is noise."""
    beta = np.append(np.abs(np.diagonal(T, 1)), 0)
    with np.errstate(invalid="ignore"):
        ends = ~(beta > 1e-12 * np.abs(T[0, 0])) | ~np.isfinite(np.diagonal(T))
    length = int(np.argmax(ends)) + 1
    if not np.isfinite(T[length - 1, length - 1]):
        length -= 1
    if length < 1:
        raise FloatingPointError("kernel gave values that are not finite")
    return T[:length, :length]


def _quadratures(
    T: Float[np.ndarray, "m m"], f: Callable[[Float[np.ndarray, " m"]], Float[np.ndarray, " m"]]
) -> tuple[float, float]:
    """Gauss and Gauss-Radau (a node at 0) quadrature of v'f(ρ)v for a unit v, the smaller first."""
    nodes, U = np.linalg.eigh(T)
    gauss = float(np.square(U[0]) @ f(np.maximum(nodes, 0)))
    if len(T) < 2:
        return gauss, gauss
    theta, S = np.linalg.eigh(T[:-1, :-1])
    theta = np.maximum(theta, 1e-14 * theta[-1])
    R = T.copy()  # its last entry such that 0 is an eigenvalue: β² e'T⁻¹e
    R[-1, -1] = T[-1, -2] ** 2 * float(np.square(S[-1]) @ (1 / theta))
    nodes, U = np.linalg.eigh(R)
    radau = float(np.square(U[0]) @ f(np.maximum(nodes, 0)))
    return min(gauss, radau), max(gauss, radau)


def _precision(
    kernel: Prepared,
    X: Float[np.ndarray, "N D"],
    q: float,
    tolerance: float,
    low_rank: LowRank,
    rng: np.random.Generator,
) -> tuple[type[np.floating], float]:
    """The type for blocks of K, and what their rounding can do to tr g(ρ).

    The rounding Δ of K is measured in some rows, and ‖Δ/N‖_1 <= ‖Δ‖_F/sqrt(N).
    """
    n = len(X)
    rows = rng.choice(n, min(n, 64), replace=False)
    for dtype in (np.float32, np.float64) if n > 16384 and q >= 1 else (np.float64,):
        with jax.enable_x64(True):
            rough = np.array(traced_block(kernel, jnp.asarray(X[rows], dtype), jnp.asarray(X, dtype)), np.float64)
        rough[np.arange(len(rows)), rows] = 1
        double = math.sqrt(n * np.square(rough - block(kernel, X[rows], X)).mean())
        allowance = allowance_for(double, n, q)
        worth = tolerance if q == 1 else abs(1 - q) * tolerance * float(np.sum(low_rank.spectrum**q))
        if allowance <= worth / 4:
            break
    return dtype, allowance


def no_lanczos(kernel: Prepared, X: Float[np.ndarray, "N D"], q: float) -> str:
    """Why stochastic Lanczos is not possible, or nothing."""
    if q == 0:
        return "order 0 counts eigenvalues however small, which Lanczos does not see"
    if importlib.util.find_spec("matfree") is None:
        return "stochastic Lanczos needs the package matfree (pip install matfree)"
    two = jax.ShapeDtypeStruct((2, X.shape[1]), np.float32)
    try:
        jax.eval_shape(partial(traced_block, kernel), two, two)
    except jax.errors.JAXTypeError:
        return "stochastic Lanczos needs a kernel written in jax.numpy"
    return ""
