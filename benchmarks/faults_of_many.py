"""Faults of what makes many things, sweeps and transfers: what was done is kept, and the same command goes on."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from forked import LostError, Process
from tiny import rows_in, sweep, train, transfer

SEEDS = (0, 1)
"""What is swept: the trials are the tiny runs of these seeds."""


class OfMany:
    """The faults; the rest of a campaign is in `faults`."""

    chance: random.Random
    folder: Callable[[], Path]
    whole: Callable[..., Any]
    same: Callable[[Path, Any], None]
    skills: Path | None = None
    table: Any = None

    def kill_sweep(self) -> None:
        """kill -9 of a sweep"""
        self._sweep(lambda process, _: process.kill())

    def term_sweep(self) -> None:
        """SIGTERM of a sweep"""
        self._sweep(lambda process, _: _told(process, None, "of 2 runs finished; the same command goes on"))

    def kill_transfer(self) -> None:
        """kill -9 of a transfer"""
        self._transfer(lambda process, _: process.kill())

    def term_transfer(self) -> None:
        """SIGTERM of a transfer"""
        words = "what is done is kept in", "the same command goes on"
        self._transfer(lambda process, out: _told(process, out / "transfer.csv", *words))

    def _sweep(self, end: Callable[[Process, Path], None]) -> None:
        wholes = [self.whole(seed=seed) for seed in SEEDS]
        out, first = self.folder(), self.chance.choice(SEEDS)
        process = Process(sweep, out, SEEDS, 0.3)
        process.until(lambda: any(rows_in(place) > 0 for place in out.glob(f"trial-{first:04d}-*")))
        process.ends_within(self.chance.uniform(0, 0.3))
        end(process, out)
        Process(sweep, out, SEEDS).expect(0)
        record = json.loads((out / "sweep.json").read_text())
        if [trial["objective"] is None for trial in record["trials"]] != [False, False]:
            raise LostError("a trial")
        for trial, whole in zip(record["trials"], wholes, strict=True):
            self.same(out / trial["folder"], whole)
        _nothing_left(out)

    def _transfer(self, end: Callable[[Process, Path], None]) -> None:
        if self.skills is None:
            self.skills = self.folder()
            Process(train, self.skills).expect(0)
            out = self.folder()
            Process(transfer, out, self.skills).expect(0)
            self.table = json.loads((out / "transfer.json").read_text())
        out, count = self.folder(), self.chance.randint(1, 4)
        process = Process(transfer, out, self.skills)
        process.until(lambda: len(list((out / "cells").glob("*.json"))) >= count)
        kept = {path: path.read_bytes() for path in (out / "cells").glob("*.json")}
        process.ends_within(self.chance.uniform(0, 0.2))
        end(process, out)
        Process(transfer, out, self.skills).expect(0)
        if any(path.read_bytes() != content for path, content in kept.items()):
            raise LostError("a cell that was done")
        if json.loads((out / "transfer.json").read_text()) != self.table:
            raise LostError("another table")
        _nothing_left(out)


def _told(process: Process, last: Path | None, *words: str) -> None:
    """SIGTERM; it must not have ended by itself before. Who is told when the last file is written may end as if nothing
    had been said."""
    if process.ends_within(0.0):
        raise LostError("it ended before it was told to: this machine is too busy for this fault")
    process.send(15)
    if process.wait() == 0 and last is not None and last.exists():
        return
    process.expect_one_line(143, *words)


def _nothing_left(out: Path) -> None:
    if left := [path for path in out.rglob(".*") if path.name != ".lock"]:
        raise LostError(f"left behind: {left}")
    shutil.rmtree(out)
