"""What settings the trials of a sweep have: a grid, random draws, or a sampler of Optuna's that learns from results.

A sampler is asked for some trials, and then told what became of them. Trials that are asked for together know nothing
of each other's results, so what is asked for depends on how many that are, and not on when or where they finish: a
sweep that is begun again asks for the same trials, and finds them done.
"""

from __future__ import annotations

import abc
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from vendirl._checks import nearest, shown
from vendirl.clusters.space import MOST_POINTS, Dimension

Values = dict[str, Any]
"""What each setting that is swept is in a trial."""


class Sampler(abc.ABC):
    """What settings trials have."""

    learns: ClassVar[bool] = False
    """Whether what it is told matters to what it is asked next."""

    @abc.abstractmethod
    def ask(self, number: int) -> Values:
        """The settings of the next trial, the `number`-th from 0."""

    def tell(self, number: int, objective: float | None) -> None:
        """What became of a trial: higher is better; None if it failed. A sampler that does not learn may ignore it."""
        return


class Grid(Sampler):
    """All combinations of choices, the last setting changing first; of fewer trials than that, drawn ones."""

    def __init__(self, space: Sequence[Dimension], trials: int | None, seed: int):
        if ranges := [dimension for dimension in space if dimension.range is not None]:
            raise ValueError(
                f"a grid needs choices, but {ranges[0]} is a range; write how many points it has, such as "
                f"{ranges[0]} in 5"
            )
        self.space, self.count = space, math.prod(len(dimension.choices) for dimension in space)
        if self.count > MOST_POINTS:
            raise ValueError(f"the grid has {self.count:,} points; leave choices out, or use the sampler random")
        order = range(self.count) if trials is None else np.random.default_rng(seed).permutation(self.count)
        self.order = order if trials is None or trials < self.count else range(self.count)

    def ask(self, number: int) -> Values:
        at, found = int(self.order[number]), {}
        for dimension in reversed(self.space):
            at, place = divmod(at, len(dimension.choices))
            found[dimension.name] = dimension.choices[place]
        return {dimension.name: found[dimension.name] for dimension in self.space}


class Random(Sampler):
    """Each setting drawn by itself, evenly. A trial depends on its number and the seed alone."""

    def __init__(self, space: Sequence[Dimension], seed: int):
        self.space, self.seed = space, seed

    def ask(self, number: int) -> Values:
        drawn = np.random.default_rng([self.seed, number]).random(len(self.space))
        return {d.name: d.at(float(share)) for d, share in zip(self.space, drawn, strict=True)}


OPTUNA = {"tpe": "TPESampler", "gp": "GPSampler", "cmaes": "CmaEsSampler", "qmc": "QMCSampler"}
"""Samplers of Optuna's, by the names that they have here."""
SAMPLERS = ("grid", "random", *OPTUNA)


class Optuna(Sampler):
    """A sampler of Optuna's, which is asked and told, and told all again when a sweep goes on."""

    learns = True

    def __init__(self, space: Sequence[Dimension], sampler: Any, seed: int):
        try:
            import optuna
        except ImportError as error:
            raise ImportError(f"Optuna is not installed ({error}); use: pip install 'vendirl[sweep]'") from None
        from optuna import distributions, samplers

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        if isinstance(sampler, str):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # some are new there, and say so
                sampler = getattr(samplers, OPTUNA[sampler])(seed=seed)
        if not isinstance(sampler, samplers.BaseSampler):
            raise TypeError(f"sampler must be one of {', '.join(SAMPLERS)}, or one of Optuna's, but is {sampler!r}")
        self.study = optuna.create_study(direction="maximize", sampler=sampler)
        self.space = space
        self.trials: dict[int, Any] = {}
        self.failed = optuna.trial.TrialState.FAIL

        def of(dimension: Dimension) -> Any:
            found = dimension.range
            if found is None:  # by their numbers: Optuna keeps no lists
                return distributions.CategoricalDistribution(list(range(len(dimension.choices))))
            if dimension.whole:
                return distributions.IntDistribution(math.ceil(found.low), math.floor(found.high), log=found.log)
            return distributions.FloatDistribution(found.low, found.high, log=found.log)

        self.asked_of: Mapping[str, Any] = {dimension.name: of(dimension) for dimension in space}

    def ask(self, number: int) -> Values:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trial = self.trials[number] = self.study.ask(dict(self.asked_of))
        found = trial.params
        return {d.name: found[d.name] if d.range is not None else d.choices[found[d.name]] for d in self.space}

    def tell(self, number: int, objective: float | None) -> None:
        trial = self.trials.pop(number)
        if objective is None:
            self.study.tell(trial, state=self.failed)
        else:
            self.study.tell(trial, objective)


def sampler_of(sampler: Any, space: Sequence[Dimension], trials: int | None, seed: int) -> tuple[Sampler, int]:
    """A sampler by its name, or around one of Optuna's, and how many trials there are."""
    if isinstance(sampler, str) and sampler not in SAMPLERS:
        near = nearest(sampler, SAMPLERS)
        hint = f"; did you mean {near!r}?" if near else ""
        raise ValueError(f"sampler must be one of {', '.join(SAMPLERS)}, but is {shown(sampler)}{hint}")
    if sampler == "grid":
        grid = Grid(space, trials, seed)
        return grid, grid.count if trials is None else min(trials, grid.count)
    made: Sampler = Random(space, seed) if sampler == "random" else Optuna(space, sampler, seed)
    return made, 20 if trials is None else trials
