"""Cells of the table: what one way earned by one set of skills, kept in a file each, so that it is done once."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from vendirl import __version__
from vendirl._checks import shown
from vendirl._files import write_atomically
from vendirl.training.folder import name_for
from vendirl.training.reading import read_table
from vendirl.transfer.ways.way import Used

FOLDER = "cells"


@dataclasses.dataclass(frozen=True)
class Question:
    """What a cell is of: all that decides what is in it.

    Attributes:
        way: the text of the way.
        skills: what tells the set of skills from others; empty for ways that use none.
        rest: everything else that decides: the environment, the tasks, the budget and the learner.
    """

    way: str
    skills: dict[str, Any]
    rest: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        plain = {"way": self.way, "skills": self.skills, "rest": self.rest, "version": __version__}
        return json.loads(json.dumps(plain))

    @property
    def file(self) -> str:
        """The name of the cell's file, with a digest of the question."""
        digest = hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()[:12]
        said = f"{self.skills.get('name', '')} {self.skills.get('seed', '')} {self.way}"
        return f"{name_for(said, 60)}-{digest}.json"


MOST_OF_A_CELL = 2**28
"""Bytes."""


def kept_or_done(question: Question, out: Path | None, do: Callable[[], Used], seeds: int, tasks: int) -> Used:
    """What is in the cell of a question, found out now if it is not there yet.

    Args:
        question: what the cell is of.
        out: the folder of the cells; None to keep nothing.
        do: finds out what is in the cell.
        seeds, tasks: how many seeds and tasks the cell has.
    """
    path = None if out is None else out / FOLDER / question.file
    if path is not None and path.exists():
        return _read(path, question, (seeds, tasks), path.parent.parent)
    used = do()
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps({"asked": question.to_json(), **plain(used)}, indent=1) + "\n")
    return used


def plain(used: Used) -> dict[str, Any]:
    """What came of a way as plain data."""
    return {
        "steps": used.steps.tolist(),
        "returns": used.returns.tolist(),
        "chosen": None if used.chosen is None else used.chosen.tolist(),
        "note": used.note,
    }


def _read(path: Path, question: Question, shape: tuple[int, int], out: Path) -> Used:
    found = read_table(path, MOST_OF_A_CELL, out)
    remedy = f"remove {path} to have it made again"
    if found.get("asked") != question.to_json():
        raise ValueError(f"{path} answers another question than its name says; {remedy}")
    steps, returns = _array(found.get("steps"), "i"), _array(found.get("returns"), "if")
    points = -1 if steps is None or steps.ndim != 1 or not len(steps) else len(steps)
    if steps is None or points < 0 or steps[0] < 0 or (np.diff(steps) <= 0).any():
        raise ValueError(f"{path} cannot be read: steps must be whole numbers that increase; {remedy}")
    if returns is None or returns.shape != (points, *shape) or not np.isfinite(returns).all():
        raise ValueError(
            f"{path} cannot be read: returns must be finite numbers of {points} points, {shape[0]} seeds and "
            f"{shape[1]} tasks; {remedy}"
        )
    chosen, note = _array(found.get("chosen"), "i"), found.get("note")
    if found.get("chosen") is not None and (chosen is None or chosen.shape != shape or (chosen < 0).any()):
        raise ValueError(f"{path} cannot be read: chosen must be numbers of skills by seed and task; {remedy}")
    if note is not None and not isinstance(note, str):
        raise ValueError(f"{path} cannot be read: note must be text, but is {shown(note)}; {remedy}")
    return Used(steps, returns.astype(float), chosen, note or None)


def _array(found: Any, kinds: str) -> np.ndarray | None:
    """Lists of numbers of some kinds as an array; None if they are something else."""
    if not isinstance(found, list):
        return None
    try:
        array = np.asarray(found)
    except (ValueError, OverflowError):
        return None
    return array if array.dtype.kind in kinds else None
