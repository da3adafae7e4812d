"""The table of a transfer: what every way earned by every set of skills, between random actions and the oracle.

z = (R - R_random) / (R_oracle - R_random)          for each task, R_random and R_oracle means over seeds

score       the interquartile mean of z over seeds and tasks, with an interval that resamples seeds within tasks
mean        the mean of z, which also counts what is earned in less than a quarter of the tasks
area        the mean over steps from 0 to the budget of the mean z; what was not known yet counts as 0
to half     the first of the measured steps at which the mean z was half or more
"""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from vendirl.evaluation.comparison import interquartile_mean, interval
from vendirl.transfer.ways.way import Used

NOTHING = "-"
"""The set of skills of a way that uses none."""


@dataclasses.dataclass(frozen=True, eq=False)
class Row:
    """What one way earned by one set of skills.

    Attributes:
        skills: the name of the run, or `NOTHING`.
        way: the text of the way.
        steps: (points,) steps that each task had cost.
        z: (points, seeds, tasks) normalised returns.
        returns: (points, seeds, tasks) returns as they were.
        score, interval: the interquartile mean at the end, and its interval, which is None if there is one seed.
        area: the area under the curve, as above.
        to_half: how many steps it took to half, as above; None if half was never reached.
        notes: what is to be known of the row.
    """

    skills: str
    way: str
    steps: Int[np.ndarray, " points"]
    z: Float[np.ndarray, "points seeds tasks"]
    returns: Float[np.ndarray, "points seeds tasks"]
    score: float
    interval: tuple[float, float] | None
    area: float
    to_half: int | None
    notes: tuple[str, ...] = ()

    @property
    def mean(self) -> float:
        """The mean of z at the end: where few tasks can be done at all, the middle half says nothing of them."""
        return float(self.z[-1].mean())

    @classmethod
    def of(
        cls,
        skills: str,
        way: str,
        used: Used,
        floor: Float[np.ndarray, " tasks"],
        ceiling: Float[np.ndarray, " tasks"],
        budget: float,
        seed: int = 0,
    ) -> Row:
        """The row of what came of a way, given what random actions and the oracle earn."""
        z = (used.returns - floor) / (ceiling - floor)
        last = z[-1]
        ends = interval(last, seed=seed) if len(last) > 1 else None
        mean = z.mean((1, 2))
        half = np.flatnonzero(mean >= 0.5)
        return cls(
            skills,
            way,
            used.steps,
            z,
            used.returns,
            float(interquartile_mean(last.ravel())),
            ends,
            area(used.steps, mean, budget),
            int(used.steps[half[0]]) if len(half) else None,
            (used.note,) if used.note else (),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        found = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in found.items()}


def area(steps: Int[np.ndarray, " points"], mean: Float[np.ndarray, " points"], budget: float) -> float:
    """The mean of a curve over [0, budget]: 0 before its first point, linear between points, and constant after.

    >>> area(np.array([0, 50]), np.array([0.0, 1.0]), 100.0)
    0.75
    """
    at = np.clip(steps, 0, budget)
    between = float(np.sum(np.diff(at) * (mean[1:] + mean[:-1]) / 2))
    return (between + float((budget - at[-1]) * mean[-1])) / budget


@dataclasses.dataclass(frozen=True, eq=False)
class Transfer:
    """What sets of skills are good for.

    Attributes:
        env: where the tasks are done.
        tasks: the texts of the tasks.
        budget: how many steps of the body each task may take.
        seeds: how often each way was tried.
        rows: what every way earned by every set of skills, random actions and the oracle among them.
        diversity: for each run and similarity, the Vendi Score and its ceiling: medians over the seeds of the run.
        useful: for each run, the effective number of useful skills: the median over its seeds.
        left_out: tasks in which random actions earn as much as the oracle, so that they tell nothing.
        confidence: the confidence of the intervals.
    """

    env: str
    tasks: tuple[str, ...]
    budget: float
    seeds: int
    rows: tuple[Row, ...]
    diversity: Mapping[str, Mapping[str, tuple[float, float]]]
    useful: Mapping[str, float]
    left_out: tuple[str, ...] = ()
    confidence: float = 0.95

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of the runs."""
        return tuple(self.diversity)

    @property
    def ways(self) -> tuple[str, ...]:
        """The ways that use skills, in the order in which they were asked for."""
        return tuple(dict.fromkeys(row.way for row in self.rows if row.skills != NOTHING))

    def row(self, skills: str, way: str) -> Row:
        """What a way earned by a run, or by no skills."""
        for row in self.rows:
            if (row.skills, row.way) == (skills, way):
                return row
        raise ValueError(
            f"there is no {way} with {skills}; there are {', '.join(f'{r.way} ({r.skills})' for r in self.rows)}"
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        found = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {
            **found,
            "tasks": list(self.tasks),
            "left_out": list(self.left_out),
            "rows": [row.to_json() for row in self.rows],
            "diversity": {run: {k: list(pair) for k, pair in of.items()} for run, of in self.diversity.items()},
            "useful": dict(self.useful),
        }

    def to_csv(self) -> str:
        """One line for each set of skills and way."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(
            ["skills", "way", "score", "low", "high", "mean", "area", "steps_to_half", "steps", "mean_return"]
        )
        for row in self.rows:
            ends = row.interval or ("", "")
            last = float(row.returns[-1].mean())
            half = "" if row.to_half is None else row.to_half
            writer.writerow([row.skills, row.way, row.score, *ends, row.mean, row.area, half, int(row.steps[-1]), last])
        return text.getvalue()
