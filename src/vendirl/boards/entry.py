"""An entry of a board: how diverse one set of skills is, which method made it, and at what cost."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from pathlib import Path
from typing import Any, cast

from vendirl._checks import finite_number, seed_number, shown, truth_value
from vendirl._files import read_regular
from vendirl.boards.suite import Suite
from vendirl.data import Trajectories
from vendirl.evaluation import effective_number

LONGEST = {"method": 300, "settings": 4000, "versions": 1000, "trained_by": 100, "digest": 64}
"""Characters of the texts of an entry."""
MOST_OF_SKILLS = 2**31
"""Bytes of a file of skills."""


@dataclasses.dataclass(frozen=True)
class Entry:
    """One set of skills of a method in one world.

    Attributes:
        method: what the method is called.
        world: where the skills act.
        seed: the seed of the training.
        scores: the Vendi Score of the skills' episodes in each sense, by its name.
        digest: SHA-256 of the file of episodes.
        outside: whether the skills came from elsewhere, so that what is said about their training is hearsay.
        steps: how many steps of the environment were learned from; None if nobody said.
        seconds: how long the training took, per seed; None if nobody said.
        settings: the settings of the method and its training, as text.
        versions: the versions of the software that trained, as text.
        trained_by: the sense that the method was rewarded by, if it was one of the suite's.
    """

    method: str
    world: str
    seed: int
    scores: dict[str, float]
    digest: str
    outside: bool
    steps: float | None = None
    seconds: float | None = None
    settings: str = ""
    versions: str = ""
    trained_by: str | None = None

    @property
    def place(self) -> tuple[str, str, int]:
        """What no two entries of a board have in common."""
        return self.method, self.world, self.seed

    def check(self, suite: Suite, name: str = "entry") -> None:
        """Refuse what cannot be an entry of a board of this suite; messages call it by a name."""
        for field, most in LONGEST.items():
            value = getattr(self, field)
            if field == "trained_by" and value is None:
                continue
            if not isinstance(value, str) or len(value) > most or not value.isprintable():
                raise ValueError(
                    f"{name}: {field} must be a printable text of at most {most} characters, but is {shown(value)}"
                )
        if not self.method.strip():
            raise ValueError(f"{name}: method must be a name, but is {shown(self.method)}")
        if not re.fullmatch(r"[0-9a-f]{64}", self.digest):
            raise ValueError(f"{name}: digest must be 64 digits of a SHA-256, but is {shown(self.digest)}")
        suite.check_world(self.world)
        seed_number(self.seed, f"{name}: seed")
        truth_value(self.outside, f"{name}: outside")
        if self.trained_by is not None and self.trained_by not in suite.senses:
            raise ValueError(f"{name}: trained_by must be a sense of {suite.name}, but is {shown(self.trained_by)}")
        if not isinstance(self.scores, dict) or set(self.scores) != set(suite.senses):
            raise ValueError(f"{name}: scores must be of {', '.join(suite.senses)}, but are {shown(self.scores)}")
        for sense, score in self.scores.items():
            _number(score, f"{name}: scores[{sense!r}]", 1 - 1e-3, suite.skills * (1 + 1e-3))
        if self.steps is not None:
            _number(self.steps, f"{name}: steps", 0, suite.steps)
        if self.seconds is not None:
            _number(self.seconds, f"{name}: seconds", 0, 1e10)

    @classmethod
    def from_json(cls, data: Any, suite: Suite, name: str) -> Entry:
        """An entry from what a file says, checked."""
        fields = {field.name for field in dataclasses.fields(cls)}
        if not isinstance(data, dict) or set(data) != fields:
            raise ValueError(f"{name} must have just {', '.join(sorted(fields))}")
        entry = cast(Entry, _unchecked(data))
        entry.check(suite, name)
        return entry


def _unchecked(data: dict[str, Any]) -> Any:
    """An entry whose fields may be anything, to be checked next."""
    entry = object.__new__(Entry)
    for name, value in data.items():
        object.__setattr__(entry, name, value)
    return entry


def _number(value: Any, name: str, least: float, most: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} must be a number, but is {shown(value)}")
    finite_number(value, name, least=least, most=most)


def scores_of(data: Trajectories, suite: Suite) -> dict[str, float]:
    """The Vendi Score of the skills in each sense, the episodes of a skill pooled (Definition 2)."""
    skills = data.by_skill
    return {sense: float(effective_number(skills, text, names=data.features)) for sense, text in suite.senses.items()}


def digest_of(path: Path) -> str:
    """SHA-256 of a file of episodes."""
    return hashlib.sha256(read_regular(path, MOST_OF_SKILLS)).hexdigest()
