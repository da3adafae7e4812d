"""The fraction of the attainable score that skills reach in the paper's plane: eight similarities.

python benchmarks/training.py [seeds]      five if not said, about half an hour on two cores
"""

from __future__ import annotations

import sys

import numpy as np

import vendirl as vr
from timing import table
from vendirl.cli import keep_compiled_programs
from vendirl.training.driver import run as train
from vendirl.training.settings import Settings

GOALS = {
    ("mmd(scale=1)", 8): 0.99,
    ("mmd(scale=4)", 8): 0.99,
    ("cosine(center=0.5)", 8): 0.99,
    ("angle(scale=4, center=0.5)", 8): 0.97,
    ("covariance(scale=50)", 8): 0.95,
    ("covariance(scale=200)", 8): 0.95,
    ("covariance(scale=0.5, log=True)", 8): 0.95,
    ("0.5*cosine(center=0.5) + 0.5*covariance(scale=200)", 16): 0.93,
}


def run(seeds: int = 5) -> str:
    keep_compiled_programs()  # the seeds of a row share their program
    rows = []
    for (similarity, n), goal in GOALS.items():
        ceiling = vr.attainable("point", similarity, n).score
        scores, seconds = [], []
        for seed in range(seeds):
            this = train(Settings(similarity=similarity, skills=n, seed=seed))
            scores.append(float(this.score().score))
            seconds.append(this.wall_seconds)
        fractions = np.array(scores) / ceiling
        rows.append(
            [
                f"`{similarity}`",
                f"{n}",
                f"{np.median(scores):.3f}",
                f"{ceiling:.3f}",
                f"{np.median(fractions):.1%}",
                f"{fractions.min():.1%} to {fractions.max():.1%}",
                f"{goal:.0%}",
                f"{np.median(seconds):.0f}",
            ]
        )
        print(*rows[-1], sep="\t", flush=True)
    header = ["similarity", "skills", "score", "attainable", "fraction", "of the seeds", "goal", "seconds each"]
    return table("Skills learned with the defaults", header, rows)


if __name__ == "__main__":
    print(run(*map(int, sys.argv[1:])))
