"""Deals of the same episodes to skills, for intervals and nulls; `Similarity.regroup` finds their kernel matrices."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

import numpy as np
from jaxtyping import Float, Int

from vendirl.similarity import Similarity
from vendirl.similarity.deals import Deal, Episodes
from vendirl.similarity.manifolds import FEW

OfSkill = Sequence[Int[np.ndarray, " _"]]
"""For each skill the numbers of its episodes."""


def thinned(similarity: Similarity, episodes: Episodes) -> tuple[list[Float[np.ndarray, "_ D"]], int]:
    """Episodes that hundreds of kernel matrices are affordable for, and which step of how many they keep: all of them
    for similarities of moments, else every so many-th, the last of an episode among them, so that there are at most
    4,000 observations in all."""
    total = sum(map(len, episodes))
    stride = 1 if similarity.streams else max(1, -(-total // FEW))
    return [episode[(len(episode) - 1) % stride :: stride] for episode in episodes], stride


def split_deals(of_skill: OfSkill, count: int, generator: np.random.Generator) -> list[Deal]:
    """Two halves of each skill's episodes that share none, many times: the first halves of all n skills, then the
    second ones, so that a deal is to 2n skills. Of an odd number of episodes one is left out."""
    deals: list[Deal] = []
    for _ in range(count):
        shuffled = [generator.permutation(mine) for mine in of_skill]
        first = [mine[: len(mine) // 2] for mine in shuffled]
        deals.append(first + [mine[len(mine) // 2 : 2 * (len(mine) // 2)] for mine in shuffled])
    return deals


def deals_without_one(of_skill: OfSkill, most: int, generator: np.random.Generator) -> list[Deal]:
    """All episodes but one: each of them is left out once, or `most` of them, as many of one skill as of another."""
    shuffled = [generator.permutation(mine) for mine in of_skill]
    rounds = ((i, mine[j]) for j in range(max(map(len, shuffled))) for i, mine in enumerate(shuffled) if j < len(mine))
    chosen = [pair for pair, _ in zip(rounds, range(most), strict=False)]
    return [[mine[mine != e] if i == k else mine for k, mine in enumerate(of_skill)] for i, e in chosen]


def drawn_deals(of_skill: OfSkill, count: int, generator: np.random.Generator) -> list[Deal]:
    """As many of each skill's episodes as it has, drawn with replacement, many times."""
    which = [mine[generator.integers(len(mine), size=(count, len(mine)))] for mine in of_skill]
    return [[drawn[i] for drawn in which] for i in range(count)]


def shuffled_deals(of_skill: OfSkill, count: int, generator: np.random.Generator) -> list[Deal]:
    """All episodes dealt at random, as many to each skill as it had, many times."""
    ends = [0, *map(int, np.cumsum([len(mine) for mine in of_skill]))]
    every = np.concatenate(list(of_skill))
    shuffled = (generator.permutation(every) for _ in range(count))
    return [[order[start:end] for start, end in pairwise(ends)] for order in shuffled]


def number_of_deals(sizes: Sequence[int]) -> int:
    """How many ways there are to deal episodes to skills of these sizes, which skill is called which not counting.

    Example:
        >>> number_of_deals([2, 2, 2])
        15
    """
    ways, rest = 1, sum(sizes)
    for size in sizes:
        ways, rest = ways * math.comb(rest, size), rest - size
    return ways // math.prod(math.factorial(alike) for alike in Counter(sizes).values())


def every_deal(of_skill: OfSkill) -> Iterator[Deal]:
    """All of them, `number_of_deals` many, in no particular order."""
    order = np.argsort([len(mine) for mine in of_skill], kind="stable")
    sizes = [len(of_skill[i]) for i in order]

    def dealt(left: tuple[int, ...], which: int) -> Iterator[list[list[int]]]:
        if which == len(sizes):
            yield []
            return
        # skills of one size are interchangeable: each begins with the least episode that they will have between them
        alike = [k for k in range(which, len(sizes)) if sizes[k] == sizes[which]]
        if len(alike) > 1 and sum(sizes[k] for k in alike) == len(left):
            first = [(left[0], *rest) for rest in combinations(left[1:], sizes[which] - 1)]
        elif which and sizes[which - 1] == sizes[which]:
            first = [chosen for chosen in combinations(left, sizes[which]) if chosen[0] > started[which - 1]]
        else:
            first = list(combinations(left, sizes[which]))
        for chosen in first:
            started[which] = chosen[0]
            remaining = tuple(e for e in left if e not in chosen)
            yield from ([list(chosen), *others] for others in dealt(remaining, which + 1))

    started: dict[int, int] = {}
    return dealt(tuple(int(e) for e in np.concatenate(list(of_skill))), 0)
