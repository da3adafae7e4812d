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
"""So many kernel matrices are computed by one call of compiled code."""


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
    """The kernel matrices of a similarity that streams: moments of a skill are sums over its episodes. These are found
    in NumPy, whatever the deals, and one program makes kernel matrices of them."""

    def __init__(self, similarity: Similarity, episodes: Episodes):
        self.similarity, self.count = similarity, len(episodes)
        with jax.enable_x64(True):
            moments = _moments_of_episodes(similarity, stacked(episodes))
        moments = jax.tree.map(np.asarray, moments)
        self.every: list[Moments] = jax.tree.leaves(moments, is_leaf=_is_moments)
        self.one: PyTree = jax.tree.map(lambda m: m[0], moments)  # for its shapes, of which code knows no others

    def matrices(self, deals: Sequence[Deal]) -> Float[np.ndarray, "deals n n"]:
        found = []
        for start in range(0, len(deals), PIECE):
            mine = _membership(deals[start : start + PIECE], self.count)
            found.append(self._kernels(self._places(mine), mine @ self.every[0].count))
        return np.concatenate(found)

    def places(self, deals: Sequence[Deal]) -> Float[np.ndarray, "deals n F"]:
        return self._places(_membership(deals, self.count))

    def of_places(self, places: Float[np.ndarray, "sets n F"]) -> Float[np.ndarray, "sets n n"]:
        alike = self.every[0].count.sum() / places.shape[1]
        return self._kernels(places, np.full(places.shape[:2], alike))

    def _places(self, mine: Float[np.ndarray, "deals n episodes"]) -> Float[np.ndarray, "deals n F"]:
        """Means, and covariances if there are any, of all moments of each skill in a row."""
        parts = []
        for m in self.every:
            count, shift = (mine @ m.count)[..., None], mine @ m.total
            parts.append(m.reference[0] + shift / count)
            if m.second is not None:
                scatter = (mine @ m.second.reshape(self.count, -1)).reshape(*shift.shape, -1)
                scatter -= shift[..., :, None] * shift[..., None, :] / count[..., None]
                parts.append((scatter / np.maximum(count[..., None] - 1, 1)).reshape(*mine.shape[:2], -1))
        return np.concatenate(parts, -1)

    def _kernels(
        self, places: Float[np.ndarray, "sets n F"], counts: Float[np.ndarray, "sets n"]
    ) -> Float[np.ndarray, "sets n n"]:
        """`PIECE` at a time, so that code is compiled for one number of them only; it stops after those there are."""
        found = []
        with jax.enable_x64(True):
            for start in range(0, len(places), PIECE):
                some, held = places[start : start + PIECE], counts[start : start + PIECE]
                less = [(0, PIECE - len(some)), (0, 0)]
                padded = np.pad(some, [*less, (0, 0)]), np.pad(held, less)
                found.append(np.asarray(_matrices_of_moments(self.similarity, self.one, *padded, len(some))))
                found[-1] = found[-1][: len(some)]
        return np.concatenate(found)


def stacked(episodes: Episodes) -> SkillSet:
    """Each episode as a skill of its own; what they hold was checked before."""
    length, points = max(map(len, episodes)), [np.asarray(episode, np.float64) for episode in episodes]
    lengths = np.array([len(episode) for episode in episodes], np.int32)
    if (lengths == length).all():
        return SkillSet(np.stack(points)[:, None])
    padded = [np.pad(episode, [(0, length - len(episode)), (0, 0)]) for episode in points]
    return SkillSet(np.stack(padded)[:, None], lengths[:, None])


def _membership(deals: Sequence[Deal], episodes: int) -> Float[np.ndarray, "deals n {episodes}"]:
    """How often each skill has each episode."""
    flat = [chosen for deal in deals for chosen in deal]
    row = np.repeat(np.arange(len(flat)), [len(chosen) for chosen in flat])
    held = np.bincount(row * episodes + np.concatenate(flat), minlength=len(flat) * episodes)
    return held.reshape(len(deals), len(deals[0]), episodes).astype(float)


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
def _matrices_of_moments(
    similarity: Similarity,
    like: PyTree,
    places: Float[Array, "sets n F"],
    counts: Float[Array, "sets n"],
    number: Int[Array, ""] | int,
) -> Float[Array, "sets n n"]:
    """The first `number` kernel matrices of skills with moments `like` these, in places as `OfMoments` writes them."""

    def summary(place: Float[Array, " F"], count: Float[Array, ""]) -> PyTree:
        start = 0

        def taken(m: Moments) -> Moments:
            nonlocal start
            D = m.total.shape[-1]
            mean, start = place[start : start + D], start + D
            if m.second is None:
                return Moments(count, mean, jnp.zeros_like(mean), None)
            covariance, start = place[start : start + D * D].reshape(D, D), start + D * D
            return Moments(count, mean, jnp.zeros_like(mean), covariance * jnp.maximum(count - 1, 1))

        return similarity.of_moments(jax.tree.map(taken, like, is_leaf=_is_moments))

    def put(b: Int[Array, ""], found: Float[Array, "sets n n"]) -> Float[Array, "sets n n"]:
        return found.at[b].set(similarity.matrix(jax.vmap(summary)(places[b], counts[b])))

    n = places.shape[1]
    return jax.lax.fori_loop(0, number, put, jnp.zeros((len(places), n, n), places.dtype))


def _is_moments(x: Any) -> bool:
    return isinstance(x, Moments)
