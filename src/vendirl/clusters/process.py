"""A process of its own for each task, wherever it is started: here, in a Ray worker, or in a Slurm job.

A process that was killed takes nothing with it but itself, and what it is told before JAX is imported holds for it.
This file imports nothing but Python, since it is also what a cluster's own processes import.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from typing import Any

WORKER = "vendirl.clusters.worker"

_alive: set[subprocess.Popen[bytes]] = set()
_lock = threading.Lock()


def carried_out(task: str, surroundings: Mapping[str, str]) -> dict[str, str]:
    """The outcome of a task, carried out in a new process: {"end": ..., "why": ...}, as in `clusters.task`.

    Args:
        task: the task as text.
        surroundings: variables of the process's environment, in addition to those that there are.
    """
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", WORKER],  # -P: the current folder may hold files of others
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, **surroundings},
            start_new_session=True,  # Ctrl-C reaches whoever started it, who asks it to end
        )
        with _lock:
            _alive.add(process)
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            with contextlib.suppress(BrokenPipeError):  # it is gone already, and is said to be
                process.stdin.write(task.encode() + b"\n")
                process.stdin.flush()
            while process.poll() is None:  # Ray interrupts what computes, but not what waits for a file
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(0.5)
            said = process.stdout.read()
        finally:
            _ask_to_end(process)
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
            with _lock:
                _alive.discard(process)
        return _outcome(process.returncode, said, errors)


def end_all() -> None:
    """Ask all processes that this one has started for tasks to save and end."""
    with _lock:
        for process in _alive:
            _ask_to_end(process)


def wait_for_all() -> None:
    """Wait until all of them have ended."""
    with _lock:
        alive = list(_alive)
    for process in alive:
        process.wait()


def let_jobs_be_interrupted() -> None:
    """Let SIGINT end what is started from here, as Ray and submitit do with what they run on this machine.

    Where this process was told to ignore it, such as in the background of a shell, those that it starts would ignore it
    too. A handler that does nothing is not inherited, so they heed it as usual.
    """
    main = threading.current_thread() is threading.main_thread()
    if main and signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda *_: None)


def _ask_to_end(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()


def _outcome(code: int, said: bytes, errors: Any) -> dict[str, str]:
    """What the process said or, if it did not live to say anything, how it ended and the last line of its errors."""
    with contextlib.suppress(ValueError, KeyError):
        found = json.loads(said)
        return {"end": str(found["end"]), "why": str(found["why"])}
    how = f"exit code {code}"
    if code < 0:
        with contextlib.suppress(ValueError):
            how = signal.Signals(-code).name
    last = _last_line(errors)
    return {"end": "lost", "why": f"its process ended by {how}" + (f": {last}" if last else "")}


def _last_line(errors: Any) -> str:
    size = errors.seek(0, os.SEEK_END)
    errors.seek(max(0, size - 4096))
    lines = errors.read().decode("utf-8", "replace").split("\n")
    return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "")
