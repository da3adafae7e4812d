"""Eight runs compared on every executor, with workers killed at random: the same numbers, and what a run costs more.

    python benchmarks/executors.py [--runs 8] [--kills 4] [--only local,submitit-local,ray] [--steps 4e4]

The runs are those of `vendirl compare` with methods that are cheap. Where they are trained in processes of their own,
some of these are ended by SIGKILL, after a time drawn at random. What is compared is comparison.json, number for number
with that of the runs trained one after the other in one process. The overhead is the processor time of all processes,
less that of the one, for each run and each attempt, measured without kills. Ray listens on all addresses, so this
begins again in a network namespace that has loopback alone, where the machine allows that; elsewhere Ray is left out.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # see vendirl._host

from timing import table
from vendirl.clusters.comparing import Contestant, score_all, train_all, write_results
from vendirl.training.problem import build
from vendirl.training.settings import Settings

SIMILARITY = "overlap"
"""Of which the attainable score costs nothing, so that what is measured is the runs."""
TINY = Settings(similarity=SIMILARITY, skills=3, scenes=8, devices=1, hidden=(8,), method="random")
ALONE = "VENDIRL_ALONE"
"""Set once this process has a network of its own."""


def entrants(runs: int, steps: float) -> list[Contestant]:
    """So many runs that differ by their seeds."""
    asked = [dataclasses.replace(TINY, seed=seed, steps=steps) for seed in range(runs)]
    return [Contestant(f"seed {settings.seed}", build(settings)[0]) for settings in asked]


class Killer(threading.Thread):
    """Ends processes that train runs by SIGKILL, at random, so many of them."""

    def __init__(self, kills: int, seed: int):
        super().__init__(daemon=True)
        self.left, self.draw, self.over, self.killed = kills, random.Random(seed), threading.Event(), 0

    def run(self) -> None:
        while self.left and not self.over.wait(self.draw.uniform(0.5, 6.0)):
            if there := workers():
                os.kill(self.draw.choice(there), 9)
                self.left, self.killed = self.left - 1, self.killed + 1


def workers() -> list[int]:
    """The processes that train runs for this one, by the name of the file of attempts that they are told of."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
            mine = f"{MARK}={os.getpid()}".encode() in (path / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if mine and b"vendirl.clusters.worker" in words:
            found.append(int(path.name))
    return found


MARK = "VENDIRL_EXECUTORS"


def processor_seconds() -> float:
    """Of this process and of those that it has waited for."""
    each = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in each)


def compare(out: Path, runs: int, steps: float, **how: Any) -> dict[str, Any]:
    """Train and score: the numbers."""
    folders = train_all(entrants(runs, steps), out, **how)
    scored, found = score_all(folders, [SIMILARITY])
    text = write_results(out, scored, found).read_text()
    return json.loads(text.replace(str(out), "OUT"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--only", default="local,submitit-local,ray")
    parser.add_argument("--steps", type=float, default=4e4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--overhead", action=argparse.BooleanOptionalAction, default=True)
    asked = parser.parse_args()
    if ALONE not in os.environ:
        own = ["unshare", "-rn", "sh", "-c", 'ip link set lo up && exec "$0" "$@"', sys.executable, *sys.argv]
        if shutil.which("unshare") and subprocess.run([*own[:2], "true"], capture_output=True).returncode == 0:
            return subprocess.run(own, env={**os.environ, ALONE: "1"}).returncode
        asked.only = ",".join(name for name in asked.only.split(",") if name != "ray")
        print("no network namespace can be made here, so Ray is left out")
    os.environ[MARK] = str(os.getpid())
    place = Path(tempfile.mkdtemp(prefix="vendirl-executors-"))
    rows, same = [], True
    try:
        start, wall = processor_seconds(), time.perf_counter()
        one = compare(place / "one", asked.runs, asked.steps)
        alone = processor_seconds() - start
        rows.append(["one after the other", "-", "-", f"{alone / asked.runs:.1f}", f"{time.perf_counter() - wall:.0f}"])
        for name in asked.only.split(","):
            for kills in dict.fromkeys((asked.kills, 0)) if asked.overhead else [asked.kills]:
                out = place / f"{name}-{kills}"
                killer = Killer(kills, asked.seed)
                killer.start()
                start, wall = processor_seconds(), time.perf_counter()
                found = compare(out, asked.runs, asked.steps, on=PLACES.get(name, name), jobs=2, retries=kills + 3)
                seconds, wall = processor_seconds() - start, time.perf_counter() - wall
                killer.over.set()
                attempts = len((out / "attempts.jsonl").read_text().splitlines())
                same = same and found == one
                equal = "yes" if found == one else "NO"
                each = f"{seconds / asked.runs:.1f}" if name == "local" or not kills else "-"
                rows.append([name, f"{killer.killed} of {attempts} attempts", equal, each, f"{wall:.0f}"])
                print(rows[-1], flush=True)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    header = ["executor", "killed", "same numbers", "processor seconds a run", "seconds in all"]
    print(table(f"{asked.runs} runs of {asked.steps:,.0f} steps", header, rows))
    return int(not same)


PLACES = {"ray": "ray(cores=1)"}

if __name__ == "__main__":
    sys.exit(main())
