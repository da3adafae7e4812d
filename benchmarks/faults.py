"""Faults of real machines, injected into tiny runs: nothing that was saved may be lost.

    python benchmarks/faults.py [--times 3] [--only kill,term,...] [--seed 0] [--save faults.json] [--minutes 10]

Each fault is tried so many times, at another moment each time; `--times 40,kill=200` tries one of them more often. The
run is then gone on with, and must end with the weights and metrics of one that was never disturbed, without a
traceback, and without a process left. With `--save`, whoever stops it, or gave it some minutes only, goes on by the
same command, as long as the code is the same.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import tallies
import vendirl as vr
from broken import Line, disk, fail_from
from faults_of_many import OfMany
from forked import PLACE, LostError, Process, adopt, left_behind
from tiny import BLOCKS, compare, digest, rows_in, state_of, train, train_outside
from vendirl.show import films
from vendirl.training import checkpoint
from vendirl.training import run as runs


class Campaign(OfMany):
    """The undisturbed runs, chance, and the faults; each is a method that raises `LostError` if something was lost."""

    def __init__(self, seed: int):
        self.seed, self.chance = seed, random.Random(seed)
        self.wholes: dict[str, Any] = {}
        self.count = 0
        self.seconds = 2.0
        """How long a run takes."""

    def attempt(self, name: str, number: int) -> str | None:
        """Try a fault once, at a moment of its own: what was lost, if anything."""
        self.chance = random.Random(f"{self.seed} {name} {number}")
        try:
            getattr(self, name)()
        except LostError as error:
            left_behind(0.0)
            return str(error)
        return f"{count} processes were left" if (count := left_behind()) else None

    def folder(self) -> Path:
        """A new one."""
        self.count += 1
        return PLACE / f"run-{self.count}"

    def whole(self, task: Any = train, *arguments: Any, **changes: Any) -> Any:
        """What a run comes to that nothing disturbs. It compiles what those that follow find compiled."""
        key = task.__name__ + json.dumps(changes)
        if key not in self.wholes:
            folder, used = self.folder(), Process.cpu_seconds
            Process(task, folder, *arguments, **changes).expect(0)
            Process.cpu_seconds = used  # it is no repetition of a fault
            self.wholes[key] = state_of(folder)
        return self.wholes[key]

    def gone_on(self, folder: Path, task: Any = train, *arguments: Any, **changes: Any) -> None:
        """Go on with a run, and compare what it comes to with the undisturbed one."""
        start = time.monotonic()
        Process(task, folder, *arguments, **changes).expect(0)
        self.seconds = time.monotonic() - start
        self.same(folder, self.whole(task, *arguments, **changes))

    def same(self, folder: Path, whole: Any) -> None:
        """Compare what a run came to with an undisturbed one, and remove it."""
        found = state_of(folder)
        for what in whole:
            if found[what] != whole[what]:
                raise LostError(f"other {what}")
        hidden = [path for path in folder.rglob(".*") if path.name != ".lock"]
        if left := [*hidden, *(path for path in folder.rglob("*") if "tmp" in path.name)]:
            raise LostError(f"left behind: {left}")
        shutil.rmtree(folder)

    def kill(self, **changes: Any) -> None:
        """kill -9 at any moment"""
        self.whole(**changes)
        folder = self.folder()
        process = Process(train, folder, pause=0.05, **changes)
        if self.chance.random() < 0.7:  # mostly while it learns and saves
            process.until(lambda: rows_in(folder) > 0)
            process.ends_within(self.chance.uniform(0, 0.5))
        else:
            process.ends_within(self.chance.uniform(0, self.seconds))
        process.kill()
        self.gone_on(folder, **changes)

    def kill_on_two_devices(self) -> None:
        """kill -9 at any moment, scenes spread over two devices"""
        self.kill(devices=2)

    def kill_before_first_checkpoint(self) -> None:
        """kill -9 before there is a checkpoint"""
        self.whole()
        folder, rows = self.folder(), self.chance.randint(1, 3)
        process = Process(train, folder, pause=0.05, every=1e9, first=1e9)
        process.until(lambda: rows_in(folder) >= rows)
        process.kill()
        if checkpoint.epochs(folder / "checkpoints") or not rows_in(folder):
            raise LostError("it was not killed in time")
        self.gone_on(folder)

    def kill_in_checkpoint(self) -> None:
        """kill -9 within a checkpoint"""
        self._kill_in(checkpoint, ["sync_tree", "write_atomically", "_files"], self.chance.randint(1, BLOCKS - 1))

    def kill_in_results(self) -> None:
        """kill -9 while results are written"""
        self._kill_in(runs, ["write_npz", "write_figure", "write_atomically"], 1)

    def _kill_in(self, module: Any, names: list[str], nth: int) -> None:
        self.whole()
        folder, name, after = self.folder(), self.chance.choice(names), self.chance.random() < 0.5

        def dying() -> int:
            original, calls = getattr(module, name), iter(range(1, 10**6))

            def call(*arguments: Any) -> Any:
                last = next(calls) == nth
                result = original(*arguments) if after or not last else None
                if last:
                    os.kill(os.getpid(), signal.SIGKILL)
                return result

            setattr(module, name, call)
            return train(folder)

        if Process(dying).wait() != -signal.SIGKILL:
            raise LostError(f"it was not killed in {name}")
        self.gone_on(folder)

    def kill_compare(self) -> None:
        """kill -9 of a comparison"""
        methods = ("random", "vendirl")
        wholes = {method: self.whole(method=method) for method in methods}
        out, first = self.folder(), self.chance.choice(methods)
        process = Process(compare, out, methods)
        process.until(lambda: rows_in(out / first) > 0)
        process.ends_within(self.chance.uniform(0, 0.3))
        process.kill()
        Process(compare, out, methods).expect(0)
        for method, whole in wholes.items():
            self.same(out / method, whole)
        shutil.rmtree(out)

    def kill_video(self) -> None:
        """kill -9 while a film is written"""
        folder = self.folder()
        folder.mkdir()
        frames = np.random.default_rng(0).integers(0, 255, (60, 240, 320, 3), np.uint8)

        def film() -> int:
            films.write(frames, folder / "skill-0.mp4")
            return 0

        process = Process(film)
        process.ends_within(self.chance.uniform(0, 0.6))
        process.kill()
        film_path = folder / "skill-0.mp4"
        sizes = [film_path.stat().st_size] if film_path.exists() else []  # there whole, or not there
        Process(film).expect(0)
        if len({*sizes, film_path.stat().st_size}) != 1:
            raise LostError("the film")
        shutil.rmtree(folder)

    def term(self, number: int = signal.SIGTERM, code: int = 143, again: bool = False) -> None:
        """SIGTERM"""
        self.whole()
        folder, rows = self.folder(), self.chance.randint(1, 3)
        process = Process(train, folder, pause=0.5, every=1e9, first=1e9)  # it must not end before it is told to
        process.until(lambda: rows_in(folder) >= rows)
        time.sleep(self.chance.uniform(0, 0.05))
        if process.ends_within(0.0):
            raise LostError("it ended before it was told to: this machine is too busy for this fault")
        process.send(number)
        if again:
            time.sleep(0.05)
            process.send(number)
            process.expect(code)
        else:
            process.expect_one_line(code, "Go on with: vendirl train --resume")
        if not checkpoint.epochs(folder / "checkpoints"):
            raise LostError("it saved nothing")
        self.gone_on(folder)

    def hup(self) -> None:
        """SIGHUP"""
        self.term(signal.SIGHUP, 129)

    def interrupt_twice(self) -> None:
        """Ctrl-C, and again 0.05 s later"""
        self.term(signal.SIGINT, 130, again=True)

    def full_disk(self) -> None:
        """full disk"""
        self.whole()
        with disk(self.chance.randint(40, 400)) as (place, resized):
            folder = place / "run"
            process = Process(train, folder)
            if process.wait() != 0:
                process.expect_one_line(2, "could not be written", "--resume")
            resized(50_000)
            self.gone_on(folder)

    def failing_write(self) -> None:
        """a failing write at the k-th file operation"""
        self.whole()
        folder, k = self.folder(), self.chance.randint(1, 80)
        process = Process(lambda: fail_from(k, folder) or train(folder))
        if process.wait() != 0:
            process.expect_one_line(2, "could not be written", "--resume")
        self.gone_on(folder)

    def read_only(self) -> None:
        """read-only folder"""
        whole = self.whole()
        with disk(50_000) as (place, resized):
            folder = place / "run"
            Process(train, folder).expect(0)
            resized(None)

            def look() -> int:
                run = vr.load(folder)
                return 0 if digest(run) == whole["digest"] and run.ceiling and run.score() else 3

            Process(look).expect(0)
            Process(train, folder).expect_one_line(2, "could not be written", "Read-only")
            resized(50_000)
            self.same(folder, whole)

    def two_writers(self) -> None:
        """two writers in a folder"""
        whole, folder = self.whole(), self.folder()
        first = Process(train, folder, pause=0.6)
        first.until(lambda: rows_in(folder) > 0)
        second = Process(train, folder)
        second.expect_one_line(2, "is being written by", f"process {first.pid}")
        first.expect(0)
        self.same(folder, whole)

    def stalled_environment(self) -> None:
        """an environment that hangs"""
        self._environment("hang", "did not return within")

    def dying_environment(self) -> None:
        """an environment that dies"""
        self._environment("die", "raised RuntimeError: broken")

    def _environment(self, how: str, said: str) -> None:
        self.whole(train_outside, Line())
        folder, step = self.folder(), self.chance.randint(2, 5 * 10 * BLOCKS)
        Process(train_outside, folder, Line(how, step)).expect_one_line(2, said, "--resume")
        self.gone_on(folder, train_outside, Line())

    def little_memory(self) -> None:
        """a limit of memory"""
        self.whole()
        folder, more = self.folder(), self.chance.uniform(0.05, 1.5) * 2**30

        def limited() -> int:
            held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (int(held + more), -1))
            return train(folder)

        Process(limited).wait()  # XLA may well abort: whatever it does, the run goes on
        self.gone_on(folder)


ROOT = ("full_disk", "read_only")
FAULTS = [
    "kill",
    "kill_on_two_devices",
    "kill_before_first_checkpoint",
    "kill_in_checkpoint",
    "kill_in_results",
    "kill_compare",
    "kill_video",
    "kill_sweep",
    "term_sweep",
    "kill_transfer",
    "term_transfer",
    "term",
    "hup",
    "interrupt_twice",
    "full_disk",
    "failing_write",
    "read_only",
    "two_writers",
    "stalled_environment",
    "dying_environment",
    "little_memory",
]


def times_of(text: str, faults: list[str]) -> dict[str, int]:
    """How often each fault is tried, from text such as "40" or "40,kill=200"."""
    given = dict.fromkeys(faults, 3)
    for part in text.split(","):
        name, is_named, count = part.rpartition("=")
        if not count.isdecimal() or (is_named and name not in FAULTS):
            raise ValueError(f"times must be a number, or 40,kill=200 with names of faults, but is {text}")
        given.update({name: int(count)} if is_named else dict.fromkeys(faults, int(count)))
    return given


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", default="3", help="how often each fault is tried: 40, or 40,kill=200")
    parser.add_argument("--only", default=",".join(FAULTS), help="the faults, separated by commas")
    parser.add_argument("--seed", type=int, default=0, help="of the moments at which they strike")
    parser.add_argument("--save", type=Path, help="a file in which what became of them is added up")
    parser.add_argument("--minutes", type=float, default=1e9, help="after how many minutes to stop, and go on later")
    asked = parser.parse_args()
    names = asked.only.split(",")
    if unknown := set(names) - set(FAULTS):
        parser.error(f"there is no fault {', '.join(sorted(unknown))}; there are {', '.join(FAULTS)}")
    try:
        times = times_of(asked.times, names)
    except ValueError as error:
        parser.error(str(error))
    code = tallies.code(*(f"benchmarks/{name}.py" for name in ("faults*", "broken", "forked", "tiny")))
    tried: dict[str, Any] = tallies.read(asked.save, asked.seed, code).get("faults", {})
    campaign, end = Campaign(asked.seed), time.monotonic() + 60 * asked.minutes
    rows = {name: tried.setdefault(name, {"tried": 0, "lost": [], "seconds": 0.0}) for name in names}
    adopt()
    try:
        for number in range(max(times.values())):  # all of them in turn, so that each was tried whenever it is stopped
            for name, row in rows.items():
                impossible = name in ROOT and os.geteuid() != 0
                if impossible or number < row["tried"] or number >= times[name] or time.monotonic() > end:
                    continue
                before = Process.cpu_seconds
                lost = campaign.attempt(name, number)
                row["tried"] += 1
                row["seconds"] += Process.cpu_seconds - before
                if lost is not None:
                    row["lost"].append(lost)
                    print(f"lost: {name} {number}: {lost}", file=sys.stderr, flush=True)
                tallies.write(asked.save, asked.seed, code, {"faults": tried})
    finally:
        shutil.rmtree(PLACE, ignore_errors=True)
        print(table(rows), flush=True)
    return int(any(row["lost"] for row in rows.values()))


def table(rows: dict[str, Any]) -> str:
    """What became of the faults."""
    lines = ["| fault | tried | survived | lost | seconds of the processor each |", "|---|---|---|---|---|"]
    for name, row in rows.items():
        what = (getattr(Campaign, name).__doc__ or name).strip()
        count, lost = row["tried"], len(row["lost"])
        each = f"{row['seconds'] / count:.1f}" if count else "needs root" if name in ROOT else ""
        lines.append(f"| {what} | {count} | {count - lost} | {lost} | {each} |")
    return "\n".join(
        [*lines, "", f"{sum(row['tried'] for row in rows.values()):,} faults at commit {tallies.commit()}"]
    )


if __name__ == "__main__":
    sys.exit(main())
