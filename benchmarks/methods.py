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
    methods = comparison.methods
    rows = [[f"`{method}`"] for method in methods]
    for j in range(len(SENSES)):
        low, high = comparison.intervals[:, j].T
        best = int(comparison.iqm[:, j].argmax())
        # VendiRL in another sense is the same method, and no rival of itself.
        others = [i for i, m in enumerate(methods) if i != best and not (m in OURS and methods[best] in OURS)]
        for i, row in enumerate(rows):
            text = f"{comparison.iqm[i, j]:.3f} ({low[i]:.3f} to {high[i]:.3f})"
            clear = " *" if low[best] > high[others].max() else ""
            row.append(f"**{text}**{clear}" if i == best else text)
    title = f"{env}: eight skills, {seeds} seeds, {steps:g} steps; interquartile mean and 95% interval"
    return table(title, ["method", *(f"`{k}`" for k in SENSES)], rows)


if __name__ == "__main__":
    keep_compiled_programs()
    worlds = [name for name in sys.argv[1:] if name in WORLDS] or WORLDS
    rivals = [name for name in sys.argv[1:] if name not in WORLDS] or RIVALS
    for env in worlds:
        text = run(env, rivals, Path("runs") / f"methods-{env}")
        Console().print(text, markup=False, highlight=False, soft_wrap=True)
