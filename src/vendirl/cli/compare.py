"""`vendirl compare`: methods side by side."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from vendirl.algorithms.ppo import PPO
from vendirl.cli.progress import progress_bar
from vendirl.training.settings import Settings


@dataclasses.dataclass
class Compare:
    """Train several methods under the same budget, and score all of them in all senses, with intervals over seeds.

    vendirl compare --methods diayn,metra,csf,vendirl --similarities overlap,mmd,covariance --seeds 5 --out cmp/
    """

    out: Path
    """Folder for the runs, the table (comparison.json) and the page (report.html). What is there already is kept."""
    env: str = "point"
    """Where the skills act."""
    methods: str = "random,diayn,metra,vendirl"
    """Methods, separated by commas; vendirl is trained once for each similarity."""
    similarities: str = "mmd(scale=4),overlap"
    """What "alike" means, separated by commas."""
    skills: int = 8
    """How many skills each learns."""
    seeds: int = 5
    """How many seeds of each, trained in one compiled program."""
    seed: int = 0
    """The first of them."""
    steps: float = 1e6
    """Environment steps for each seed."""
    scenes: int = 256
    """Parallel copies of the environment."""
    separate: bool = False
    """A network of its own for each skill, for all; methods whose skills are vectors cannot have that."""
    log_std: float = -0.5
    """Logarithm of the standard deviation of actions at first, in half widths of the action box."""
    learner: str = "ppo"
    """The algorithm of choice, for all."""
    ppo: PPO = dataclasses.field(default_factory=lambda: Settings().ppo)
    """Settings of PPO, for all."""

    def run(self) -> None:
        """Train, score, print, write."""
        from vendirl.training import comparing

        methods, similarities = comparing.split(self.methods), comparing.split(self.similarities)
        comparing.check_similarities(similarities)
        settings = Settings(
            env=self.env,
            skills=self.skills,
            seeds=self.seeds,
            seed=self.seed,
            steps=self.steps,
            scenes=self.scenes,
            learner=self.learner,  # type: ignore[arg-type]
            ppo=self.ppo,
            separate=self.separate,
            log_std=self.log_std,
        )
        entrants = comparing.contestants(methods, similarities, settings)
        bars: list[progress_bar] = []

        def progress(entrant):
            while bars:
                bars.pop().__exit__()
            bars.append(progress_bar(entrant.name))
            return bars[-1].__enter__()

        try:
            folders = comparing.train_all(entrants, self.out, progress)
        finally:
            while bars:
                bars.pop().__exit__()
        table, found = comparing.score_all(folders, similarities, self.seed)
        path = comparing.write_results(self.out, table, found)
        console = Console()
        console.print(_table(table, f"{self.env}: {self.skills} skills, {self.seeds} seeds, {self.steps:g} steps each"))
        written = [str(path)]
        try:
            from vendirl.report import write_report

            firsts = [_first(folder) for folder in folders.values()]
            command = shlex.join(["vendirl", *sys.argv[1:]])
            title = f"Methods compared: {self.env}"
            page = write_report(
                firsts, self.out / "report.html", similarities, title=title, command=command, table=table
            )
            written.append(str(page))
        except ImportError as error:
            console.print(f"no page was written: {error}", highlight=False, soft_wrap=True)
        console.print(f"wrote {' and '.join(written)}; the runs are beside them", highlight=False, soft_wrap=True)


def _first(folder: Path) -> str:
    from vendirl.data import each

    return each(folder)[0]


def _table(comparison, title: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("method", overflow="fold")
    for similarity in comparison.similarities:
        table.add_column(similarity, justify="right")
    first = {k: comparison.first(k) for k in comparison.similarities}
    for i, method in enumerate(comparison.methods):
        cells = []
        for j, k in enumerate(comparison.similarities):
            low, high = comparison.intervals[i, j]
            text = f"{comparison.iqm[i, j]:.2f} [{low:.2f}, {high:.2f}]".replace("[", "\\[")
            best, clear = first[k]
            cells.append(f"[bold]{text}{'*' if clear else ''}[/]" if method == best else text)
        table.add_row(method.replace("[", "\\["), *cells)
    table.caption = "interquartile means, 95% intervals over seeds; bold: first; *: above all other intervals"
    return table
