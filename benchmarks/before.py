"""What the README's benchmarks measure, now and at an earlier commit, in turns, so that a noisy machine disturbs both.

python benchmarks/before.py 0398f0b [--rounds 15] [--only training start]

The earlier commit gets a work tree of its own and, like the code that is here, a process for each measure, which runs
the code of its own benchmarks. Each round measures both; printed are the median of the ratios of times, before / now,
so that more than 1 is faster now, and the middle half of them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
SKILLS = (8, 16, 32, 64, 128, 256)


def measures() -> dict[str, Callable[[], Callable[[], object]]]:
    """By name what makes a call to be timed, with the code that is first on the path."""
    found: dict[str, Callable[[], Callable[[], object]]] = {}
    for n in SKILLS:
        found[f"reward, {n} skills, 50 steps at once"] = lambda n=n: _reward(n, 50)
    for n in (8, 256):
        found[f"reward, {n} skills, one step"] = lambda n=n: _reward(n, 1)
    for n, batch in ((8, 1), (64, 1), (512, 1), (2048, 1), (8, 1024), (64, 256)):
        found[f"vendi_score, {batch} of {n} items"] = lambda n=n, batch=batch: _score(n, batch)
    for whose in ("a memory for each scene", "one memory"):
        found[f"relabelling, {whose}"] = lambda whose=whose: _relabelling(whose)
    for n, devices in ((8, 0), (64, 0), (8, 1)):
        where = "one device" if devices == 1 else "all devices"
        found[f"training, {n} skills, {where}"] = lambda n=n, devices=devices: _training(n, devices)
    found["training, DIAYN with SAC"] = _sac
    return found


def _reward(n: int, steps: int) -> Callable[[], object]:
    import jax
    import jax.numpy as jnp

    import reward

    rng = np.random.default_rng(n)
    means = rng.normal(size=(reward.SCENES, n, 2)).astype(np.float32)
    new = rng.normal(size=(reward.SCENES, steps, 2)).astype(np.float32)
    kernels = jnp.asarray(np.exp(-np.linalg.norm(means[:, :, None] - means[:, None], axis=-1)))
    rows = jnp.asarray(np.exp(-np.linalg.norm(new[:, :, None] - means[:, None], axis=-1)))
    borders, skills = jax.block_until_ready(reward.prepare(kernels)), jnp.asarray(rng.integers(n, size=reward.SCENES))
    return lambda: reward.score(borders, skills, rows)


def _score(n: int, batch: int) -> Callable[[], object]:
    import vendirl as vr

    X = np.random.default_rng(n).normal(size=(batch, n, n))
    X /= np.linalg.norm(X, axis=-1, keepdims=True)
    K = X @ np.swapaxes(X, -1, -2)
    return lambda: vr.vendi_score(K[0] if batch == 1 else K)


def _relabelling(whose: str) -> Callable[[], object]:
    import jax
    import jax.numpy as jnp

    import vendirl as vr

    k, rng = vr.similarity.parse("0.5*cosine(center=0.5) + 0.5*covariance(scale=200)"), np.random.default_rng(0)
    walks = jnp.asarray(0.5 + rng.normal(size=(1024, 16, 50, 2)).cumsum(2) / 50, jnp.float32)
    new = jnp.asarray(0.5 + rng.normal(size=(1024, 50, 2)).cumsum(1) / 50, jnp.float32)
    goals = jnp.asarray(rng.integers(16, size=1024))

    def rewards(walk, goal, x):
        memory = vr.SkillMemory.fill(k, walk)
        return vr.Following.start(memory, goal).observe(
            k, memory, vr.Border.of(memory.kernel, psd=k.psd), x, "derivative"
        )[1]

    each = jax.jit(jax.vmap(rewards, in_axes=(0 if whose == "a memory for each scene" else None, 0, 0)))
    some = walks if whose == "a memory for each scene" else walks[0]
    return lambda: each(some, goals, new)


def _training(n: int, devices: int) -> Callable[[], object]:
    import throughput
    from vendirl.training.settings import Settings

    return throughput.ours(Settings(similarity="mmd(scale=4)", skills=n, scenes=256, devices=devices))


def _sac() -> Callable[[], object]:
    import diayn

    return diayn.ours(diayn.settings())


def serve(name: str) -> None:
    """Print "ready", then the seconds of a call for every line that is read."""
    import jax

    call = measures()[name]()
    jax.block_until_ready(call())
    start = time.perf_counter()
    jax.block_until_ready(call())
    times = max(1, int(0.2 / max(time.perf_counter() - start, 1e-9)))
    print("ready", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        for _ in range(times):
            result = call()
        jax.block_until_ready(result)
        print(json.dumps((time.perf_counter() - start) / times), flush=True)


def surroundings(tree: Path, **more: str) -> dict[str, str]:
    path = f"{tree / 'src'}{os.pathsep}{tree / 'benchmarks'}"
    return {**os.environ, "OPENBLAS_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": path, **more}


def in_turns(name: str, trees: list[Path], rounds: int) -> list[list[float]]:
    """Seconds of each tree in each round."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-P", str(Path(__file__).resolve()), "--serve", name]
    processes = [
        subprocess.Popen(command, env=surroundings(tree), stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        for tree in trees
    ]
    for process in processes:
        if not any(line.strip() == "ready" for line in process.stdout or ()):
            raise SystemExit(f"{name}: {process.communicate()[1][-500:]}")
    found: list[list[float]] = [[] for _ in trees]
    for number in range(rounds):
        for i in (0, 1) if number % 2 else (1, 0):
            process = processes[i]
            assert process.stdin
            assert process.stdout
            process.stdin.write("go\n")
            process.stdin.flush()
            found[i].append(json.loads(process.stdout.readline()))
    for process in processes:
        process.communicate()
    return found


def starts(trees: list[Path], warm: bool, rounds: int) -> list[list[float]]:
    """Seconds from the command to its first updates, with the programs of an earlier start or without."""
    found: list[list[float]] = [[] for _ in trees]
    with tempfile.TemporaryDirectory() as place:
        for number in range(rounds + warm):
            for i, tree in enumerate(trees):
                cache = Path(place) / (f"cache-{i}" if warm else f"cache-{i}-{number}")
                passed = _first_update(tree, Path(place) / f"run-{i}-{number}", cache)
                if number or not warm:
                    found[i].append(passed)
    return found


def _first_update(tree: Path, folder: Path, cache: Path) -> float:
    command = [sys.executable, "-P", "-m", "vendirl.cli", "train", "--out", str(folder)]
    start = time.perf_counter()
    process = subprocess.Popen(
        command, env=surroundings(tree, XDG_CACHE_HOME=str(cache)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    metrics = folder / "metrics.jsonl"
    while not (metrics.exists() and metrics.stat().st_size):
        if process.poll() is not None:
            raise SystemExit("the run ended before its first update")
        time.sleep(0.01)
    passed = time.perf_counter() - start
    process.kill()
    process.wait()
    return passed


def rows(trees: list[Path], rounds: int, only: list[str]) -> Iterator[list[str]]:
    wanted = [name for name in measures() if not only or any(part in name for part in only)]
    for name in wanted:
        yield _row(name, in_turns(name, trees, rounds))
    for kind in ("cold", "warm"):
        name = f"start, {kind}"
        if not only or any(part in name for part in only):
            yield _row(name, starts(trees, kind == "warm", max(3, rounds // 5)))


def _row(name: str, found: list[list[float]]) -> list[str]:
    before, now = (np.array(times) for times in found)
    low, middle, high = np.percentile(before / now, (25, 50, 75))
    return [
        name,
        f"{np.median(before) * 1e3:.3g} ms",
        f"{np.median(now) * 1e3:.3g} ms",
        f"{middle:.2f}x",
        f"{low:.2f}x to {high:.2f}x",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("commit", nargs="?", help="the earlier one")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", nargs="*", default=[], help="measures whose names have one of these in them")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        return serve(asked.serve)
    if not asked.commit:
        parser.error("say which commit to compare with, such as HEAD~10")
    with tempfile.TemporaryDirectory() as place:
        tree = Path(place) / "before"
        subprocess.run(["git", "-C", ROOT, "worktree", "add", "--quiet", "--detach", tree, asked.commit], check=True)
        try:
            print("| | before | now | before / now | half of the rounds |\n|---|---|---|---|---|")
            for row in rows([tree, ROOT], asked.rounds, asked.only):
                print(f"| {' | '.join(row)} |", flush=True)
        finally:
            subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", tree], check=False)
    return None


if __name__ == "__main__":
    main()
