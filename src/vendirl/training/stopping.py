"""Signals that ask a run to stop: it finishes what it is at, saves, and says how to go on.

Ctrl-C sends SIGINT, whoever ends jobs (Slurm, Kubernetes, spot machines) SIGTERM, and a terminal that is closed SIGHUP.
A compiled program cannot be left in its midst, so the signal is noted, and looked at between blocks of epochs. While
the host steps an environment, which may be slow or hang, the signal ends that at once. Whoever asks again is told that
the run is being saved; nothing but SIGKILL and SIGQUIT (Ctrl-\\) ends it without.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

HANDLED = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Interrupted(KeyboardInterrupt):
    """Training was stopped by Ctrl-C, after saving."""

    code = 128 + signal.SIGINT


class Terminated(SystemExit):
    """Training was stopped by a signal such as SIGTERM, after saving. A script that does not catch it exits with 128
    and the number of the signal, as if the signal had ended it."""

    def __init__(self, message: str, number: int):
        super().__init__(128 + number)
        self.message = message

    def __str__(self) -> str:
        return self.message


class Asked(BaseException):
    """Raised in the midst of what may be left at once, and out of a run to what it is a part of."""


class Stopping:
    """Whether the run was asked to stop; signals are handled within `with`, in the main thread only."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self.saving = False
        self._at_once = False
        self._before: dict[int, Any] = {}
        self._around: Stopping | None = None

    def __enter__(self) -> Stopping:
        if threading.current_thread() is threading.main_thread():
            for number in HANDLED:
                before = signal.getsignal(number)
                # What is ignored stays so (nohup); what was set outside of Python could not be set again.
                if before is not None and before != signal.SIG_IGN:
                    self._before[number] = before
                    around = getattr(before, "__self__", None)
                    self._around = around if isinstance(around, Stopping) else self._around
                    signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        self._before = {}

    def left(self, message: str) -> Interrupted | Terminated | Asked:
        """What to raise when all is saved. If this is within something larger that was asked to stop by that, that has
        the word, and says how it goes on."""
        number = signal.SIGINT if self.signal is None else self.signal
        if self._around is None:
            return left(message, number)
        self._around.signal = number
        return Asked(message)

    def check(self) -> None:
        """Raise `Asked` if the run was asked to stop."""
        if self.signal is not None:
            raise Asked

    @contextlib.contextmanager
    def at_once(self, really: bool = True) -> Iterator[None]:
        """Within this, a signal is not only noted, but raises `Asked`."""
        self.check()
        self._at_once = really
        try:
            yield
        finally:
            self._at_once = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            return _say("the run is being saved; please wait" if self.saving else "the run ends soon; please wait")
        self.signal = number
        if self._at_once:
            self._at_once = False
            raise Asked
        if sys.stderr is not None and sys.stderr.isatty():
            _say("stopping as soon as what is being computed is done, and saving")
        return None


@contextlib.contextmanager
def leaving(message: Callable[[], str]) -> Iterator[Stopping]:
    """Within this, whoever asks to stop ends what is being done at once, a run as soon as it is saved.

    Args:
        message: gives what is then said of how far it is and how it goes on.
    """
    with Stopping() as stopping:
        try:
            with stopping.at_once():
                yield stopping
        except (Asked, KeyboardInterrupt):
            raise stopping.left(message()) from None


def left(message: str, number: int) -> Interrupted | Terminated:
    """What to raise when the run is saved. For whoever is not at the keyboard the message is also printed."""
    if number == signal.SIGINT:
        return Interrupted(message)
    _say(message)
    return Terminated(message, number)


def _say(message: str) -> None:
    with contextlib.suppress(RuntimeError, OSError, ValueError):  # it may be within a print, or nobody may listen
        print(f"vendirl: {message}", file=sys.stderr, flush=True)
