"""A campaign of inputs that nobody means to give: each gives a result or a clear error, and none hangs.

    python benchmarks/fuzz.py [--texts 1000000] [--files 100000] [--seed 0] [--jobs 2] [--save found.json]

Texts go to the parsers of similarities, methods, learners, environments and settings and to the readers of a run's
JSON files, the list of a checkpoint among them; files of skill data (npz, and HDF5 in Minari's format) to `read`, and
one in a hundred on to `evaluate` and `vendirl score`. Each input may take 1 s of the processor and 1 GB; what is not
survived is printed and saved, and belongs into tests/corpus/texts.json once it is mended.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib.metadata
import io
import json
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

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # see vendirl._host

TEXTS, FILES = 1_000_000, 100_000
CHUNK = {"texts": 5_000, "files": 500}
MEMORY = 2**30
STUCK = 60.0
"""Seconds after which a process that does not answer, not even to its own alarm, is ended."""
EVALUATED = 100
SIMILARITY = "mmd"
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
            try:
                tries[what](range(start, stop), seed, Path(folder), tally, found, at)
            except Exception:
                found.append((what, "the campaign itself", at.value, "traceback", traceback.format_exc(), None))
                tally["the campaign itself", "traceback"] += 1
            pipe.send((tally, found))


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


def campaign(texts: int, files: int, seed: int, jobs: int) -> tuple[Counter[tuple[str, str]], list[Case]]:
    """What became of the inputs, and those that were not survived."""
    left = [
        (what, start, min(start + CHUNK[what], count), seed)
        for what, count in (("files", files), ("texts", texts))
        for start in range(0, count, CHUNK[what])
    ]
    total, done, began, told = texts + files, 0, time.monotonic(), time.monotonic()
    tally: Counter[tuple[str, str]] = Counter()
    found: list[Case] = []
    workers = [Worker() for _ in range(max(1, min(jobs, len(left))))]
    for worker in workers:
        worker.give(left.pop(0))
    while any(worker.chunk for worker in workers):
        busy = [worker for worker in workers if worker.chunk]
        ready = wait([worker.pipe for worker in busy], timeout=1.0)
        for worker in busy:
            if worker.pipe not in ready:
                worker.stuck()
                continue
            assert worker.chunk is not None
            what, start, stop, _ = worker.chunk
            try:
                counted, cases = worker.pipe.recv()
                worker.chunk = None
                done += stop - start
            except EOFError:  # it died, in C code or by our hand; the rest of its chunk is tried by another one
                number = max(start, worker.at.value)
                outcome = "hang" if time.monotonic() - worker.moved >= STUCK else "traceback"
                worker.process.join()
                counted = {("process died", outcome): 1}
                cases = [(what, "process died", number, outcome, f"exit code {worker.process.exitcode}", None)]
                done += number + 1 - start
                worker.start()
                worker.chunk = None
                if number + 1 < stop:
                    left.insert(0, (what, number + 1, stop, seed))
            tally.update(counted)
            found += cases
            for case in cases[:5]:
                print(f"{case[0]} {case[2]} ({case[1]}): {case[3]}: {case[4][:300]!r}", flush=True)
            if left:
                worker.give(left.pop(0))
        if time.monotonic() - told > 10:
            told = time.monotonic()
            print(f"{done:,} of {total:,} after {told - began:.0f} s, {len(found)} not survived", flush=True)
    for worker in workers:
        worker.pipe.send(None)
        worker.process.join()
    return tally, found


OUTCOMES = ("accepted", "refused", "traceback", "hang", "memory", "silent NaN")


def main(arguments: list[str] | None = None) -> int:
    """Print what became of the inputs, by kind; returns how many were not survived."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--texts", type=int, default=TEXTS)
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--save", type=Path, default=Path("fuzz-found.json"), help="where what is found is written")
    asked = parser.parse_args(arguments)
    start = time.monotonic()
    tally, found = campaign(asked.texts, asked.files, asked.seed, asked.jobs)
    seconds = time.monotonic() - start
    print(f"{'input':24}" + "".join(f"{outcome:>12}" for outcome in OUTCOMES))
    for kind in dict.fromkeys(kind for kind, _ in sorted(tally)):
        print(f"{kind:24}" + "".join(f"{tally[kind, outcome]:12,}" for outcome in OUTCOMES))
    print(f"{'all':24}" + "".join(f"{sum(tally[k, o] for k, o in tally if o == out):12,}" for out in OUTCOMES))
    print(
        f"{asked.texts:,} texts and {asked.files:,} files in {seconds:.0f} s by {asked.jobs} processes: "
        f"{len(found)} not survived"
    )
    if found:
        asked.save.write_text(json.dumps(found, indent=1) + "\n")
        print(f"they are in {asked.save}")
    return len(found)


if __name__ == "__main__":
    sys.exit(min(1, main()))
