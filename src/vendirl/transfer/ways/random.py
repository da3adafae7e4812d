"""The floor: actions drawn uniformly from all that there are."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vendirl.environments import Discrete, Environment
from vendirl.skills.episodes import first_episodes
from vendirl.skills.host_rollout import Stage
from vendirl.skills.policy import Action, noise
from vendirl.skills.rollout import rollout
from vendirl.transfer.rewards import returns_of
from vendirl.transfer.ways.way import Asked, Used, Way, register


@register
@dataclasses.dataclass(frozen=True)
class Random(Way):
    """Act at random: normalised returns are 0 here.

    Attributes:
        episodes: How many episodes there are for each seed.
    """

    episodes: int = 64

    name: ClassVar[str] = "random"
    uses_skills: ClassVar[bool] = False
    bounds: ClassVar[dict[str, tuple[float, float]]] = {"episodes": (1, 10**6)}

    def use(self, asked: Asked) -> Used:
        world, T = asked.environment, asked.environment.episode_length
        actions = world.actions

        def act(observation, time, noise) -> tuple[Action, Float[Array, ""]]:
            if isinstance(actions, Discrete):
                return jnp.argmax(noise), jnp.zeros(())
            return actions.centre + actions.half_width * (2 * jax.scipy.stats.norm.cdf(noise) - 1), jnp.zeros(())

        found = []
        for seed in range(asked.seed, asked.seed + asked.seeds):
            key, noise_key = jax.random.split(jax.random.key(seed))
            drawn = noise(actions, noise_key, (self.episodes, T))
            if isinstance(world, Environment):

                def scene(key, drawn, world=world):
                    start_key, key = jax.random.split(key)
                    return rollout(world, act, world.reset(start_key), jnp.array(0), jnp.array(0), T, key, drawn)[2]

                rows = jax.jit(jax.vmap(scene))(jax.random.split(key, self.episodes), drawn)
            else:
                several = jax.jit(jax.vmap(act))
                stage = Stage(world, self.episodes, seed % 2**31)
                try:
                    rows = stage.roll(
                        lambda *x: tuple(np.asarray(y) for y in several(*x)),  # noqa: B023 - called at once
                        np.zeros(self.episodes, np.int32),
                        np.asarray(drawn),
                    )
                finally:
                    stage.close()
            rows = jax.tree.map(lambda x: np.asarray(x)[None], rows)
            data = first_episodes(rows, [0], world.feature_names, "episodes of random actions")
            found.append(returns_of(asked.tasks, data, seed=seed).profile[0])
        return Used(np.zeros(1, int), np.array(found)[None])
