"""Running moments of a skill's observations: all that similarities of order 1 and 2 need to know."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from vendirl.similarity.observations import Observations


class Moments(eqx.Module):
    """Count and sums of M observations about a reference point r, near their mean so that nothing cancels.

    Attributes:
        count: M.
        reference: r, (D,).
        total: Σ (x - r), (D,).
        second: Σ (x - r)(x - r)', (D, D), or None for similarities of order 1, which need only the mean.
    """

    count: Float[Array, ""]
    reference: Float[Array, " D"]
    total: Float[Array, " D"]
    second: Float[Array, "D D"] | None

    @classmethod
    def of(cls, observations: Observations, order: int) -> Moments:
        """The moments of pooled observations up to `order` (1 or 2)."""
        x, mask = observations.pooled, observations.mask
        if mask is None:
            count = jnp.asarray(x.shape[0], x.dtype)
            reference = x.mean(0)
            centred = x - reference
        else:
            count = mask.sum().astype(x.dtype)
            reference = jnp.where(mask[:, None], x, 0).sum(0) / jnp.maximum(count, 1)
            centred = jnp.where(mask[:, None], x - reference, 0)
        return cls(count, reference, centred.sum(0), centred.T @ centred if order == 2 else None)

    def plus(self, total: Float[Array, " D"], second: Float[Array, "D D"] | None) -> Moments:
        """Moments with the given amounts added to the sums."""
        both = None if self.second is None or second is None else self.second + second
        return Moments(self.count, self.reference, self.total + total, both)

    def about(self, reference: Float[Array, " D"]) -> Moments:
        """The same moments about another reference point r', with Δ = r - r'.

        Σ (x - r') = Σ (x - r) + M Δ,   Σ (x - r')(x - r')' = Σ (x - r)(x - r)' + t Δ' + Δ t' + M Δ Δ',   t = Σ (x - r)
        """
        Δ, t = self.reference - reference, self.total
        second = self.second
        if second is not None:
            cross = t[:, None] * Δ[None, :]
            second = second + cross + cross.T + self.count * Δ[:, None] * Δ[None, :]
        return Moments(self.count, reference, t + self.count * Δ, second)

    @property
    def mean(self) -> Float[Array, " D"]:
        """μ = r + Σ (x - r) / M."""
        return self.reference + self.total / self.count

    @property
    def covariance(self) -> Float[Array, "D D"]:
        """The sample covariance Σ (x - μ)(x - μ)' / (M - 1); zero for a single observation."""
        if self.second is None:
            raise ValueError("this similarity was declared with order=1, which has no covariance; declare order=2")
        scatter = self.second - self.total[:, None] * self.total[None, :] / self.count
        return scatter / jnp.maximum(self.count - 1, 1)
