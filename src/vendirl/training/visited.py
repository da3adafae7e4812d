"""State coverage over all of training: which cells the episodes of training have visited so far (METRA's curves).

A cell floor(x / width) of each chosen feature has its place, cell mod side, in a table of a fixed size, so that what is
kept does not grow with training. As long as the cells that were visited span less than `side` along every feature, no
two of them share a place and the count is exact; after that it is the least that there can be, and is said to be.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from vendirl._checks import finite_number
from vendirl.similarity.features import feature_indices

PLACES = 2**20
"""At most so many places for cells, a byte each: along one feature all of them, along two 1,024."""
MOST_FEATURES = 4
COVERAGE, EXACT = "coverage", "coverage_exact"
"""The names of the two metrics."""
_CLOSE = 1e-6  # of a cell, as in evaluation.measures.cells
_FARTHEST = 2**30  # what is farther from 0 is taken to be here, so that it can be counted in 32 bits


class Visited(eqx.Module):
    """The cells that were visited: whether each place of the table was, and the range of cells along each feature."""

    places: Bool[Array, " places"]
    low: Int[Array, " k"]
    high: Int[Array, " k"]


@dataclasses.dataclass(frozen=True)
class Coverage:
    """What is counted.

    Attributes:
        columns: the numbers of the features.
        width: of a cell.
    """

    columns: tuple[int, ...]
    width: float

    @property
    def side(self) -> int:
        """How many cells the table has along each feature."""
        return math.floor(PLACES ** (1 / len(self.columns)) + 1e-9)

    def start(self) -> Visited:
        """Nothing was visited yet."""
        k = len(self.columns)
        return Visited(
            jnp.zeros(self.side**k, bool), jnp.full(k, _FARTHEST, jnp.int32), jnp.full(k, -_FARTHEST, jnp.int32)
        )

    def visit(self, visited: Visited, observations: Float[Array, "*steps D"]) -> Visited:
        """What was visited before or is visited by these observations."""
        x = observations[..., self.columns].reshape(-1, len(self.columns))
        cell = jnp.clip(jnp.floor(x / self.width + _CLOSE), -_FARTHEST, _FARTHEST)
        cell = jnp.nan_to_num(cell).astype(jnp.int32)  # what is not a number stops the run, whatever is counted
        place = jnp.zeros(len(cell), jnp.int32)
        for column in cell.T:
            place = place * self.side + column % self.side
        return Visited(
            visited.places.at[place].set(True),
            jnp.minimum(visited.low, cell.min(0)),
            jnp.maximum(visited.high, cell.max(0)),
        )

    def metrics(self, visited: Visited) -> dict[str, Float[Array, ""]]:
        """How many cells were visited, and whether that is exact (1) or only the least that there can be (0)."""
        exact = jnp.all(visited.high - visited.low < self.side) & jnp.all(
            (visited.low > -_FARTHEST) & (visited.high < _FARTHEST)
        )
        return {COVERAGE: jnp.sum(visited.places).astype(float), EXACT: exact.astype(float)}

    def summary(self, each: Sequence[Visited], names: Sequence[str]) -> dict[str, Any]:
        """What each seed visited, as plain data."""
        found = [self.metrics(visited) for visited in each]
        return {
            "cells": [int(metrics[COVERAGE]) for metrics in found],
            "exact": [bool(metrics[EXACT]) for metrics in found],
            "features": [names[column] for column in self.columns],
            "cell": self.width,
        }


def coverage_of(features: Sequence[str], width: Any, names: Sequence[str], environment: str) -> Coverage | None:
    """What settings ask for: None if they name no features; refused if it cannot be counted."""
    if not features:
        return None
    finite_number(width, "cell", above=0)
    columns = feature_indices(features, names, len(names), f"coverage in {environment}", distinct=True)
    if len(columns) > MOST_FEATURES:
        raise ValueError(f"coverage must be of at most {MOST_FEATURES} features, such as x and y, but is of {columns}")
    return Coverage(tuple(columns), float(width))
