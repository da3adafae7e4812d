"""`vendirl figure2`: random and trained skills."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from vendirl.cli.command import Command


@dataclasses.dataclass(frozen=True, kw_only=True)
class Figure2(Command):
    """Draw the paper's Figure 2: random and trained skills, with their manifolds and scores under overlap.

    Attributes:
        out: The picture to write.
        seed: The seed of the skills.
    """

    out: Path = Path("figure2.png")
    seed: int = 0

    def run(self) -> None:
        from vendirl.show.figure2 import figure2

        figure2(self.out, self.seed)
