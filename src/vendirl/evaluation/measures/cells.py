"""Cells of equal size that observations fall into, for measures that count."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from vendirl.data.trajectories import Trajectories
from vendirl.evaluation.measures.observed import Features, columns_of, constant, names_of, observed, skill_of_step

Bin = float | Sequence[float] | Float[np.ndarray, " k"] | None | Any
"""The width of cells, one for all features or one for each; whatever `checked_widths` does not refuse."""
_CLOSE = 1e-6


@dataclasses.dataclass(frozen=True)
class Cells:
    """Which cell each step is in.

    Attributes:
        index: (steps,) the cell, 0 to count - 1.
        count: how many cells were visited.
        skill: (steps,) who acted.
        settings: features, bin, and how much data there were.
        note: how the bins were chosen, if they were not given.
    """

    index: Int[np.ndarray, " steps"]
    count: int
    skill: Int[np.ndarray, " steps"]
    settings: dict[str, Any]
    note: str | None


def cells(data: Trajectories, features: Features = None, bin: Bin = None) -> Cells:
    """The cell floor(x / bin) of every step, over chosen features.

    Cells are anchored at 0, so that the same bin means the same cells in other data. A value less than a millionth of
    a bin below an edge counts as on it: 0.3 is in cell 3 of width 0.1, though 0.3 / 0.1 < 3 in floating point.

    Args:
        data: skill data.
        features: names or numbers; the first two if None.
        bin: the width of a cell, one for all features or one for each. If None, for each feature the largest of ...,
            0.1, 0.2, 0.5, 1, 2, 5, ... that is at most a twentieth of the data's range; a constant feature gets one
            cell.
    """
    columns = columns_of(data, features, default=2)
    x = observed(data, columns)
    widths = _default_widths(x) if bin is None else checked_widths(bin, len(columns))
    if (np.abs(x).max(0) / widths).max() > 2**53:
        raise ValueError(
            f"bin={widths.tolist()} is too small for observations up to {np.abs(x).max():.3g}: use wider cells"
        )
    index, count = _numbered(np.floor(x / widths + _CLOSE).astype(np.int64))
    settings = {
        "features": names_of(data, columns),
        "bin": widths,
        "skills": data.n,
        "trajectories": len(data),
        "steps": len(x),
    }
    note = "bin was chosen from the range of these data; give bin to compare with other data" if bin is None else None
    return Cells(index, count, skill_of_step(data), settings, note)


def occupancy(
    found: Cells, n: int
) -> tuple[Int[np.ndarray, " visited"], Int[np.ndarray, " visited"], Float[np.ndarray, " visited"]]:
    """For each cell that a skill visits: the cell, the skill, and which share of the skill's steps is spent there."""
    pairs, counts = np.unique(found.index * n + found.skill, return_counts=True)
    cell, skill = pairs // n, pairs % n
    return cell, skill, counts / np.bincount(skill, counts, n)[skill]


def checked_widths(bin: Bin, features: int) -> Float[np.ndarray, " {features}"]:
    """(features,) the widths that `bin` asks for."""
    widths = np.asarray(bin, np.float64)
    if widths.ndim > 1 or (widths.ndim == 1 and len(widths) != features):
        raise ValueError(f"bin must be one width, or one for each of the {features} features, but is {bin}")
    if not (np.isfinite(widths) & (widths > 0)).all():
        raise ValueError(f"bin must be positive and finite, but is {bin}")
    return np.broadcast_to(widths, features).copy()


def _default_widths(x: Float[np.ndarray, "steps k"]) -> Float[np.ndarray, " k"]:
    low, high = x.min(0), x.max(0)
    top = np.maximum(np.abs(low), np.abs(high))
    return np.array(
        [
            max(1.0, t) if flat else _round_down(b / 20 - a / 20)  # rounding noise is not a range
            for a, b, t, flat in zip(low, high, top, constant(x), strict=True)
        ]
    )


def _round_down(x: float) -> float:
    """The largest 1, 2 or 5 times a power of ten that is at most x > 0."""
    power = math.floor(math.log10(x) + 1e-9)
    digit = max((d for d in (1, 2, 5) if d <= x / 10.0**power + 1e-9), default=1)
    return float(f"{digit}e{power}")


def _numbered(cell: Int[np.ndarray, "steps k"]) -> tuple[Int[np.ndarray, " steps"], int]:
    """(steps,) numbers 0 to count - 1 of the distinct rows of (steps, k) integers, and their count."""
    index, count = np.zeros(len(cell), np.int64), 1
    for column in cell.T:
        column = column - column.min()
        extent = int(column.max()) + 1
        if count * extent >= 2**63:  # so that the product below does not overflow
            values, column = np.unique(column, return_inverse=True)
            extent = len(values)
        found, index = np.unique(index * extent + column, return_inverse=True)
        count = len(found)
    return index, count
