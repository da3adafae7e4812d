"""A campaign of inputs that nobody means to give: each gives a result or a clear error, and none hangs.

    python benchmarks/fuzz.py [--texts 1000000] [--files 100000] [--seed 0] [--jobs 2] [--save fuzz.json] [--minutes 10]

Texts go to the parsers of similarities, methods, learners, environments and settings and to the readers of a run's
JSON files, the list of a checkpoint among them; files of skill data (npz, and HDF5 in Minari's format) to `read`, and
one in a hundred on to `evaluate` and `vendirl score`. Each input may take 1 s of the processor and 1 GB; what is not
survived is printed and saved, and belongs into tests/corpus/texts.json once it is mended.

What was tried is saved after every few thousand inputs. Whoever stops the campaign, or gave it some minutes only, goes
on with it by the same command, as long as the code is the same; what it prints is the sum.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib.metadata
import io
import multiprocessing
import os
import resource
import sys
import tempfile
import time
import traceback
from collections import Counter
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import tallies

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # see vendirl._host

TEXTS, FILES = 1_000_000, 100_000
CHUNK = {"texts": 5_000, "files": 500}
MEMORY = 2**30
STUCK = 300.0
"""Seconds after which a process that does not answer, not even to its own alarm, is ended."""
EVALUATED = 100
SIMILARITY = "mmd"
OUTCOMES = ("accepted", "refused", "traceback", "hang", "memory", "silent NaN")
Chunk = tuple[str, int, int]
"""Kind of campaign, and numbers of its inputs, from one to before another."""
Case = tuple[str, str, int, str, str, Any]
"""Kind of campaign, target, number, outcome, what was said, and the input, if it is plain."""


# ---- in a process of its own ---------------------------------------------------------------------------------------


def work(pipe: Connection, at: Any) -> None:
    """Try chunks of inputs until there are no more. `at` says which one is being tried, should this process die."""
    sys.path.insert(0, str(Path(__file__).parent.parent))
    importlib.metadata.entry_points = functools.cache(importlib.metadata.entry_points)  # packages stay as they are
    memory = Path("/dev/shm")
    place = memory if memory.is_dir() and os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as folder:
        os.chdir(folder)  # where a relative path leads nowhere
        tries = {"texts": try_texts, "files": try_files}
        while (chunk := pipe.recv()) is not None:
            what, start, stop, seed = chunk
            tally: Counter[tuple[str, str]] = Counter()
            found: list[Case] = []
            began = time.process_time()
            try:
                tries[what](range(start, stop), seed, Path(folder), tally, found, at)
            except Exception:
                found.append((what, "the campaign itself", at.value, "traceback", traceback.format_exc(), None))
                tally["the campaign itself", "traceback"] += 1
            pipe.send((tally, found, time.process_time() - began))


def bound() -> None:
    """Let this process ask for so much more memory than it has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, hard))


def try_texts(
    numbers: range, seed: int, folder: Path, tally: Counter[tuple[str, str]], found: list[Case], at: Any
) -> None:
    from tests import fuzz_texts

    bound()
    for number in numbers:
        at.value = number
        target, given = fuzz_texts.text(number, seed)
        outcome, said = fuzz_texts.tried(target, given, folder)
        tally[target, outcome] += 1
        if outcome not in ("accepted", "refused"):
            found.append(
                (
                    "texts",
                    target,
                    number,
                    outcome,
                    said[:500],
                    fuzz_texts.as_plain_runs(fuzz_texts.as_plain(target, given)),
                )
            )


def try_files(
    numbers: range, seed: int, folder: Path, tally: Counter[tuple[str, str]], found: list[Case], at: Any
) -> None:
    from tests import fuzz_data

    from vendirl.data import read

    _warm(folder)
    for number in numbers:
        at.value = number
        kind, path = fuzz_data.file(folder, number, seed)
        features = fuzz_data.chosen_features(number, seed)
        calls = [("read", functools.partial(read, path, features))]
        if number % EVALUATED == 0:
            calls += [("evaluate", functools.partial(evaluated, path)), ("score", functools.partial(scored, path))]
        for name, call in calls:
            seconds, memory = (1.0, MEMORY) if name == "read" else (20.0, 4 * MEMORY)  # compiling is not reading
            judged, said = fuzz_data.outcome(call, (path, repr(path), "features"), seconds, memory)
            named = {"result": "accepted", "refused": "refused"}
            outcome = named.get(judged) or (
                "hang" if said.startswith("Hang") else "memory" if said.startswith("MemoryError") else "traceback"
            )
            wrong = kind in fuzz_data.RIGHT and outcome == "refused" and features is None
            outcome = "traceback" if wrong else outcome
            tally[kind if name == "read" else name, outcome] += 1
            if outcome not in ("accepted", "refused"):
                found.append(("files", f"{name}: {kind}", number, outcome, said[:500], None))
        fuzz_data.remove(folder, number)
    if (folder / "trap").exists():
        (folder / "trap").rmdir()
        tally["a pickle", "traceback"] += 1
        found.append(("files", "a pickle", at.value, "traceback", f"one of {numbers} was unpickled", None))


