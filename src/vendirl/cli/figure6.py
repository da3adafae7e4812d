"""`vendirl figure6`: what a discriminator believes."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from vendirl.cli.command import Command


@dataclasses.dataclass(frozen=True, kw_only=True)
class Figure6(Command):
    """Draw the paper's Figure 6: DIAYN's skills, its decision boundary, and both with spectral normalisation.

    Attributes:
        out: The picture to write.
        seed: The seed of the skills.
        steps: How many environment steps each is trained for.
    """

    out: Path = Path("figure6.png")
    seed: int = 0
    steps: float = 1e6

    def run(self) -> None:
        from vendirl.show.figure6 import figure6

        figure6(self.out, self.seed, self.steps)
