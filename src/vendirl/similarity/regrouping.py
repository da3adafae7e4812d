"""Kernel matrices of the same episodes, dealt to skills anew many times: for intervals and nulls.

A deal says for each skill which episodes are its own. Similarities of moments pool the moments of the episodes, which
is a product of matrices for all deals at once (`OfMoments`); `overlap` looks up distances that were computed once; sums
and products join what their parts find (`Joined`); any other similarity is computed anew for each deal (`Anew`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from vendirl._checks import AnyArray
from vendirl.similarity.deals import Deal, Episodes, Regrouping
from vendirl.similarity.moments import Moments
from vendirl.similarity.observations import Observations, SkillSet
from vendirl.similarity.similarity import Similarity


class Anew(Regrouping):
    """Each kernel matrix computed by itself."""

    def __init__(self, similarity: Similarity, episodes: Episodes):
        self.similarity, self.episodes = similarity, [np.asarray(episode, np.float64) for episode in episodes]

    def matrices(self, deals: Sequence[Deal]) -> Float[np.ndarray, "deals n n"]:
        skills = (SkillSet.of([[self.episodes[e] for e in chosen] for chosen in deal]) for deal in deals)
        return np.stack([self.similarity.host_matrix(each) for each in skills])


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
        mine = np.zeros((len(deals), len(deals[0]), self.count))
        for b, deal in enumerate(deals):
            for i, chosen in enumerate(deal):
                mine[b, i, chosen] = 1
        with jax.enable_x64(True):
            return np.asarray(_pooled_matrices(self.similarity, self.moments, mine))


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