@functools.cache
def _warm(folder: Path) -> None:
    """Read what is right, once: importing h5py and others is not part of the second that a file has."""
    import numpy as np
    from tests import fuzz_minari, fuzz_npz

    from vendirl.data import read

    rng = np.random.default_rng(0)
    fuzz_minari.write(folder / "right", lambda *_: None, rng)
    (folder / "right.npz").write_bytes(fuzz_npz.good(rng))
    for path in (folder / "right", folder / "right.npz"):
        read(path)


def evaluated(path: str) -> None:
    """The score of what could be read, and nothing in it that is not finite."""
    import numpy as np

    from vendirl.evaluation.evaluate import evaluate

    result = evaluate(path, SIMILARITY, resamples=2, shuffles=2, measures=False)[0]
    assert np.isfinite([result.vendi_score, result.null, *result.profile.values(), *result.spectrum]).all(), result


def scored(path: str) -> None:
    """`vendirl score` in this process; what it refuses it says on standard error, in a line."""
    from vendirl import cli

    out, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
        try:
            few = ["--resamples", "2", "--shuffles", "2"]
            code = cli.main(["score", "--similarity", SIMILARITY, *few, "--", path])
        except SystemExit as stop:  # arguments that are refused before the command begins
            code = stop.code
    if code:
        raise ValueError(said.getvalue())


# ---- the campaign --------------------------------------------------------------------------------------------------


class Worker:
    """A process that tries inputs, and another one in its place if it dies."""

    def __init__(self) -> None:
        self.chunk: tuple[str, int, int, int] | None = None
        self.start()

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.at = context.Value("q", -1, lock=False)
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(theirs, self.at), daemon=True)
        self.process.start()
        theirs.close()
        self.moved, self.last = time.monotonic(), -1

    def give(self, chunk: tuple[str, int, int, int]) -> None:
        self.chunk = chunk
        self.at.value, self.last, self.moved = -1, -1, time.monotonic()
        self.pipe.send(chunk)

    def stuck(self) -> bool:
        """Whether it has been at the same input for longer than anything may take; ends it if so."""
        if self.at.value != self.last:
            self.last, self.moved = self.at.value, time.monotonic()
        if self.last < 0 or time.monotonic() - self.moved < STUCK:
            return False
        self.process.kill()
        return True


class Totals:
    """What became of the inputs that were tried so far, in a file, so that the campaign can go on.

    Args:
        path: of the file.
        seed: of the inputs; those of another seed, or tried by other code, are not added up.
    """

    def __init__(self, path: Path, seed: int):
        self.path, self.seed, self.code = path, seed, tallies.code("tests/fuzz_*.py")
        saved = tallies.read(path, seed, self.code)
        self.done: list[Chunk] = [tuple(chunk) for chunk in saved.get("done", [])]
        counts = {(kind, outcome): count for kind, outcome, count in saved.get("tally", [])}
        self.tally: Counter[tuple[str, str]] = Counter(counts)
        self.found: list[Case] = [tuple(case) for case in saved.get("found", [])]
        self.seconds: float = saved.get("seconds", 0.0)

    def left(self, what: str, count: int) -> list[Chunk]:
        """What is still to be tried of so many inputs."""
        free, start = [], 0
        for _, first, stop in sorted(chunk for chunk in self.done if chunk[0] == what):
            free += _chunks(what, start, min(first, count))
            start = stop
        return free + _chunks(what, start, count)

    def tried(self, what: str) -> int:
        """How many inputs have been."""
        return sum(stop - start for kind, start, stop in self.done if kind == what)

    def add(self, chunk: Chunk, tally: dict[tuple[str, str], int], found: list[Case], seconds: float) -> None:
        """Add what became of some inputs, and save it."""
        self.done.append(chunk)
        self.tally.update(tally)
        self.found += found
        self.seconds += seconds
        content = {
            "seconds": round(self.seconds, 1),
            "done": self.done,
            "tally": [(*key, count) for key, count in sorted(self.tally.items())],
            "found": self.found,
        }
        tallies.write(self.path, self.seed, self.code, content)

    def __str__(self) -> str:
        kinds = dict.fromkeys(kind for kind, _ in sorted(self.tally))
        counts = {kind: [self.tally[kind, outcome] for outcome in OUTCOMES] for kind in kinds}
        counts["all"] = [sum(column) for column in zip(*counts.values(), strict=True)] or [0] * len(OUTCOMES)
        rows = [f"| {kind} | {' | '.join(f'{n:,}' for n in row)} |" for kind, row in counts.items()]
        head = [f"| input | {' | '.join(OUTCOMES)} |", "|---" * (len(OUTCOMES) + 1) + "|"]
        return "\n".join([*head, *rows])


