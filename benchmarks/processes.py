"""A run over two processes, of which one is killed at a random moment, and which then goes on in one process.

python benchmarks/processes.py [--times 20]

Each time one of the two, by turns, is killed by SIGKILL. Whoever is left must say so in a line and end within
`processes.LOST_AFTER` seconds, and the run, resumed in one process with as many devices, must end bit for bit like one
that was never disturbed. Runs of VendiRL, of DIAYN, which fits a model, and of SAC are tried in turn.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro

from vendirl.training.processes import COORDINATOR, COUNT, INDEX, LOST_AFTER

RUN = ["--skills", "3", "--scenes", "8", "--hidden", "8", "--devices", "2", "--ppo.minibatches", "1"]
KINDS = {
    "vendirl": [*RUN, "--refill", "shared", "--steps", "4e5"],
    "diayn": [*RUN, "--method", "diayn(hidden=(8,))", "--steps", "4e5"],
    "sac": [*RUN, "--learner", "sac(updates=2, batch=16, warmup=800, hidden=(8,))", "--steps", "2e5"],
}


def command(out: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "vendirl.cli", "train", *arguments, "--out", str(out)]


def alone(out: Path, *arguments: str) -> None:
    """Train, or go on, in one process with two devices."""
    told = {**os.environ, "JAX_NUM_CPU_DEVICES": "2"}
    subprocess.run(command(out, *arguments), env=told, check=True, capture_output=True)


def together(out: Path, *arguments: str) -> list[subprocess.Popen[str]]:
    """Two processes of one device each, on the loopback interface; only the first is told the folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{free.getsockname()[1]}"
    told = {**os.environ, "JAX_NUM_CPU_DEVICES": "1", COORDINATOR: where, COUNT: "2"}
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    return [
        subprocess.Popen(command(place, *arguments), env={**told, INDEX: str(index)}, **pipes)
        for index, place in enumerate((out, out.parent / "nowhere"))
    ]


def rows(out: Path) -> int:
    """How many blocks of epochs a run has written down."""
    return (out / "metrics.jsonl").read_text().count("\n") if (out / "metrics.jsonl").exists() else 0


def state(out: Path) -> tuple[list[float], list[np.ndarray]]:
    """The scores of all blocks, and the episodes of the final skills."""
    scores = [json.loads(line)["vendi_score"] for line in (out / "metrics.jsonl").read_text().splitlines()]
    with np.load(out / "trajectories.npz") as saved:
        return scores, [saved[name] for name in ("observations", "actions")]


def same(a: Path, b: Path) -> bool:
    (scores, arrays), (others, theirs) = state(a), state(b)
    return scores == others and all(np.array_equal(x, y) for x, y in zip(arrays, theirs, strict=True))


def attempt(kind: str, victim: int, whole: Path, folder: Path, moment: float) -> str:
    """What came of killing one of two processes after a share of the run's blocks."""
    out = folder / "run"
    processes = together(out, *KINDS[kind])
    wanted = max(1, round(moment * rows(whole)))
    while rows(out) < wanted and processes[victim].poll() is None:
        time.sleep(0.002)
    if processes[victim].poll() is not None:
        return f"ended by itself: {processes[victim].communicate()[1][-300:]}"
    done = rows(out)
    processes[victim].send_signal(signal.SIGKILL)
    began = time.monotonic()
    try:
        said = processes[1 - victim].communicate(timeout=3 * LOST_AFTER)[1]
    except subprocess.TimeoutExpired:
        processes[1 - victim].kill()
        return "the other one went on waiting"
    took = time.monotonic() - began
    processes[victim].communicate()
    if "Traceback" in said:
        return f"a traceback: {said[-300:]}"
    alone(out, "--resume")
    equal = "bit for bit" if same(whole, out) else "NOT the same"
    return f"{equal}, after {done} of {rows(whole)} blocks; the other ended after {took:.1f} s"


def main(times: int = 20, seed: int = 0, kinds: Annotated[tuple[str, ...], tyro.conf.arg()] = tuple(KINDS)) -> None:
    """Kill one of two processes so many times.

    Args:
        times: How often.
        seed: Of the moments.
        kinds: Which runs.
    """
    draw, good = random.Random(seed), 0
    with tempfile.TemporaryDirectory() as name:
        wholes = {kind: Path(name) / f"whole-{kind}" for kind in kinds}
        for kind in kinds:
            alone(wholes[kind], *KINDS[kind])
            undisturbed = Path(name) / f"two-{kind}" / "run"
            for process in together(undisturbed, *KINDS[kind]):
                process.communicate()
            print(f"{kind}: two processes and one: {same(wholes[kind], undisturbed)}", flush=True)
        for number in range(times):
            kind, victim = list(kinds)[number % len(kinds)], number // len(kinds) % 2
            folder = Path(name) / str(number)
            found = attempt(kind, victim, wholes[kind], folder, draw.random())
            good += found.startswith("bit for bit")
            print(f"{kind}, process {victim} killed: {found}", flush=True)
    print(f"{good} of {times} survived bit for bit")


if __name__ == "__main__":
    tyro.cli(main)
