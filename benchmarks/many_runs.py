"""Many tiny runs in one process, one after the other: it holds no more after the last than after the first few.

    python benchmarks/many_runs.py [--alike 1000] [--runs 1000] [--host 200] [--save many-runs.jsonl]

First come runs that are alike but for their seed, as one trains them to learn how much seeds matter; every fifth has a
folder. The next differ, so that their programs do: by PPO and by SAC, with VendiRL's reward and without, with a folder
and without, and every so often with a similarity that no run had before. Those outside of JAX are in EnvPool, and in
Gymnasium within this process and in others. After each run it is looked up what the process holds. That is flat if the
last tenth of the runs hold as much as the first tenth after the first twenty, up to `ROOM`.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

PLACE = Path("/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()) / f"vendirl-many-{os.getpid()}"
"""Where the runs that have a folder are written; in memory, if that is possible."""

if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # see vendirl._host
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")  # compiling is what takes the time
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(PLACE / "cache"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")

import vendirl as vr  # noqa: E402  (after what JAX is told above)

WARM = 20
"""Runs before anything is judged."""
NEW = 25
"""Every so many runs there is a similarity that no run had before."""
PROCESSES = 8
"""Every so many runs outside of JAX there is one whose scenes are in processes of their own, which take long to
start."""
TINY: dict[str, Any] = {
    "skills": 2,
    "scenes": 2,
    "hidden": (4,),
    "steps": 10,
    "episode_length": 5,
    "devices": 1,
    "ppo": {"minibatches": 1, "epochs": 1},
    "sac": {"batch": 4, "updates": 1, "capacity": 64, "warmup": 0, "hidden": (4,)},
    "progress": False,
}


class Held(NamedTuple):
    """What this process holds."""

    resident: float
    maps: int
    descriptors: int
    threads: int
    children: int

    @classmethod
    def now(cls) -> Held:
        """As the system tells it; memory in MB, after the allocator was told to give back what was freed. It keeps much
        of that, by chance more or less, which would hide what is kept for ever."""
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)
        this = Path("/proc/self")
        pages = int((this / "statm").read_text().split()[1])
        maps = (this / "maps").read_bytes().count(b"\n")
        tasks = list((this / "task").iterdir())
        children = sum(len(path.read_text().split()) for task in tasks if (path := task / "children").exists())
        descriptors = len(os.listdir(this / "fd")) - 1  # one is that of the list itself
        return cls(round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1), maps, descriptors, len(tasks), children)


ROOM = Held(resident=16.0, maps=60, descriptors=0, threads=2, children=0)
"""How much more the last runs may hold than the first. What single runs hold for a while varies by more, and one
program takes about 150 maps and 8 MB."""


def train(number: int) -> None:
    """A run in JAX, of the kind that its number says."""
    chosen: dict[str, Any] = {
        "learner": "sac" if number % 4 == 3 else "ppo",
        "method": ("vendirl", "random")[number % 2],
    }
    similarity = ("mmd(scale=4)", "0.5*cosine + 0.5*mmd")[number // 4 % 2]
    out = PLACE / str(number) if number % 5 == 0 else None
    if number % NEW == 0:
        similarity, out = f"mmd(scale={4 + number / 1000})", PLACE / str(number) if number % (2 * NEW) == 0 else None
    run = vr.train("point", similarity, out=out, seed=number, **{**TINY, **chosen})
    if out is not None:
        assert vr.load(out).done == run.done
        shutil.rmtree(out)


def train_alike(number: int) -> None:
    """A run in JAX of which only the seed is its own."""
    out = PLACE / f"alike-{number}" if number % 5 == 0 else None
    vr.train("point", "mmd(scale=4)", out=out, seed=number, **TINY)
    if out is not None:
        shutil.rmtree(out)


def train_outside(number: int) -> None:
    """A run outside of JAX, of the kind that its number says."""
    chosen: dict[str, Any] = {"method": ("vendirl", "random")[number // 2 % 2], "learner": "ppo"}
    env = ("envpool:Pendulum-v1", "gymnasium:CartPole-v1(vectorization='vector_entry_point')")[number % 2]
    if number % PROCESSES == 0:
        env, chosen["method"] = "gymnasium:Pendulum-v1(workers=1)", "random"
    similarity = f"mmd(scale={4 + number / 1000})" if number % NEW == 0 else "mmd(scale=4)"
    out = PLACE / str(number) if number % 10 == 5 else None
    vr.train(env, similarity, out=out, seed=number, **{**TINY, **chosen})
    if out is not None:
        shutil.rmtree(out)


KINDS = {"runs in JAX that are alike": train_alike, "runs in JAX": train, "runs outside of JAX": train_outside}


def grown(held: list[Held]) -> Held:
    """How much more the last runs hold than the first ones after `WARM`, by medians of a tenth of them each."""
    judged = held[WARM:] if len(held) > 2 * WARM else held[len(held) // 2 :]
    count = max(1, len(judged) // 10)
    first, last = (Held(*map(statistics.median, zip(*some, strict=True))) for some in (judged[:count], judged[-count:]))
    return Held(*(round(b - a, 1) for a, b in zip(first, last, strict=True)))


def many(what: str, count: int, save: Path | None) -> bool:
    """Train so many runs, print what the process held, and tell whether that was flat."""
    held: list[Held] = []
    print(f"| {what} | resident MB | maps | descriptors | threads | children |\n|---|---|---|---|---|---|", flush=True)
    for number in range(1, count + 1):
        KINDS[what](number)
        held.append(Held.now())
        if save is not None:
            with save.open("a") as file:
                file.write(json.dumps({"runs": what, "number": number, **held[-1]._asdict()}) + "\n")
        if number in (1, WARM, count) or number % max(1, count // 10) == 0:
            print(f"| {number:,} | {' | '.join(f'{value:,}' for value in held[-1])} |", flush=True)
    more = grown(held)
    print(f"| more in the last tenth than in the first after {WARM} | {' | '.join(f'{value:g}' for value in more)} |\n")
    return all(value <= room for value, room in zip(more, ROOM, strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--alike", type=int, default=1000, help="runs in JAX that are alike but for their seed")
    parser.add_argument("--runs", type=int, default=1000, help="runs in JAX that differ")
    parser.add_argument("--host", type=int, default=200, help="runs outside of JAX")
    parser.add_argument("--save", type=Path, help="a file to which what is held after each run is added")
    asked = parser.parse_args()
    PLACE.mkdir()
    try:
        counts = zip(KINDS, (asked.alike, asked.runs, asked.host), strict=True)
        flat = [many(what, count, asked.save) for what, count in counts if count]
    finally:
        shutil.rmtree(PLACE, ignore_errors=True)
    print("flat" if all(flat) else "not flat")
    return int(not all(flat))


if __name__ == "__main__":
    sys.exit(main())
