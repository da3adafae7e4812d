"""How much of EnvPool's own speed is left when skills act in it through the trainer.

    python benchmarks/collection.py [id ...]

Steps per second of the same scenes with random actions, by EnvPool alone; and with the policy acting, everything
written down. Rounds alternate, so that both see the same machine.
"""

import os
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

from vendirl.environments.suites.envpool import EnvPoolEnvironment
from vendirl.skills.host_rollout import Stage, acting, drawn
from vendirl.skills.policy import SkillPolicy

SCENES, STEPS, ROUNDS = 64, 100, 7


def alone(pool, actions) -> float:
    """Steps per second of EnvPool by itself."""
    start = time.perf_counter()
    for t in range(STEPS):
        pool.step(actions[t])
    return SCENES * STEPS / (time.perf_counter() - start)


def with_policy(stage, act, noise) -> float:
    """Steps per second through the trainer."""
    start = time.perf_counter()
    stage.roll(act, np.zeros(SCENES, int), noise)
    return SCENES * STEPS / (time.perf_counter() - start)


def measure(id_: str) -> tuple[float, float, float]:
    """Both speeds, and the median of the ratios of rounds."""
    world = EnvPoolEnvironment(id_, episode_length=STEPS)
    pool = world.make(SCENES, 0)
    pool.reset()
    shape = (STEPS, SCENES, *pool.action_space.shape)
    actions = np.random.default_rng(0).uniform(-1, 1, shape)
    stage = Stage(world, SCENES, 0)
    policy = SkillPolicy(world.visible, world.actions, 8, key=jax.random.key(0), time=True)
    act = acting(policy, jnp.arange(SCENES) % 8)
    noise = np.asarray(drawn(policy.actions, jax.random.key(0), (SCENES, STEPS)))
    rounds = []
    for _ in range(ROUNDS + 1):
        rounds.append((alone(pool, actions), with_policy(stage, act, noise)))
    stage.close()
    rows = np.array(rounds[1:])  # the first compiles
    return float(np.median(rows[:, 0])), float(np.median(rows[:, 1])), float(np.median(rows[:, 1] / rows[:, 0]))


def main() -> None:
    print(f"{SCENES} scenes, {os.cpu_count()} cores, steps per second")
    print("| environment | EnvPool alone | with the skills acting | ratio |\n|---|---|---|---|")
    for id_ in sys.argv[1:] or ["HalfCheetah-v5", "Ant-v5"]:
        own, ours, ratio = measure(id_)
        print(f"| {id_} | {own:,.0f} | {ours:,.0f} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
