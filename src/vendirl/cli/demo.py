"""`vendirl demo`: the paper's skill sets."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from vendirl.cli.command import Command


@dataclasses.dataclass(frozen=True, kw_only=True)
class Demo(Command):
    """Learn the paper's skill sets (Figures 1 and 3) in the plane, print a table, and draw them. It takes about two
    minutes.

    Attributes:
        out: The folder for the pictures and runs.
        steps: How many environment steps each of the four is trained for, if not as many as by default.
    """

    out: Path = Path("demo")
    steps: float | None = None

    def run(self) -> None:
        from vendirl.show.demo import demo

        demo(self.out, self.steps)
