"""Time from the command to the first line of metrics (ten updates), with an empty compile cache and with a warm one."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from timing import table

GOALS = {"cold": 15, "warm": 6}


def first_update(folder: Path, cache: Path) -> float:
    command = [sys.executable, "-m", "vendirl.cli", "train", "--out", str(folder)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    start = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    metrics = folder / "metrics.jsonl"
    while not (metrics.exists() and metrics.stat().st_size):
        if process.poll() is not None:
            raise RuntimeError("the run ended before its first update")
        time.sleep(0.02)
    passed = time.perf_counter() - start
    process.kill()
    process.wait()
    return passed


def run() -> str:
    rows = []
    with tempfile.TemporaryDirectory() as place:
        for name, goal in GOALS.items():
            seconds = first_update(Path(place) / name, Path(place) / "cache")
            rows.append([name, f"{seconds:.1f} s", f"{goal} s"])
            print(*rows[-1], sep="\t", flush=True)
    return table("From `vendirl train` to the first ten updates", ["compile cache", "time", "goal: under"], rows)


if __name__ == "__main__":
    print(run())
