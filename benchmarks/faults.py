"""Faults of real machines, injected into tiny runs: nothing that was saved may be lost.

    python benchmarks/faults.py [--times 3] [--only kill,term,...] [--seed 0]

Each fault is tried so many times, at another moment each time. The run is then gone on with, and must end with the
weights and metrics of one that was never disturbed, without a traceback, and without a process left. Runs are forked
from a process that has imported everything and computed nothing, and find their programs in a cache of their own.
"""

from __future__ import annotations

import argparse
import builtins
import contextlib
import errno
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # see vendirl._host
os.environ.setdefault("JAX_NUM_CPU_DEVICES", "2")
PLACE = Path(tempfile.mkdtemp(prefix="vendirl-faults-"))
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(PLACE / "cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")

import numpy as np  # noqa: E402  (after what JAX is told above)
import orbax.checkpoint  # noqa: E402

import vendirl as vr  # noqa: E402
from vendirl import cli  # noqa: E402
from vendirl.algorithms.ppo import PPO  # noqa: E402
from vendirl.environments.host import HostEnvironment, Scenes, Step  # noqa: E402
from vendirl.environments.spaces import Box  # noqa: E402
from vendirl.show import films  # noqa: E402
from vendirl.training import checkpoint, comparing, driver  # noqa: E402
from vendirl.training import run as runs  # noqa: E402
from vendirl.training.attainable import Attainable  # noqa: E402
from vendirl.training.settings import Settings  # noqa: E402

BLOCKS = 6
TINY = Settings(
    skills=3,
    scenes=8,
    devices=1,
    refill="shared",
    hidden=(8,),
    steps=8 * 50 * 10 * BLOCKS,
    ppo=PPO(minibatches=2, epochs=1, discount=1.0),
)
TWO = {"devices": 2}


runs.attainable = lambda *_, **__: Attainable(3.0, None, "rank")  # it takes a second, and has no part in this


class LostError(Exception):
    """What a fault destroyed."""


# What a process does that is forked.


def train(folder: Path, pause: float = 0.0, every: float = 0.0, first: float = 0.0, **changes: Any) -> int:
    """Begin a run or go on with it, saving after each block."""
    import dataclasses

    driver.CHECKPOINT_SECONDS, driver.FIRST_CHECKPOINT_SECONDS = every, first
    settings = dataclasses.replace(TINY, **changes)
    cli.Train.run = lambda _: driver.run(settings, folder, "auto", lambda *_: time.sleep(pause))  # type: ignore
    return cli.main(["train"])


def state(folder: Path) -> int:
    """Write beside a folder what its run has come to: a digest of its weights and all other state, and its metrics."""
    epoch = checkpoint.epochs(folder / "checkpoints")[-1]
    with orbax.checkpoint.StandardCheckpointer() as checkpointer:
        arrays = checkpointer.restore(folder / "checkpoints" / str(epoch))
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(name.encode() + np.asarray(arrays[name]).tobytes())
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    rows = [{name: value for name, value in row.items() if "seconds" not in name} for row in rows]
    said = {"epoch": epoch, "digest": digest.hexdigest(), "rows": rows, "results": (folder / "summary.json").exists()}
    folder.with_name(f"{folder.name}.state").write_text(json.dumps(said))
    return 0


class Process:
    """A forked process; all that it says goes into a file."""

    def __init__(self, task: Callable[..., int], *arguments: Any, **named: Any):
        self.log = PLACE / f"log-{time.monotonic_ns()}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # JAX warns of forks, but nothing was computed yet
            self.pid = os.fork()
        if self.pid == 0:
            code = 70
            try:
                descriptor = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
                os.dup2(descriptor, 1)
                os.dup2(descriptor, 2)
                sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
                code = task(*arguments, **named)
            except BaseException:
                import traceback

                traceback.print_exc()
            finally:
                with contextlib.suppress(BaseException):
                    sys.stdout.flush()
                    sys.stderr.flush()
                os._exit(code)
        self.code: int | None = None

    def wait(self, seconds: float = 300.0) -> int:
        """The exit code; what does not end is lost."""
        if not self.ends_within(seconds):
            self.send(signal.SIGKILL)
            self.ends_within(10)
            raise LostError("it hung")
        assert self.code is not None
        return self.code

    def ends_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > deadline:
                return False
            else:
                time.sleep(0.005)
        return True

    def send(self, number: int) -> None:
        if self.code is None:
            os.kill(self.pid, number)

    @property
    def said(self) -> str:
        return self.log.read_text() if self.log.exists() else ""

    def expect(self, *codes: int, seconds: float = 300.0) -> str:
        """What it said, if it ended with one of these codes, and without a traceback."""
        code = self.wait(seconds)
        if "Traceback" in self.said or code not in codes:
            raise LostError(f"exit code {code}: {' / '.join(self.said.splitlines()[-2:])}")
        return self.said


