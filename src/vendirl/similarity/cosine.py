"""Similarity of direction: cosine (the paper's) and the von Mises kernel of the angle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real

from vendirl._checks import AnyArray, Number, checked_by, positive, shown, truth_value
from vendirl.similarity.kinds import MomentSimilarity
from vendirl.similarity.moments import Moments

Center = Number | Sequence[Number] | Real[AnyArray, " D"] | None


def check_center(center: Any, name: str) -> None:
    """Refuse a centre that is not a point."""
    if center is None or isinstance(center, jax.Array):
        return
    try:
        values = np.asarray(center, float)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a number or one number per feature, but is {shown(center)}") from None
    if values.ndim > 1 or not np.isfinite(values).all():
        raise ValueError(f"{name} must be a finite number or one number per feature, but is {center!r}")


class cosine(MomentSimilarity):  # noqa: N801  (called like a function)
    """Cosine similarity between trajectory means (Appendix C): angular separation around a centre.

        k(a, b) = 1 - scale (1 - cos(μ_a - c, μ_b - c)),      scale = 1:  μ_a·μ_b / (‖μ_a‖ ‖μ_b‖)

    Positive semidefinite. Ceiling: the number of features D, which is the rank of the kernel, or D + 1 if scale < 1:
    in the plane no set of skills scores above 2 (above 3); see `angle` for one without that limit. To the kernel
    opposite directions are one line, since x x' = (-x)(-x)': half a circle of them scores as much as a whole one.
    `scaled` tells them apart, and skills fan out all around.
    A mean at the centre itself (closer than 1e-12) has no direction; it counts as lying along the first axis.

    Args:
        scale: in (0, 1]; 0.5 is the scaled cosine (1 + cos)/2.
        center: the point around which directions are taken, (D,) or one number; the origin if None.
        scaled: True for (1 + cos)/2 at scale = 1, so that opposite directions have similarity 0, not -1.
    """

    scale: Number = eqx.field(default=1.0, converter=checked_by(positive, "cosine: scale"))
    center: Center = eqx.field(default=None, converter=checked_by(check_center, "cosine: center"))
    scaled: bool = eqx.field(static=True, default=False, converter=checked_by(truth_value, "cosine: scaled"))

    name: ClassVar[str] = "cosine"
    order: ClassVar[int] = 1

    def __check_init__(self) -> None:
        if not isinstance(self.scale, jax.Array) and self.scale > 1:
            raise ValueError(f"cosine: scale must be in (0, 1], but is {self.scale}; use angle for a sharper kernel")

    @property
    def psd(self) -> bool:
        return True

    def of_moments(self, moments: Moments) -> Float[Array, " D"]:
        return direction(moments.mean, self.center, "cosine")

    def compare(self, a: Float[Array, " D"], b: Float[Array, " D"]) -> Float[Array, ""]:
        return 1 - self._slope * (1 - jnp.dot(a, b))

    def embedding(self, summary: Float[Array, " D"]) -> Float[Array, " d"]:
        if self._whole:
            return summary
        slope = jnp.asarray(self._slope, summary.dtype)
        return jnp.append(jnp.sqrt(slope) * summary, jnp.sqrt(1 - slope))

    def rank(self, features: int) -> int:
        return features if self._whole else features + 1

    @property
    def _slope(self) -> Number:
        return 0.5 * self.scale if self.scaled else self.scale

    @property
    def _whole(self) -> bool:
        """Whether it is the product of two directions, and nothing else."""
        return not isinstance(self.scale, jax.Array) and self.scale == 1 and not self.scaled


class angle(MomentSimilarity):  # noqa: N801
    """Similarity of direction without cosine's limit of rank: the von Mises(-Fisher) kernel.

        k(a, b) = exp(scale (cos(μ_a - c, μ_b - c) - 1))

    Positive semidefinite, and of full rank for distinct directions: it prefers an even fan to clumps. Ceiling n, which
    is approached as scale grows. A mean at the centre (closer than 1e-12) counts as lying along the first axis.

    Args:
        scale: concentration; at scale = 4, directions 60° apart have similarity 0.14.
        center: as in `cosine`.
    """

    scale: Number = eqx.field(default=1.0, converter=checked_by(positive, "angle: scale"))
    center: Center = eqx.field(default=None, converter=checked_by(check_center, "angle: center"))

    name: ClassVar[str] = "angle"
    order: ClassVar[int] = 1

    @property
    def psd(self) -> bool:
        return True

    def of_moments(self, moments: Moments) -> Float[Array, " D"]:
        return direction(moments.mean, self.center, "angle")

    def compare(self, a: Float[Array, " D"], b: Float[Array, " D"]) -> Float[Array, ""]:
        return jnp.exp(self.scale * (jnp.dot(a, b) - 1))


def direction(mean: Float[Array, " D"], center: Center, name: str) -> Float[Array, " D"]:
    """The unit vector from the centre to the mean; the first axis where the two coincide."""
    if center is not None:
        c = jnp.asarray(center, mean.dtype)
        if c.ndim > 1 or c.shape not in ((), (1,), mean.shape):
            raise ValueError(
                f"{name}: center has {c.size} entries, but there are {mean.shape[-1]} features; give one per feature"
            )
        mean = mean - c
    square = jnp.sum(mean * mean)
    here = square <= 1e-24
    unit = mean / jnp.sqrt(jnp.where(here, 1, square))
    return jnp.where(here, jnp.zeros_like(mean).at[0].set(1), unit)
