"""Processes that are forked, disturbed and observed: how they end, what they say, and what time they take."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

PLACE = Path(tempfile.mkdtemp(prefix="vendirl-faults-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
"""Where everything happens: in memory, if that is possible, since what a process has written outlasts it there too."""

# What JAX is told, before anything imports it: programs are kept here, and compiling must not take longer than they do.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # see vendirl._host
os.environ.setdefault("JAX_NUM_CPU_DEVICES", "2")
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(PLACE / "cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")


class LostError(Exception):
    """What a fault destroyed."""


def adopt() -> None:
    """Become the parent of whatever a process leaves behind that was forked here, so that it can be seen."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0)


def left_behind(seconds: float = 3.0) -> int:
    """How many processes are still there that should have ended, after so many seconds; they are ended."""
    deadline, there = time.monotonic() + seconds, Path(f"/proc/self/task/{os.getpid()}/children")
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                if time.monotonic() > deadline:
                    break
                time.sleep(0.01)
        except ChildProcessError:
            return 0
    pids = [int(pid) for pid in there.read_text().split()]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return len(pids)


_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of prctl."""


class Process:
    """A forked process; all that it says goes into a file. Nothing may have been computed by JAX before it is forked.

    Attributes:
        cpu_seconds: what all of them that have ended took of the processor.
    """

    cpu_seconds: ClassVar[float] = 0.0

    def __init__(self, task: Callable[..., int], *arguments: Any, **named: Any):
        self.log = PLACE / f"log-{time.monotonic_ns()}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # JAX warns of forks
            self.pid = os.fork()
        if self.pid == 0:
            code = 70
            try:
                signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which may be ignored here, under nohup or in a script
                signal.signal(signal.SIGINT, signal.default_int_handler)
                descriptor = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
                os.dup2(descriptor, 1)
                os.dup2(descriptor, 2)
                sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
                code = task(*arguments, **named)
            except BaseException:
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
        """Whether it ends before so many seconds have passed."""
        deadline = time.monotonic() + seconds
        while self.code is None:
            pid, status, used = os.wait4(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
                Process.cpu_seconds += used.ru_utime + used.ru_stime
            elif time.monotonic() > deadline:
                return False
            else:
                time.sleep(0.005)
        return True

    def until(self, condition: Callable[[], bool], seconds: float = 120.0) -> None:
        """Wait until something is so, or the process ends."""
        deadline = time.monotonic() + seconds
        while not condition() and not self.ends_within(0.0) and time.monotonic() < deadline:
            time.sleep(0.002)

    def send(self, number: int) -> None:
        """Send it a signal, if it is still there."""
        if self.code is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """kill -9"""
        self.send(signal.SIGKILL)
        self.wait()

    @property
    def said(self) -> str:
        """All that it wrote to its standard output and errors."""
        return self.log.read_text() if self.log.exists() else ""

    def expect(self, *codes: int) -> str:
        """What it said, if it ended with one of these codes, and without a traceback."""
        code = self.wait()
        if "Traceback" in self.said or code not in codes:
            raise LostError(f"exit code {code}: {' / '.join(self.said.splitlines()[-2:])}")
        return self.said

    def expect_one_line(self, code: int, *words: str) -> None:
        """The same, and what it said is one line with these words."""
        said = self.expect(code)
        lines = [line for line in said.splitlines() if line.strip()]
        if len(lines) != 1 or not all(word in lines[0] for word in words):
            raise LostError(f"it should have said one line with {words}, but said {said[-300:]!r}")
