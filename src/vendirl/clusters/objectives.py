"""What a sweep maximises, by name: one number of a finished run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vendirl._checks import finite_number
from vendirl.training.reading import read_history, read_table

Table = Mapping[str, Any]


def _area(summary: Table, history: Sequence[Table]) -> float:
    return float(np.mean([np.median(row["vendi_score"]) for row in history]))


def _coverage(summary: Table, history: Sequence[Table]) -> float:
    if "coverage" not in summary:
        raise ValueError("the objective coverage needs features whose cells are counted, such as --coverage x y")
    return float(np.median(summary["coverage"]["cells"]))


OBJECTIVES: dict[str, Callable[[Table, Sequence[Table]], float]] = {
    "score": lambda summary, history: summary["vendi_score"],
    "fraction": lambda summary, history: summary["fraction_of_attainable"],
    "gain": lambda summary, history: summary["vendi_score"] - summary["untrained"],
    "area": _area,
    "coverage": _coverage,
}
"""The Vendi Score of the skills, the median over seeds; its fraction of the attainable; how much it is above that of
the skills before training; its mean over the training, which is greater the faster skills are learned; and the cells
that training visited."""


def objective_of(name: str, folder: Path) -> float:
    """The value of an objective for the finished run in a folder."""
    found = OBJECTIVES[name](read_table(folder / "summary.json"), read_history(folder, 2**62))
    return finite_number(found, f"{folder}: {name}")


def curve_of(folder: Path) -> list[tuple[float, float]]:
    """The score of a run by environment steps: the median over its seeds."""
    return [(row["env_steps"], float(np.median(row["vendi_score"]))) for row in read_history(folder, 2**62)]
