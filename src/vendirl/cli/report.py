"""`vendirl report`: a page to look at."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from pathlib import Path

import tyro
from rich.console import Console

from vendirl._text import verbatim
from vendirl.cli.command import Command


@dataclasses.dataclass(frozen=True, kw_only=True)
class Report(Command):
    """Write one HTML page about runs or skill data: trajectories that play, kernel, spectrum, scores, measures.

    vendirl report runs/mmd skills.npz --out report.html

    Attributes:
        sources: Run folders, npz files, or minari:NAME. Several are shown side by side.
        out: The page to write. It needs no network.
        similarity: What "alike" means. It may be given several times. By default it is that of the runs, and
            overlap.
        title: The headline of the page.
        seed: The seed of resamples and shuffles.
        trust: If a run is not finished, make its environment even if that imports a module, which runs its code. Use it
            for your own runs, and for those of people you trust.
    """

    sources: tyro.conf.Positional[tuple[str, ...]]
    out: Path = Path("report.html")
    similarity: tyro.conf.UseAppendAction[tuple[str, ...]] = ()
    title: str = "Skills report"
    seed: int = 0
    trust: bool = False

    def run(self) -> None:
        from vendirl.show.report import write_report

        if not self.sources:
            raise ValueError("give at least one run folder, npz file or minari:NAME to report on")
        console = Console(stderr=True)
        progress = (lambda name: console.print(verbatim(f"evaluating {name}"))) if console.is_terminal else None
        command = shlex.join(["vendirl", *sys.argv[1:]])
        path = write_report(
            self.sources,
            self.out,
            self.similarity,
            title=self.title,
            command=command,
            progress=progress,
            seed=self.seed,
            trust=self.trust,
        )
        line = f"wrote {path} ({path.stat().st_size / 1e6:.1f} MB); open it in a browser"
        Console().print(verbatim(line), soft_wrap=True)
