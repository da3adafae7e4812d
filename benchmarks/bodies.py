"""Skills of bodies that were asked for by the name of the environment alone, over five seeds.

python benchmarks/bodies.py [FOLDER] [ENV ...]     runs/bodies, and all bodies of the table, if not said

Each seed is `vendirl train --env ENV --seed SEED` without another setting (`training.bodies` has what suits the body).
A seed that was trained before is not trained again, and one that was interrupted goes on. Scores are of ten held-out
episodes of each skill without noise; far and apart are what is asked of the ends of those episodes, on average for
each skill, which are counted greedily.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import vendirl as vr
from timing import table
from vendirl.evaluation.comparison import interval

ENVS = ("envpool:HalfCheetah-v5", "brax:ant", "envpool:Ant-v5", "envpool:Walker2d-v5", "envpool:Hopper-v5")
SEEDS, EPISODES = 5, 10
FAR, APART = 5.0, 30.0
"""Metres from the start, and degrees between directions."""
FASTER = 0.5
"""Metres per second between speeds that count as two."""


def directions(ends: np.ndarray, far: float = FAR, apart: float = APART) -> int:
    """How many of (n, 2) places are at least `far` from the start and `apart` degrees from each other."""
    angles = np.degrees(np.arctan2(ends[:, 1], ends[:, 0]))[np.hypot(*ends.T) >= far]
    chosen: list[float] = []
    for angle in angles:
        if all(abs((angle - other + 180) % 360 - 180) >= apart for other in chosen):
            chosen.append(angle)
    return len(chosen)


def speeds_apart(speeds: np.ndarray, apart: float = FASTER) -> int:
    """How many of the speeds are at least so far apart."""
    chosen: list[float] = []
    for speed in np.sort(speeds):
        if not chosen or speed - chosen[-1] >= apart:
            chosen.append(speed)
    return len(chosen)


def one(env: str, seed: int, folder: Path) -> dict[str, float]:
    """Train one seed, if that was not done before, and measure its skills."""
    run = vr.train(env, seed=seed, out=folder, resume="auto")
    data = run.episodes(episodes=EPISODES, draw=1)
    names = list(data.features)
    walks = np.split(data.observations, np.cumsum(data.lengths)[:-1])
    whole = data.lengths == run.environment.episode_length
    each = [data.skill == skill for skill in range(run.settings.skills)]
    found = {
        "score": float(run.score(episodes=EPISODES).score),
        "seconds": run.wall_seconds + run.compile_seconds,
        "whole": float(whole.mean()),
    }
    if "x_velocity" in names:
        means = np.array([walk[:, names.index("x_velocity")].mean() for walk in walks])
        speeds = np.array([means[of].mean() for of in each])
        print("mean x-velocities:", ", ".join(f"{speed:+.2f}" for speed in np.sort(speeds)))
        found["speeds"] = speeds_apart(speeds[[whole[of].all() for of in each]])
    kept = [names.index(name) for name in ("x", "y") if name in names]
    moved = np.array([walk[-1] for walk in walks]) - data.first_observations
    ends = np.array([moved[of][:, kept].mean(0) for of in each])
    found["metres"] = float(np.median(np.linalg.norm(ends, axis=1)))
    if len(kept) == 2:
        bearings = np.degrees(np.arctan2(ends[:, 1], ends[:, 0]))
        print("ends:", ", ".join(f"{np.hypot(*e):.1f} m at {b:+.0f}" for e, b in zip(ends, bearings, strict=True)))
        found["directions"] = directions(ends)
    return found


def run(folder: str = "runs/bodies", *envs: str) -> str:
    rows = []
    for env in envs or ENVS:
        each: list[dict[str, float]] = []
        for seed in range(SEEDS):
            each.append(one(env, seed, Path(folder) / f"{env.replace(':', '-')}-{seed}"))
            print(env, seed, each[-1], flush=True)
        scores = [found["score"] for found in each]
        low, high = interval(scores, _median)
        rows.append([f"`{env}`", f"{np.median(scores):.2f} ({low:.2f} to {high:.2f})"])
        for name, digits in (("directions", 0), ("speeds", 0), ("metres", 1), ("whole", 2), ("seconds", 0)):
            values = [found[name] for found in each if name in found]
            rows[-1].append(f"{np.median(values):.{digits}f}" if values else "")
    header = ["", "score of 8, median of seeds (95 %)", f"directions {APART:g} degrees apart, {FAR:g} m away"]
    header += [f"speeds {FASTER:g} m/s apart, upright", "metres from the start", "whole episodes", "seconds each"]
    return table("Skills by the name of the body alone", header, rows)


def _median(draws: np.ndarray) -> np.ndarray:
    return np.median(draws, axis=0)


if __name__ == "__main__":
    print(run(*sys.argv[1:]))
