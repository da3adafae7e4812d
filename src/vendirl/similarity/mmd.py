"""Similarity by maximum mean discrepancy (Appendix C), and by distance between final states."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from vendirl._checks import Number, checked_by, positive
from vendirl.similarity.deals import Episodes, Regrouping
from vendirl.similarity.kinds import MomentSimilarity, TrajectorySimilarity
from vendirl.similarity.moments import Moments
from vendirl.similarity.observations import Observations, SkillSet

Pooled = tuple[Float[Array, "_ D"], Float[Array, " _"], Float[Array, ""]]
"""Observations, (M, D), their weights, (M,), and the mean of κ over all pairs of them."""


class LinearMMD(MomentSimilarity):
    """See `mmd`."""

    scale: Number = eqx.field(default=1.0, converter=checked_by(positive, "mmd: scale"))

    name: ClassVar[str] = "mmd"
    order: ClassVar[int] = 1

    @property
    def psd(self) -> bool:
        return True

    def of_moments(self, moments: Moments) -> Float[Array, " D"]:
        return moments.mean

    def compare(self, a: Float[Array, " D"], b: Float[Array, " D"]) -> Float[Array, ""]:
        return jnp.exp(-self.scale * distance(a, b))


class RBFMMD(TrajectorySimilarity):
    """See `mmd`."""

    scale: Number = eqx.field(default=1.0, converter=checked_by(positive, "mmd: scale"))
    kernel: str = eqx.field(static=True, default="linear")
    bandwidth: Number = eqx.field(default=1.0, converter=checked_by(positive, "mmd: bandwidth"))

    name: ClassVar[str] = "mmd"

    @property
    def psd(self) -> bool:
        return True

    def summary(self, skill: Observations) -> Pooled:
        x, mask = skill.pooled, skill.mask
        weights = jnp.full(x.shape[0], 1 / x.shape[0], x.dtype) if mask is None else mask / mask.sum()
        return x, weights, self._mean(x, weights, x, weights)

    def _mean(
        self, x: Float[Array, "M D"], p: Float[Array, " M"], y: Float[Array, "L D"], r: Float[Array, " L"]
    ) -> Float[Array, ""]:
        """Σ p_i r_j κ(x_i, y_j)."""
        square = jnp.sum((x[:, None] - y[None, :]) ** 2, -1)
        return p @ jnp.exp(-square / (2 * self.bandwidth**2)) @ r

    def compare(self, a: Pooled, b: Pooled) -> Float[Array, ""]:
        (x, p, xx), (y, r, yy) = a, b
        square = xx + yy - 2 * self._mean(x, p, y, r)
        # its root would turn rounding of size ε into √ε, so that a skill would differ from its twin
        square = jnp.where(square > 8 * float(jnp.finfo(x.dtype).eps) * (xx + yy), square, 0)
        return jnp.exp(-self.scale * _root(square))

    def regroup(self, episodes: Episodes) -> Regrouping:
        """The mean of κ over two skills' observations is that of its means over pairs of episodes, by their lengths."""
        from vendirl.similarity.regrouping import OfPairs  # it knows similarities

        points, lengths = SkillSet.of([list(episodes)]).arrays
        every = np.full(len(episodes), points.shape[2]) if lengths is None else np.asarray(lengths)[0]
        with jax.enable_x64(True):
            pairs = np.asarray(_means_of_pairs(self, np.asarray(points, np.float64)[0], every))
        return OfPairs(pairs, every.astype(np.float64), self._of_means)

    def _of_means(self, raw: Float[np.ndarray, "deals n n"]) -> Float[np.ndarray, "deals n n"]:
        own = np.diagonal(raw, axis1=-2, axis2=-1)
        total = own[..., :, None] + own[..., None, :]
        square = total - 2 * raw
        square = np.where(square > 8 * np.finfo(raw.dtype).eps * np.abs(total), square, 0)
        K = np.exp(-np.asarray(self.scale, np.float64) * np.sqrt(square))
        return np.where(np.eye(raw.shape[-1], dtype=bool), 1, K)


@jax.jit
def _means_of_pairs(
    similarity: RBFMMD, points: Float[Array, "N T D"], lengths: Int[Array, " N"]
) -> Float[Array, "N N"]:
    """The mean of κ over the observations of every two episodes."""
    weights = (jnp.arange(points.shape[1]) < lengths[:, None]) / jnp.maximum(lengths, 1)[:, None]

    def row(e: Int[Array, ""]) -> Float[Array, " N"]:
        return jax.vmap(lambda y, r: similarity._mean(points[e], weights[e], y, r))(points, weights)

    return jax.lax.map(row, jnp.arange(len(points)))


def mmd(
    scale: Number | Any = 1.0, kernel: Literal["linear", "rbf"] | Any = "linear", bandwidth: Number | Any = 1.0
) -> LinearMMD | RBFMMD:
    """Maximum mean discrepancy, turned into a similarity: skills push away from one another.

        k(a, b) = exp(-scale MMD(a, b))
        linear:  MMD = ‖μ_a - μ_b‖                                                       (the paper's)
        rbf:     MMD² = E κ(x, x') + E κ(y, y') - 2 E κ(x, y),   κ = exp(-‖x - y‖² / (2 bandwidth²))

    Positive semidefinite, since MMD is a distance in a Hilbert space. Ceiling n, approached as the distances times
    scale grow; with the rbf kernel MMD is at most sqrt(2). The linear kernel streams, the rbf kernel needs the whole
    trajectories and also tells apart skills with equal means. Any input has a value: equal means give 1.

    Args:
        scale: per unit of distance between the means.
        kernel: "linear" or "rbf".
        bandwidth: of the rbf kernel, in the units of the features.
    """
    positive(bandwidth, "mmd: bandwidth")
    if kernel == "linear":
        return LinearMMD(scale)
    if kernel == "rbf":
        return RBFMMD(scale, kernel, bandwidth)
    raise ValueError(f"mmd: kernel must be 'linear' or 'rbf', but is {kernel!r}")


class final_state(TrajectorySimilarity):  # noqa: N801
    """Similarity of where skills end.

        k(a, b) = exp(-scale ‖f_a - f_b‖),      f: the last observation, averaged over a skill's trajectories

    Positive semidefinite. Ceiling n. In the skill memory the last observation is that of the previous episode until
    the current one ends, so the reward comes at the end of an episode.
    """

    scale: Number = eqx.field(default=1.0, converter=checked_by(positive, "final_state: scale"))

    name: ClassVar[str] = "final_state"

    @property
    def psd(self) -> bool:
        return True

    def regroup(self, episodes: Episodes) -> Regrouping:
        return LinearMMD(self.scale).regroup([np.asarray(episode)[-1:] for episode in episodes])

    def summary(self, skill: Observations) -> Float[Array, " D"]:
        return skill.present @ skill.final / jnp.maximum(skill.present.sum(), 1)

    def compare(self, a: Float[Array, " D"], b: Float[Array, " D"]) -> Float[Array, ""]:
        return jnp.exp(-self.scale * distance(a, b))


def distance(a: Float[Array, " D"], b: Float[Array, " D"]) -> Float[Array, ""]:
    """‖a - b‖, with derivative 0 rather than NaN where a = b."""
    return _root(jnp.sum((a - b) ** 2))


def _root(square: Float[Array, ""]) -> Float[Array, ""]:
    return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1)), 0)
