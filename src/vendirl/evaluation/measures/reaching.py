"""How many steps it takes to reach one state from another, as far as episodes show it.

Of all distances that obey the triangle inequality and in which no observed step is longer than 1, the largest is the
length of shortest paths over observed steps. Learned quasimetrics approach it by networks; here states are put into
cells, and it is computed. What was never done is not known: times are those of the fastest ways that the episodes put
together, and so not below the true ones, but for what taking the states of a cell for one hides.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Bool, Float, Int

from vendirl.data.trajectories import Trajectories
from vendirl.evaluation.measures.cells import Bin, Cells, cells, checked_widths
from vendirl.evaluation.measures.coverage import with_starts
from vendirl.evaluation.measures.observed import Features, columns_of, observed


@dataclasses.dataclass(frozen=True)
class Reaching:
    """Times to reach one cell from another.

    Attributes:
        cells: which cell each step is in, the first observation of each episode among them.
        data: those observations.
        times: (count, count) steps from each cell to each; infinite where no way was seen.
        disagreement: how far times by one half of the episodes are from those by the other, as a share of their mean:
            the median over pairs of cells that both halves connect; None if there are none.
    """

    cells: Cells
    data: Trajectories
    times: Float[np.ndarray, "count count"]
    disagreement: float | None


def times_to_reach(
    data: Trajectories, features: Features = None, bin: Bin = None, restarts: bool = True, most: int = 1000
) -> Reaching:
    """Shortest numbers of observed steps from cell to cell.

    A step leads from the cell of one observation to that of the next, in both of which all states are taken for one.
    Where cells are as wide as the longest step in each feature, which is the default, a step goes no further than to
    a cell beside its own: crossing k cells then takes at least k steps, and where nothing is in the way, taking states
    for one hides at most one step. In wider cells, and in those that have a wall in them, it hides more, and times come
    out too short. Staying in a cell takes no time.

    Args:
        data: skill data.
        features: names or numbers; the first two if None.
        bin: the width of cells, which are anchored at 0; if None the longest step of each feature, the lowest value of
            which is then in the middle of a cell.
        restarts: whether the end of an episode leads, in one step, to where any episode begins.
        most: more cells than this are refused.
    """
    data = with_starts(data.on(*columns_of(data, features, default=2)))
    x = observed(data, range(len(data.features)))
    if bin is None:
        widths = longest_steps(data, x)
        data = dataclasses.replace(data, observations=x - x.min(0) + widths / 2)  # a lattice is in the middle of cells
    else:
        widths = checked_widths(bin, x.shape[1])
    found = cells(data, range(x.shape[1]), widths)
    if found.count > most:
        raise ValueError(f"there are {found.count} cells, and ways are found among at most {most}; widen bin")
    everything = np.ones(len(data), bool)
    times = _shortest(data, found, everything, restarts)
    return Reaching(found, data, times, _disagreement(data, found, restarts))


def longest_steps(data: Trajectories, x: Float[np.ndarray, "steps k"]) -> Float[np.ndarray, " k"]:
    """How far a feature moved in one step at most, a little more lest rounding matter; 1 for one that never moved."""
    moved = np.abs(np.diff(x, axis=0))[_followed(data)[:-1]]
    if not len(moved):
        raise ValueError("every episode has one observation only, so there are no steps")
    return np.where(moved.max(0) > 0, moved.max(0) * (1 + 1e-5), 1.0)


def _followed(data: Trajectories) -> Bool[np.ndarray, " steps"]:
    """Which observations are followed by another of the same episode."""
    follows = np.ones(len(data.observations), bool)
    follows[np.cumsum(data.lengths) - 1] = False
    return follows


def _shortest(
    data: Trajectories, found: Cells, used: Bool[np.ndarray, " episodes"], restarts: bool
) -> Float[np.ndarray, "count count"]:
    from scipy.sparse import csr_array  # takes long to import, and most who import vendirl do without
    from scipy.sparse.csgraph import dijkstra

    ends = np.cumsum(data.lengths)
    rows = np.flatnonzero(_followed(data) & np.repeat(used, data.lengths))
    before, after = np.divmod(np.unique(found.index[rows] * found.count + found.index[rows + 1]), found.count)
    before, after = before[before != after], after[before != after]
    cost = np.ones(len(before))
    if restarts:  # by way of a place between episodes, half a step from the end of one and from the start of the next
        last, first = (np.unique(found.index[x[used]]) for x in (ends - 1, ends - data.lengths))
        between = np.full(1, found.count)
        before = np.concatenate([before, last, np.repeat(between, len(first))])
        after = np.concatenate([after, np.repeat(between, len(last)), first])
        cost = np.append(cost, np.full(len(last) + len(first), 0.5))
    graph = csr_array((cost, (before, after)), (found.count + 1, found.count + 1))
    return dijkstra(graph)[: found.count, : found.count]


def _disagreement(data: Trajectories, found: Cells, restarts: bool) -> float | None:
    """Between every second episode of each skill and the others."""
    odd = np.zeros(len(data), bool)
    for mine in data.of_skill:
        odd[mine[1::2]] = True
    if not odd.any():
        return None
    a, b = (_shortest(data, found, used, restarts) for used in (odd, ~odd))
    both = np.isfinite(a) & np.isfinite(b) & (a + b > 0)
    return float(np.median(2 * np.abs(a[both] - b[both]) / (a[both] + b[both]))) if both.any() else None


def visited_cells(found: Reaching, episode: int, steps: int) -> Int[np.ndarray, " some"]:
    """The cells that an episode is in at so many moments, evenly spaced, or at all if it has fewer."""
    first = int(np.sum(found.data.lengths[:episode]))
    length = int(found.data.lengths[episode])
    return found.cells.index[first + np.linspace(0, length - 1, min(steps, length)).round().astype(int)]
