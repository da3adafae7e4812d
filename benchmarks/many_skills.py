"""Many skills: whether sharing scores and keeping memories costs any score, and a thousand of them trained.

python benchmarks/many_skills.py                 five seeds of 256 skills: exact, and with scores shared by steps
python benchmarks/many_skills.py 128 2           128 skills, two seeds
python benchmarks/many_skills.py thousand        1,024 skills by default settings, and their picture
"""

from __future__ import annotations

import sys
import time

import numpy as np

import vendirl as vr
from timing import table

SENSES = ("mmd(scale=4)", "0.5*cosine(center=0.5, scaled=True) + 0.5*covariance(scale=200)")
WAYS = ((1, 1), (10, 1), (25, 1), (10, 4), (25, 10))
"""`every` and `keep`."""
SCENES = 64
EPOCHS = 200


def harm(n: int = 256, seeds: int = 5) -> str:
    """Final scores by how steps are scored and memories are kept, as fractions of those of the exact reward."""
    rows = []
    for k in SENSES:
        exact: np.ndarray | None = None
        for every, keep in WAYS:
            scores, start = [], time.process_time()
            for seed in range(seeds):
                run = vr.train(
                    "point",
                    k,
                    skills=n,
                    scenes=SCENES,
                    steps=SCENES * 50 * EPOCHS,
                    seed=seed,
                    every=every,
                    keep=keep,
                    devices=1,
                    progress=False,
                )
                scores.append(float(run.score().score))
            each = (time.process_time() - start) / seeds
            found = np.array(scores)
            exact = found if exact is None else exact
            ratio = found / exact
            rows.append(
                [
                    f"`{k}`",
                    f"{every}",
                    f"{keep}",
                    f"{found.mean():.3f}",
                    f"{ratio.mean():.2%}",
                    f"{ratio.min():.2%} to {ratio.max():.2%}",
                    f"{each:.1f} s",
                ]
            )
            print(*rows[-1], sep="\t", flush=True)
    header = ["similarity", "every", "keep", "score", "of the exact", "of the seeds", "processor, with compiling"]
    return table(f"{n} skills, {SCENES} scenes, {EPOCHS} epochs, {seeds} seeds", header, rows)


def thousand(n: int = 1024) -> str:
    """As many skills by default settings in the plane, and what fraction of the attainable score they have."""
    start, work = time.perf_counter(), time.process_time()
    run = vr.train("point", "mmd(scale=4)", skills=n, progress=False)
    seconds, worked = time.perf_counter() - start, time.process_time() - work
    score = float(run.score().score)
    run.figure().savefig(f"skills-{n}.png", dpi=100)
    ceiling = float(vr.attainable("point", "mmd(scale=4)", n, restarts=1, iterations=300))
    row = [f"{n:,}", f"{score:.2f}", f"{ceiling:.2f}", f"{score / ceiling:.1%}", f"{seconds:.0f} s", f"{worked:.0f} s"]
    header = ["skills", "score", "attainable", "fraction", "time", "processors"]
    return table("Very many skills by default settings, in the plane", header, [row])


if __name__ == "__main__":
    print(thousand() if sys.argv[1:] == ["thousand"] else harm(*map(int, sys.argv[1:])))
