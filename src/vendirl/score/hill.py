"""Hill numbers of a spectrum λ that sums to one: how many equal eigenvalues would be as diverse.

    VS_q = (Σ λ_i^q)^(1/(1-q)),      VS_1 = exp(-Σ λ_i log λ_i),      VS_∞ = 1 / max λ_i

`hill` is the number, `hill_gradient` its derivative by λ, and `hill_of_matrix` the number of a matrix by its spectrum,
differentiable in closed form, since the derivative of an eigendecomposition is NaN where eigenvalues repeat.
"""

from __future__ import annotations

import math
from functools import partial
from types import ModuleType

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vendirl._checks import SameArray
from vendirl.score.spectrum import clipped, spectrum


def hill(
    lam: Float[SameArray, "*batch n"], q: float, tolerance: float, xp: ModuleType
) -> Float[SameArray, "*batch"] | np.floating:
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


def hill_gradient(lam: Float[Array, "*batch n"], q: float, tolerance: float) -> Float[Array, "*batch n"]:
    """dVS_q/dλ (..., n) for λ >= 0 with sum one, with zero eigenvalues lifted to the tolerance where it is infinite.

    With P = Σ λ^q:  -VS (log λ_j + 1) for order 1,  VS q/(1-q) (λ_j^(q-1)/P - 1) for the others.
    """
    score = jnp.expand_dims(hill(lam, q, tolerance, jnp), -1)
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
def hill_of_matrix(
    A: Float[Array, "*batch n n"], orders: tuple[float, ...], tolerance: float
) -> Float[Array, "*batch q"]:
    """VS_q (..., len(orders)) of a symmetric matrix A (..., n, n) of trace one, negative eigenvalues clipped."""
    raw = spectrum(A)
    lam, _ = clipped(raw, raw)
    return jnp.stack([hill(lam, q, tolerance, jnp) for q in orders], -1)


@hill_of_matrix.defjvp
def _hill_of_matrix_jvp(
    orders: tuple[float, ...],
    tolerance: float,
    primals: tuple[Float[Array, "*batch n n"]],
    tangents: tuple[Float[Array, "*batch n n"]],
) -> tuple[Float[Array, "*batch q"], Float[Array, "*batch q"]]:
    """For a function f of the spectrum, df = <U diag(f'(λ)) U', dA>, whether or not eigenvalues repeat.

    With μ = λ⁺ τ/S, τ = Σλ, S = Σλ⁺ (τ = S and μ = λ if none is negative) and g = df/dμ,
    df/dλ_j = 1[λ_j > 0] (τ/S) (g_j - ḡ) + ḡ,  ḡ = Σ g_i λ_i⁺ / S,  except that for τ = S the zeros keep g_j too.
    """
    (A,), (dA,) = primals, tangents
    raw, U = jnp.linalg.eigh(A)
    lam, factor = clipped(raw, raw)
    change = jnp.sum(U * (dA @ U), -2)  # u_j' dA u_j

    def derivative(q: float) -> Float[Array, "*batch"]:
        g = hill_gradient(lam, q, tolerance)
        mean = jnp.sum(g * lam, -1, keepdims=True) / jnp.sum(lam, -1, keepdims=True)
        slope = jnp.where(raw < -tolerance, mean, factor * g + (1 - factor) * mean)
        return jnp.sum(slope * change, -1)

    scores = jnp.stack([hill(lam, q, tolerance, jnp) for q in orders], -1)
    return scores, jnp.stack([derivative(q) for q in orders], -1)
