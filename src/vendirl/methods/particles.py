"""Particle entropy: how far apart states lie, by their nearest neighbours among some of them."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vendirl.skills.policy import AnyArray


def references(x: Float[AnyArray, "E steps d"], count: int) -> Float[AnyArray, "M d"]:
    """M = `count` different states, spread evenly over scenes and over steps; all of them if there are no more.

    The states lie scene after scene. Strides that divide an episode would meet every scene at the same step, so the
    stride has no divisor in common with how many there are, and is near the golden section of it, so that multiples
    spread evenly.
    """
    flat = x.reshape(-1, x.shape[-1])
    total = len(flat)
    if total <= count:
        return flat
    stride = round(total * (5**0.5 - 1) / 2)
    while math.gcd(stride, total) > 1:
        stride += 1
    return flat[np.arange(count) * stride % total]


def nearest(x: Float[AnyArray, "*batch d"], others: Float[AnyArray, "M d"], k: int) -> Float[Array, "*batch k"]:
    """The distances from each x to its k nearest among others, nearest first; to all of them if there are fewer."""
    square = jnp.sum(x**2, -1, keepdims=True) - 2 * x @ others.T + jnp.sum(others**2, -1)
    closest = -jax.lax.top_k(-square, min(k, others.shape[0]))[0]
    return jnp.sqrt(jnp.maximum(closest, 0) + 1e-12)


def particle_entropy(x: Float[Array, "E steps d"], k: int, count: int) -> Float[Array, "E steps"]:
    """log(1 + mean distance to the k nearest of `count` of the states)."""
    others = jax.lax.stop_gradient(references(x, count))
    return jnp.log1p(jnp.mean(nearest(x, others, k), -1))
