"""What the commands that train many runs have in common: where runs are trained, and how many at a time."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console

from vendirl._text import verbatim
from vendirl.training.progress import progress_bar


@dataclasses.dataclass(frozen=True, kw_only=True)
class Many:
    """Train many runs.

    Attributes:
        on: Where runs are trained: local, ray, "ray(address='10.0.0.1:6379')", slurm, "slurm(partition='gpu')" or
            submitit-local, which runs on this machine what Slurm would. The results are the same everywhere.
        jobs: How many runs are trained at a time. A single one is trained in this process; if there are more, each of
            them has a process of its own.
        retries: How often a run is tried again if its process was killed, its disk was full, or its machine was
            lost. It goes on from what was saved.
    """

    on: str = "local"
    jobs: int = 1
    retries: int = 3


def say(line: str) -> None:
    """Print a line about one of the runs."""
    Console(stderr=True).print(verbatim(line), soft_wrap=True)


@contextmanager
def bars() -> Iterator[Callable[[str], Any]]:
    """A function that gives a bar for the run of a name, in place of the bar before."""
    shown: list[progress_bar] = []

    def end() -> None:
        while shown:
            shown.pop().__exit__()

    def bar(name: str) -> Any:
        end()
        shown.append(progress_bar(name))
        return shown[-1].__enter__().__call__  # only to show progress: notes are said before, once

    try:
        yield bar
    finally:
        end()
