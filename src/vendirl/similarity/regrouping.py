"""Kernel matrices of the same episodes, dealt to skills anew many times: for intervals and nulls.

A deal says for each skill which episodes are its own. Similarities of moments pool the moments of the episodes, which
is a product of matrices for all deals at once (`OfMoments`); so it is for means over pairs of episodes (`OfPairs`);
`overlap` looks up distances that were computed once; sums and products join what their parts find (`Joined`); any other
similarity is computed anew for each deal (`Anew`).
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
    """The kernel matrices of a similarity that is a mean f over pairs of episodes, scaled to 1 on the diagonal."""

    def __init__(self, pairs: Float[np.ndarray, "episodes episodes"]):
        self.pairs = (pairs + pairs.T) / 2

    def matrices(self, deals: Sequence[Deal]) -> Float[np.ndarray, "deals n n"]:
        mine = _membership(deals, len(self.pairs))
        share = mine / mine.sum(-1, keepdims=True)
        raw = share @ self.pairs @ np.swapaxes(share, -1, -2)
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


def _membership(deals: Sequence[Deal], episodes: int) -> Float[np.ndarray, "deals n {episodes}"]:
    """1 for the episodes of each skill, else 0."""
    mine = np.zeros((len(deals), len(deals[0]), episodes))
    for b, deal in enumerate(deals):
        for i, chosen in enumerate(deal):
            mine[b, i, chosen] = 1
    return mine


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
    def pooled(mine: Float[Array, " episodes"], m: Moments) -> Moments:
        """The moments of one skill, (episodes,) of which say whether it is its own."""
        return Moments(
            mine @ m.count,
            m.reference[0],
            mine @ m.total,
            None if m.second is None else jnp.tensordot(mine, m.second, 1),
        )

    def summary(mine: Float[Array, " episodes"]) -> PyTree:
        return similarity.of_moments(jax.tree.map(lambda m: pooled(mine, m), moments, is_leaf=_is_moments))

    return jax.lax.map(lambda mine: similarity.matrix(jax.vmap(summary)(mine)), mine)


def _is_moments(x: Any) -> bool:
    return isinstance(x, Moments)
