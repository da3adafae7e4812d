"""Learners on the environment's own reward, against Stable-Baselines3's of the same name after as many steps.

python benchmarks/learners.py [SAVE] [CELL ...]     all cells, or those whose name has one of these in it

Ours is `vr.train(env, method="environment", learner=..., steps=...)` without another setting, in EnvPool; theirs has
its own defaults in Gymnasium and, for PPO, observations and rewards that are normalised (VecNormalize), as its zoo has
them for these bodies. Returns are of 20 episodes without exploration after the last step. Seconds are those of the
whole training, compiling included, and processor seconds are those of the process and its children, which a busy
machine disturbs less. What was measured is kept in SAVE (learners.json), seed by seed, so that a table may take days.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # see vendirl._host

import numpy as np

from timing import table

CELLS = {
    "sac Pendulum-v1": 1e4,
    "sac HalfCheetah-v5": 1e5,
    "sac Hopper-v5": 1e5,
    "ppo HalfCheetah-v5": 1e6,
    "ppo Hopper-v5": 1e6,
    "ppo Walker2d-v5": 1e6,
}
"""Steps by learner and body."""
SEEDS, EPISODES = 3, 20


def ours(learner: str, body: str, steps: float, seed: int) -> Callable[[], np.ndarray]:
    """Train by VendiRL; then what gives the returns."""
    import vendirl as vr

    run = vr.train(f"envpool:{body}", method="environment", learner=learner, steps=steps, seed=seed, progress=False)

    def returns():
        episodes = run.episodes(episodes=EPISODES, draw=1)
        ends = np.cumsum(episodes.lengths)
        return np.array([rewards.sum() for rewards in np.split(episodes.rewards, ends[:-1])])

    return returns


def theirs(learner: str, body: str, steps: float, seed: int) -> Callable[[], np.ndarray]:
    """Train by Stable-Baselines3; then what gives the returns."""
    import torch
    from stable_baselines3 import PPO, SAC
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.evaluation import evaluate_policy
    from stable_baselines3.common.vec_env import VecNormalize

    torch.set_num_threads(1)  # networks are small: threads would only wait for each other
    world: Any = make_vec_env(body, seed=seed)
    if learner == "ppo":
        world = VecNormalize(world)
    model = {"ppo": PPO, "sac": SAC}[learner]("MlpPolicy", world, seed=seed, device="cpu")
    model.learn(int(steps))

    def returns():
        if isinstance(world, VecNormalize):
            world.training = world.norm_reward = False
        return np.array(evaluate_policy(model, world, EPISODES, return_episode_rewards=True)[0])

    return returns


def measured(train: Callable[..., Callable[[], np.ndarray]], *arguments: Any) -> dict[str, float]:
    """The mean return that a training leads to, and what it takes."""
    began, used = time.perf_counter(), _processor_seconds()
    returns = train(*arguments)
    seconds, used = time.perf_counter() - began, _processor_seconds() - used
    return {"return": float(returns().mean()), "seconds": seconds, "processor": used}


def _processor_seconds() -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def run(save: str = "learners.json", *only: str) -> str:
    path = Path(save)
    found: dict[str, dict[str, float]] = json.loads(path.read_text()) if path.exists() else {}
    for cell, steps in CELLS.items():
        if only and not any(part in cell for part in only):
            continue
        learner, body = cell.split()
        for seed in range(SEEDS):
            for name, train in (("ours", ours), ("theirs", theirs)):
                key = f"{cell} {seed} {name}"
                if key not in found:
                    found[key] = measured(train, learner, body, steps, seed)
                    new = path.with_name(f"{path.name}.new")
                    new.write_text(json.dumps(found, indent=1) + "\n")
                    new.replace(path)
                    print(key, found[key], flush=True)
    return shown(found)


def shown(found: dict[str, dict[str, float]]) -> str:
    """A table of the cells that were measured, of the seeds that both have."""
    rows = []
    for cell, steps in CELLS.items():
        pairs = [tuple(found.get(f"{cell} {seed} {name}") for name in ("ours", "theirs")) for seed in range(SEEDS)]
        whole = [(mine, other) for mine, other in pairs if mine and other]
        if not whole:
            continue
        means = [np.mean([pair[i]["return"] for pair in whole]) for i in range(2)]
        listed = [", ".join(f"{pair[i]['return']:,.0f}" for pair in whole) for i in range(2)]
        ratios = [np.median([other[key] / mine[key] for mine, other in whole]) for key in ("seconds", "processor")]
        rows.append(
            [
                f"{cell}, {steps:,.0f} steps",
                f"{means[0]:,.0f} ({listed[0]})",
                f"{means[1]:,.0f} ({listed[1]})",
                *(f"{ratio:.1f}x" for ratio in ratios),
            ]
        )
    header = ["", "ours, mean (each seed)", "Stable-Baselines3", "as fast", "by processor seconds"]
    return table("Learners on the environment's own reward", header, rows)


if __name__ == "__main__":
    print(run(*sys.argv[1:]))
