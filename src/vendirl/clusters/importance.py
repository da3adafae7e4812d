"""How much each setting matters: the share of the objective's variance between trials that it explains by itself.

Trials are put into groups by what a setting is: its choices or, of a range, up to four groups of as many trials each,
in order. With y the objectives, ȳ their mean and ȳ_g that of group g of n_g trials, the share explained is

    η² = Σ_g n_g (ȳ_g - ȳ)² / Σ_i (y_i - ȳ)².

Groups of few trials explain much by chance alone, so the same is computed of objectives dealt to the trials at random:
with m the mean of those shares,

    importance = max(0, (η² - m) / (1 - m)),    p = (1 + #{dealt η² >= η²}) / (1 + deals).

What settings only explain together is nobody's share.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from vendirl.clusters.space import Dimension

DEALS = 999
GROUPS = 4
"""Of a range, at most."""
LEAST_TRIALS = 4


@dataclasses.dataclass(frozen=True)
class Importance:
    """How much one setting matters.

    Attributes:
        name: the name of the setting.
        share: the share of the variance that it explains beyond chance, from 0 to 1.
        p: how often chance explains as much.
    """

    name: str
    share: float
    p: float


def importances(
    space: Sequence[Dimension], values: Sequence[Mapping[str, Any]], objectives: Sequence[float], seed: int = 0
) -> list[Importance]:
    """The importance of each setting, the greatest first; none if there are too few trials, or all came to the same.

    Args:
        space: the settings of the sweep.
        values, objectives: what the trials that did not fail had, and what they came to.
    """
    y = np.asarray(objectives, float)
    if len(y) < LEAST_TRIALS or np.ptp(y) <= 1e-12 * max(1.0, float(np.abs(y).max())):
        return []
    generator = np.random.default_rng(seed)
    dealt = generator.permuted(np.tile(y, (DEALS, 1)), axis=1)
    found = []
    for dimension in space:
        groups = groups_of(dimension, [row[dimension.name] for row in values])
        if groups.max() == 0 or groups.max() == len(y) - 1:
            continue  # all in one group, or each in one of its own: nothing can be said
        share, chance = explained(y[None], groups)[0], explained(dealt, groups)
        mean = float(chance.mean())
        p = (1 + int((chance >= share - 1e-12).sum())) / (1 + DEALS)
        found.append(Importance(dimension.name, max(0.0, (float(share) - mean) / (1 - mean)), p))
    return sorted(found, key=lambda one: -one.share)


def groups_of(dimension: Dimension, values: Sequence[Any]) -> Int[np.ndarray, " trials"]:
    """The number of the group of each trial, counted from 0, by what a setting is in it."""
    if dimension.range is None:
        there = [choice for choice in dimension.choices if choice in values]
        return np.array([there.index(value) for value in values])
    numbers = np.asarray(values, float)
    count = max(1, min(GROUPS, len(numbers) // 2))
    inner = np.quantile(numbers, np.linspace(0, 1, count + 1)[1:-1])
    return np.unique(np.searchsorted(inner, numbers, side="right"), return_inverse=True)[1]


def explained(y: Float[np.ndarray, "deals trials"], groups: Int[np.ndarray, " trials"]) -> Float[np.ndarray, " deals"]:
    """η² of each row of objectives."""
    member = np.eye(groups.max() + 1)[groups]  # (trials, groups)
    centred = y - y.mean(1, keepdims=True)
    return ((centred @ member) ** 2 / member.sum(0)).sum(1) / (centred**2).sum(1)
