"""The kernel matrix of `overlap` at scale, exactly, against a loop over pairs of skills with the package `prdc`.

Each row runs in a process of its own, whose peak of resident memory includes Python, JAX, and the data. `prdc` holds
the distances of a pair of skills all with all, three times over, which at 20,000 observations a skill is more than
10 GB; so it is timed on pairs of fewer observations, and its time for all pairs extrapolated with their square.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import subprocess
import sys
import time

import numpy as np
from scipy.signal import lfilter

import vendirl as vr
from timing import seconds, table
from vendirl.similarity.manifolds import Pool, precision_matrix

EPISODES, STEPS, FEATURES = 20, 1000, 27
FAMILIES = 8  # skills of a family overlap, from nearly all to nothing
PRDC_SIZES = (2_000, 4_000)  # observations of a skill with which `prdc` is timed


def gaits(n: int, rng: np.random.Generator, drift: float = 0.5) -> np.ndarray:
    """A body's gaits: two harmonics, an AR(1) disturbance, sensor noise, and two features that drift away."""
    t = 0.05 * np.arange(STEPS)[:, None]
    skills = np.empty((n, EPISODES, STEPS, FEATURES), np.float32)
    families = [
        (rng.uniform(0.5, 2.5), *rng.uniform((0.2, 0), (1, 6.3), (FEATURES, 2)).T, rng.normal(0, 0.5, FEATURES))
        for _ in range(FAMILIES)
    ]
    heading = rng.normal(0, drift, (FAMILIES, 2))
    for i in range(n):
        frequency, amplitude, phase, offset = families[i % FAMILIES]
        member = i // FAMILIES
        offset = offset + 0.04 * member * rng.normal(size=FEATURES)
        for episode in range(EPISODES):
            angle = 2 * np.pi * frequency * (1 + 0.03 * member) * t + phase + rng.uniform(0, 6.3)
            x = offset + amplitude * (np.sin(angle) + 0.3 * np.sin(2 * angle))
            x += lfilter([0.031], [1, -0.95], rng.normal(size=(STEPS + 100, FEATURES)), axis=0)[100:]  # AR(1)
            x += 0.02 * rng.normal(size=x.shape)
            x[:, :2] += t * heading[i % FAMILIES] * rng.uniform(0.8, 1.2)
            skills[i, episode] = x
    return skills


def clouds(n: int, rng: np.random.Generator) -> np.ndarray:
    """Independent Gaussian observations about different means: no block of them is compact, in 27 dimensions."""
    shape = (n, EPISODES, STEPS, FEATURES)
    means = rng.normal(0, 0.5, (n, 1, 1, FEATURES)).astype(np.float32)
    return rng.standard_normal(shape, np.float32) + means


KINDS = {
    "gaits that drift": gaits,
    "gaits in place": lambda n, rng: gaits(n, rng, drift=0.0),
    "the same gait": lambda n, rng: np.repeat(gaits(1, rng), n, axis=0),
    "Gaussian clouds": clouds,
}


CASES = (("gaits that drift", 64), ("gaits in place", 64), ("the same gait", 64), ("Gaussian clouds", 8))


def ours(kind: str, skills: int) -> dict:
    """Time and peak memory of the kernel matrix of so many skills."""
    trajectories = KINDS[kind](skills, np.random.default_rng(0))
    start, busy = time.perf_counter(), time.process_time()
    K = vr.kernel_matrix(vr.similarity.overlap(), trajectories)
    elapsed, busy = time.perf_counter() - start, time.process_time() - busy
    pairs = K[np.triu_indices(skills, 1)]
    return {
        "seconds": elapsed,
        "processor": busy,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "overlapping": float((pairs > 0).mean()),
        "mean": float(pairs[pairs > 0].mean()) if pairs.any() else 0.0,
    }


