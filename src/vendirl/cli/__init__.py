"""The command line: `vendirl train`, `score`, `report`, `compare`, `video`, `demo`, `figure2`, `figure6`, `list`."""

from __future__ import annotations

import dataclasses
import gc
import os
import sys
from pathlib import Path
from typing import Annotated

import tyro

from vendirl.cli.cache import keep_compiled_programs
from vendirl.cli.compare import Compare
from vendirl.cli.listing import List
from vendirl.cli.progress import progress_bar
from vendirl.cli.report import Report
from vendirl.cli.score import Score
from vendirl.cli.train import Train
from vendirl.cli.video import Video
from vendirl.environments.host import EnvironmentFailure

__all__ = ["keep_compiled_programs", "main", "progress_bar"]


@dataclasses.dataclass
class Demo:
    """Learn the paper's skill sets (Figures 1 and 3) in the plane, print a table, and draw them. About two minutes."""

    out: Path = Path("demo")
    """Folder for the pictures and runs."""
    steps: float | None = None
    """Environment steps for each of the four, if not those of the defaults."""

    def run(self) -> None:
        """Learn, print, draw."""
        from vendirl.demo import demo

        demo(self.out, self.steps)


@dataclasses.dataclass
class Figure2:
    """Draw the paper's Figure 2: random and trained skills, with their manifolds and scores under overlap."""

    out: Path = Path("figure2.png")
    """The picture."""
    seed: int = 0
    """Of the skills."""

    def run(self) -> None:
        """Train, score, draw."""
        from vendirl.figure2 import figure2

        figure2(self.out, self.seed)


@dataclasses.dataclass
class Figure6:
    """Draw the paper's Figure 6: DIAYN's skills, its decision boundary, and both with spectral normalisation."""

    out: Path = Path("figure6.png")
    """The picture."""
    seed: int = 0
    """Of the skills."""
    steps: float = 1e6
    """Environment steps for each."""

    def run(self) -> None:
        """Train, draw."""
        from vendirl.figure6 import figure6

        figure6(self.out, self.seed, self.steps)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    try:
        command = tyro.cli(
            Annotated[Train, tyro.conf.subcommand("train")]
            | Annotated[Score, tyro.conf.subcommand("score")]
            | Annotated[Report, tyro.conf.subcommand("report")]
            | Annotated[Compare, tyro.conf.subcommand("compare")]
            | Annotated[Video, tyro.conf.subcommand("video")]
            | Annotated[Demo, tyro.conf.subcommand("demo")]
            | Annotated[Figure2, tyro.conf.subcommand("figure2")]
            | Annotated[Figure6, tyro.conf.subcommand("figure6")]
            | Annotated[List, tyro.conf.subcommand("list")],  # type: ignore[arg-type]
            prog="vendirl",
            description="Skills that are diverse in the sense you ask for. Start with: vendirl demo",
            args=arguments,
        )
        keep_compiled_programs()
        gc.freeze()  # what was imported stays: looking through it again and again would take a tenth of the start
        command.run()
    except KeyboardInterrupt as stop:
        print(f"\n{stop}" if str(stop) else "\nstopped", file=sys.stderr)
        return 130
    except (ValueError, TypeError, KeyError, OSError, FloatingPointError, ImportError, EnvironmentFailure) as error:
        if os.environ.get("VENDIRL_TRACEBACK"):
            raise
        print(f"vendirl: {error}", file=sys.stderr)
        if isinstance(error, EnvironmentFailure) and arguments is None:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(2)  # threads that hang in an environment would keep the process from ending
        return 2
    return 0
