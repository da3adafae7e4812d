"""Similarity of spread: the determinants of two skills' covariance matrices (Appendix C)."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from vendirl._checks import Number, checked_by, positive, truth_value
from vendirl.similarity.kinds import MomentSimilarity
from vendirl.similarity.moments import Moments


class covariance(MomentSimilarity):  # noqa: N801
    """Similarity in covariance structure: how much of the feature space two skills fill.

        k(a, b) = exp(-scale |det Σ_a - det Σ_b|)                      Σ: sample covariance, divisor M - 1
        k(a, b) = exp(-scale |log det(Σ_a + ε I) - log det(Σ_b + ε I)|)        log=True, ε = floor

    Positive semidefinite (a Laplace kernel of one number). Ceiling n, but determinants are bounded where the space is:
    in the unit square det Σ <= 1/16 (1 + 1/(M - 1)), so that scale=1 cannot pass about 1.16 and scale=200 is apt.
    The logarithm compares ratios of volume and needs no such scale; `floor` is the variance below which a direction
    counts as not used at all, and bounds the range.
    A singular covariance (a skill on a line, a single observation) has determinant 0, or ε in the unused directions.

    Args:
        scale: per unit of determinant, or of log-determinant. `scale=0.5, log=True` compares log-volumes, since
            sqrt(det Σ) is a volume.
        log: compare log-determinants.
        floor: ε, used only if log=True.
    """

    scale: Number = eqx.field(default=1.0, converter=checked_by(positive, "covariance: scale"))
    log: bool = eqx.field(static=True, default=False, converter=checked_by(truth_value, "covariance: log"))
    floor: Number = eqx.field(default=1e-4, converter=checked_by(positive, "covariance: floor"))

    name: ClassVar[str] = "covariance"
    order: ClassVar[int] = 2

    @property
    def psd(self) -> bool:
        return True

    def of_moments(self, moments: Moments) -> Float[Array, ""]:
        S = moments.covariance
        D = S.shape[-1]
        return log_determinant(S + self.floor * jnp.eye(D, dtype=S.dtype)) if self.log else determinant(S)

    def compare(self, a: Float[Array, ""], b: Float[Array, ""]) -> Float[Array, ""]:
        return jnp.exp(-self.scale * jnp.abs(a - b))


def determinant(S: Float[Array, "D D"]) -> Float[Array, ""]:
    """det S of a covariance matrix; never negative. In closed form up to 3 x 3, which is what streams fast."""
    D = S.shape[-1]
    if D == 1:
        value = S[0, 0]
    elif D == 2:
        value = S[0, 0] * S[1, 1] - S[0, 1] * S[1, 0]
    elif D == 3:
        value = (
            S[0, 0] * (S[1, 1] * S[2, 2] - S[1, 2] * S[2, 1])
            - S[0, 1] * (S[1, 0] * S[2, 2] - S[1, 2] * S[2, 0])
            + S[0, 2] * (S[1, 0] * S[2, 1] - S[1, 1] * S[2, 0])
        )
    else:
        value = jnp.linalg.det(S)
    return jnp.maximum(value, 0)


def log_determinant(S: Float[Array, "D D"]) -> Float[Array, ""]:
    """log det S of a positive definite matrix: 2 Σ log l_ii with S = L L', in closed form up to 2 x 2."""
    if S.shape[-1] <= 2:
        return jnp.log(jnp.maximum(determinant(S), jnp.finfo(S.dtype).tiny))
    sign, value = jnp.linalg.slogdet(S)
    return jnp.where(sign > 0, value, jnp.log(jnp.finfo(S.dtype).tiny))
