"""What breaks: disks that are full or read-only, writes that fail, and environments that hang or die."""

from __future__ import annotations

import builtins
import contextlib
import errno
import io
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from forked import PLACE
from vendirl.environments.host import HostEnvironment, Scenes, Step
from vendirl.environments.spaces import Box


def fail_from(k: int, folder: Path) -> None:
    """From now on, in this process, the k-th operation that writes into a folder fails, and all after it."""
    calls = iter(range(1, 10**9))

    def failing(original: Callable[..., Any], writes: Callable[..., bool] = lambda *_, **__: True) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            if writes(*arguments, **named) and next(calls) >= k:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return original(*arguments, **named)

        return call

    def into_the_folder(file: Any, mode: str = "r", *_: Any, **__: Any) -> bool:
        return bool(set(mode) & set("wax+")) and str(file).startswith(str(folder))

    builtins.open = io.open = failing(builtins.open, into_the_folder)  # type: ignore[assignment]
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


class Line(HostEnvironment):
    """A walk on a line outside of JAX that hangs or dies at some step."""

    name, episode_length, feature_names, visible, actions = "line", 5, ("x",), 1, Box(1)

    def __init__(self, how: str = "", at: int = -1):
        self.how, self.at, self.steps = how, at, 0
        self.timeout = 1.0 if how == "hang" else 60.0

    def _open(self, scenes: int, seed: int) -> Scenes:
        return LineScenes(self, scenes)


class LineScenes(Scenes):
    """Scenes of a line. Their steps are counted by the line, since they are opened anew for every block of epochs."""

    def __init__(self, line: Line, scenes: int):
        self.line, self.x = line, np.zeros((scenes, 1), np.float32)

    def reset(self, which: Any) -> Any:
        self.x[which] = 0
        return self.x.copy()

    def step(self, actions: Any) -> Step:
        self.line.steps += 1
        if self.line.steps == self.line.at:
            if self.line.how == "die":
                raise RuntimeError("broken")
            time.sleep(3600)
        self.x = self.x + np.clip(actions, -1, 1).astype(np.float32)
        ends = np.zeros(len(self.x), bool)
        return Step(self.x.copy(), ends, ends, np.zeros(len(self.x), np.float32))
