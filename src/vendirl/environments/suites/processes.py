"""Scenes in processes of their own, which can be ended whatever they do."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Int

from vendirl._host import cores, python
from vendirl.environments.host import Actions, EnvironmentFailure, Features, Frames, Scenes, Step
from vendirl.environments.suites.drawing import without_a_screen
from vendirl.environments.suites.flat import Acting, Observing

WORKER = "vendirl.environments.suites.worker"


@runtime_checkable
class Spaces(Protocol):
    """What is known of the environment outside of its processes."""

    observe: Observing
    act: Acting
    outside: dict[str, str]


class Processes(Scenes):
    """Scenes dealt to processes of their own, which can be ended whatever they do."""

    def __init__(
        self,
        environment: Spaces,
        scenes: int,
        seed: int,
        factory: Callable[[], Any],
        workers: int | None = None,
        filmed: bool = False,
    ):
        """
        Args:
            environment: how observations and actions are translated.
            factory: makes an environment with Gymnasium's `reset`, `step`, `render` and `close`, in the process.
            workers: how many processes; None for one for each core.
            filmed: whether pictures will be asked for, which are drawn without a screen.
        """
        import cloudpickle

        workers = min(workers or cores(), scenes)
        settings = without_a_screen() if filmed else dict(os.environ)
        self.shares = list(np.array_split(np.arange(scenes), workers))
        self.processes: list[subprocess.Popen[bytes]] = []
        self.connections: list[Connection] = []
        self.count = scenes
        for share in self.shares:
            ours, theirs = socket.socketpair()
            with theirs:
                theirs.set_inheritable(True)
                command = [*python(), "-m", WORKER, str(theirs.fileno()), str(os.getpid())]
                self.processes.append(_start(command, theirs.fileno(), settings))
            self.connections.append(Connection(ours.detach()))
            plan = (factory, environment.observe, environment.act, tuple(environment.outside.values()))
            self.connections[-1].send(sys.path)  # first, so that what follows can be found
            self.connections[-1].send_bytes(cloudpickle.dumps((plan, _seeds(seed, share))))
        self.started = False

    def reset(self, which: Bool[np.ndarray, " E"]) -> Features:
        if not self.started:  # here rather than at the start, so that processes that never start can be ended
            self._answers()
            self.started = True
        self._send([("reset", which[share]) for share in self.shares])
        return np.concatenate(self._answers())

    def step(self, actions: Actions) -> Step:
        self._send([("step", actions[share]) for share in self.shares])
        return Step(*(np.concatenate(parts) for parts in zip(*self._answers(), strict=True)))

    def reseed(self, seed: int) -> bool:
        self._send([("reseed", _seeds(seed, share)) for share in self.shares])
        self._answers()
        return True

    def frames(self) -> Frames:
        self._send([("frames", None)] * len(self.shares))
        return np.concatenate(self._answers())

    def close(self) -> None:
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.send(("close", None))
        deadline = time.monotonic() + 4.0
        for process in self.processes:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for connection in self.connections:
            connection.close()
        self.processes, self.connections = [], []

    def kill(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()

    def _send(self, messages: Sequence[tuple[str, np.ndarray | list[int] | None]]) -> None:
        for connection, message in zip(self.connections, messages, strict=True):
            with contextlib.suppress(OSError):  # a process that is gone is noticed when it should answer
                connection.send(message)

    def _answers(self) -> list[Any]:
        answers: dict[int, Any] = {}
        while len(answers) < len(self.connections):
            due = {i: connection for i, connection in enumerate(self.connections) if i not in answers}
            ready = wait(list(due.values()))
            for i in (i for i, connection in due.items() if connection in ready):
                try:
                    kind, answer = self.connections[i].recv()
                except (EOFError, OSError):
                    code = self.processes[i].wait()
                    raise EnvironmentFailure(f"a process that stepped it ended with exit code {code}") from None
                if kind == "error":
                    raise EnvironmentFailure(answer)
                answers[i] = answer
        return [answers[i] for i in range(len(self.connections))]


def _seeds(seed: int, share: Int[np.ndarray, " scenes"]) -> list[int]:
    return [seed + int(i) for i in share]


def _start(command: list[str], descriptor: int, settings: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, pass_fds=[descriptor], stdin=subprocess.DEVNULL, env=settings)
