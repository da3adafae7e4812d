"""Diffusion Time (Machado et al. 2017): how many steps a walk by skills chosen at random takes from state to state."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from vendirl._checks import AnyArray, an_array
from vendirl.data.trajectories import Trajectories
from vendirl.evaluation.measures.cells import Bin, cells
from vendirl.evaluation.measures.coverage import with_starts
from vendirl.evaluation.measures.measure import Measure
from vendirl.evaluation.measures.observed import Features

_CELLS = 1000  # one linear system of so many unknowns


def diffusion_time(
    data: Trajectories, features: Features = None, bin: Bin = None, restarts: bool = False, most: int = _CELLS
) -> Measure:
    """The mean number of steps from one cell to another, for a walk that in each cell follows one of the skills that
    were seen to act there, each as likely as another:

        h_g(s) = 1 + Σ_s' P(s' | s) h_g(s'),  h_g(g) = 0,      P(. | s) = mean over skills i seen in s of P_i(. | s)

    averaged over s ≠ g, then over goals g. P_i is counted from consecutive observations, so cells should be so wide
    that each is visited often. The original knows the world, data only what was done in it: cells count that were
    reached from one another (the largest such set; a note says how many of all), and steps out of it are left out. Its
    walk also takes primitive actions, and only such skills as do not end where it is, which data do not tell.

    Args:
        data: skill data.
        features, bin: as in `cells`: the first two features, a twentieth of their range.
        restarts: whether the end of an episode leads to where the next one of the skill begins, in one step. The
            original has no episodes; skills that only go away from the start are never seen to come back without.
        most: more cells than this are refused, since the linear system would take long.

    Example:
        >>> from vendirl.data import Trajectories
        >>> walk = Trajectories.of([[[0.0], [1.0], [2.0], [1.0], [0.0]]])
        >>> round(diffusion_time(walk, bin=1.0).value, 6)        # (3.5 + 1 + 3.5) / 3
        2.666667
    """
    data = with_starts(data)
    found = cells(data, features, bin)
    settings = {**found.settings, "restarts": restarts}
    before, after, skill = _steps(data, found.index, restarts)
    kept = _reaching_one_another(before, after, found.count)
    if len(kept) < 2:
        raise ValueError("no two cells are reached from one another in these data; use wider cells (bin), or restarts")
    if len(kept) > most:
        raise ValueError(f"there are {len(kept)} cells, and the linear system is solved for at most {most}; widen bin")
    number = np.full(found.count, -1)
    number[kept] = np.arange(len(kept))
    inside = (number[before] >= 0) & (number[after] >= 0)
    P = _mean_over_skills(number[before[inside]], number[after[inside]], skill[inside], len(kept), data.n)
    notes = [found.note] if found.note else []
    if len(kept) < found.count:
        notes.insert(0, f"of the {len(kept)} of {found.count} cells that are reached from one another")
    if (mean := inside.sum() / len(kept)) < 10:
        notes.insert(0, f"a cell was left only {mean:.2g} times on average, which tells little of where a step leads")
    value = mean_hitting_time(P)
    return Measure("diffusion time", value, settings, "steps", "lower", "; ".join(notes) or None)


def mean_hitting_time(P: Float[AnyArray, "S S"] | Any) -> float:
    """The mean over goals g, and over s ≠ g, of the expected number of steps from s to g.

    All of them come from one inverse (Kemeny and Snell): with π P = π and Z = (I - P + 1 π)⁻¹,
    h_g(s) = (Z_gg - Z_sg) / π_g.

    Args:
        P: (S, S) the chance of each next state; every state can be reached from every other.

    Example:
        >>> mean_hitting_time([[0.0, 1.0], [1.0, 0.0]])
        1.0
    """
    P = np.asarray(an_array(P, "P"), np.float64)
    if P.ndim != 2 or P.shape[0] != P.shape[1] or len(P) < 2:
        raise ValueError(f"P must have shape (S, S) for at least two states, but has shape {P.shape}")
    if (P < 0).any() or np.abs(P.sum(1) - 1).max() > 1e-9:
        raise ValueError("the rows of P must be probabilities: not negative, with the sum 1")
    S = len(P)
    balance = np.vstack([(np.eye(S) - P).T[:-1], np.ones(S)])
    π = np.linalg.solve(balance, np.append(np.zeros(S - 1), 1.0))
    Z = np.linalg.inv(np.eye(S) - P + π)
    h = (np.diag(Z) - Z) / π
    return float(h.sum() / (S * (S - 1)))


def _steps(
    data: Trajectories, cell: Int[np.ndarray, " steps"], restarts: bool
) -> tuple[Int[np.ndarray, " moves"], Int[np.ndarray, " moves"], Int[np.ndarray, " moves"]]:
    """The cells before and after each step, and the skill that made it."""
    ends = np.cumsum(data.lengths)
    last, first = ends - 1, ends - data.lengths
    follows = np.ones(len(cell), bool)
    follows[last] = False
    rows = np.flatnonzero(follows)
    before, after = cell[rows], cell[rows + 1]
    skill = np.repeat(data.skill, data.lengths)[rows]
    if restarts:
        following = np.arange(len(data))
        for mine in data.of_skill:
            following[mine] = np.roll(mine, -1)
        before, after = np.append(before, cell[last]), np.append(after, cell[first[following]])
        skill = np.append(skill, data.skill)
    return before, after, skill


def _reaching_one_another(
    before: Int[np.ndarray, " moves"], after: Int[np.ndarray, " moves"], count: int
) -> Int[np.ndarray, " kept"]:
    """The largest set of cells each of which can be reached from every other."""
    from scipy.sparse import coo_array  # takes long to import, and most who import vendirl do without
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(before)), (before, after)), (count, count))
    _, part = connected_components(graph.tocsr(), connection="strong")
    return np.flatnonzero(part == np.bincount(part).argmax())


def _mean_over_skills(
    before: Int[np.ndarray, " moves"],
    after: Int[np.ndarray, " moves"],
    skill: Int[np.ndarray, " moves"],
    S: int,
    n: int,
) -> Float[np.ndarray, "S S"]:
    """P(s' | s), the mean of P_i(s' | s) over the skills i that were seen to act in s."""
    there = before * n + skill
    weight = 1 / np.bincount(there, minlength=S * n)[there]  # of a step among those of its skill in its cell
    skills = np.bincount(np.unique(there) // n, minlength=S)
    P = np.zeros((S, S))
    np.add.at(P, (before, after), weight / skills[before])
    return P
