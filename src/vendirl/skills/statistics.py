"""Running mean and variance of what has been observed."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


class RunningStatistics(eqx.Module):
    """Count, mean and variance of all vectors seen so far, from batches (Chan, Golub & LeVeque, 1979).

    Before anything has been seen the mean is 0 and the variance 1, so that `normalise` changes nothing.
    """

    count: Float[Array, ""]
    mean: Float[Array, " D"]
    variance: Float[Array, " D"]

    @classmethod
    def empty(cls, size: int) -> RunningStatistics:
        return cls(count=jnp.zeros(()), mean=jnp.zeros(size), variance=jnp.ones(size))

    @property
    def size(self) -> int:
        """D."""
        return self.mean.shape[-1]

    def update(self, batch: Float[Array | np.ndarray, "*batch D"]) -> RunningStatistics:
        """Take in a batch of m vectors with mean b and variance v. With N = count + m and δ = b - mean,

        mean     <- mean + δ m / N
        variance <- (count variance + m v + δ² count m / N) / N
        """
        rows = jnp.asarray(batch).reshape(-1, batch.shape[-1])
        m = rows.shape[0]
        total = self.count + m
        seen, new = self.count / total, m / total
        δ = rows.mean(0) - self.mean
        return type(self)(
            count=total,
            mean=self.mean + δ * new,
            variance=seen * self.variance + new * rows.var(0) + δ**2 * seen * new,
        )

    def normalise(self, x: Float[Array | np.ndarray, "*batch D"], limit: float = 10.0) -> Float[Array, "*batch D"]:
        """(x - mean) / sqrt(variance), clipped to [-limit, limit]. No gradient reaches the statistics: they are
        counted, not learned."""
        mean, variance = jax.lax.stop_gradient((self.mean, self.variance))
        # The floor keeps a feature that never varies at zero rather than amplifying its rounding error.
        return jnp.clip((x - mean) * jax.lax.rsqrt(jnp.maximum(variance, 1e-8)), -limit, limit)
