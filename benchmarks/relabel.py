"""Relabelling a rollout of 1,024 scenes x 50 steps with a combined similarity, as environment steps per second."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import vendirl as vr
from timing import seconds, table

SCENES, STEPS, SKILLS = 1024, 50, 16
SIMILARITY = "0.5*cosine(center=0.5) + 0.5*covariance(scale=200)"


def run() -> str:
    k = vr.similarity.parse(SIMILARITY)
    rng = np.random.default_rng(0)
    walks = jnp.asarray(0.5 + rng.normal(size=(SCENES, SKILLS, STEPS, 2)).cumsum(2) / 50, jnp.float32)
    new = jnp.asarray(0.5 + rng.normal(size=(SCENES, STEPS, 2)).cumsum(1) / 50, jnp.float32)
    goals = jnp.asarray(rng.integers(SKILLS, size=SCENES))

    def rewards(memory, border, goal, observations):
        return vr.Following.start(memory, goal).observe(k, memory, border, observations, "derivative")[1]

    @jax.jit
    def scene(walks, goals, new):  # a memory for each scene, filled and relabelled
        def one(walk, goal, observations):
            memory = vr.SkillMemory.fill(k, walk)
            return rewards(memory, vr.Border.of(memory.kernel, psd=k.psd), goal, observations)

        return jax.vmap(one)(walks, goals, new)

    @jax.jit
    def shared(walk, goals, new):  # one memory for all
        memory = vr.SkillMemory.fill(k, walk)
        border = vr.Border.of(memory.kernel, psd=k.psd)
        return jax.vmap(lambda goal, x: rewards(memory, border, goal, x))(goals, new)

    @jax.jit
    def literal(walks, goals, new):
        """Algorithm 1 to the letter: a scan over steps that rebuilds row g and decomposes K at each."""

        def one(walk, goal, observations):
            def step(walk, inputs):
                t, x = inputs
                walk = walk.at[goal, t].set(x)
                K = k.matrix(jax.vmap(k.summary)(vr.similarity.Observations(walk[:, None])))
                lam = jnp.maximum(jnp.linalg.eigvalsh(K / SKILLS), 0)
                return walk, jnp.exp(-jnp.sum(lam * jnp.log(jnp.where(lam > 0, lam, 1))))

            return jax.lax.scan(step, walk, (jnp.arange(STEPS), observations))[1]

        return jax.vmap(one)(walks, goals, new)

    few = 64  # the literal loop is measured on fewer scenes, its speed per step is the same
    a, b, c = seconds(
        lambda: scene(walks, goals, new),
        lambda: shared(walks[0], goals, new),
        lambda: literal(walks[:few], goals[:few], new[:few]),
        repeat=4,
    )
    total = SCENES * STEPS
    speeds = [total / a, total / b, few * STEPS / c]
    rows = [
        ["a memory for each scene, filled and relabelled", f"{speeds[0]:,.0f}", f"{speeds[0] / speeds[2]:.0f}x"],
        ["one memory for all scenes", f"{speeds[1]:,.0f}", f"{speeds[1] / speeds[2]:.0f}x"],
        ["the literal loop of Algorithm 1, with `jnp.linalg.eigvalsh`", f"{speeds[2]:,.0f}", "1x"],
    ]
    for row in rows:
        print(*row, sep="\t", flush=True)
    return table(
        f"Rewards for {SCENES:,} scenes x {STEPS} steps, {SKILLS} skills, `{SIMILARITY}`",
        ["", "steps per second", "faster"],
        rows,
    )


if __name__ == "__main__":
    print(run())
