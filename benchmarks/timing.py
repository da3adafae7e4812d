"""Time two ways of doing the same thing side by side, so that a noisy machine disturbs both alike."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # see vendirl._host

import jax


def seconds(
    *functions: Callable[[], object],
    repeat: int = 5,
    least: float = 0.02,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """The shortest time of a call of each function, measured in turns after one call that compiles. With
    `time.process_time` for a clock it is the time that processors worked, whatever else they had to do."""
    calls = []
    for function in functions:
        jax.block_until_ready(function())
        start = clock()
        jax.block_until_ready(function())
        calls.append(max(1, int(least / max(clock() - start, 1e-9))))
    best = [float("inf")] * len(functions)
    for _ in range(repeat):
        for i, function in enumerate(functions):
            start = clock()
            for _ in range(calls[i]):
                result = function()
            jax.block_until_ready(result)
            best[i] = min(best[i], (clock() - start) / calls[i])
    return best


def table(title: str, header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [f"**{title}**", "", "| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"
