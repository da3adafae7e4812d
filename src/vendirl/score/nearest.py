"""The nearest correlation matrix: a remedy for similarities that are not positive semidefinite."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from vendirl._checks import SameArray
from vendirl.score.spectrum import namespace


def nearest_correlation(K: Float[SameArray, "*batch n n"], iterations: int = 500) -> Float[SameArray, "*batch n n"]:
    """The nearest positive semidefinite matrix with unit diagonal (Higham 2002: alternating projections).

    Y ← (R₊ with unit diagonal), R = Y - ΔS, ΔS ← R₊ - R, where R₊ drops R's negative eigenvalues; ΔS is
    Dykstra's correction, without which the limit would be feasible but not nearest.
    """
    tolerance = 10 * float(np.finfo(K.dtype).eps)
    return _in_numpy(K, iterations, tolerance) if isinstance(K, np.ndarray) else _in_jax(K, iterations, tolerance)


def _in_numpy(K: Float[np.ndarray, "*batch n n"], iterations: int, tolerance: float) -> Float[np.ndarray, "*batch n n"]:
    Y, correction = K, np.zeros_like(K)
    for _ in range(iterations):
        previous = Y
        Y, correction = _step(Y, correction)
        if np.abs(Y - previous).max(initial=0) <= tolerance:
            break
    return Y


Carry = tuple[Int[Array, ""], Float[Array, ""], Float[Array, "*batch n n"], Float[Array, "*batch n n"]]
"""How many steps were made, how much the last one changed, Y and ΔS."""


def _in_jax(K: Float[Array, "*batch n n"], iterations: int, tolerance: float) -> Float[Array, "*batch n n"]:
    def go_on(carry: Carry) -> Bool[Array, ""]:
        i, change, *_ = carry
        return (i < iterations) & (change > tolerance)

    def body(carry: Carry) -> Carry:
        i, _, Y, correction = carry
        new, correction = _step(Y, correction)
        return i + 1, jnp.abs(new - Y).max(), new, correction

    start = (jnp.asarray(0), jnp.asarray(jnp.inf, K.dtype), K, jnp.zeros_like(K))
    return jax.lax.while_loop(go_on, body, start)[2]


def _step(
    Y: Float[SameArray, "*batch n n"], correction: Float[SameArray, "*batch n n"]
) -> tuple[Float[SameArray, "*batch n n"], Float[SameArray, "*batch n n"]]:
    xp, eye = namespace(Y), np.eye(Y.shape[-1], dtype=Y.dtype)
    R = Y - correction
    lam, U = xp.linalg.eigh(R)
    positive = (U * xp.maximum(lam, 0)[..., None, :]) @ xp.swapaxes(U, -1, -2)
    return positive * (1 - eye) + eye, positive - R
