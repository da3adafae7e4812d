"""How long does it take to score a set of skills, and what takes the time?

python benchmarks/evaluation.py                         64 skills x 20 episodes x 1,000 steps x 27 features
python benchmarks/evaluation.py --against folder/src    the same against another version's source, in turns
python benchmarks/evaluation.py --only overlap --parts all --rounds 1 --cold    the quickest look at one of them

`vr.evaluate` with its default arguments under `mmd` and under `overlap`, each in a process of its own, where everything
is done once before it is timed, so that nothing compiles on the clock, unless it is --cold. Medians; processor time is
that of all cores, and what to go by where others use the machine.
Parts: without the other measures; without intervals too, but for five resamples and one shuffle; and
the kernel matrix alone.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SKILLS, EPISODES, STEPS, FEATURES = 64, 20, 1000, 27
SIMILARITIES = ("mmd", "overlap")
PARTS = ("all", "no measures", "score only", "kernel")


def walks(scale: float) -> Any:
    """(skills, episodes, steps, features): random walks that drift each its own way."""
    import numpy as np

    shape = (*(max(2, round(size * scale)) for size in (SKILLS, EPISODES, STEPS)), FEATURES)
    generator = np.random.default_rng(0)
    x = generator.normal(size=shape).astype(np.float32).cumsum(2) / 10
    drift = generator.normal(size=(shape[0], 1, 1, FEATURES)).astype(np.float32)
    return x + drift * np.linspace(0, 3, shape[2], dtype=np.float32)[:, None]


def timed(function: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the clock and of the processor that a call takes."""
    clock, processor = time.perf_counter(), time.process_time()
    function()
    return time.perf_counter() - clock, time.process_time() - processor


def serve(similarity: str, scale: float, warm: list[str]) -> None:
    """Score whenever a line names a part, and answer with the times."""
    import vendirl as vr

    data = vr.Trajectories.of(walks(scale))
    calls: dict[str, Callable[[], object]] = {
        "all": lambda: vr.evaluate(data, similarity),
        "kernel": lambda: vr.kernel_matrix(vr.similarity.parse(similarity), data),  # as versions before take it
        "no measures": lambda: vr.evaluate(data, similarity, measures=False),
        "score only": lambda: vr.evaluate(data, similarity, measures=False, resamples=5, shuffles=1),
    }
    for part in warm:
        calls[part]()
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        print(json.dumps(timed(calls[line.strip()])), flush=True)


class Version:
    """A process that scores with one version of the source."""

    def __init__(self, source: Path, similarity: str, scale: float, warm: list[str]):
        command = [sys.executable, __file__, "--serve", similarity, "--scale", str(scale), "--parts", *warm]
        environment = {**os.environ, "PYTHONPATH": str(source.resolve())}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.answer()

    def answer(self) -> Any:
        """The next line that the process writes."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process that scores ended with {self.process.wait()}")
        return json.loads(line)

    def time(self, part: str) -> tuple[float, float]:
        """Seconds by the clock and of the processor."""
        assert self.process.stdin is not None
        print(part, file=self.process.stdin, flush=True)
        clock, processor = self.answer()
        return clock, processor

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--against", type=Path, help="the source folder of another version")
    arguments.add_argument("--rounds", type=int, default=3, help="how often each part is timed")
    arguments.add_argument("--scale", type=float, default=1.0, help="a share of skills, episodes and steps")
    arguments.add_argument("--only", choices=SIMILARITIES, help="one of the similarities")
    arguments.add_argument("--parts", nargs="*", default=list(PARTS), help="what is timed")
    arguments.add_argument("--cold", action="store_true", help="time the first call, with what it compiles")
    arguments.add_argument("--serve", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.serve:
        serve(given.serve, given.scale, given.parts)
        return
    from timing import table

    sources = [Path(__file__).parents[1] / "src"] + ([given.against] if given.against else [])
    rows = []
    for similarity in [given.only] if given.only else SIMILARITIES:
        warm = [] if given.cold else given.parts
        versions = [Version(source, similarity, given.scale, warm) for source in sources]
        for part in given.parts:
            found: list[list[tuple[float, float]]] = [[] for _ in versions]
            for _ in range(given.rounds):
                for times, version in zip(found, versions, strict=True):
                    times.append(version.time(part))
            clock, processor = ([statistics.median(x[i] for x in times) for times in found] for i in (0, 1))
            row = [f"`{similarity}`", part, f"{clock[0]:.2f} s", f"{processor[0]:.2f} s"]
            if given.against:
                row += [f"{clock[1]:.2f} s", f"{processor[1]:.2f} s"]
                row += [f"{clock[0] / clock[1]:.2f}x", f"{processor[0] / processor[1]:.2f}x"]
            rows.append(row)
            print(" ".join(row), file=sys.stderr, flush=True)
        for version in versions:
            version.close()
    header = ["similarity", "what", "time", "processor"]
    if given.against:
        header += ["the other", "its processor", "ratio", "of processor time"]
    size = " x ".join(f"{max(2, round(n * given.scale)):,}" for n in (SKILLS, EPISODES, STEPS)) + f" x {FEATURES}"
    print(table(f"Scoring {size} (skills, episodes, steps, features)", header, rows))


if __name__ == "__main__":
    main()
