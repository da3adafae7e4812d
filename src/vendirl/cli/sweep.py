"""`vendirl sweep`: many settings, the best of them, and which matter."""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path

import tyro
from rich.console import Console
from rich.table import Table

from vendirl._text import counted, verbatim
from vendirl.cli.command import Command
from vendirl.cli.many import Many, bars, say
from vendirl.cli.train import settings_of
from vendirl.training.budget import Rounding
from vendirl.training.settings import Settings

SHOWN = 5


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sweep(Settings, Many, Command):
    """Train runs whose settings differ, find the best, and say which settings matter.

    vendirl sweep --over "ppo.learning_rate=1e-4..1e-2 log; ppo.discount=0.9,0.97,0.99" --trials 20 --out sweep/

    Attributes:
        out: The folder for the runs, their results (sweep.json) and the page (report.html). When the same command is
            given again, perhaps with more trials, it goes on with what is there.
        over: The settings to sweep, with semicolons between them: name=a,b,c for choices, or name=low..high for a
            range, with "log" after it where orders of magnitude matter, and "in 5" to make five choices of it.
        trials: How many runs to train. By default, all of a grid, and 20 with any other sampler.
        sampler: How settings are chosen: grid, random, or one of Optuna's samplers, tpe, gp, cmaes or qmc.
        objective: What to maximise: score, fraction (of the attainable), gain (over untrained skills), area (the
            mean over the training), or coverage (the cells that training visited).
        together: How many trials one of Optuna's samplers proposes before it is told how the first of them went. The
            results depend on this number, but not on how many runs are trained at a time.
        draw: The seed of the sampler.
    """

    out: Path
    over: str
    trials: int | None = None
    sampler: str = "random"
    objective: str = "score"
    together: int = 4
    draw: int = 0
    rounding: tyro.conf.Suppress[Rounding] = "down"
    extended: tyro.conf.Suppress[int] = 0

    def run(self) -> None:
        from vendirl.clusters.sweep import Plan

        asked = self.trials, self.sampler, self.objective, self.together, self.draw
        plan = Plan(self.over, settings_of(self), self.given, self.out, *asked)
        with bars() as bar:
            found = plan.carried_out(self.on, self.jobs, self.retries, self.imports, say, lambda task: bar(task.name))
        console = Console()
        title = f"{self.env}: {counted(len(found.trials), 'trial')}, the best by {self.objective}"
        console.print(verbatim(title, style="table.title"), soft_wrap=True)  # the table may be narrower
        table = Table()
        for name in ("trial", self.objective, *(dimension.name for dimension in found.space)):
            table.add_column(verbatim(name), justify="right", overflow="fold")
        for trial in found.finished[:SHOWN]:
            values = [f"{value:.4g}" if isinstance(value, float) else str(value) for value in trial.values.values()]
            table.add_row(str(trial.number), f"{trial.objective:#.4g}".rstrip("."), *map(verbatim, values))
        console.print(table)
        for one in found.importance:
            line = f"{one.name} explains {one.share:.0%} of how trials differ, beyond chance (p = {one.p:.3f})"
            console.print(verbatim(line), soft_wrap=True)
        failed = [trial for trial in found.trials if trial.objective is None]
        for trial in failed[:SHOWN]:
            console.print(verbatim(f"trial {trial.number} failed ({trial.said}): {trial.why}"), soft_wrap=True)
        page = found.page()
        best = shlex.quote(str(found.best.folder))
        line = f"wrote {self.out / 'sweep.json'} and {page}; the best run is in {best}"
        console.print(verbatim(line), soft_wrap=True)
