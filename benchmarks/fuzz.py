"""10,000 random, truncated and corrupted files and arguments: each gives a result or a clear error, and none hangs.

    python benchmarks/fuzz.py [how many] [seed]

`TARGETS` are what the files are given to, one after the other; a further one is a line there.
"""

from __future__ import annotations

import contextlib
import io
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import numpy as np

import fuzz_data
from vendirl import cli
from vendirl.data import Trajectories, read
from vendirl.evaluation.evaluate import evaluate

COUNT = 10_000


def command(*arguments: str) -> Callable[[str, Any], None]:
    """`vendirl` in this process, with the file as last argument; what it refuses it says on standard error."""

    def call(path: str, _: Any) -> None:
        out, said = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
            try:
                code = cli.main([*arguments, path])
            except SystemExit as stop:  # arguments that are refused before the command begins
                code = stop.code
        if code:
            raise ValueError(said.getvalue())

    return call


def evaluated(path: str, _: Any) -> None:
    """The score of what could be read, and nothing in it that is not finite."""
    found = evaluate(path, SIMILARITY, resamples=2, shuffles=2, measures=False)[0]
    assert np.isfinite([found.vendi_score, found.null, *found.profile.values(), *found.spectrum]).all(), found


SIMILARITY = "mmd"
TARGETS: dict[str, Callable[[str, Any], Any]] = {
    "read": read,
    "evaluate": evaluated,
    "vendirl score": command("score", "--similarity", SIMILARITY, "--resamples", "2", "--shuffles", "2"),
}


def main(count: int = COUNT, seed: int = 0, targets: dict[str, Callable[[str, Any], Any]] = TARGETS) -> int:
    """Print what became of the inputs, by kind; returns how many were not survived."""
    start = time.perf_counter()
    tally: Counter[tuple[str, str]] = Counter()
    slowest, failures, most = 0.0, 0, count // 5

    def note(kind: str, what: str, number: int, found: str, said: str) -> None:
        nonlocal failures
        tally[kind, found] += 1
        if found == "FAILED" or (kind == "right" and found == "refused" and what.endswith("everything")):
            failures += 1
            print(f"input {number} ({kind}, {what}): {said[:300]}", flush=True)

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        os.chdir(folder)  # where a relative path leads nowhere
        for number in range(count - most):
            kind, path = fuzz_data.file(folder, number, seed)
            features = fuzz_data.chosen_features(number, seed)
            for what, target in targets.items():
                began = time.process_time()
                found, said = fuzz_data.outcome(partial(target, path, features), (path, repr(path), "features"))
                slowest = max(slowest, time.process_time() - began)
                note(kind, f"{what}, {'everything' if features is None else features}", number, found, said)
            fuzz_data.remove(folder, number)
        for number in range(count - most, count):
            given = fuzz_data.arguments(number, seed)
            found, said = fuzz_data.outcome(partial(Trajectories.of, **given), fuzz_data.ARGUMENTS)
            note("arguments", "Trajectories.of", number, found, said)
        if (folder / "trap").exists():
            failures += 1
            print("a pickle was unpickled")
    print(f"{'input':24}{'result':>8}{'refused':>9}{'FAILED':>8}")
    for kind in (*fuzz_data.FILES, "arguments"):
        print(f"{kind:24}{tally[kind, 'result']:8}{tally[kind, 'refused']:9}{tally[kind, 'FAILED']:8}")
    print(
        f"{count} inputs, {failures} failures, {time.perf_counter() - start:.0f} s; slowest {slowest:.2f} s of CPU, "
        f"memory reached {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10:.0f} MB"
    )
    return failures


if __name__ == "__main__":
    sys.exit(min(1, main(*map(int, sys.argv[1:]))))
