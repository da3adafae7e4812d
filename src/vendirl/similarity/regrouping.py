"""Kernel matrices of the same episodes, dealt to skills anew many times: for intervals and nulls.

A deal says for each skill which episodes are its own. Similarities of moments pool the moments of the episodes, which
is a product of matrices for all deals at once (`OfMoments`); so it is for means over pairs of episodes (`OfPairs`);
`overlap` looks up distances and `wasserstein` projections that were computed once; sums and products join what their
parts find (`Joined`); any other similarity is computed anew for each deal (`Anew`).

Where a skill is known by a place that its episodes settle at, `places` and `of_places` let that place be moved, which
limits need: the mean and covariance of moments, or which share of a skill each episode has, where k is made of means
over pairs of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from vendirl._checks import AnyArray
from vendirl.similarity.deals import Deal, Episodes, Regrouping
from vendirl.similarity.moments import Moments
from vendirl.similarity.observations import Observations, SkillSet
from vendirl.similarity.similarity import Similarity

PIECE = 40
"""So many kernel matrices of places are computed at once."""


class Anew(Regrouping):
    """Each kernel matrix computed by itself, in one piece of compiled code if the similarity is compiled at all."""

    def __init__(self, similarity: Similarity, episodes: Episodes):
        self.similarity, self.episodes = similarity, [np.asarray(episode, np.float64) for episode in episodes]

    def matrices(self, deals: Sequence[Deal]) -> Float[np.ndarray, "deals n n"]:
        if self.similarity.on_host:
            skills = (SkillSet.of([[self.episodes[e] for e in chosen] for chosen in deal]) for deal in deals)
            return np.stack([self.similarity.host_matrix(each) for each in skills])
        points, lengths = SkillSet.of([self.episodes]).arrays
        most = max(len(chosen) for deal in deals for chosen in deal)
        which = np.full((len(deals), len(deals[0]), most), -1)
        for b, deal in enumerate(deals):
            for i, chosen in enumerate(deal):
                which[b, i, : len(chosen)] = chosen
        real = None
        if lengths is not None or (which < 0).any():
            every = np.full(len(self.episodes), points.shape[2]) if lengths is None else np.asarray(lengths)[0]
            real = np.where(which < 0, 0, every[which])
        with jax.enable_x64(True):
            return np.asarray(_dealt_matrices(self.similarity, np.asarray(points)[0], which, real))


class OfPairs(Regrouping):
    """The kernel matrices of a similarity that is made of means f over pairs of episodes: k = join(f), or if that is
    not given f scaled to 1 on the diagonal. An episode counts as often as its weight says."""

    def __init__(
        self,
        pairs: Float[np.ndarray, "episodes episodes"],
        weights: Float[np.ndarray, " episodes"] | None = None,
        join: Callable[[Float[np.ndarray, "deals n n"]], Float[np.ndarray, "deals n n"]] | None = None,
    ):
        self.pairs = (pairs + pairs.T) / 2
        self.weights = np.ones(len(pairs)) if weights is None else weights
        self.join = scaled if join is None else join

    def matrices(self, deals: Sequence[Deal]) -> Float[np.ndarray, "deals n n"]:
        return self.of_places(self.places(deals))

    def places(self, deals: Sequence[Deal]) -> Float[np.ndarray, "deals n episodes"]:
        mine = _membership(deals, len(self.pairs)) * self.weights
        return mine / mine.sum(-1, keepdims=True)

    def of_places(self, places: Float[np.ndarray, "sets n episodes"]) -> Float[np.ndarray, "sets n n"]:
        return self.join(places @ self.pairs @ np.swapaxes(places, -1, -2))


def scaled(raw: Float[np.ndarray, "sets n n"]) -> Float[np.ndarray, "sets n n"]:
    """f(a, b) / sqrt(f(a, a) f(b, b)), 0 where that is not defined, and 1 on the diagonal."""
    own = np.diagonal(raw, axis1=-2, axis2=-1)
    some = (own[..., :, None] > 0) & (own[..., None, :] > 0)
    norm = np.where(some, own[..., :, None] * own[..., None, :], 1) ** 0.5
    return np.where(np.eye(raw.shape[-1], dtype=bool), 1, np.where(some, raw / norm, 0))


class Joined(Regrouping):
    """The kernel matrices of a combination, joined from those of its parts."""

    def __init__(self, join: Callable[[Sequence[AnyArray]], AnyArray], parts: Sequence[Regrouping]):
        self.join, self.parts = join, parts

    def matrices(self, deals: Sequence[Deal]) -> Float[np.ndarray, "deals n n"]:
        with jax.enable_x64(True):  # weights may be of JAX
            return np.asarray(self.join([part.matrices(deals) for part in self.parts]))

    def places(self, deals: Sequence[Deal]) -> Float[np.ndarray, "deals n F"] | None:
        found = [places for part in self.parts if (places := part.places(deals)) is not None]
        if len(found) < len(self.parts):
            return None
        self.ends = np.cumsum([places.shape[-1] for places in found])[:-1]
        return np.concatenate(found, -1)

    def of_places(self, places: Float[np.ndarray, "sets n F"]) -> Float[np.ndarray, "sets n n"]:
        parts = zip(self.parts, np.split(places, self.ends, -1), strict=True)
        with jax.enable_x64(True):
            return np.asarray(self.join([part.of_places(some) for part, some in parts]))


class OfMoments(Regrouping):
    """The kernel matrices of a similarity that streams: moments of a skill are sums over its episodes."""

    def __init__(self, similarity: Similarity, episodes: Episodes):
        self.similarity, self.count = similarity, len(episodes)
        with jax.enable_x64(True):
            self.moments = _moments_of_episodes(similarity, SkillSet.of([[episode] for episode in episodes]))

    def matrices(self, deals: Sequence[Deal]) -> Float[np.ndarray, "deals n n"]:
        mine = _membership(deals, self.count)
        with jax.enable_x64(True):
            return np.asarray(_pooled_matrices(self.similarity, self.moments, mine))

    def places(self, deals: Sequence[Deal]) -> Float[np.ndarray, "deals n F"]:
        with jax.enable_x64(True):
            return np.asarray(_pooled_places(self.moments, _membership(deals, self.count)))

    def of_places(self, places: Float[np.ndarray, "sets n F"]) -> Float[np.ndarray, "sets n n"]:
        return in_pieces(lambda some: _matrices_of_moments(self.similarity, self.moments, some), places)


def _membership(deals: Sequence[Deal], episodes: int) -> Float[np.ndarray, "deals n {episodes}"]:
    """How often each skill has each episode."""
    flat = [chosen for deal in deals for chosen in deal]
    row = np.repeat(np.arange(len(flat)), [len(chosen) for chosen in flat])
    held = np.bincount(row * episodes + np.concatenate(flat), minlength=len(flat) * episodes)
    return held.reshape(len(deals), len(deals[0]), episodes).astype(float)


def in_pieces(
    function: Callable[[Float[np.ndarray, "sets n F"]], Float[Array, "sets n n"]], places: Float[np.ndarray, "sets n F"]
) -> Float[np.ndarray, "sets n n"]:
    """Kernel matrices `PIECE` at a time, so that the code is compiled for one number of them only."""
    count = len(places)
    padded = np.concatenate([places, np.broadcast_to(places[:1], (-count % PIECE, *places.shape[1:]))])
    with jax.enable_x64(True):
        return np.concatenate([function(padded[i : i + PIECE]) for i in range(0, count, PIECE)])[:count]


@jax.jit
def _dealt_matrices(
    similarity: Similarity,
    points: Float[Array, "episodes T D"],
    which: Int[Array, "deals n N"],
    lengths: Int[Array, "deals n N"] | None,
) -> Float[Array, "deals n n"]:
    def one(deal: tuple[Int[Array, "n N"], Int[Array, "n N"] | None]) -> Float[Array, "n n"]:
        chosen, real = deal
        return similarity.matrix(similarity.summaries(SkillSet(points[chosen], real)))

    return jax.lax.map(one, (which, lengths))


@jax.jit
def _moments_of_episodes(similarity: Similarity, episodes: SkillSet) -> PyTree:
    """The moments of each episode, all about the mean of the episodes' own reference points."""
    moments = jax.vmap(lambda points, lengths: similarity.moments(Observations(points, lengths)))(*episodes.arrays)
    return jax.tree.map(
        lambda m: jax.vmap(Moments.about, (0, None))(m, m.reference.mean(0)), moments, is_leaf=_is_moments
    )


