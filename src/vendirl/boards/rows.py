"""Rows of a leaderboard: method x world x sense, over seeds."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from vendirl.boards.entry import Entry
from vendirl.boards.suite import Suite
from vendirl.evaluation.comparison import interquartile_mean, interval


@dataclasses.dataclass(frozen=True)
class Row:
    """How a method does in a world, in a sense.

    Attributes:
        method, world, sense: what the row is about.
        fraction: the fraction of the attainable score that was reached: the interquartile mean over seeds. Noise may
            lift it a little above 1.
        low, high: the ends of its 95 % interval over seeds (bootstrap); None with one seed, which does not tell how
            seeds vary.
        seeds: how many there are.
        score: the Vendi Score: the interquartile mean over seeds.
        attainable: what it is divided by.
        trained_by_it: whether the method was rewarded by this sense.
        outside: whether the skills came from elsewhere.
        steps: how many steps were learned from: the most that a seed took; None if nobody said.
        seconds: how long all seeds took to train; None if nobody said.
        settings, versions: the settings of the training and the versions of its software, as text.
    """

    method: str
    world: str
    sense: str
    fraction: float
    low: float | None
    high: float | None
    seeds: int
    score: float
    attainable: float
    trained_by_it: bool
    outside: bool
    steps: float | None
    seconds: float | None
    settings: str
    versions: str

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return dataclasses.asdict(self)


def rows_of(entries: Sequence[Entry], suite: Suite) -> list[Row]:
    """The rows of a board: world by world, the method with the highest mean over the senses first."""
    rows = []
    for world in suite.worlds:
        there = [entry for entry in entries if entry.world == world]
        groups: list[list[Row]] = []
        for method in dict.fromkeys(entry.method for entry in there):
            mine = [entry for entry in there if entry.method == method]
            groups.append([_row(mine, world, sense, suite) for sense in suite.senses])
        groups.sort(key=lambda group: -mean(group))
        rows += [row for group in groups for row in group]
    return rows


def mean(rows: Sequence[Row]) -> float:
    """The mean fraction over senses."""
    return sum(row.fraction for row in rows) / len(rows)


def _row(entries: Sequence[Entry], world: str, sense: str, suite: Suite) -> Row:
    attainable = suite.attainable[world][sense]
    scores = [entry.scores[sense] for entry in entries]
    low, high = interval([score / attainable for score in scores]) if len(scores) > 1 else (None, None)
    score = float(interquartile_mean(scores))
    steps = [entry.steps for entry in entries if entry.steps is not None]
    seconds = [entry.seconds for entry in entries if entry.seconds is not None]
    return Row(
        method=entries[0].method,
        world=world,
        sense=sense,
        fraction=score / attainable,
        low=low,
        high=high,
        seeds=len(scores),
        score=score,
        attainable=attainable,
        trained_by_it=any(entry.trained_by == sense for entry in entries),
        outside=any(entry.outside for entry in entries),
        steps=max(steps) if len(steps) == len(entries) else None,
        seconds=sum(seconds) if len(seconds) == len(entries) else None,
        settings=_said(entry.settings for entry in entries),
        versions=_said(entry.versions for entry in entries),
    )


def _said(texts: Any) -> str:
    """What is said of all seeds, each once."""
    return " | ".join(dict.fromkeys(text for text in texts if text))
