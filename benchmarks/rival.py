"""A rival that needs versions other than ours: a virtual environment of its own, and a process that measures on demand.

Its program prints "ready", then one number, steps per second, for each line that it reads.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np


class Rival:
    """A rival's process, to be measured in turns with ours."""

    def __init__(self, name: str, packages: list[str], program: str):
        self.environment = Path(f".venv-{name}")
        self.packages, self.program = packages, program

    def start(self) -> str | None:
        """Install and start it; the reason if that cannot be done."""
        if reason := self._install():
            return reason
        command = [self._python, "-c", self.program]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        assert self.process.stdout
        if not any(line.strip() == "ready" for line in self.process.stdout):  # imports may print lines of their own
            return f"it did not run: {self.process.communicate()[1].strip()[-200:]}"
        return None

    def measure(self) -> float:
        """Steps per second, now."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return float(json.loads(self.process.stdout.readline()))

    def stop(self) -> None:
        """End its process."""
        self.process.communicate()

    @property
    def _python(self) -> str:
        return str(self.environment / "bin" / "python")

    def _install(self) -> str | None:
        if (self.environment / "installed").exists():
            return None
        for command in (
            [sys.executable, "-m", "venv", str(self.environment)],
            [self._python, "-m", "pip", "install", "--quiet", *self.packages],
        ):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                return done.stderr.strip().splitlines()[-1]
        (self.environment / "installed").touch()
        return None


def in_turns(measures: dict, rounds: int) -> dict[Any, np.ndarray]:
    """What each measures in so many rounds, in each of which all take their turn."""
    found = [[measure() for measure in measures.values()] for _ in range(rounds)]
    return dict(zip(measures, np.array(found).T, strict=True))


def speeds(label: str, ours: np.ndarray, theirs: np.ndarray) -> list[str]:
    """A row of a table: the median speed, the median of the rounds' ratios, and the half of them around it."""
    low, middle, high = np.quantile(ours / theirs, [0.25, 0.5, 0.75])
    return [label, f"{np.median(ours):,.0f}", f"{middle:.2f}x", f"{low:.2f}x to {high:.2f}x"]


HEADER = ["", "steps per second", "ratio", "half of the rounds", "goal"]
