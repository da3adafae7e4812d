"""The command line: one file for each command, and their names."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Annotated, Any

import tyro
from tyro.conf import subcommand

from vendirl._host import keep_compiled_programs
from vendirl.cli.compare import Compare
from vendirl.cli.demo import Demo
from vendirl.cli.figure2 import Figure2
from vendirl.cli.figure6 import Figure6
from vendirl.cli.listing import List
from vendirl.cli.report import Report
from vendirl.cli.score import Score
from vendirl.cli.train import Train
from vendirl.cli.video import Video
from vendirl.environments.host import EnvironmentFailure
from vendirl.training.progress import progress_bar
from vendirl.training.stopping import Terminated

__all__ = ["COMMANDS", "keep_compiled_programs", "main", "progress_bar"]

COMMANDS = {
    "train": Train,
    "score": Score,
    "report": Report,
    "compare": Compare,
    "video": Video,
    "demo": Demo,
    "figure2": Figure2,
    "figure6": Figure6,
    "list": List,
}


MISTAKES = (
    ValueError,
    TypeError,
    KeyError,
    OSError,
    FloatingPointError,
    ImportError,
    MemoryError,
    EnvironmentFailure,
)
"""What is said in one line, rather than with a traceback."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    try:
        kinds: Any = reduce(or_, (Annotated[kind, subcommand(name)] for name, kind in COMMANDS.items()))
        command = tyro.cli(
            kinds,
            prog="vendirl",
            description="Skills that are diverse in the sense you ask for. Start with: vendirl demo",
            args=arguments,
        )
        keep_compiled_programs()
        gc.freeze()  # what was imported stays: looking through it again and again would take a tenth of the start
        command.prepare()
        command.run()
    except Terminated as stop:  # it has said why and how to go on
        return int(stop.code or 0)
    except KeyboardInterrupt as stop:
        print(f"\n{stop}" if str(stop) else "\nstopped", file=sys.stderr)
        return 130
    except MISTAKES as error:
        if os.environ.get("VENDIRL_TRACEBACK"):
            raise
        print(f"vendirl: {error}", file=sys.stderr)
        if isinstance(error, EnvironmentFailure) and arguments is None:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(2)  # threads that hang in an environment would keep the process from ending
        return 2
    return 0
