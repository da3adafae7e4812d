"""What quality-diversity reports: the QD score and the coverage of an archive of descriptors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from jaxtyping import Float, Int

from vendirl._checks import AnyArray
from vendirl.data.trajectories import Trajectories
from vendirl.evaluation.measures.measure import Measure
from vendirl.evaluation.measures.observed import Features, columns_of, constant, names_of, observed
from vendirl.evaluation.measures.returns import no_task, returns

Descriptor = Literal["final", "mean"]


def qd_score(
    data: Trajectories,
    features: Features = None,
    bounds: Float[AnyArray, "k 2"] | Any | None = None,
    cells: int | Sequence[int] | Any = 20,
    descriptor: Descriptor | Any = "final",
    offset: float = 0.0,
) -> Measure:
    """The sum over filled cells of the archive of the best fitness in each, minus `offset` for each.

    A trajectory's fitness is the sum of its rewards. Without rewards it is 1, and the score counts filled cells.

    Args:
        data: skill data.
        features: names or numbers of the descriptor's features; the first two if None.
        bounds: (k, 2) lowest and highest value of each; beyond them descriptors fall into the outermost cells. If
            None, the range of all observations.
        cells: how many along each feature.
        descriptor: the features in the "final" state of a trajectory, or their "mean" over it.
        offset: the least possible fitness, so that filling a cell never lowers the score.

    Example:
        >>> import numpy as np
        >>> from vendirl.data import Trajectories
        >>> data = Trajectories.of([[[0.1]], [[0.2]], [[0.9]]], skill=[0, 0, 1], rewards=[[3.0], [5.0], [2.0]])
        >>> qd_score(data, bounds=[[0, 1]], cells=2).value, archive_coverage(data, bounds=[[0, 1]], cells=2).value
        (7.0, 1.0)
    """
    if not np.isfinite(offset):
        raise ValueError(f"offset must be finite, but is {offset}")
    archive = _archive(data, features, bounds, cells, descriptor)
    notes = [archive.note] if archive.note else []
    if data.rewards is None:
        fitness = np.ones(len(data))
        kind = "occupancy"
        notes.append("the data have no rewards, so every filled cell counts 1")
    else:
        fitness = returns(data)
        kind = "sum of rewards"
        notes += no_task(data)
        if fitness.min() < offset:
            notes.append(f"some fitness is below offset={offset:g} and lowers the score; give the least possible")
    best = np.full(archive.size, -np.inf)
    np.maximum.at(best, archive.cell, fitness)
    value = np.sum(best[best > -np.inf] - offset)
    settings = {**archive.settings, "fitness": kind, "offset": offset}
    return Measure("QD score", value, settings, "", "higher", "; ".join(notes) or None)


def archive_coverage(
    data: Trajectories,
    features: Features = None,
    bounds: Float[AnyArray, "k 2"] | Any | None = None,
    cells: int | Sequence[int] | Any = 20,
    descriptor: Descriptor | Any = "final",
) -> Measure:
    """The fraction of the archive's cells that hold a trajectory's descriptor; arguments as in `qd_score`."""
    archive = _archive(data, features, bounds, cells, descriptor)
    filled = len(np.unique(archive.cell))
    return Measure("archive coverage", filled / archive.size, archive.settings, "", "higher", archive.note)


class _Archive(NamedTuple):
    cell: Int[np.ndarray, " episodes"]
    """(episodes,) the cell of each trajectory's descriptor."""
    size: int
    settings: dict[str, Any]
    note: str | None


def _archive(data: Trajectories, features: Features, bounds: Any, cells: Any, descriptor: Any) -> _Archive:
    if descriptor not in get_args(Descriptor):
        raise ValueError(f"descriptor must be one of {', '.join(get_args(Descriptor))}, but is {descriptor!r}")
    columns = columns_of(data, features, default=2)
    k = len(columns)
    counts = np.asarray(cells)
    if counts.dtype.kind not in "iu" or counts.shape not in ((), (k,)) or counts.min() < 1:
        raise ValueError(f"cells must be a whole number, or one for each of the {k} features, but is {cells}")
    counts = np.broadcast_to(counts, k)
    size = int(np.prod(counts.astype(object)))
    if size > 10**8:
        raise ValueError(f"cells={cells} makes an archive of {size:.3g} cells; choose fewer cells or features")
    last = np.cumsum(data.lengths) - 1
    low, high, note = _bounds(data, columns, bounds)
    if descriptor == "final":
        x = observed(data, columns, last)
    else:
        x = np.add.reduceat(observed(data, columns), last - data.lengths + 1) / data.lengths[:, None]
    place = np.clip(np.floor((x - low) / (high - low) * counts + 1e-6), 0, counts - 1).astype(np.int64)
    beyond = int(np.sum(np.any((x < low) | (x > high), 1)))
    if bounds is not None and beyond:
        note = f"{beyond} descriptors lie beyond the bounds and were put into the outermost cells"
    settings = {
        "features": names_of(data, columns),
        "descriptor": descriptor,
        "bounds": np.stack([low, high], -1),
        "cells": counts,
        "skills": data.n,
        "trajectories": len(data),
    }
    return _Archive(np.ravel_multi_index(tuple(place.T), tuple(counts)), size, settings, note)


def _bounds(
    data: Trajectories, columns: Sequence[int], bounds: Any
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"], str | None]:
    if bounds is None:
        x = observed(data, columns)
        low, high = x.min(0), x.max(0)
        high = np.where(constant(x), low + np.maximum(1, np.abs(low)), high)  # any width will do
        return low, high, "bounds are the range of these data; give bounds to compare with other data"
    given = np.asarray(bounds, np.float64)
    if given.shape != (len(columns), 2):
        raise ValueError(f"bounds must be a (low, high) pair for each of the {len(columns)} features, but is {bounds}")
    if not np.isfinite(given).all() or (given[:, 0] >= given[:, 1]).any():
        raise ValueError(f"bounds must be finite with low < high, but are {given.tolist()}")
    return given[:, 0], given[:, 1], None
