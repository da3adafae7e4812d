"""What a way of using skills is: something that earns returns in tasks, by a set of skills or without any.

A way is a frozen dataclass whose fields are its settings, with a `name` and `use`; `register` makes it known by name:

    @register
    @dataclasses.dataclass(frozen=True)
    class Mine(Way):
        name: ClassVar[str] = "mine"

        def use(self, asked): ...

    vr.transfer("runs/a", "maze-goals", ["mine"])
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import numpy as np
from jaxtyping import Float, Int

from vendirl._checks import check_settings
from vendirl._text import Expressions, settings_text
from vendirl.environments import AnyEnvironment
from vendirl.training.run import Run
from vendirl.transfer.settings import Learning
from vendirl.transfer.task import Task

Kind = TypeVar("Kind", bound="type[Way]")


def _silent(fraction: float) -> None:
    pass


@dataclasses.dataclass(frozen=True, eq=False)
class Asked:
    """What a way is to do.

    Attributes:
        environment: where the body acts.
        tasks: what is to be done.
        steps: how many steps of the body each task may take.
        seeds, seed: how often it is to be done, and the first seed.
        learning: how tasks are learned, if they are.
        run: the skills, if the way uses some, as a run where the tasks are done.
        home: the same run where it was trained, whose episodes are stored; None if that is the same.
        run_seed: which of the run's seeds, counted from 0.
        report: called with the fraction that is done.
    """

    environment: AnyEnvironment
    tasks: tuple[Task, ...]
    steps: float
    seeds: int = 1
    seed: int = 0
    learning: Learning = dataclasses.field(default_factory=Learning)
    run: Run | None = None
    home: Run | None = None
    run_seed: int = 0
    report: Callable[[float], None] = _silent

    @property
    def skills(self) -> Run:
        """The run whose skills are used."""
        if self.run is None:
            raise ValueError("this way of doing tasks needs a run, whose skills it uses")
        return self.run


@dataclasses.dataclass(frozen=True, eq=False)
class Used:
    """What came of a way.

    Attributes:
        steps: (points,) how many steps each task had cost by then, those of selection too; what cost nothing has one
            point at 0.
        returns: (points, seeds, tasks) what was earned with what was known by then.
        chosen: (seeds, tasks) numbers of the skills that were chosen, or None.
        note: what is to be known of it, or None.
    """

    steps: Int[np.ndarray, " points"]
    returns: Float[np.ndarray, "points seeds tasks"]
    chosen: Int[np.ndarray, "seeds tasks"] | None = None
    note: str | None = None


@dataclasses.dataclass(frozen=True)
class Way(abc.ABC):
    """A way of using skills, or of doing without; its fields are its settings."""

    name: ClassVar[str]
    uses_skills: ClassVar[bool] = True
    bounds: ClassVar[dict[str, tuple[float, float]]] = {}

    def __post_init__(self) -> None:
        check_settings(self, f"{self.name}: ")

    def check(self, asked: Asked) -> None:  # noqa: B027 - most have nothing to add
        """Refuse what cannot be done, before anything compiles."""

    @abc.abstractmethod
    def use(self, asked: Asked) -> Used:
        """Do the tasks."""

    def __str__(self) -> str:
        return settings_text(self.name, self)


_ways: Expressions[Way] = Expressions("way", Way)


def register(way: Kind) -> Kind:
    """Make a way of using skills known by its name."""
    _ways.register(way.name, way)
    return way


def known_ways() -> dict[str, Callable[..., Way]]:
    """The ways that have a name."""
    return _ways.known()


def parse_way(text: str | Any) -> Way:
    """The way that a text describes: "select", "control(hold=5)".

    >>> from vendirl.transfer.ways import control
    >>> parse_way("control(hold=5)").hold
    5
    """
    return _ways.parse(text)
