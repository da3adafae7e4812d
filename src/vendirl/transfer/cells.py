"""Cells of the table: what one way earned by one set of skills, kept in a file each, so that it is done once."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from vendirl import __version__
from vendirl._files import write_atomically
from vendirl.training.folder import name_for
from vendirl.training.reading import read_table
from vendirl.transfer.ways.way import Used

FOLDER = "cells"


@dataclasses.dataclass(frozen=True)
class Question:
    """What a cell is of: all that decides what is in it.

    Attributes:
        way: its text.
        skills: what tells the set of skills from others; empty for ways that use none.
        rest: of the environment, the tasks, the budget and the learner.
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
        """The name of its file, with a digest of all of it."""
        digest = hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()[:12]
        said = f"{self.skills.get('name', '')} {self.skills.get('seed', '')} {self.way}"
        return f"{name_for(said, 60)}-{digest}.json"


def kept_or_done(question: Question, out: Path | None, do: Callable[[], Used]) -> Used:
    """What is in the cell of a question, found out now if it is not there yet."""
    path = None if out is None else out / FOLDER / question.file
    if path is not None and path.exists():
        return _read(path, question)
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


def _read(path: Path, question: Question) -> Used:
    found = read_table(path)
    remedy = f"remove {path} to have it made again"
    if found.get("asked") != question.to_json():
        raise ValueError(f"{path} answers another question than its name says; {remedy}")
    steps: Int[np.ndarray, " points"]
    returns: Float[np.ndarray, "points seeds tasks"]
    try:
        steps, returns = np.asarray(found["steps"], int), np.asarray(found["returns"], float)
        chosen = None if found["chosen"] is None else np.asarray(found["chosen"], int)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{path} cannot be read ({error}); {remedy}") from None
    if steps.ndim != 1 or returns.ndim != 3 or len(steps) != len(returns) or not np.isfinite(returns).all():
        raise ValueError(f"{path} cannot be read: its steps and returns do not go together; {remedy}")
    return Used(steps, returns, chosen, str(found["note"]) if found.get("note") else None)
