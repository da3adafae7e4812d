"""The record of the race: what is in benchmarks/race.json, or a sentence that says why it is none."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from vendirl._checks import shown
from vendirl.training.reading import read_table

MOST = 2**26
"""Bytes."""
NAMES = ("world", "method", "form", "setting", "learner")
"""What a trial is known by."""


def read_record(path: Path, senses: Collection[str], attainable: float) -> dict[str, Any]:
    """The trials, each with its scores in some senses, and the rows of earlier versions; none if there is no file."""
    if not path.exists():
        return {"trials": [], "earlier": {}}
    found = read_table(path, MOST)
    try:
        trials, earlier = found.get("trials"), found.get("earlier")
        if set(found) != {"trials", "earlier"} or not isinstance(trials, list) or not isinstance(earlier, dict):
            raise ValueError("it must have a list of trials and a table of earlier rows, and nothing else")
        for i, trial in enumerate(trials):
            _check_trial(trial, f"trials[{i}]", senses, attainable)
        for world, rows in earlier.items():
            if not isinstance(rows, dict):
                raise ValueError(f"earlier[{shown(world)}] must be a table of methods")
            for method, cells in rows.items():
                where = f"earlier[{shown(world)}][{shown(method)}]"
                _check_scores(cells, where, senses, attainable)
                if any(len(cell) != 3 or not cell[1] <= cell[2] for cell in cells.values()):
                    raise ValueError(f"{where} must have a mean and the two ends of its interval for each sense")
    except ValueError as error:
        raise ValueError(f"{path} cannot be read as a record of the race: {error}") from None
    return found


def _check_trial(trial: Any, where: str, senses: Collection[str], attainable: float) -> None:
    if not isinstance(trial, dict) or not all(isinstance(trial.get(name), str) for name in NAMES):
        raise ValueError(f"{where} must have {', '.join(NAMES)} as text")
    seconds = trial.get("wall_seconds")
    if not _number(seconds) or seconds < 0:
        raise ValueError(f"{where}: wall_seconds must be a number, but is {shown(seconds)}")
    _check_scores(trial.get("scores"), f"{where}: scores", senses, attainable)
    for name, scores in _table(trial.get("all", {}), f"{where}: all").items():
        _check_scores(scores, f"{where}: all[{shown(name)}]", senses, attainable)


def _check_scores(scores: Any, where: str, senses: Collection[str], attainable: float) -> None:
    if set(_table(scores, where)) != set(senses):
        raise ValueError(f"{where} must be of {', '.join(senses)}")
    for sense, numbers in scores.items():
        right = isinstance(numbers, list) and numbers and all(map(_number, numbers))
        if not right or not all(1 - 1e-3 <= number <= attainable for number in numbers):
            raise ValueError(f"{where}[{sense!r}] must be scores from 1 to {attainable:g}, but is {shown(numbers)}")


def _table(found: Any, where: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise ValueError(f"{where} must be a table, but is {shown(found)}")
    return found


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
