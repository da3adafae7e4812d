"""How much of the unbounded plane methods reach: cells of 0.1 x 0.1 that eight skills visit, five seeds.

python benchmarks/coverage.py      about five minutes; it goes on where it stopped
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from timing import table
from vendirl.cli import keep_compiled_programs
from vendirl.clusters.comparing import contestants, train_all
from vendirl.data import read, sources_in
from vendirl.evaluation.measures.coverage import state_coverage
from vendirl.training.settings import Settings

METHODS = ["random", "diayn", "metra", "csf", "vendirl"]
CELL = 0.1


def run(out: Path = Path("runs/coverage"), steps: float = 1e6, seeds: int = 5) -> str:
    settings = Settings(env="open", skills=8, seeds=seeds, steps=steps)
    rows = []
    for name, folder in train_all(contestants(METHODS, ["mmd(scale=4)"], settings), out).items():
        found = [read(path) for path in sources_in(folder)]
        cells = [state_coverage(data, bin=CELL).value for data in found]
        reach = [np.linalg.norm(data.observations - 0.5, axis=-1).max() for data in found]
        spread = f"{min(cells):.0f} to {max(cells):.0f}"
        rows.append([f"`{name}`", f"{np.median(cells):.0f}", spread, f"{np.median(reach):.2f}"])
        print(*rows[-1], sep="\t", flush=True)
    title = (
        f"The unbounded plane: cells of {CELL} x {CELL} that eight skills visit in five episodes each, {seeds} seeds"
    )
    return table(title, ["method", "cells, median", "of the seeds", "farthest from the start, median"], rows)


if __name__ == "__main__":
    keep_compiled_programs()
    print(run())