def theirs(kind: str, size: int) -> dict:
    """Time of `prdc` on one pair of skills with so many observations each, the same answer as ours checked."""
    from prdc import compute_prdc

    x = KINDS[kind](FAMILIES + 1, np.random.default_rng(0))[[0, FAMILIES]].reshape(2, -1, FEATURES)
    x = x[:, :: x.shape[1] // size].astype(np.float64)

    def call():
        with contextlib.redirect_stdout(io.StringIO()):
            return compute_prdc(x[0], x[1], 3)

    call()
    start, busy = time.perf_counter(), time.process_time()
    found = call()
    elapsed, busy = time.perf_counter() - start, time.process_time() - busy
    np.testing.assert_allclose(precision_matrix(list(x)), [[1, found["precision"]], [found["recall"], 1]], atol=1e-12)
    return {"seconds": elapsed, "processor": busy}


def apart(function: str, *arguments) -> dict:
    """The result of a function of this file in a process of its own, with as many threads as it likes."""
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    command = [sys.executable, __file__, function, *map(str, arguments)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def at_scale() -> str:
    measured = [apart("theirs", "gaits that drift", size) for size in PRDC_SIZES]
    for size, found in zip(PRDC_SIZES, measured, strict=True):
        print(
            f"prdc, a pair of {size:,}: {found['seconds']:.2f} s, {found['processor']:.2f} s of processors", flush=True
        )
    growth = (EPISODES * STEPS / PRDC_SIZES[-1]) ** 2
    rows = []
    for kind, n in CASES:
        found, pairs = apart("ours", kind, n), n * (n - 1) / 2
        seconds_, processor = (measured[-1][time_] * growth * pairs for time_ in ("seconds", "processor"))
        rows.append(
            [
                f"{n}: {kind}",
                f"{found['overlapping']:.0%}, {found['mean']:.2f}",
                f"{found['megabytes'] / 1024:.1f} GB",
                f"{found['seconds']:,.0f} s ({found['processor']:,.0f} s)",
                f"{seconds_:,.0f} s ({processor:,.0f} s)",
                f"{seconds_ / found['seconds']:,.0f}x ({processor / found['processor']:,.0f}x)",
            ]
        )
        print(*rows[-1], sep="\t", flush=True)
    return table(
        f"The exact `overlap` kernel of skills of {EPISODES} x {STEPS:,} observations of {FEATURES} features, and in "
        f"brackets the processor time. `prdc` 0.2 took "
        + " and ".join(f"{m['seconds']:.2f} s for a pair of {n:,}" for n, m in zip(PRDC_SIZES, measured, strict=True))
        + f" observations, from which its times at {EPISODES * STEPS:,} are extrapolated by the square",
        ["skills", "pairs that overlap, mean F1", "peak memory", "ours", "`prdc`, extrapolated", "faster"],
        rows,
    )


def in_resampling() -> str:
    """Small sets of skills, hundreds of times over."""
    from prdc import compute_prdc

    rng = np.random.default_rng(0)
    rows = []
    for n, N, T, D in ((8, 5, 50, 2), (8, 10, 50, 27)):
        x = rng.normal(size=(n, N, T, D)) + rng.normal(size=(n, 1, 1, D))
        pool = Pool(list(x.reshape(n * N, T, D)))
        groups = rng.permutation(n * N).reshape(n, N)
        skills = list(x.reshape(n, N * T, D))

        def loop(skills=skills):
            with contextlib.redirect_stdout(io.StringIO()):
                return [compute_prdc(a, b, 3) for i, a in enumerate(skills) for b in skills[:i]]

        def kernel(x=x):
            return vr.kernel_matrix(vr.similarity.overlap(), x)

        def reshuffle(pool=pool, groups=groups):
            return pool.precision(groups)

        theirs, *ours = seconds(loop, kernel, reshuffle, repeat=3)
        times = [f"{1e3 * t:,.1f} ms" for t in (theirs, *ours)]
        rows.append([f"{n} x {N} x {T} x {D}", *times, *(f"{theirs / t:.0f}x" for t in ours)])
        print(*rows[-1], sep="\t", flush=True)
    return table(
        "`overlap` of few observations",
        ["skills, episodes, steps, features", "`prdc` loop", "`kernel_matrix`", "`Pool.precision`", "faster", "faster"],
        rows,
    )


def run() -> str:
    return at_scale() + "\n" + in_resampling()


if __name__ == "__main__":
    if sys.argv[1:]:
        function, kind, size = sys.argv[1:]
        print(json.dumps({"ours": ours, "theirs": theirs}[function](kind, int(size))))
    else:
        print(run())
