"""The Vendi Score of many items: exact at 4,096 against the package `vendi_score`, and intervals at 100,000.

`python benchmarks/large.py` prints both tables; each method's interval at 4,096 items must hold the exact score.
"""

from __future__ import annotations

import math
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from timing import table

FEW, MANY, FEATURES, CLUSTERS = 4096, 100_000, 16, 50
SPREAD = 0.05  # of the items of a cluster, in each feature; the centres' is 1
HEADER = ["items", "q", "method", "score", "interval", "confidence", "error", "seconds", "peak memory"]
AT_FEW = (
    (1, "exact", {}),
    (1, "pivoted Cholesky", {"rank": 1024}),
    (1, "stochastic Lanczos", {"rank": 512}),
    (1, "random features", {"features": 512}),
    (2, "exact", {}),
    (2, "order 2", {}),
    (math.inf, "exact", {}),
    (math.inf, "stochastic Lanczos", {"rank": 64, "steps": 24}),
)
AT_MANY = (
    (2, "auto", {}),
    (1, "pivoted Cholesky", {}),
    (1, "random features", {"features": 256}),
    (1, "stochastic Lanczos", {"rank": 1024, "steps": 10}),
)


def mixture(n: int) -> np.ndarray:
    """(n, FEATURES) items around CLUSTERS centres."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(CLUSTERS, FEATURES))
    return centres[rng.integers(CLUSTERS, size=n)] + SPREAD * rng.normal(size=(n, FEATURES))


def one(n: int, q: float, method: str, settings: dict) -> None:
    """Print a row, from a process of its own, so that its peak of memory is its own."""
    from vendirl.score.large import vendi_score_of_items

    X = mixture(n)
    start = time.perf_counter()
    found = vendi_score_of_items(X, q=q, method=method, **settings)
    took = time.perf_counter() - start
    status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    peak = int(status["VmHWM"].split()[0]) / 2**20  # unlike ru_maxrss, not that of the process which started this one
    name = found.method + "".join(f", {key} {value:,.3g}" for key, value in found.details.items())
    print(
        f"{n:,}",
        f"{q:g}",
        name if method != "auto" else f"{name} (chosen)",
        f"{found.score:.5g}",
        f"[{found.lower:.5g}, {found.upper:.5g}]",
        "certain" if found.confidence == 1 else f"{found.confidence:.0%}",
        f"{found.error:.1g}" if found.error < 1e-3 else f"{found.error:.1%}",
        f"{took:.1f}",
        f"{peak:.1f} GB",
        sep="\t",
    )


def apart(n: int, q: float, method: str, settings: dict) -> list[str]:
    command = [sys.executable, __file__, "one", repr((n, str(q), method, settings))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    row = done.stdout.strip().split("\t")
    print(*row, sep="\t", flush=True)
    return row


def against_the_package() -> tuple[float, float]:
    """Seconds of `vendi_score` and of the package on the same K of FEW items."""
    import vendirl as vr

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from vendi_score import vendi as package

        X = mixture(FEW)
        square = np.square(X).sum(1)
        K = np.exp(-np.maximum(square[:, None] + square - 2 * X @ X.T, 0))
        np.fill_diagonal(K, 1)
        np.testing.assert_allclose(vr.vendi_score(K), package.score_K(K), rtol=1e-9)
        times: list[list[float]] = [[], []]
        for _ in range(2):  # in turns
            for found, score in zip(times, (vr.vendi_score, package.score_K), strict=True):
                start = time.perf_counter()
                score(K)
                found.append(time.perf_counter() - start)
    return min(times[0]), min(times[1])


def run() -> str:
    ours, theirs = against_the_package()
    print(f"{FEW:,} items: {ours:.1f} s, package {theirs:.1f} s", flush=True)
    few = [apart(FEW, *case) for case in AT_FEW]
    exact = {row[1]: float(row[3]) for row in few if row[2] == "exact"}
    for row in few:
        lower, upper = (float(end) for end in row[4].strip("[]").split(","))
        assert lower * (1 - 1e-4) <= exact[row[1]] <= upper * (1 + 1e-4), f"{row} does not hold {exact[row[1]]}"
    many = [apart(MANY, *case) for case in AT_MANY]
    title = f"Items with {FEATURES} features in {CLUSTERS} clusters, `rbf`: the score and the interval that holds it"
    package = f"`vendi_score` of all {FEW:,} items: {ours:.1f} s, {theirs / ours:.2f}x as fast as the package's.\n"
    return table(title, HEADER, few + many) + "\n" + package


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        import ast

        n, q, method, settings = ast.literal_eval(sys.argv[2])
        one(n, float(q), method, settings)
    else:
        print(run())
