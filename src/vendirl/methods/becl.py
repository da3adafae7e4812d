"""BeCL, Behaviour Contrastive Learning (Yang et al., 2023): states of a skill are alike, states of different skills
are not.

    r = exp(-L),      L = -log ( exp(f(s)·f(s⁺)/τ) / Σ_g exp(f(s)·f(s_g)/τ) ),      f minimises E[L]

f is a unit vector, s⁺ another state of the same skill, and s_g one of skill g for each g, s⁺ among them.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from vendirl.methods.discriminator import of_skill
from vendirl.methods.fitted import Fitted, Loss, every, network
from vendirl.methods.method import Rewards
from vendirl.methods.registry import register
from vendirl.skills.networks import Network
from vendirl.skills.rollout import Transition


@register
@dataclasses.dataclass(frozen=True)
class BeCL(Fitted):
    """Reward states that are like those of the same skill and unlike those of others.

    Attributes:
        temperature: τ.
        dimension: of f.
    """

    temperature: float = 0.5
    dimension: int = 16

    name: ClassVar[str] = "becl"
    needs_numbers: ClassVar[bool] = True

    def model(self, observation_size: int, key: PRNGKeyArray) -> Network:
        return network(observation_size, self.hidden, self.dimension, key)

    def loss(self, model: Network, batch: Transition, key: PRNGKeyArray) -> Loss:
        loss = -jnp.mean(self._log_share(model, batch, key))
        return loss, {"contrastive_loss": loss}

    def rewards(self, model: Network, batch: Transition) -> Rewards:
        return jnp.exp(self._log_share(model, batch, jax.random.key(0)))

    def _log_share(self, model: Network, batch: Transition, key: PRNGKeyArray) -> Rewards:
        n = self.problem.skills
        x = every(model, batch.next_observation)
        x = x / jnp.maximum(jnp.linalg.norm(x, axis=-1, keepdims=True), 1e-6)
        E, steps = x.shape[:2]
        # one state of each skill: of a random scene that follows it, at a random step
        scene_key, step_key = jax.random.split(key)
        chance = jax.random.uniform(scene_key, (E,))
        mine = batch.skill[None, :] == jnp.arange(n)[:, None]
        scene = jnp.argmax(jnp.where(mine, chance, -1.0), axis=1)
        chosen = x[scene, jax.random.randint(step_key, (n,), 0, steps)]
        logits = jnp.where(mine.any(1), x @ chosen.T / self.temperature, -jnp.inf)
        return of_skill(jnp.where(mine.any(1), jax.nn.log_softmax(logits), 0.0), batch.skill)
