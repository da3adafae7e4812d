"""Similarity by maximum mean discrepancy (Appendix C), and by distance between final states."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from vendirl._checks import Number, checked_by, positive, seed_number, shown, whole_number
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


def pairs(value: Any, name: str) -> None:
    """Refuse what is not a number of features that come in pairs."""
    whole_number(value, name, least=2, most=2**16)
    if value % 2:
        raise ValueError(f"{name} must be even, as many cosines as sines, but is {value}")


class RandomMMD(MomentSimilarity):
    """`mmd` with the linear kernel, estimated by d random features of the mean (Rahimi and Recht, 2007).

        k(a, b) = φ(μ_a)·φ(μ_b),     φ(x) = sqrt(2/d) [cos(ω_1·x), sin(ω_1·x), ..., cos(ω_d/2·x), sin(ω_d/2·x)]
        ω_j = scale z_j / |g_j|,     z_j and g_j normal: for these, E cos(ω·δ) = exp(-scale ‖δ‖)

    Positive semidefinite, with k(a, a) = 1 and rank d at most. k is off by about sqrt(1/d), so that skills that have
    nothing in common seem to have a little: the score of order 2 of n of them is about n / (1 + n / d).
    """

    scale: Number = eqx.field(default=1.0, converter=checked_by(positive, "mmd: scale"))
    features: int = eqx.field(static=True, default=0, converter=checked_by(pairs, "mmd: features"))
    seed: int = eqx.field(static=True, default=0, converter=checked_by(seed_number, "mmd: seed"))

    name: ClassVar[str] = "mmd"
    order: ClassVar[int] = 1

    @property
    def psd(self) -> bool:
        return True

    def of_moments(self, moments: Moments) -> Float[Array, " d"]:
        count, D = self.features // 2, moments.mean.shape[-1]
        rng = np.random.default_rng(self.seed)
        spread = np.abs(rng.normal(size=(count, 1)))
        frequencies = jnp.asarray(rng.normal(size=(count, D)) / spread, moments.mean.dtype)
        phase = self.scale * (frequencies @ moments.mean)
        return jnp.concatenate([jnp.cos(phase), jnp.sin(phase)]) / jnp.sqrt(jnp.asarray(count, phase.dtype))

    def compare(self, a: Float[Array, " d"], b: Float[Array, " d"]) -> Float[Array, ""]:
        return jnp.dot(a, b)

    def embedding(self, summary: Float[Array, " d"]) -> Float[Array, " d"]:
        return summary

    def rank(self, features: int) -> int:
        return self.features


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
    scale: Number | Any = 1.0,
    kernel: Literal["linear", "rbf"] | Any = "linear",
    bandwidth: Number | Any = 1.0,
    features: int | Any = 0,
    seed: int | Any = 0,
) -> LinearMMD | RBFMMD | RandomMMD:
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
        features: d, if the linear kernel is to be estimated by so many random features (`RandomMMD`), which is faster
            where there are more skills than that; 0 for the kernel itself.
        seed: of the features that are drawn.
    """
    positive(bandwidth, "mmd: bandwidth")
    if features and kernel == "linear":
        return RandomMMD(scale, features, seed)
    if features:
        raise ValueError(f"mmd: features={shown(features)} are those of the linear kernel; use kernel='linear'")
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
