"""Suites: what a benchmark asks, under a name with a version.

A suite consists of worlds, senses of diversity, and a budget. What the suite of a given name asks never changes;
whatever should be asked differently gets another name. The attainable scores belong to the suite, so that fractions
mean the same whichever version of this package computed them.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Mapping
from importlib import resources

from vendirl._checks import finite_number, nearest, shown, whole_number
from vendirl.environments import parse_environment
from vendirl.similarity import parse


@dataclasses.dataclass(frozen=True)
class Suite:
    """Worlds x senses of diversity, and a budget.

    Attributes:
        name: the name with its version, such as "plane-maze-rooms-v1".
        worlds: where skills act: the environment, as text, of each name.
        senses: what "alike" means: the similarity, as text, of each name.
        attainable: the score that each is divided by, for each world and sense: the best that gradient ascent found, or
            the number of skills where it cannot look (`training.attainable`).
        skills: how many skills a method learns.
        episodes: how many episodes of each skill are scored, with the noise of its actions.
        steps: how many steps of the environment each seed may learn from.
        seeds: how many seeds of each method are trained here.
    """

    name: str
    worlds: Mapping[str, str]
    senses: Mapping[str, str]
    attainable: Mapping[str, Mapping[str, float]]
    skills: int = 8
    episodes: int = 10
    steps: float = 1e6
    seeds: int = 5

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not re.fullmatch(r"[\w.-]+-v\d+", self.name):
            raise ValueError(f"the name of a suite ends in its version, such as my-suite-v1, but is {shown(self.name)}")
        if not self.worlds or not self.senses:
            raise ValueError(f"{self.name} needs at least one world and one sense")
        for field in ("skills", "episodes", "seeds"):
            whole_number(getattr(self, field), f"{self.name}: {field}")
        finite_number(self.steps, f"{self.name}: steps", least=1)
        for text in self.worlds.values():
            parse_environment(text)
        for text in self.senses.values():
            parse(text)
        for world in self.worlds:
            for sense in self.senses:
                score = self.attainable.get(world, {}).get(sense, math.nan)
                finite_number(score, f"{self.name}: attainable[{world!r}][{sense!r}]", least=1, most=self.skills + 1e-3)

    def __str__(self) -> str:
        asked = f"{self.skills} skills, {self.steps:,.0f} steps, {self.seeds} seeds"
        return f"{', '.join(self.worlds)}; {', '.join(self.senses)}; {asked}"

    def sense_of(self, similarity: str) -> str | None:
        """What the suite calls a similarity, or None if nothing is measured by it."""
        return next((name for name, text in self.senses.items() if text == similarity), None)

    def check_world(self, world: object) -> None:
        """Refuse the name of a world that is not of this suite."""
        if not isinstance(world, str) or world not in self.worlds:
            raise ValueError(f"world must be one of {', '.join(self.worlds)} in {self.name}, but is {shown(world)}")


WORLDS = {"plane": "point", "maze": "maze", "rooms": "rooms"}
SENSES = {
    "place": "mmd(scale=4)",
    "direction": "angle(scale=4, center=0.5)",
    "extent": "covariance(scale=200)",
    "overlap": "overlap",
    "place and extent": "0.5*mmd(scale=4) + 0.5*covariance(scale=200)",
    "direction and extent": "0.5*angle(scale=4, center=0.5) + 0.5*covariance(scale=200)",
}


@dataclasses.dataclass(frozen=True)
class Plan:
    """What a suite of this package asks, but for the attainable scores: they are in attainable.json, which `python
    benchmarks/attainable.py` writes."""

    worlds: Mapping[str, str]
    senses: Mapping[str, str]
    skills: int = 8
    steps: float = 1e6
    seeds: int = 5


PLANS = {
    "plane-maze-rooms-v1": Plan(WORLDS, SENSES),
    "plane-maze-rooms-mini-v1": Plan(
        {name: WORLDS[name] for name in ("plane", "maze")},
        {name: SENSES[name] for name in ("place", "extent", "place and extent")},
        skills=4,
        steps=5e4,
        seeds=2,
    ),
}
_suites: dict[str, Suite] = {}


def register(suite: Suite) -> Suite:
    """Make a suite known by its name."""
    if known_suites().get(suite.name, suite) != suite:
        raise ValueError(f"{suite.name} is another suite already; what a suite of a name asks never changes")
    _suites[suite.name] = suite
    return suite


def known_suites() -> dict[str, Suite]:
    """The suites that have a name."""
    if not _suites:
        found = json.loads(resources.files("vendirl.boards").joinpath("attainable.json").read_text(encoding="utf-8"))
        for name, plan in PLANS.items():
            _suites[name] = Suite(name, attainable=found[name], **dataclasses.asdict(plan))
    return dict(_suites)


def suite_named(name: object) -> Suite:
    """The suite of a name; or a suite, which is then known by its name."""
    if isinstance(name, Suite):
        return register(name)
    known = known_suites()
    if not isinstance(name, str) or name not in known:
        likely = nearest(name, known)
        hint = f"did you mean {likely!r}? " if likely else ""
        raise ValueError(f"there is no suite {shown(name)}; {hint}There are {', '.join(known)}")
    return known[name]
