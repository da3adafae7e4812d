"""Order 2: VS_2 = N²/‖K‖_F² needs no spectrum, only one pass over K in blocks (or over a sample of its rows)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vendirl.score.large.intervals import ROUNDING
from vendirl.score.large.kernel_blocks import PASS, Distance, Prepared, block, squared_distances, tiles

Squares = Callable[[Float[np.ndarray, "A D"], Float[np.ndarray, "B D"], bool], Float[np.ndarray, "A 2"]]
Found = tuple[float, float, float, float, dict[str, float]]
"""A score, its interval, the confidence of that, and details."""


def score_of_order_two(
    kernel: Prepared, X: Float[np.ndarray, "N D"], tolerance: float, confidence: float, rng: np.random.Generator
) -> Found:
    """VS_2 = N²/‖K‖_F², its interval, the confidence of that, and details."""
    n = len(X)
    if n * n / 2 > PASS:
        return _order_two_sampled(kernel, X, confidence, rng)
    for dtype in (np.float32, np.float64) if isinstance(kernel, Distance) and n > 16384 else (np.float64,):
        low, high = (float(part) for part in _squares(kernel, X, dtype))
        if math.sqrt(high / low) - 1 <= tolerance / 10:
            break
    low, high = low * (1 - ROUNDING), high * (1 + ROUNDING)
    return n * n / math.sqrt(low * high), n * n / high, n * n / low, 1.0, {"kernel values": n * (n + 1) / 2}


def _squares(kernel: Prepared, X: Float[np.ndarray, "N D"], dtype: type[np.floating]) -> Float[np.ndarray, " 2"]:
    """Two bounds of ‖K‖_F² = N + 2 Σ_{i<j} K_ij², from the tiles on and above the diagonal."""
    Z = tiles(X)
    squares = _tile_squares(kernel, dtype)
    total = np.array([len(X), len(X)], float)
    for i in range(len(Z)):
        for j in range(i, len(Z)):
            total += (1 if i == j else 2) * squares(Z[i], Z[j], i == j).sum(0)
    return total


def _order_two_sampled(
    kernel: Prepared, X: Float[np.ndarray, "N D"], confidence: float, rng: np.random.Generator
) -> Found:
    """By the rows of a sample with replacement: the mean of r_i = Σ_j K_ij²/N, which lies in [0, 1].

    The interval is the empirical Bernstein bound of Maurer and Pontil (2009), which holds for every sample size:
    |mean - E r| <= sqrt(2 V L/s) + 7 L/(3 (s - 1)), L = log(4/δ), V the sample variance.
    """
    n = len(X)
    size = int(np.clip(PASS / n, 256, 4096))
    Z, squares = tiles(X), _tile_squares(kernel, np.float64)
    sample = tiles(X[rng.integers(n, size=size)])
    start = np.zeros((len(sample[0]), 2))
    parts = [sum((squares(x, z, False) for z in Z), start).mean(1) for x in sample]  # the mean of both bounds
    rows = np.concatenate(parts)[:size] / n
    L = math.log(4 / (1 - confidence))
    half = math.sqrt(2 * rows.var(ddof=1) * L / size) + 7 * L / (3 * (size - 1))
    mean = rows.mean()
    low, high = max(mean - half, 1 / n), min(mean + half, 1.0)
    return 1 / mean, 1 / high, 1 / low, confidence, {"rows": size}


def _tile_squares(kernel: Prepared, dtype: type[np.floating]) -> Squares:
    """(A, D), (B, D), whether they are the same -> (A, 2): bounds of Σ_j K_ij², without the diagonal if the same."""
    if isinstance(kernel, Distance):
        return partial(_squares_by_distance, kernel, dtype)

    def by_block(x: Float[np.ndarray, "A D"], y: Float[np.ndarray, "B D"], same: bool) -> Float[np.ndarray, "A 2"]:
        real, other = ~np.isnan(x[:, 0]), ~np.isnan(y[:, 0])
        K2 = np.square(block(kernel, x[real], y[other]))
        sums = np.zeros((len(x), 1))
        sums[real, 0] = K2.sum(1) - (np.diagonal(K2) if same else 0)
        return np.concatenate([sums, sums], 1)

    return by_block


def _squares_by_distance(
    kernel: Distance,
    dtype: type[np.floating],
    x: Float[np.ndarray, "A D"],
    y: Float[np.ndarray, "B D"],
    same: bool,
) -> Float[np.ndarray, "A 2"]:
    with jax.enable_x64(True):
        return np.asarray(_distance_squares(kernel, jnp.asarray(x, dtype), jnp.asarray(y, dtype), same))


@partial(jax.jit, static_argnums=(0, 3))
def _distance_squares(
    kernel: Distance, x: Float[Array, "A D"], y: Float[Array, "B D"], same: bool
) -> Float[Array, "A 2"]:
    """`_tile_squares` of a kernel of distances: from squared distances less, and plus, what rounding may have done."""
    real, other = ~jnp.isnan(x[:, 0]), ~jnp.isnan(y[:, 0])
    square, error = squared_distances(jnp.nan_to_num(x), jnp.nan_to_num(y))
    last = (8 + len(y)) * float(jnp.finfo(x.dtype).eps)  # of exp and of a sum of terms >= 0
    sums = []
    for distance, sign in ((jnp.maximum(square, 0) + error, -1), (jnp.maximum(square - error, 0), 1)):
        K2 = kernel.of_square(distance) ** 2
        if same:
            K2 = jnp.where(jnp.eye(len(x), dtype=bool), 0, K2)
        # a product, since XLA does not vectorise an exponential that it has fused into a sum
        sums.append(jnp.where(real, K2 @ other.astype(x.dtype), 0).astype(jnp.float64) * (1 + sign * last))
    return jnp.stack(sums, 1)
