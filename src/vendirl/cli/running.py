"""What the command line does with a command: it reads it, runs it, and says in one line what is wrong with it."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import os
import sys
import warnings
from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Annotated, Any

import tyro
from tyro.conf import subcommand

from vendirl._host import keep_compiled_programs, undisturbed
from vendirl._text import printable
from vendirl.cli import COMMANDS, command_named
from vendirl.cli.command import Command
from vendirl.cli.refusals import in_one_line
from vendirl.environments.host import EnvironmentFailure
from vendirl.training.stopping import Terminated

USUAL = {"train": ("--no-resume",)}
"""Words that commands have always understood, and that say what is done anyway."""
MISTAKES = (
    ValueError,
    TypeError,
    KeyError,
    OSError,
    FloatingPointError,
    ImportError,
    MemoryError,
    EnvironmentFailure,
)
"""What is said in one line, rather than with a traceback."""


def run(arguments: Sequence[str] | None) -> int:
    """Run the command that the arguments name; returns the exit code."""
    code = _run(arguments)
    if code and "vendirl.training.processes" in sys.modules:
        from vendirl.training import processes

        if processes.count() > 1:
            processes.leave(code)
    return code


def _run(arguments: Sequence[str] | None) -> int:
    usual, warnings.formatwarning = warnings.formatwarning, _warning
    try:
        with in_one_line(), undisturbed():
            chosen = _chosen(list(sys.argv[1:] if arguments is None else arguments))
        keep_compiled_programs()
        gc.freeze()  # what was imported stays: looking through it again and again would take a tenth of the start
        chosen = dataclasses.replace(chosen, arguments=tuple(sys.argv[1:] if arguments is None else arguments))
        chosen.prepare()
        chosen.run()
    except Terminated as stop:  # it has said why and how to go on
        return int(stop.code or 0)
    except KeyboardInterrupt as stop:
        print(f"\n{_lines(stop)}" if str(stop) else "\nstopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # whoever reads has read enough, such as `vendirl list | head`
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains at its end
        return 141
    except MISTAKES as error:
        if os.environ.get("VENDIRL_TRACEBACK"):
            raise
        print(f"vendirl: {_lines(error)}", file=sys.stderr)
        if isinstance(error, EnvironmentFailure) and arguments is None:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(2)  # threads that hang in an environment would keep the process from ending
        return 2
    finally:
        warnings.formatwarning = usual
    return 0


def _chosen(arguments: list[str]) -> Command:
    """The command that was asked for, with its arguments."""
    if arguments and arguments[0] in COMMANDS:  # the others need not be imported
        name, *rest = arguments
        rest = [word for word in rest if word not in USUAL.get(name, ())]
        return tyro.cli(command_named(name), prog=f"vendirl {name}", args=rest)
    kinds: Any = reduce(or_, (Annotated[command_named(name), subcommand(name)] for name in COMMANDS))
    about = "Skills that are diverse in the sense you ask for. Start with: vendirl demo"
    return tyro.cli(kinds, prog="vendirl", description=about, args=arguments)


def _lines(message: object) -> str:
    """A message, line by line, with whatever it quotes from files made harmless for a terminal."""
    return "\n".join(map(printable, str(message).split("\n")))


def _warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    return f"vendirl: warning: {_lines(message)}\n"
