"""Kernel matrices of the same episodes, dealt to skills anew many times: for intervals and nulls.

A deal says for each skill which episodes are its own. Similarities of moments pool the moments of the episodes, which
is a product of matrices for all deals at once; overlap looks up distances that were computed once; any other
similarity is computed anew for each deal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vendirl.similarity import Similarity, kernel_matrix, overlap
from vendirl.similarity.manifolds import FEW, Pool, overlap_kernel
from vendirl.similarity.observations import Moments, Observations, as_observations

Deal = Sequence[Any]  # for each skill an array of the numbers of its episodes


class Dealer:
    """The kernel matrices of one set of episodes under one similarity, for any deals.

    Args:
        similarity: k, resolved for the features at hand.
        episodes: (T_i, D) arrays.
    """

    def __init__(self, similarity: Similarity, episodes: Sequence[np.ndarray]):
        self.similarity = similarity
        self.episodes = [np.asarray(episode, np.float64) for episode in episodes]
        self.pool: tuple[overlap, Pool] | None = None
        if similarity.streams:
            with jax.enable_x64(True):
                each = as_observations([[episode] for episode in self.episodes])
                self.moments = _moments_of_episodes(similarity, each)
        elif isinstance(similarity, overlap):
            self.pool = similarity, Pool(self.episodes, similarity.neighbours)

    def matrices(self, deals: Sequence[Deal]) -> np.ndarray:
        """(deals, n, n) kernel matrices."""
        if self.similarity.streams:
            mine = np.zeros((len(deals), len(deals[0]), len(self.episodes)))
            for b, deal in enumerate(deals):
                for i, chosen in enumerate(deal):
                    mine[b, i, chosen] = 1
            with jax.enable_x64(True):
                return np.asarray(_pooled_matrices(self.similarity, self.moments, mine))
        if self.pool is not None:
            k, pool = self.pool
            return np.stack([overlap_kernel(pool.precision(deal), k.measure, float(k.scale)) for deal in deals])
        return np.stack(
            [kernel_matrix(self.similarity, [[self.episodes[e] for e in chosen] for chosen in deal]) for deal in deals]
        )


def thinned(similarity: Similarity, episodes: Sequence[np.ndarray]) -> tuple[list[np.ndarray], int]:
    """Episodes that hundreds of kernel matrices are affordable for, and which step of how many they keep: all of them
    for similarities of moments, else every so many-th so that there are at most 4,000 observations in all."""
    total = sum(map(len, episodes))
    stride = 1 if similarity.streams else max(1, -(-total // FEW))
    return [episode[stride - 1 :: stride] if len(episode) >= stride else episode[-1:] for episode in episodes], stride


def half_deals(of_skill: Deal, count: int, generator: np.random.Generator) -> list[Deal]:
    """For each skill half of its episodes (rounded down, at least one), drawn without repetition, many times."""
    return [[generator.permutation(mine)[: max(1, len(mine) // 2)] for mine in of_skill] for _ in range(count)]


def shuffled_deals(of_skill: Deal, count: int, generator: np.random.Generator) -> list[Deal]:
    """All episodes dealt at random, as many to each skill as it had, many times."""
    ends = np.cumsum([len(mine) for mine in of_skill])[:-1]
    every = np.concatenate(list(of_skill))
    return [np.split(generator.permutation(every), ends) for _ in range(count)]


@jax.jit
def _moments_of_episodes(similarity: Similarity, episodes: Observations):
    """The moments of each episode, all about the mean of the episodes' own reference points."""
    moments = jax.vmap(similarity.moments)(episodes)
    return jax.tree.map(
        lambda m: jax.vmap(Moments.about, (0, None))(m, m.reference.mean(0)), moments, is_leaf=_is_moments
    )


@jax.jit
def _pooled_matrices(similarity: Similarity, moments, mine: Float[Array, "deals n episodes"]):
    def pooled(mine, m: Moments) -> Moments:
        n = mine.shape[0]
        return Moments(
            mine @ m.count,
            jnp.broadcast_to(m.reference[0], (n, m.reference.shape[-1])),
            mine @ m.total,
            None if m.second is None else jnp.tensordot(mine, m.second, 1),
        )

    def matrix(mine):
        skills = jax.tree.map(lambda m: pooled(mine, m), moments, is_leaf=_is_moments)
        return similarity.matrix(jax.vmap(similarity.of_moments)(skills))

    return jax.lax.map(matrix, mine)


def _is_moments(x) -> bool:
    return isinstance(x, Moments)
