"""The command line: one file for each command, and their names."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from vendirl._host import keep_compiled_programs, undisturbed

if TYPE_CHECKING:
    from vendirl.cli.command import Command

__all__ = ["COMMANDS", "command_named", "keep_compiled_programs", "main", "progress_bar"]

COMMANDS = {
    "train": "train.Train",
    "score": "score.Score",
    "report": "report.Report",
    "compare": "compare.Compare",
    "sweep": "sweep.Sweep",
    "benchmark": "benchmark.Benchmark",
    "transfer": "transfer.Transfer",
    "video": "video.Video",
    "policy": "policy.Policy",
    "demo": "demo.Demo",
    "figure2": "figure2.Figure2",
    "figure6": "figure6.Figure6",
    "list": "listing.List",
}
"""The commands, and the file here and class in it that each of them is."""


def command_named(name: str) -> type[Command]:
    """The class of a command."""
    file, _, kind = COMMANDS[name].partition(".")
    return getattr(importlib.import_module(f"vendirl.cli.{file}"), kind)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    with undisturbed():
        from vendirl.cli.running import run
    return run(arguments)


def __getattr__(name: str) -> Any:
    if name == "progress_bar":  # imported late: most of the command line needs no bar
        return importlib.import_module("vendirl.training.progress").progress_bar
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
