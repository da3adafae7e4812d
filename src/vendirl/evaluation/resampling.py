"""Deals of the same episodes to skills, for intervals and nulls; `Similarity.regroup` finds their kernel matrices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from vendirl.similarity import Similarity
from vendirl.similarity.deals import Deal, Episodes
from vendirl.similarity.manifolds import FEW


def thinned(similarity: Similarity, episodes: Episodes) -> tuple[list[Float[np.ndarray, "_ D"]], int]:
    """Episodes that hundreds of kernel matrices are affordable for, and which step of how many they keep: all of them
    for similarities of moments, else every so many-th so that there are at most 4,000 observations in all."""
    total = sum(map(len, episodes))
    stride = 1 if similarity.streams else max(1, -(-total // FEW))
    return [episode[stride - 1 :: stride] if len(episode) >= stride else episode[-1:] for episode in episodes], stride


def half_deals(of_skill: Sequence[Int[np.ndarray, " _"]], count: int, generator: np.random.Generator) -> list[Deal]:
    """For each skill half of its episodes (rounded down, at least one), drawn without repetition, many times."""
    return [[generator.permutation(mine)[: max(1, len(mine) // 2)] for mine in of_skill] for _ in range(count)]


def shuffled_deals(of_skill: Sequence[Int[np.ndarray, " _"]], count: int, generator: np.random.Generator) -> list[Deal]:
    """All episodes dealt at random, as many to each skill as it had, many times."""
    ends = np.cumsum([len(mine) for mine in of_skill])[:-1]
    every = np.concatenate(list(of_skill))
    return [np.split(generator.permutation(every), ends) for _ in range(count)]
