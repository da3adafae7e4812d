"""Progress of a transfer: a line for what was begun, and one every few seconds while it goes on."""

from __future__ import annotations

import time

from rich.console import Console

from vendirl._text import verbatim
from vendirl.training.progress import EVERY


class lines:  # noqa: N801  (used like a function)
    """Called with what is being done and the fraction of it that is done."""

    def __init__(self) -> None:
        self.console = Console(stderr=True)
        self.what, self.said = "", 0.0

    def __call__(self, what: str, fraction: float) -> None:
        now = time.monotonic()
        if what == self.what and now - self.said < EVERY and fraction < 1:
            return
        self.what, self.said = what, now
        self.console.print(verbatim(f"{what}: {fraction:.0%}"), soft_wrap=True)
