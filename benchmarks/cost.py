"""What the diversity reward costs: a training epoch with it, against the same epoch rewarded by the environment."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp

from timing import seconds, table
from vendirl.score.border import Border
from vendirl.skills.rollout import act_out
from vendirl.training.driver import begin
from vendirl.training.settings import Settings

GOALS = {8: 0.10, 64: 0.25, 256: None}


def run() -> str:
    rows = []
    for n, goal in GOALS.items():
        this = begin(Settings(similarity="mmd(scale=4)", skills=n, devices=1))
        loop, static = this.loop, eqx.filter(this.training, eqx.is_array, inverse=True)
        arrays = eqx.filter(this.training, eqx.is_array)
        goals = jnp.arange(loop.problem.scenes) % n

        def refilled(arrays, loop=loop, static=static, n=n):
            policy, key, episodes = eqx.combine(arrays, static).policy, jax.random.key(0), loop.method.rehearsal
            world, skills = loop.problem.environment, jnp.arange(n)
            return loop.method.filled(act_out(world, policy, skills, key, episodes=episodes).next_observation)

        memory = jax.jit(refilled)(arrays)

        def epoch(arrays, loop=loop, static=static):
            training, metrics = loop.epoch(eqx.combine(arrays, static))
            return eqx.filter(training, eqx.is_array), metrics

        def reward(memory, observations, method=loop.method, goals=goals):
            followings = method._dealt(method._follow, memory, (goals, jnp.zeros_like(goals)))
            border = jax.vmap(lambda K: Border.of(K, method.q, method.similarity.psd))(memory.kernel)
            observe = lambda pool, scenes: method._observe(pool, scenes)[1:]  # noqa: E731
            return method._dealt(observe, (memory, border), (followings, observations))

        observations = jax.random.uniform(jax.random.key(1), (loop.problem.scenes, loop.problem.steps, 2))
        epoch, reward = jax.jit(epoch), jax.jit(reward)
        whole, part = seconds(
            lambda e=epoch, a=arrays: e(a), lambda r=reward, m=memory, o=observations: r(m, o), repeat=10
        )
        rows.append(
            [
                f"{n}",
                f"{whole * 1e3:.0f} ms",
                f"{part * 1e3:.1f} ms",
                f"{part / whole:.1%}",
                f"{goal:.0%}" if goal else "",
            ]
        )
        print(*rows[-1], sep="\t", flush=True)
    settings = Settings()
    return table(
        f"Share of the reward in a training epoch of {settings.scenes} scenes x 50 steps, "
        f"refill={settings.refill}, on one device",
        ["skills", "epoch", "reward", "share", "goal: at most"],
        rows,
    )


if __name__ == "__main__":
    print(run())
