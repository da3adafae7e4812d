"""A progress bar for training."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class progress_bar:  # noqa: N801  (used like a function)
    """A bar with steps per second, the score against its ceiling, and the time left; nothing if not on a terminal."""

    def __init__(self, label: str = "learning"):
        self.label = label
        self.progress: Progress | None = None

    def __enter__(self):
        console = Console(stderr=True)
        if console.is_terminal:
            self.progress = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.percentage:>3.0f}%"),
                TextColumn("{task.fields[status]}"),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                console=console,
            )
            self.progress.start()
            self.task = self.progress.add_task(f"{self.label} (compiling)", total=None, status="")
        return self.report

    def report(self, run: Any, row: dict[str, Any]) -> None:
        if self.progress is None:
            return
        scores = row["vendi_score"] if isinstance(row["vendi_score"], list) else [row["vendi_score"]]
        score = sorted(scores)[len(scores) // 2]
        speed = run.env_steps * run.settings.seeds / max(run.wall_seconds, 1e-9)
        status = f"score {score:.3f} of {run.ceiling.score:.3f}  {speed / 1e3:,.0f}k steps/s"
        self.progress.update(self.task, description=self.label, total=run.epochs, completed=run.done, status=status)

    def __exit__(self, *_):
        if self.progress is not None:
            self.progress.stop()
