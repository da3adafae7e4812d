"""`vendirl report`: a page to look at."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from pathlib import Path

import tyro
from rich.console import Console


@dataclasses.dataclass
class Report:
    """Write one HTML page about runs or skill data: trajectories that play, kernel, spectrum, scores, measures.

    vendirl report runs/mmd skills.npz --out report.html
    """

    sources: tyro.conf.Positional[tuple[str, ...]]
    """Run folders, npz files, or minari:NAME; several are shown side by side."""
    out: Path = Path("report.html")
    """The page; it needs no network."""
    similarity: tyro.conf.UseAppendAction[tuple[str, ...]] = ()
    """What "alike" means; may be given several times. By default: the runs' own, and overlap."""
    title: str = "Skills report"
    """Headline of the page."""
    seed: int = 0
    """Of resamples and shuffles."""

    def run(self) -> None:
        """Evaluate, render, write."""
        from vendirl.report import write_report

        if not self.sources:
            raise ValueError("give at least one run folder, npz file or minari:NAME to report on")
        console = Console(stderr=True)
        progress = (lambda name: console.print(f"evaluating {name}", highlight=False)) if console.is_terminal else None
        command = shlex.join(["vendirl", *sys.argv[1:]])
        path = write_report(
            self.sources,
            self.out,
            self.similarity,
            title=self.title,
            command=command,
            progress=progress,
            seed=self.seed,
        )
        Console().print(f"wrote {path} ({path.stat().st_size / 1e6:.1f} MB); open it in a browser", highlight=False)
