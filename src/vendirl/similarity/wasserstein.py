"""Similarity by sliced Wasserstein distance between the distributions of observations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vendirl._checks import Number, checked_by, positive, whole_number
from vendirl.similarity.deals import Deal, Episodes, Regrouping
from vendirl.similarity.kinds import TrajectorySimilarity
from vendirl.similarity.mmd import distance
from vendirl.similarity.observations import Observations


class wasserstein(TrajectorySimilarity):  # noqa: N801
    """Similarity by what it costs to move one skill's observations onto the other's, averaged over directions.

        k(a, b) = exp(-scale SW(a, b)),     SW² = mean over directions u, quantiles p of (Q_{u·a}(p) - Q_{u·b}(p))²

    with Q the quantile function of the pooled observations projected on u, at (i + ½)/quantiles, interpolated
    linearly. SW is a Euclidean distance between quantile vectors, so k is positive semidefinite. Ceiling n. Unlike
    `mmd` it tells apart skills with equal means and different spreads. Directions are fixed: evenly spaced in the
    plane, drawn once from `seed` in more dimensions; in one dimension there is only one.
    A single observation is a distribution with all its quantiles there.

    Args:
        scale: per unit of distance.
        directions: how many projections.
        quantiles: how many points of the quantile functions are compared.
        seed: of the directions, in three or more dimensions.
    """

    scale: Number = eqx.field(default=1.0, converter=checked_by(positive, "wasserstein: scale"))
    directions: int = eqx.field(static=True, default=16, converter=checked_by(whole_number, "wasserstein: directions"))
    quantiles: int = eqx.field(static=True, default=32, converter=checked_by(whole_number, "wasserstein: quantiles"))
    seed: int = eqx.field(
        static=True, default=0, converter=checked_by(partial(whole_number, least=0), "wasserstein: seed")
    )

    name: ClassVar[str] = "wasserstein"

    @property
    def psd(self) -> bool:
        return True

    @property
    def least_evenness(self) -> float:
        return 0.38  # 0.6 to 0.7 of normal noise: the outermost quantiles are squared too

    def regroup(self, episodes: Episodes) -> Regrouping:
        return OfQuantiles(self, episodes)

    def summary(self, skill: Observations) -> Float[Array, " F"]:
        """Quantiles of all projections, scaled so that their Euclidean distance is SW."""
        x, mask = skill.pooled, skill.mask
        projected = x @ jnp.asarray(self.unit_vectors(x.shape[-1]), x.dtype).T  # (M, directions)
        if mask is not None:  # padding sorts to the end, and the quantiles stop before it
            projected = jnp.where(mask[:, None], projected, jnp.inf)
        count = x.shape[0] if mask is None else mask.sum()
        ordered = jnp.sort(projected, axis=0)
        levels = (jnp.arange(self.quantiles, dtype=x.dtype) + 0.5) / self.quantiles
        rank = jnp.clip(levels * count - 0.5, 0, count - 1)
        below = jnp.floor(rank).astype(int)
        above = jnp.minimum(below + 1, count - 1)
        share = (rank - below)[:, None]
        values = (1 - share) * ordered[below] + share * ordered[above]
        return values.ravel() / math.sqrt(values.size)

    def compare(self, a: Float[Array, " F"], b: Float[Array, " F"]) -> Float[Array, ""]:
        return jnp.exp(-self.scale * distance(a, b))

    def unit_vectors(self, D: int) -> Float[np.ndarray, "directions {D}"]:
        if D == 1:
            return np.ones((1, 1))
        if D == 2:
            turn = np.pi * np.arange(self.directions) / self.directions
            return np.stack([np.cos(turn), np.sin(turn)], -1)
        drawn = np.random.default_rng(self.seed).normal(size=(self.directions, D))
        return drawn / np.linalg.norm(drawn, axis=-1, keepdims=True)


class OfQuantiles(Regrouping):
    """The kernel matrices of `wasserstein` for many deals: observations are projected once, and sorted for each deal.
    The place of a skill is its quantiles."""

    def __init__(self, similarity: wasserstein, episodes: Episodes):
        self.similarity = similarity
        self.lengths = np.array([len(episode) for episode in episodes])
        u = similarity.unit_vectors(episodes[0].shape[-1])
        self.projected = np.full((len(episodes) + 1, len(u), self.lengths.max()), np.inf)  # the last is no episode
        for mine, episode in zip(self.projected, episodes, strict=False):
            mine[:, : len(episode)] = u @ np.asarray(episode, np.float64).T

    def matrices(self, deals: Sequence[Deal]) -> Float[np.ndarray, "deals n n"]:
        return self.of_places(self.places(deals))

    def places(self, deals: Sequence[Deal]) -> Float[np.ndarray, "deals n F"]:
        return np.stack([self._quantiles(deal) for deal in deals])

    def of_places(self, places: Float[np.ndarray, "sets n F"]) -> Float[np.ndarray, "sets n n"]:
        from scipy.spatial.distance import cdist

        return np.exp(-float(self.similarity.scale) * np.stack([cdist(each, each) for each in places]))

    def _quantiles(self, deal: Deal) -> Float[np.ndarray, "n F"]:
        """As in `wasserstein.summary`, of all skills of one deal; what is no observation sorts to the end."""
        which = np.full((len(deal), max(map(len, deal))), -1)
        for row, chosen in zip(which, deal, strict=True):
            row[: len(chosen)] = chosen
        x = np.swapaxes(self.projected[which], 1, 2)  # (n, directions, episodes, T)
        ordered = np.sort(x.reshape(*x.shape[:2], -1), -1)
        count = np.array([self.lengths[chosen].sum() for chosen in deal])[:, None]
        levels = (np.arange(self.similarity.quantiles) + 0.5) / self.similarity.quantiles
        rank = np.clip(levels * count - 0.5, 0, count - 1)
        below = np.floor(rank).astype(int)
        share = (rank - below)[:, None]
        low, high = (np.take_along_axis(ordered, i[:, None], -1) for i in (below, np.minimum(below + 1, count - 1)))
        values = (1 - share) * low + share * high
        return values.reshape(len(deal), -1) / math.sqrt(values[0].size)
