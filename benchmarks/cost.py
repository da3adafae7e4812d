"""What the diversity reward costs, in time of processors: a training epoch with it and its parts, by the number of
skills; the same for similarities of few features; and skills that are looked up, against a product with one-hot
vectors.

python benchmarks/cost.py            all of it
"""

from __future__ import annotations

import dataclasses
import time
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp

from timing import seconds, table
from vendirl.skills import networks
from vendirl.skills.rollout import act_out
from vendirl.training.beginning import begin
from vendirl.training.settings import Settings

GOALS = {(8, 1): 0.10, (64, 1): 0.25, (256, 1): 0.10, (1024, 1): 0.25, (1024, 10): 0.25}
"""By the number of skills and epochs for which a memory is kept, what share of an epoch the reward may have."""
FEW = ("cosine(center=0.5, scaled=True)", "mmd(scale=4, features=128)")
MOST = 1.5
"""What an epoch of a thousand skills may take with a similarity of few features, without refills and by that of 8."""
REPEAT = 5


@dataclasses.dataclass(frozen=True)
class Cost:
    """Seconds of an epoch, on average over those for which a memory is kept, and of its parts."""

    epoch: float
    refill: float
    reward: float
    every: int
    keep: int

    @property
    def share(self) -> float:
        """Of the reward in an epoch."""
        return self.reward / self.epoch


def cost_of(settings: Settings) -> Cost:
    """The cost of an epoch of this run on one device, and of its parts each compiled by itself."""
    this = begin(dataclasses.replace(settings, devices=1))
    loop, static = this.loop, eqx.filter(this.training, eqx.is_array, inverse=True)
    arrays, method, n = eqx.filter(this.training, eqx.is_array), loop.method, settings.skills
    goals = jnp.arange(loop.problem.scenes) % n

    @jax.jit
    def epoch(arrays):
        training, metrics = loop.epoch(eqx.combine(arrays, static))
        return eqx.filter(training, eqx.is_array), metrics

    @jax.jit
    def refill(arrays):
        policy, key = eqx.combine(arrays, static).policy, jax.random.key(0)
        acted = act_out(loop.problem.environment, policy, jnp.arange(n), key, episodes=method.rehearsal)
        return acted.next_observation

    @jax.jit
    def decompose(memory):
        return method._borders(memory)

    @jax.jit
    def observe(memory, border, observations):
        followings = method._dealt(method._follow, (memory, border), (goals, jnp.zeros_like(goals)))
        one = lambda pool, scenes: method._observe(pool, scenes)[1:]  # noqa: E731
        return method._dealt(one, (memory, border), (followings, observations))

    memory = jax.jit(method.filled)(refill(arrays))
    border, kept = decompose(memory), epoch(arrays)[0]  # in whose first epoch no memory is due, if one is kept
    observations = jax.random.uniform(jax.random.key(1), (loop.problem.scenes, loop.problem.steps, 2))
    first, later, refilled, decomposed, observed = seconds(
        partial(epoch, arrays),
        partial(epoch, kept),
        partial(refill, arrays),
        partial(decompose, memory),
        partial(observe, memory, border, observations),
        repeat=REPEAT,
        clock=time.process_time,
    )
    keep = method.lasts
    return Cost(
        (first + (keep - 1) * later) / keep, refilled / keep, decomposed / keep + observed, method.spacing, keep
    )


def by_skills() -> str:
    """The share of the reward by the number of skills, by default, with every step scored, with memories kept."""
    rows = []
    for (n, keep), goal in GOALS.items():
        usual = Settings(similarity="mmd(scale=4)", skills=n, keep=keep)
        found, exact = cost_of(usual), cost_of(dataclasses.replace(usual, every=1, keep=1))
        rows.append(
            [
                f"{n:,}",
                f"{exact.epoch * 1e3:.0f} ms",
                f"{exact.share:.1%}",
                f"{found.every}",
                f"{found.keep}",
                f"{found.epoch * 1e3:.0f} ms",
                f"{found.reward * 1e3:.1f} ms",
                f"{found.share:.1%}",
                f"{goal:.0%}",
            ]
        )
        print(*rows[-1], sep="\t", flush=True)
    settings = Settings()
    return table(
        f"Share of the reward in an epoch of {settings.scenes} scenes x 50 steps, `mmd(scale=4)`, "
        f"refill={settings.refill}, on one device, processor time",
        ["skills", "exact: epoch", "share", "every", "keep", "so: epoch", "reward", "share", "goal: at most"],
        rows,
    )


def by_features() -> str:
    """An epoch of a thousand skills with similarities of few features, less its refills, by that of eight skills."""
    rows = []
    for k in FEW:
        few, many = (cost_of(Settings(similarity=k, skills=n)) for n in (8, 1024))
        rests = [cost.epoch - cost.refill for cost in (few, many)]
        rows.append(
            [
                f"`{k}`",
                f"{few.epoch * 1e3:.0f} ms",
                f"{many.epoch * 1e3:.0f} ms",
                f"{many.refill * 1e3:.0f} ms",
                f"{many.reward * 1e3:.1f} ms",
                f"{rests[1] / rests[0]:.2f}x",
                f"{MOST}x",
            ]
        )
        print(*rows[-1], sep="\t", flush=True)
    header = ["similarity", "epoch of 8 skills", "of 1,024", "its refills", "its reward", "the rest, by that of 8"]
    return table("Similarities of few features, processor time", [*header, "goal: at most"], rows)


def by_lookup() -> str:
    """An epoch without reward, with skills that are multiplied and with skills that are looked up."""
    usual, rows = networks.LOOKED_UP, []
    for n in (64, 256, 1024):
        costs = []
        for least in (10**9, 1):
            networks.LOOKED_UP = least
            costs.append(cost_of(Settings(similarity="cosine(center=0.5)", skills=n)))
        networks.LOOKED_UP = usual
        multiplied, looked_up = costs
        ratio = multiplied.epoch / looked_up.epoch
        rows.append([f"{n:,}", f"{multiplied.epoch * 1e3:.0f} ms", f"{looked_up.epoch * 1e3:.0f} ms", f"{ratio:.2f}x"])
        print(*rows[-1], sep="\t", flush=True)
    return table(
        f"A training epoch, skills as one-hot vectors and looked up (from {usual} on), processor time",
        ["skills", "one-hot", "looked up", "faster"],
        rows,
    )


def run() -> str:
    return "\n".join([by_skills(), by_features(), by_lookup()])


if __name__ == "__main__":
    print(run())
