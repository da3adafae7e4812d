"""The utility map: which diversity suits which task.

Rows are sets of skills, U_sm is what set s earns in task m, between random actions (0) and the oracle (1), and V_sk its
Vendi Score in sense k. The map's answer is Spearman's rank correlation over sets,

    ρ_km = corr(rank_s V_sk, rank_s U_sm),

beside two nulls. Sets dealt at random: how large ρ_km is if diversity has nothing to do with use; p_km is the share of
deals in which |ρ| is as large. Tasks shuffled within each set: how much ρ_k differs between tasks if it does not matter
which task it is; p_k is the share of shuffles in which the standard deviation of ρ_k over tasks is as large.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.stats import rankdata

from vendirl._checks import finite, real_numbers, whole_number
from vendirl._files import drop_leftovers, write_atomically
from vendirl.transfer.result import Transfer

LEAST = 4
"""Sets of skills, of which there are 24 orders; fewer cannot tell a correlation from chance."""


@dataclasses.dataclass(frozen=True, eq=False)
class UtilityMap:
    """Which diversity suits which task.

    Attributes:
        way: how skills were used.
        sets, senses, tasks: their names.
        utility: (sets, tasks) U.
        scores: (sets, senses) V.
        correlation: (senses, tasks) ρ; 0 where all sets are alike.
        p_values: (senses, tasks) the p-value of each, for sets dealt at random.
        overall: (senses,) the same correlation with U averaged over tasks.
        overall_p: (senses,) its p-value.
        by_task_p: (senses,) the p-value of ρ differing between tasks by as much, for shuffled tasks.
    """

    way: str
    sets: tuple[str, ...]
    senses: tuple[str, ...]
    tasks: tuple[str, ...]
    utility: Float[np.ndarray, "sets tasks"]
    scores: Float[np.ndarray, "sets senses"]
    correlation: Float[np.ndarray, "senses tasks"]
    p_values: Float[np.ndarray, "senses tasks"]
    overall: Float[np.ndarray, " senses"]
    overall_p: Float[np.ndarray, " senses"]
    by_task_p: Float[np.ndarray, " senses"]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        found = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: x.tolist() if isinstance(x, np.ndarray) else x for name, x in found.items()}


def map_of(found: Transfer, way: str, draws: int = 2000, seed: int = 0) -> UtilityMap:
    """The utility map of a transfer, in which all runs were scored in the same senses."""
    senses = [k for k in next(iter(found.diversity.values())) if all(k in of for of in found.diversity.values())]
    if not senses:
        raise ValueError("the runs were not scored in a sense that they share; name some: similarities=...")
    utility = {run: found.row(run, way).z[-1].mean(0) for run in found.runs}
    scores = {run: {k: found.diversity[run][k][0] for k in senses} for run in found.runs}
    return utility_map(utility, scores, found.tasks, way, draws, seed)


def write_map(maps: Sequence[UtilityMap], out: Path) -> Path:
    """Write maps, one for each way of using skills, as map.json in a folder."""
    path = out / "map.json"
    drop_leftovers(out, path.name)
    write_atomically(path, json.dumps([each.to_json() for each in maps], indent=1) + "\n")
    return path


def utility_map(
    utility: Mapping[str, Any],
    scores: Mapping[str, Mapping[str, float]],
    tasks: tuple[str, ...],
    way: str = "",
    draws: int = 2000,
    seed: int = 0,
) -> UtilityMap:
    """The map of sets of skills.

    Args:
        utility: what each set earns in each task.
        scores: the score of each set in each sense.
        tasks: the names of the tasks.
        way: how skills were used, for the record.
        draws: how many deals of sets, and as many shuffles of tasks, the nulls are made of.
        seed: the seed of deals and shuffles.
    """
    enough(len(utility))
    if set(utility) != set(scores):
        raise ValueError("utility and scores must be of the same sets of skills")
    whole_number(draws, "draws")
    sets, senses = tuple(utility), tuple(next(iter(scores.values())))
    U = np.asarray(real_numbers([list(utility[s]) for s in sets], "utility"), np.float64)
    V = np.asarray(real_numbers([[scores[s][k] for k in senses] for s in sets], "scores"), np.float64)
    finite(U, "utility")
    finite(V, "scores")
    if U.shape != (len(sets), len(tasks)):
        raise ValueError(f"utility must have a number for each of the {len(tasks)} tasks, but has shape {U.shape}")
    generator = np.random.default_rng(seed)
    v, u, middle = standardised(V), standardised(U), standardised(U.mean(1, keepdims=True))
    ρ, overall = v.T @ u, (v.T @ middle)[:, 0]
    as_large, overall_as_large, as_spread = np.ones(ρ.shape), np.ones(len(senses)), np.ones(len(senses))
    for _ in range(draws):
        dealt = v[generator.permutation(len(sets))]
        as_large += np.abs(dealt.T @ u) >= np.abs(ρ) - 1e-12
        overall_as_large += np.abs(dealt.T @ middle)[:, 0] >= np.abs(overall) - 1e-12
        shuffled = v.T @ standardised(generator.permuted(U, axis=1))
        as_spread += shuffled.std(1) >= ρ.std(1) - 1e-12
    p, overall_p, by_task_p = (count / (draws + 1) for count in (as_large, overall_as_large, as_spread))
    return UtilityMap(way, sets, senses, tuple(tasks), U, V, ρ, p, overall, overall_p, by_task_p)


def enough(sets: int) -> None:
    """Refuse a map of fewer sets of skills than can tell anything."""
    if sets < LEAST:
        raise ValueError(f"a utility map needs at least {LEAST} sets of skills, but there are {sets}")


def spearman(x: Float[np.ndarray, "sets a"], y: Float[np.ndarray, "sets b"]) -> Float[np.ndarray, "a b"]:
    """Rank correlations of columns over rows; 0 where a column is constant."""
    return standardised(x).T @ standardised(y)


def standardised(columns: Float[np.ndarray, "sets a"]) -> Float[np.ndarray, "sets a"]:
    """Ranks of each column, less their mean, as a vector of length 1; zeros where all are alike."""
    ranks = rankdata(columns, axis=0)
    ranks = ranks - ranks.mean(0)
    return ranks / np.maximum(np.linalg.norm(ranks, axis=0), 1e-12)
