"""The Vendi Score as a function of tr g(ρ) for a convex g, and how much tr g(ρ) can change with ρ."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy.special
from jaxtyping import Float

Real = float | Float[np.ndarray, " ..."]
Elementwise = Callable[[Real], Real]
"""Of a number, or of each in an array."""


def convex_function(q: float) -> tuple[Elementwise, Elementwise, Elementwise]:
    """A convex g with g(0) = 0, its derivative, and the Vendi Score as a (decreasing) function of G = Σ g(λ)."""
    if q == 1:
        return lambda x: x * np.log(x), lambda x: np.log(x) + 1, lambda G: np.exp(-G)
    sign = 1 if q > 1 else -1
    return (
        lambda x: sign * x**q,
        lambda x: sign * q * x ** (q - 1),
        lambda G: np.maximum(sign * G, 1e-300) ** (1 / (1 - q)),
    )


def allowance_for(change: float, n: int, q: float) -> float:
    """How much tr g(ρ) can change if ρ changes by 2T = `change` in the trace norm.

    T log N + H(T) for the entropy (Fannes and Audenaert), 2qT for q > 1, N^(1-q) (2T)^q for q < 1.
    """
    if q == 1:
        T = min(change / 2, 0.5)
        return T * math.log(n) + float(scipy.special.entr(T) + scipy.special.entr(1 - T))
    return q * change if q > 1 else n ** (1 - q) * change**q
