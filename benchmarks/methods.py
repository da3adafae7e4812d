"""The central table: VendiRL and its rivals, same learner, environment and budget, five seeds, scored in four senses.

python benchmarks/methods.py [point] [maze] [diayn metra ...]

All worlds, or all rivals, if none is named; about a minute for each method. It goes on where it stopped.
"""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console

from timing import table
from vendirl.cli import keep_compiled_programs
from vendirl.evaluation import Comparison
from vendirl.training.comparing import contestants, score_all, train_all, write_results
from vendirl.training.settings import Settings

WORLDS = ["point", "maze"]
SENSES = ["mmd(scale=4)", "angle(scale=4, center=0.5)", "covariance(scale=200)", "overlap"]
RIVALS = ["random", "diayn", "diayn-sn", "vic", "rvic", "dads", "lsd", "metra", "csf", "visr", "aps", "becl", "cic"]
RIVALS += ["disk", "wurl", "eigenoptions"]
OURS = [f"vendirl(similarity='{k}')" for k in SENSES]


def _announce(entrant) -> None:
    print(entrant.name, flush=True)


def run(env: str, rivals: list[str], out: Path, steps: float = 1e6, seeds: int = 5) -> str:
    settings = Settings(env=env, skills=8, seeds=seeds, steps=steps)
    entrants = contestants([*OURS, *rivals], SENSES, settings)
    folders = train_all(entrants, out, _announce)
    comparison, found = score_all(folders, SENSES)
    write_results(out, comparison, found)
    title = f"{env}: eight skills, {seeds} seeds, {steps:g} steps; interquartile mean and 95% interval"
    return _summary(comparison, title) + "\n" + _every_method(comparison, title)


def _summary(comparison: Comparison, title: str) -> str:
    """VendiRL in the sense that it was trained in, and the best of the others in that sense."""
    rows = []
    for j, (k, ours) in enumerate(zip(SENSES, OURS, strict=True)):
        mine = comparison.methods.index(ours)
        best = max(_rivals(comparison), key=lambda i: comparison.iqm[i, j])
        low, high = comparison.intervals[:, j].T
        verdict = "yes" if low[mine] > high[_rivals(comparison)].max() else "no"
        rows.append(
            [
                f"`{k}`",
                _cell(comparison, mine, j),
                f"{_cell(comparison, best, j)} `{comparison.methods[best]}`",
                verdict,
            ]
        )
    return table(title, ["similarity", "VendiRL, trained by it", "best of the others", "clearly first"], rows)


def _every_method(comparison: Comparison, title: str) -> str:
    rows = [
        [f"`{method}`", *(_cell(comparison, i, j) for j in range(len(SENSES)))]
        for i, method in enumerate(comparison.methods)
    ]
    return table(title, ["method", *(f"`{k}`" for k in SENSES)], rows)


def _rivals(comparison: Comparison) -> list[int]:
    return [i for i, method in enumerate(comparison.methods) if method not in OURS]


def _cell(comparison: Comparison, i: int, j: int) -> str:
    low, high = comparison.intervals[i, j]
    text = f"{comparison.iqm[i, j]:.3f} ({low:.3f} to {high:.3f})"
    return f"**{text}**" if i == comparison.iqm[:, j].argmax() else text


if __name__ == "__main__":
    keep_compiled_programs()
    worlds = [name for name in sys.argv[1:] if name in WORLDS] or WORLDS
    rivals = [name for name in sys.argv[1:] if name not in WORLDS] or RIVALS
    for env in worlds:
        text = run(env, rivals, Path("runs") / f"methods-{env}")
        Console().print(text, markup=False, highlight=False, soft_wrap=True)