def _chunks(what: str, start: int, stop: int) -> list[Chunk]:
    return [(what, first, min(first + CHUNK[what], stop)) for first in range(start, stop, CHUNK[what])]


def campaign(totals: Totals, texts: int, files: int, jobs: int, minutes: float) -> None:
    """Try what has not been tried yet."""
    left = [*totals.left("files", files), *totals.left("texts", texts)]
    began = told = time.monotonic()
    workers = [Worker() for _ in range(min(jobs, len(left)))]
    for worker in workers:
        worker.give((*left.pop(0), totals.seed))
    while any(worker.chunk for worker in workers):
        busy = [worker for worker in workers if worker.chunk]
        ready = wait([worker.pipe for worker in busy], timeout=1.0)
        for worker in busy:
            if worker.pipe not in ready:
                worker.stuck()
                continue
            assert worker.chunk is not None
            what, start, stop, _ = worker.chunk
            worker.chunk = None
            try:
                counted, cases, seconds = worker.pipe.recv()
            except EOFError:  # it died, in C code or by our hand; the rest of its chunk is tried by another one
                number = max(start, worker.at.value)
                outcome = "hang" if time.monotonic() - worker.moved >= STUCK else "traceback"
                worker.process.join()
                counted, seconds = {("process died", outcome): 1}, 0.0
                cases = [(what, "process died", number, outcome, f"exit code {worker.process.exitcode}", None)]
                if start < number:  # what was tried before it is tried again, so that it is counted
                    left.insert(0, (what, start, number))
                if number + 1 < stop:
                    left.insert(0, (what, number + 1, stop))
                start, stop = number, number + 1
                worker.start()
            totals.add((what, start, stop), counted, cases, seconds)
            for case in cases[:5]:
                print(f"{case[0]} {case[2]} ({case[1]}): {case[3]}: {case[4][:300]!r}", flush=True)
            if left and time.monotonic() - began < 60 * minutes:
                worker.give((*left.pop(0), totals.seed))
        if time.monotonic() - told > 30:
            told = time.monotonic()
            tried = f"{totals.tried('texts'):,} texts and {totals.tried('files'):,} files"
            print(f"{tried} after {told - began:.0f} s, {len(totals.found)} not survived", flush=True)
    for worker in workers:
        worker.pipe.send(None)
        worker.process.join()


def main(arguments: list[str] | None = None) -> int:
    """Print what became of the inputs, by kind; returns how many were not survived."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--texts", type=int, default=TEXTS)
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--save", type=Path, default=Path("fuzz.json"), help="where what became of them is added up")
    parser.add_argument("--minutes", type=float, default=1e9, help="after how many minutes to stop, and go on later")
    asked = parser.parse_args(arguments)
    totals = Totals(asked.save, asked.seed)
    campaign(totals, asked.texts, asked.files, max(1, asked.jobs), asked.minutes)
    tried = f"{totals.tried('texts'):,} texts and {totals.tried('files'):,} files"
    print(totals)
    print(
        f"\n{tried} of seed {asked.seed}, at commit {tallies.commit()}, in {totals.seconds:,.0f} s of the processor: ",
        end="",
    )
    print(f"{len(totals.found)} not survived" + (f"; they are in {asked.save}" if totals.found else ""))
    return len(totals.found)


if __name__ == "__main__":
    sys.exit(min(1, main()))
