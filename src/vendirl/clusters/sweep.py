"""Sweeps: many runs whose settings differ, the best of them, and which settings matter.

sweep.json           what was asked for, and for each trial its settings and what it came to
attempts.jsonl       how often each was tried, and why again
trial-<n>-<digest>/  the runs, like any other

A sweep that is interrupted goes on by the same call: it asks for the same trials, and finds those that are done.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from vendirl._checks import one_of, seed_number, shown, whole_number
from vendirl._files import refuse_links, write_atomically
from vendirl._text import written
from vendirl.algorithms import Algorithm
from vendirl.clusters.importance import Importance, importances
from vendirl.clusters.many import RETRIES, carry_out
from vendirl.clusters.objectives import OBJECTIVES, curve_of, objective_of
from vendirl.clusters.places import Place, opened
from vendirl.clusters.samplers import Sampler, Values, sampler_of
from vendirl.clusters.space import Dimension, parse_space, space_text, with_values
from vendirl.clusters.task import Outcome, Task
from vendirl.training.driver import Progress
from vendirl.training.folder import as_begun, versions
from vendirl.training.owner import owning
from vendirl.training.problem import build, described
from vendirl.training.reading import read_settings, read_table
from vendirl.training.recipes import recommended
from vendirl.training.settings import Settings

TOGETHER = 4
MOST_OF_A_RECORD = 2**28
"""Bytes of sweep.json."""


@dataclasses.dataclass(frozen=True)
class Trial:
    """One run of a sweep.

    Attributes:
        number: which trial it is, counted from 0.
        values: what the settings that are swept are in this trial.
        folder: the folder of the run.
        objective: what the trial came to; None if it failed.
        why: why it failed, if it did.
    """

    number: int
    values: Values
    folder: Path
    objective: float | None = None
    why: str = ""

    @property
    def said(self) -> str:
        """Its settings as text."""
        return ", ".join(f"{name}={_word(value)}" for name, value in self.values.items())

    @property
    def curve(self) -> list[tuple[float, float]]:
        """Its score by environment steps."""
        return curve_of(self.folder)


@dataclasses.dataclass(frozen=True)
class Sweep:
    """A sweep that is over.

    Attributes:
        space: the settings that were swept, and what they could be.
        objective: the name of what was maximised.
        settings: all other settings.
        trials: the trials, in the order in which they were asked for.
        sampler: the sampler that asked for them.
        out: the folder of the sweep.
    """

    space: tuple[Dimension, ...]
    objective: str
    settings: Settings
    trials: tuple[Trial, ...]
    sampler: str
    out: Path

    @property
    def finished(self) -> list[Trial]:
        """The trials that did not fail, the best first."""
        done = [trial for trial in self.trials if trial.objective is not None]
        return sorted(done, key=lambda trial: -_number(trial))

    @property
    def best(self) -> Trial:
        """The trial with the greatest objective."""
        if not self.finished:
            raise ValueError(f"no trial was finished: {self.trials[0].why}")
        return self.finished[0]

    @property
    def importance(self) -> list[Importance]:
        """How much each setting matters, the greatest first; see `clusters.importance`."""
        done = sorted(self.finished, key=lambda trial: trial.number)
        return importances(self.space, [trial.values for trial in done], [_number(trial) for trial in done])

    def page(self, out: str | Path | None = None) -> Path:
        """Write a page about it, which needs no network; by default report.html in its folder."""
        from vendirl.show.sweep import write_sweep  # showing knows sweeps; one asks for it only when it is to be shown

        return write_sweep(self, self.out / "report.html" if out is None else Path(out))

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        trials = [{**dataclasses.asdict(trial), "folder": trial.folder.name} for trial in self.trials]
        found = [dataclasses.asdict(one) for one in self.importance]
        best = self.finished[0].number if self.finished else None
        return {
            "over": space_text(self.space),
            "objective": self.objective,
            "sampler": self.sampler,
            "settings": self.settings.to_json(),
            "trials": trials,
            "best": best,
            "importance": found,
            "versions": versions(),
        }

    def __repr__(self) -> str:
        failed = len(self.trials) - len(self.finished)
        lines = [f"Sweep: {len(self.trials)} trials over {space_text(self.space)}, {failed} of them failed"]
        if self.finished:
            lines.append(f"  best {self.objective} {_number(self.best):.4g}: {self.best.said}, in {self.best.folder}")
        lines += [f"  {one.name} explains {one.share:.0%} (p = {one.p:.3f})" for one in self.importance]
        return "\n".join(lines)


def sweep(
    over: str | Mapping[str, Any],
    *,
    out: str | Path,
    trials: int | None = None,
    sampler: Any = "random",
    objective: str = "score",
    together: int = TOGETHER,
    draw: int = 0,
    on: Place | str | Executor = "local",
    jobs: int = 1,
    retries: int = RETRIES,
    imports: Sequence[str] = (),
    say: Callable[[str], None] = print,
    **settings: Any,
) -> Sweep:
    """Train a run for each of many settings, and find the best.

    Args:
        over: which settings, and what they may be, as text, "ppo.learning_rate=1e-4..1e-2 log; skills=4,8", or by
            name: choices in a list, a `vr.Range`, or their text.
        out: a folder for all of it. If there is a sweep in it already, that goes on; it may be given more trials.
        trials: how many trials there are; by default all of a grid, and 20 with other samplers.
        sampler: "grid", "random", or one of Optuna's: "tpe", "gp", "cmaes", "qmc", or an object.
        objective: what is maximised: "score", "fraction", "gain", "area" or "coverage"; see `clusters.objectives`.
        together: how many trials one of Optuna's samplers is asked for before it is told of the first.
        draw: the seed of the sampler; that of the runs is `seed`.
        on, jobs, retries: where runs are trained ("local", "ray", "slurm", an executor of your own, ...), how many at
            a time, and how often one that was lost is tried again. Results do not depend on it.
        imports: modules that make known what the settings name, which other processes import first.
        say: called with a line for each trial.
        settings: the settings of all runs, as in `vr.train`; those that may be objects there are given as text.

    Example:
        >>> import tempfile, vendirl as vr
        >>> found = vr.sweep("seed=0,1", sampler="grid", out=tempfile.mkdtemp(), say=lambda line: None,
        ...                  similarity="overlap", skills=3, scenes=8, steps=2e3)
        >>> len(found.trials)
        2
    """
    if "env" in settings and not isinstance(settings["env"], str):
        raise TypeError("env must be text in a sweep, since other processes make it again; register yours by a name")
    usual = Settings()
    parts = [settings.get(name, getattr(usual, name)) for name in ("env", "similarity", "method", "learner")]
    texts = described(*parts)[1]
    base = Settings.named({**settings, **{name: text for name, text in texts.items() if name in settings}})
    given = set(settings)
    for name, value in settings.items():
        fields = value if isinstance(value, Mapping) else {}
        if isinstance(value, Algorithm):
            fields = {field.name: None for field in dataclasses.fields(value)}
        given |= {f"{name}.{field}" for field in fields}
    plan = Plan(over, base, given, Path(out), trials, sampler, objective, together, draw)
    return plan.carried_out(on, jobs, retries, tuple(imports), say)


@dataclasses.dataclass
class Plan:
    """A sweep that is about to begin; see `sweep`. Whatever is wrong with it is refused before anything is trained.

    Attributes:
        given: the names of settings that were given explicitly, which a published form does not replace.
    """

    over: str | Mapping[str, Any]
    settings: Settings
    given: Collection[str]
    out: Path
    trials: int | None = None
    sampler: Any = "random"
    objective: str = "score"
    together: int = TOGETHER
    draw: int = 0

    def __post_init__(self) -> None:
        one_of(self.objective, list(OBJECTIVES), "objective")
        whole_number(self.together, "together", most=10**6)
        if self.trials is not None:
            whole_number(self.trials, "trials", most=10**6)
        seed_number(self.draw, "draw")
        self.space = parse_space(self.over)
        self.sampled, self.count = sampler_of(self.sampler, self.space, self.trials, self.draw)
        self.sampler_name = self.sampler if isinstance(self.sampler, str) else type(self.sampler).__name__
        if self.objective == "coverage" and not self.settings.coverage:
            raise ValueError("the objective coverage needs features whose cells are counted, such as --coverage x y")
        self._refuse_another()

    def carried_out(
        self,
        on: Place | str | Executor = "local",
        jobs: int = 1,
        retries: int = RETRIES,
        imports: tuple[str, ...] = (),
        say: Callable[[str], None] = print,
        progress: Callable[[Task], Progress | None] | None = None,
    ) -> Sweep:
        """Train all trials, and write down what they come to."""
        self.out.mkdir(parents=True, exist_ok=True)
        with owning(self.out, "sweep.json", "report.html"):
            self._refuse_another()  # which may have been begun meanwhile
            return self._carried_out(on, jobs, retries, imports, say, progress)

    def _carried_out(
        self,
        on: Place | str | Executor,
        jobs: int,
        retries: int,
        imports: tuple[str, ...],
        say: Callable[[str], None],
        progress: Callable[[Task], Progress | None] | None,
    ) -> Sweep:
        found: list[Trial] = []
        sampler: Sampler = self.sampled
        step = self.together if sampler.learns else self.count
        result = self._result(found)
        for first in range(0, self.count, step):
            asked = range(first, min(first + step, self.count))
            tasks, refused = self._tasks({number: sampler.ask(number) for number in asked}, imports)
            if first == 0 and not tasks:
                raise ValueError(next(iter(refused.values())).why)
            if not (self.out / "sweep.json").exists():  # from here on the folder is this sweep's
                self._write(result)
            outcomes: dict[str, Outcome] = {}
            if tasks:
                devices = max(task.settings.devices for _, _, task in tasks)
                with opened(on, jobs, devices, self.out / "jobs") as executor:
                    log = self.out / "attempts.jsonl"
                    runs = [task for _, _, task in tasks]
                    outcomes = carry_out(runs, executor, retries=retries, progress=progress, say=say, log=log)
            ended = {n: self._ended(n, values, task, outcomes[task.name]) for n, values, task in tasks}
            for number in asked:
                trial = ended.get(number) or refused[number]
                sampler.tell(number, trial.objective)
                found.append(trial)
            result = self._result(found)
            self._write(result)
        return result

    def _tasks(
        self, asked: Mapping[int, Values], imports: tuple[str, ...]
    ) -> tuple[list[tuple[int, Values, Task]], dict[int, Trial]]:
        """The tasks of trials, and those that are impossible."""
        tasks, refused = [], {}
        base = {field.name: getattr(self.settings, field.name) for field in dataclasses.fields(Settings)}
        for number, values in asked.items():
            folder = self.out
            try:
                given = {*self.given, *values}
                chosen = with_values(base, values)
                settings = Settings(**recommended(chosen["method"], chosen, given))
                folder = self.out / f"trial-{number:04d}-{_digest(settings)}"
                refuse_links(folder, self.out)
                settings = as_begun(settings, folder)
                if settings.devices == 0 and (folder / "settings.json").exists():
                    settings = dataclasses.replace(settings, devices=read_settings(folder).devices)
                settings, _ = build(settings)  # refuses what is impossible, and decides over how many devices
                tasks.append((number, values, Task(f"trial {number}", settings, folder, imports=imports)))
            except (ValueError, TypeError) as error:
                refused[number] = Trial(number, values, folder, None, str(error))
        return tasks, refused

    def _ended(self, number: int, values: Values, task: Task, outcome: Outcome) -> Trial:
        if outcome.end != "done":
            return Trial(number, values, task.folder, None, outcome.why)
        return Trial(number, values, task.folder, objective_of(self.objective, task.folder))

    def _result(self, trials: Sequence[Trial]) -> Sweep:
        return Sweep(self.space, self.objective, self.settings, tuple(trials), self.sampler_name, self.out)

    def _write(self, result: Sweep) -> None:
        written = {"asked": self._asked(), **result.to_json()}
        write_atomically(self.out / "sweep.json", json.dumps(written, indent=1) + "\n")

    def _asked(self) -> dict[str, Any]:
        """What a sweep that goes on must share with what is there."""
        return {
            "over": space_text(self.space),
            "sampler": self.sampler_name,
            "objective": self.objective,
            "draw": self.draw,
            "together": self.together if self.sampled.learns else None,
            "settings": json.loads(json.dumps(self.settings.to_json())),
        }

    def _refuse_another(self) -> None:
        path = self.out / "sweep.json"
        if not path.exists():
            return
        theirs, mine = read_table(path, MOST_OF_A_RECORD, self.out).get("asked"), self._asked()
        if not isinstance(theirs, dict) or theirs != mine:
            names = [name for name in mine if not isinstance(theirs, dict) or theirs.get(name) != mine[name]]
            said = ", ".join(f"{name}={shown(theirs.get(name))}" for name in names) if isinstance(theirs, dict) else ""
            raise ValueError(f"{self.out} holds another sweep ({said}); choose another --out, or go on with that one")


def _digest(settings: Settings) -> str:
    """Eight digits that tell settings apart."""
    text = json.dumps(settings.to_json(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _word(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.4g}" if isinstance(value, float) else written(value)


def _number(trial: Trial) -> float:
    assert trial.objective is not None
    return trial.objective
