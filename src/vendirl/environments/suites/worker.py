"""A process that steps some scenes of a Gymnasium environment.

It is run as `python -m vendirl.environments.suites.worker <socket> <process that started it>`. It is told by that
process, over a socket that nobody else has, and ends when that is closed, or when
that process does, whatever a scene is doing then. What it imports is light: no JAX.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from vendirl.environments.host import Actions, Features, Frames
from vendirl.environments.suites.bodies import loading
from vendirl.environments.suites.flat import Acting, Observing, alone


def main(descriptor: int) -> None:
    """Answer until the connection is closed."""
    import cloudpickle

    connection = Connection(descriptor)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        sys.path[:] = connection.recv()
        (factory, observe, act, outside), seeds = cloudpickle.loads(connection.recv_bytes())
        scenes: _Share | None = None
        while True:
            try:
                if scenes is None:
                    scenes = _Share(factory, observe, act, outside, seeds)
                    connection.send(("done", None))
                command, argument = connection.recv()
                if command == "close":
                    scenes.close()
                    return
                connection.send(("done", getattr(scenes, command)(argument)))
            except (EOFError, BrokenPipeError, ConnectionResetError):
                raise
            except BaseException as error:
                place = traceback.extract_tb(error.__traceback__)[-1]
                where = f"{type(error).__name__}: {error} ({place.filename}, line {place.lineno}, in {place.name})"
                connection.send(("error", where))
                return


def end_with(parent: int) -> None:
    """Let this process end when the one that started it does, also in the middle of a step that never returns."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which tells this process
    if sys.platform == "linux":
        # The kernel sees to it when the thread ends that started this process, which lives as long as its scenes.
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    else:
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    if os.getppid() != parent:  # it was gone before it could be watched
        os._exit(1)


_PR_SET_PDEATHSIG = 1


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


class _Share:
    def __init__(
        self,
        factory: Callable[[], Any],
        observe: Observing,
        act: Acting,
        outside: tuple[str, ...],
        seeds: list[int],
    ):
        with loading():
            self.environments = [factory() for _ in seeds]
        self.observe, self.act, self.outside = observe, act, outside
        self.seeds: list[int | None] = list(seeds)

    def reseed(self, seeds: list[int]) -> None:
        self.seeds = list(seeds)

    def reset(self, which: Bool[np.ndarray, " E"]) -> Features:
        rows = np.zeros((len(self.environments), len(self.observe.names) + len(self.outside)), np.float32)
        for i in np.flatnonzero(which):
            rows[i] = self._row(*self.environments[i].reset(seed=self.seeds[i]))
            self.seeds[i] = None  # once; from then on the environment's own generator goes on
        return rows

    def step(
        self, actions: Actions
    ) -> tuple[Features, Bool[np.ndarray, " E"], Bool[np.ndarray, " E"], Float[np.ndarray, " E"]]:
        """The parts of a `Step`."""
        results = [one.step(action) for one, action in zip(self.environments, self.act(actions), strict=True)]
        rows = np.stack([self._row(result[0], result[4]) for result in results])
        ends = np.array([[result[2], result[3]] for result in results], bool)
        return rows, ends[:, 0], ends[:, 1], np.array([result[1] for result in results], np.float32)

    def frames(self, _: None) -> Frames:
        return np.stack([np.asarray(one.render(), np.uint8) for one in self.environments])

    def close(self) -> None:
        for one in self.environments:
            one.close()

    def _row(self, observation: Any, info: dict[str, Any]) -> Float[np.ndarray, " D"]:
        seen = self.observe(alone(observation), 1)[0]
        return np.concatenate([seen, np.array([info.get(key, 0.0) for key in self.outside], np.float32)])


if __name__ == "__main__":
    end_with(int(sys.argv[2]))
    main(int(sys.argv[1]))
    os._exit(0)  # at once: nothing here is worth tidying up