def one_line(said: str, *words: str) -> None:
    lines = [line for line in said.splitlines() if line.strip()]
    if len(lines) != 1 or not all(word in lines[0] for word in words):
        raise LostError(f"it should have said one line with {words}, but said {said[-300:]!r}")


def until(condition: Callable[[], bool], process: Process, seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition() and not process.ends_within(0.0) and time.monotonic() < deadline:
        time.sleep(0.002)


def rows_in(folder: Path) -> int:
    path = folder / "metrics.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


class Campaign:
    """The undisturbed runs, chance, and the faults; each is a method that raises `LostError` if something was lost."""

    def __init__(self, seed: int):
        self.chance = random.Random(seed)
        self.wholes: dict[str, Any] = {}
        self.count = 0

    def folder(self) -> Path:
        self.count += 1
        return PLACE / f"run-{self.count}"

    def whole(self, **changes: Any) -> Any:
        """What a run comes to that nothing disturbs; the second of two, whose programs were in the cache."""
        key = json.dumps(changes)
        if key not in self.wholes:
            for name in ("cold", "warm"):
                folder, start = PLACE / f"{name}-{len(self.wholes)}", time.monotonic()
                Process(train, folder, **changes).expect(0)
                self.seconds = time.monotonic() - start
                self.wholes[key] = self.state_of(folder)
        return self.wholes[key]

    def state_of(self, folder: Path) -> Any:
        Process(state, folder).expect(0)
        return json.loads(folder.with_name(f"{folder.name}.state").read_text())

    def gone_on(self, folder: Path, **changes: Any) -> None:
        """Go on with a run, and compare what it comes to with the undisturbed one."""
        Process(train, folder, **changes).expect(0)
        found, whole = self.state_of(folder), self.whole(**changes)
        for what in ("epoch", "rows", "digest", "results"):
            if found[what] != whole[what]:
                raise LostError(f"other {what}")
        if left := [path for path in folder.rglob("*") if "tmp" in path.name or path.name.startswith(".settings")]:
            raise LostError(f"left behind: {left}")
        shutil.rmtree(folder)

    def kill(self, **changes: Any) -> None:
        """kill -9 at any moment"""
        self.whole(**changes)
        folder = self.folder()
        process = Process(train, folder, pause=0.05, **changes)
        if self.chance.random() < 0.7:  # mostly while it learns and saves
            until(lambda: rows_in(folder) > 0, process)
            process.ends_within(self.chance.uniform(0, 0.5))
        else:
            process.ends_within(self.chance.uniform(0, self.seconds))
        process.send(signal.SIGKILL)
        process.wait()
        self.gone_on(folder, **changes)

    def kill_on_two_devices(self) -> None:
        """kill -9 at any moment, scenes spread over two devices"""
        self.kill(**TWO)

    def kill_before_first_checkpoint(self) -> None:
        """kill -9 before there is a checkpoint"""
        self.whole()
        folder = self.folder()
        process = Process(train, folder, pause=0.05, every=1e9, first=1e9)
        until(lambda: rows_in(folder) >= self.chance.randint(1, 3), process)
        process.send(signal.SIGKILL)
        process.wait()
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
        self.whole()
        self.whole(method="random")
        out = self.folder()

        def compare() -> int:
            driver.CHECKPOINT_SECONDS = driver.FIRST_CHECKPOINT_SECONDS = 0.0
            import dataclasses

            entrants = [comparing.Contestant(m, dataclasses.replace(TINY, method=m)) for m in ("random", "vendirl")]
            comparing.train_all(entrants, out, lambda _: lambda *_: time.sleep(0.03))
            return 0

        process = Process(compare)
        until(lambda: rows_in(out / self.chance.choice(["random", "vendirl"])) > 0, process)
        process.ends_within(self.chance.uniform(0, 0.3))
        process.send(signal.SIGKILL)
        process.wait()
        Process(compare).expect(0)
        for method, changes in (("vendirl", {}), ("random", {"method": "random"})):
            if self.state_of(out / method) != self.whole(**changes):
                raise LostError(f"{method} differs")
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
        process.send(signal.SIGKILL)
        process.wait()
        film_path = folder / "skill-0.mp4"
        sizes = [film_path.stat().st_size] if film_path.exists() else []  # there whole, or not there
        Process(film).expect(0)
        if len({*sizes, film_path.stat().st_size}) != 1:
            raise LostError("the film")
        shutil.rmtree(folder)

    def term(self, number: int = signal.SIGTERM, code: int = 143, again: bool = False) -> None:
        """SIGTERM"""
        self.whole()
        folder = self.folder()
        process = Process(train, folder, pause=0.1, every=1e9, first=1e9)
        until(lambda: rows_in(folder) >= self.chance.randint(1, 3), process)
        time.sleep(self.chance.uniform(0, 0.05))
        process.send(number)
        if again:
            time.sleep(0.05)
            process.send(number)
        said = process.expect(code)
        if not again:
            one_line(said, "Go on with: vendirl train --resume")
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
                one_line(process.expect(2), "could not be written", "--resume")
            resized(50_000)
            self.gone_on(folder)

    def failing_write(self) -> None:
        """a failing write at the k-th file operation"""
        self.whole()
        folder, k = self.folder(), self.chance.randint(1, 80)
        process = Process(lambda: _failing(k) or train(folder))
        if process.wait() != 0:
            one_line(process.expect(2), "could not be written", "--resume")
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
                return 0 if run.done == 10 * BLOCKS and run.ceiling and run.score() else 3

            Process(look).expect(0)
            one_line(Process(train, folder).expect(2), "could not be written", "Read-only")
            resized(50_000)
            if self.state_of(folder) != whole:
                raise LostError("the run")

    def two_writers(self) -> None:
        """two writers in a folder"""
        self.whole()
        folder = self.folder()
        first = Process(train, folder, pause=0.1)
        until(lambda: rows_in(folder) > 0, first)
        one_line(Process(train, folder).expect(2), "is being written by", f"process {first.pid}")
        first.expect(0)
        self.gone_on(folder)

    def stalled_environment(self) -> None:
        """an environment that hangs"""
        self._environment("hang", "did not return within")

    def dying_environment(self) -> None:
        """an environment that dies"""
        self._environment("die", "raised RuntimeError: broken")

    def _environment(self, how: str, said: str) -> None:
        folder, step = self.folder(), self.chance.randint(60, 1500)

        def learn(world: HostEnvironment) -> int:
            driver.CHECKPOINT_SECONDS = driver.FIRST_CHECKPOINT_SECONDS = 0.0
            kept = {"skills": 2, "scenes": 2, "hidden": (8,), "steps": 2 * 5 * 10 * 12, "ppo": TINY.ppo}
            cli.Train.run = lambda _: vr.train(world, out=folder, resume="auto", progress=False, **kept)  # type: ignore
            return cli.main(["train"])

        one_line(Process(learn, Line(how, step)).expect(2), said, "--resume")
        Process(learn, Line()).expect(0)
        if [row["epoch"] for row in self.state_of(folder)["rows"]] != list(range(10, 121, 10)):
            raise LostError("rows")
        shutil.rmtree(folder)

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


class Line(HostEnvironment):
    """A walk on a line outside of JAX that hangs or dies at some step."""

    name, episode_length, feature_names, visible, actions, timeout = "line", 5, ("x",), 1, Box(1), 1.0

    def __init__(self, how: str = "", at: int = -1):
        self.how, self.at = how, at

    def _open(self, scenes: int, seed: int) -> Scenes:
        return LineScenes(self, scenes)


class LineScenes(Scenes):
    def __init__(self, line: Line, scenes: int):
        self.line, self.x, self.steps = line, np.zeros((scenes, 1), np.float32), 0

    def reset(self, which: Any) -> Any:
        self.x[which] = 0
        return self.x.copy()

    def step(self, actions: Any) -> Step:
        self.steps += 1
        if self.line.how and self.steps == max(2, self.line.at % 500):
            if self.line.how == "die":
                raise RuntimeError("broken")
            time.sleep(3600)
        self.x = self.x + np.clip(actions, -1, 1).astype(np.float32)
        ends = np.zeros(len(self.x), bool)
        return Step(self.x.copy(), ends, ends, np.zeros(len(self.x), np.float32))


def _failing(k: int) -> None:
    """From now on, in this process, the k-th operation that writes a file fails, and all after it."""
    calls = iter(range(1, 10**9))

    def failing(original: Callable[..., Any], writes: Callable[..., bool] = lambda *_, **__: True) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            if writes(*arguments, **named) and next(calls) >= k:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return original(*arguments, **named)

        return call

    def into_the_run(file: Any, mode: str = "r", *_: Any, **__: Any) -> bool:
        return bool(set(mode) & set("wax+")) and "run-" in str(file)

    builtins.open = failing(builtins.open, into_the_run)  # type: ignore[assignment]
    for name in ("fsync", "replace", "rename", "mkdir"):
        setattr(os, name, failing(getattr(os, name)))


@contextlib.contextmanager
def disk(kilobytes: int) -> Iterator[tuple[Path, Callable[[int | None], None]]]:
    """A small disk, and a function that makes it larger, or read-only."""
    place = Path(tempfile.mkdtemp(dir=PLACE, prefix="disk-"))
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", place], check=True)

    def resized(kilobytes: int | None) -> None:
        how = "remount,ro" if kilobytes is None else f"remount,rw,size={kilobytes}k"
        subprocess.run(["mount", "-o", how, place], check=True)

    try:
        yield place, resized
    finally:
        subprocess.run(["umount", "-l", place], check=True)


ROOT = ("full_disk", "read_only")
FAULTS = [
    "kill",
    "kill_on_two_devices",
    "kill_before_first_checkpoint",
    "kill_in_checkpoint",
    "kill_in_results",
    "kill_compare",
    "kill_video",
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=3, help="how often each fault is tried")
    parser.add_argument("--only", default=",".join(FAULTS), help="the faults, separated by commas")
    parser.add_argument("--seed", type=int, default=0, help="of the moments at which they strike")
    asked = parser.parse_args()
    if unknown := set(asked.only.split(",")) - set(FAULTS):
        parser.error(f"there is no fault {', '.join(sorted(unknown))}; there are {', '.join(FAULTS)}")
    campaign, all_lost = Campaign(asked.seed), 0
    print("| fault | tried | survived | lost | seconds each |\n|---|---|---|---|---|", flush=True)
    try:
        for name in asked.only.split(","):
            fault, lost = getattr(campaign, name), []
            what = (fault.__doc__ or name).strip()
            if name in ROOT and os.geteuid() != 0:
                print(f"| {what} | 0 | 0 | 0 | (needs root, to mount a small disk) |", flush=True)
                continue
            campaign.whole()
            start = time.monotonic()
            for _ in range(asked.times):
                try:
                    fault()
                except LostError as error:
                    lost.append(str(error))
            seconds = (time.monotonic() - start) / asked.times
            survived = asked.times - len(lost)
            print(f"| {what} | {asked.times} | {survived} | {len(lost)} | {seconds:.1f} |", flush=True)
            for reason in lost:
                print(f"  lost: {reason}", file=sys.stderr, flush=True)
            all_lost += len(lost)
    finally:
        shutil.rmtree(PLACE, ignore_errors=True)
    return int(all_lost > 0)


if __name__ == "__main__":
    sys.exit(main())