@jax.jit
def _pooled_matrices(
    similarity: Similarity, moments: PyTree, mine: Float[Array, "deals n episodes"]
) -> Float[Array, "deals n n"]:
    def summary(mine: Float[Array, " episodes"]) -> PyTree:
        return similarity.of_moments(jax.tree.map(lambda m: _pooled(mine, m), moments, is_leaf=_is_moments))

    return jax.lax.map(lambda mine: similarity.matrix(jax.vmap(summary)(mine)), mine)


def _pooled(mine: Float[Array, " episodes"], m: Moments) -> Moments:
    """The moments of one skill, (episodes,) of which say how often it is its own."""
    second = None if m.second is None else jnp.tensordot(mine, m.second, 1)
    return Moments(mine @ m.count, m.reference[0], mine @ m.total, second)


@jax.jit
def _pooled_places(moments: PyTree, mine: Float[Array, "deals n episodes"]) -> Float[Array, "deals n F"]:
    """Means, and covariances if there are any, of all moments of each skill in a row."""

    def place(mine: Float[Array, " episodes"]) -> Float[Array, " F"]:
        every = [_pooled(mine, m) for m in jax.tree.leaves(moments, is_leaf=_is_moments)]
        parts = [part for m in every for part in (m.mean, *(() if m.second is None else (m.covariance.ravel(),)))]
        return jnp.concatenate(parts)

    return jax.lax.map(jax.vmap(place), mine)


@jax.jit
def _matrices_of_moments(
    similarity: Similarity, moments: PyTree, places: Float[Array, "sets n F"]
) -> Float[Array, "sets n n"]:
    n = places.shape[1]

    def summary(place: Float[Array, " F"]) -> PyTree:
        start = 0

        def taken(m: Moments) -> Moments:
            nonlocal start
            D = m.total.shape[-1]
            count, mean, start = m.count.sum() / n, place[start : start + D], start + D
            if m.second is None:
                return Moments(count, mean, jnp.zeros_like(mean), None)
            covariance, start = place[start : start + D * D].reshape(D, D), start + D * D
            return Moments(count, mean, jnp.zeros_like(mean), covariance * jnp.maximum(count - 1, 1))

        return similarity.of_moments(jax.tree.map(taken, moments, is_leaf=_is_moments))

    return jax.lax.map(lambda places: similarity.matrix(jax.vmap(summary)(places)), places)


def _is_moments(x: Any) -> bool:
    return isinstance(x, Moments)
