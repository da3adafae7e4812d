"""How fast a saved skill acts: calls a second for one observation, against the same skill compiled by JAX.

python benchmarks/policy.py                                 HalfCheetah, networks of (64, 64)
python benchmarks/policy.py "gymnasium:Walker2d-v5" 256     another body, networks of (256, 256)
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as one has it in a loop that controls something

import jax
import numpy as np

import vendirl as vr
from timing import seconds, table
from vendirl.training.beginning import begin

CALLS = 5_000


def run(env: str = "envpool:HalfCheetah-v5(episode_length=100)", width: int = 64) -> str:
    """The table."""
    this = begin(vr.Settings(env=env, hidden=(width, width), devices=1))
    with tempfile.TemporaryDirectory() as folder:
        policy = vr.load_policy(this.policy(3).save(Path(folder) / "skill.npz"))
    one = np.random.default_rng(0).normal(size=len(policy.mean)).astype(np.float32)
    many = np.tile(one, (256, 1))
    skill = this.skill(3)
    compiled = jax.jit(lambda x, time: skill.mode(x, time))
    ways = {
        "the saved file, in NumPy": lambda: policy(one),
        "`run.skill(3).mode` in `jax.jit`, from NumPy to NumPy": lambda: np.asarray(compiled(one, 0.0)),
        "the saved file, 256 observations in a call": lambda: policy(many),
    }
    best = seconds(*ways.values(), repeat=50, least=0.005)  # short turns, some of which nobody disturbs
    rows = []
    for (name, act), shortest in zip(ways.items(), best, strict=True):
        start = time.process_time()
        for _ in range(CALLS):
            act()
        used = (time.process_time() - start) / CALLS
        rows.append([name, f"{1 / shortest:,.0f}", f"{1 / used:,.0f}", f"{best[1] / shortest:.1f}x"])
    header = ["", "calls per second, best", "per second of processor time", "faster"]
    return table(f"One skill of {env}, networks of ({width}, {width})", header, rows)


if __name__ == "__main__":
    print(run(*sys.argv[1:2], *map(int, sys.argv[2:3])))
