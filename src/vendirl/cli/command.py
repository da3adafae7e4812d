"""What all commands share."""

from __future__ import annotations

import dataclasses
import importlib
import os
import sys
from typing import Annotated

import tyro


@dataclasses.dataclass(frozen=True, kw_only=True)
class Command:
    """A command; its fields are its arguments.

    Attributes:
        imports: A module of your own to import first, which makes known the similarities, methods, learners,
            measures or environments that it defines. It may be given several times.
        arguments: What was written after the name of the program.
    """

    imports: Annotated[tuple[str, ...], tyro.conf.arg(name="import"), tyro.conf.UseAppendAction] = ()
    arguments: tyro.conf.Suppress[tuple[str, ...]] = ()

    @property
    def given(self) -> frozenset[str]:
        """The arguments that were given in so many words, such as "scenes" or "sac.updates", also where they say what
        is usual."""
        flags = [word[2:].partition("=")[0].replace("-", "_") for word in self.arguments if word.startswith("--")]
        paths = (flag.rpartition(".") for flag in flags)
        return frozenset(f"{inside}{dot}{name.removeprefix('no_')}" for inside, dot, name in paths)

    def run(self) -> None:
        """Do what the command is for."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Import what was asked for, from the current folder too."""
        if self.imports and "" not in sys.path and os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
        for name in self.imports:
            try:
                importlib.import_module(name)
            except ModuleNotFoundError as error:
                if error.name != name.partition(".")[0]:
                    raise
                raise ValueError(f"--import {name}: there is no such module here or installed") from None
