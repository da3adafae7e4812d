"""What a sweep maximises, by name: one number of a finished run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vendirl._checks import finite_number, shown
from vendirl.training.reading import read_history, read_table

Table = Mapping[str, Any]


def _in(name: str) -> Callable[[Table, Sequence[Table]], float]:
    """What the summary says under a name."""
    return lambda summary, history: finite_number(summary.get(name), name)


def _gain(summary: Table, history: Sequence[Table]) -> float:
    return _in("vendi_score")(summary, history) - _in("untrained")(summary, history)


def _area(summary: Table, history: Sequence[Table]) -> float:
    if not history:
        raise ValueError("there are no metrics of its training")
    return float(np.mean([np.median(row["vendi_score"]) for row in history]))


def _coverage(summary: Table, history: Sequence[Table]) -> float:
    found = summary.get("coverage")
    if found is None:
        raise ValueError("the objective coverage needs features whose cells are counted, such as --coverage x y")
    cells = found.get("cells") if isinstance(found, dict) else None
    if not isinstance(cells, list) or not cells:
        raise ValueError(f"coverage must have the cells of each seed, but is {shown(found)}")
    return float(np.median([finite_number(count, "coverage: cells", least=0) for count in cells]))


OBJECTIVES: dict[str, Callable[[Table, Sequence[Table]], float]] = {
    "score": _in("vendi_score"),
    "fraction": _in("fraction_of_attainable"),
    "gain": _gain,
    "area": _area,
    "coverage": _coverage,
}
"""The Vendi Score of the skills, the median over seeds; its fraction of the attainable; how much it is above that of
the skills before training; its mean over the training, which is greater the faster skills are learned; and the cells
that training visited."""


def objective_of(name: str, folder: Path) -> float:
    """The value of an objective for the finished run in a folder."""
    path = folder / "summary.json"
    summary, history = read_table(path, within=folder), read_history(folder, 2**62)
    try:
        return finite_number(OBJECTIVES[name](summary, history), name)
    except ValueError as error:
        raise ValueError(f"{path} says nothing of the objective {name}: {error}") from None


def curve_of(folder: Path) -> list[tuple[float, float]]:
    """The score of a run by environment steps: the median over its seeds."""
    return [(row["env_steps"], float(np.median(row["vendi_score"]))) for row in read_history(folder, 2**62)]
