"""Progress of training: a bar in terminals and notebooks, a line every few seconds elsewhere."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from vendirl._moved import no_more
from vendirl._text import printable, verbatim

if TYPE_CHECKING:  # a command has its bar before it needs a run, which takes long to import
    from vendirl.training.run import Run

EVERY = 5.0
"""Seconds between two lines where there is no terminal."""


@no_more(report="the bar itself, bar(run, row)")
class progress_bar:  # noqa: N801  (used like a function)
    """A bar with steps per second, the score against its ceiling, and the time left; lines if there is no terminal."""

    def __init__(self, label: str = "learning"):
        self.label = printable(label)
        self.progress: Progress | None = None
        self.console = Console(stderr=True)
        self.said = time.monotonic()
        self.waiting: threading.Timer | None = None

    def __enter__(self) -> progress_bar:
        if self.console.is_terminal or self.console.is_jupyter:
            self.progress = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TextColumn("{task.percentage:>3.0f}%"),
                TextColumn("{task.fields[status]}"),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                console=self.console,
            )
            self.progress.start()
            self.task = self.progress.add_task(f"{self.label} (compiling)", total=None, status="")
        return self

    def begin(self, run: Run) -> None:
        """Say what is to be known of a run before it trains."""
        if run.note is not None:
            for line in run.note.split("\n"):
                self.console.print(verbatim(line), soft_wrap=True)
        if self.progress is None:  # who waits is told what for
            line = f"{self.label}: starting; programs of a body may take minutes to compile"
            self.waiting = threading.Timer(EVERY, self.console.print, [verbatim(line)], {"soft_wrap": True})
            self.waiting.daemon = True
            self.waiting.start()

    def __call__(self, run: Run, row: dict[str, Any]) -> None:
        """Show where a run is."""
        self._waited()
        now = time.monotonic()
        if self.progress is None and (now - self.said < EVERY or run.done == run.epochs):
            return
        scores = row["vendi_score"] if isinstance(row["vendi_score"], list) else [row["vendi_score"]]
        score = sorted(scores)[len(scores) // 2]
        speed = run.env_steps * run.settings.seeds / max(run.wall_seconds, 1e-9)
        status = f"score {score:.3f} of {_ceiling(run)}  {speed / 1e3:,.0f}k steps/s"
        if self.progress is not None:
            self.progress.update(self.task, description=self.label, total=run.epochs, completed=run.done, status=status)
            return
        self.said = time.monotonic()
        line = f"{self.label}: {run.done / run.epochs:.0%}  {status}"
        self.console.print(verbatim(line), soft_wrap=True)

    def _waited(self) -> None:
        if self.waiting is not None:
            self.waiting.cancel()

    def __exit__(self, *_: object) -> None:
        self._waited()
        if self.progress is not None:
            self.progress.stop()


def _ceiling(run: Run) -> str:
    """The attainable score, where it is known or will be needed anyway; else what no score can pass."""
    if run.found_ceiling is not None or run.folder is not None:
        return f"{run.ceiling.score:.3f}"
    return f"at most {run.similarity.ceiling(run.settings.skills, run.environment.observation_size):g}"


def silent(run: Run, row: dict[str, Any]) -> None:
    """Show nothing."""
