"""What counts as surviving an input that nobody means to give, whichever reader or parser is given it.

Surviving: a result with nothing in it that is not finite, or an error that this library raised on purpose, in one
line, within the limits of time and memory.
"""

from __future__ import annotations

import linecache
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import vendirl

OUTCOMES = ("accepted", "refused", "traceback", "hang", "memory", "silent NaN")
SECONDS = 1.0
_LONGEST_MESSAGE = 1500
_HOMES = (str(Path(vendirl.__file__).parent), str(Path(__file__).parents[1] / "benchmarks"))


class Hang(BaseException):
    """Took too long. Not an Exception, so that nothing on the way catches it."""


class Silent(BaseException):
    """Was accepted, with something in it that is not finite or that does not read back."""


@contextmanager
def in_time(seconds: float = SECONDS) -> Iterator[None]:
    """Raise `Hang` after so many seconds of the processor, or eight times as many of waiting."""
    late: list[Hang] = []
    seen = [time.process_time()]

    def stop(number: int, _: Any) -> None:
        seen.append(time.process_time())
        if number == signal.SIGALRM and seen[-1] - seen[-2] > seconds / 10:
            signal.setitimer(signal.ITIMER_REAL, 8 * seconds)  # it does not wait: others take the processor
            return
        late.append(Hang(f"longer than {seconds:g} s"))
        raise late[0]

    timers = ((signal.ITIMER_PROF, signal.SIGPROF, seconds), (signal.ITIMER_REAL, signal.SIGALRM, 8 * seconds))
    previous = [signal.signal(number, stop) for _, number, _ in timers]
    for timer, _, limit in timers:
        signal.setitimer(timer, limit)
    try:
        yield
    finally:
        for (timer, number, _), before in zip(timers, previous, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, before)
    if late:  # it was raised where Python lets nothing out, such as the end of an object
        raise late[0]


def outcome(call: Callable[[], Any], seconds: float = SECONDS) -> tuple[str, str]:
    """One of `OUTCOMES`, and what was said. A limit of memory is that of the process."""
    try:
        with in_time(seconds):
            call()
        return "accepted", ""
    except Hang as error:
        return "hang", str(error)
    except Silent as error:
        return "silent NaN", str(error)
    except MemoryError as error:
        return "memory", str(error)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        return ("refused" if on_purpose(error) else "traceback"), said


def on_purpose(error: Exception) -> bool:
    """Whether an error is a refusal in one line, raised by a `raise` of this library."""
    if not isinstance(error, ValueError | TypeError | OSError | ImportError):
        return False
    message, trace = str(error), error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or not message or "\n" in message or len(message) > _LONGEST_MESSAGE:
        return False
    where = trace.tb_frame.f_code.co_filename
    return where.startswith(_HOMES) and linecache.getline(where, trace.tb_lineno).strip().startswith("raise")


_NOT_FINITE = re.compile(r"(?<![\w'=])-?(nan|inf)\b|=-?nan\b|(?<![\w.])0\*")


def sound_text(found: Any, parse: Callable[[str], Any]) -> None:
    """Refuse to call a similarity, method or learner sound that has weights that are not, or does not read back."""
    text = str(found)
    if _NOT_FINITE.search(re.sub(r"'[^']*'|\"[^\"]*\"", "''", text)):  # texts in it are read when they are bound
        raise Silent(text[:300])
    if len(text) < 2000 and str(parse(text)) != text:
        raise Silent(f"{text[:300]} reads back as {str(parse(text))[:300]}")
