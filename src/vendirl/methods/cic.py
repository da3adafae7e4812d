"""CIC, Contrastive Intrinsic Control (Laskin et al., 2022): embed transitions so that they tell the skill; reward
their spread.

L = -log ( exp(f(s, s')·h(z)/τ) / Σ_j exp(f(s, s')·h(z_j)/τ) ),      f, h minimise E[L],  z_j the skills of other scenes
r = log(1 + mean distance from f(s, s') to its k nearest) - weight L
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from vendirl.methods.method import Fitted, every, network
from vendirl.methods.particles import particle_entropy
from vendirl.skill_spaces import Box


@dataclasses.dataclass(frozen=True)
class CIC(Fitted):
    """Reward transitions that are far from others in an embedding that tells the skill.

    Attributes:
        dimension: of skills, uniform in [-1, 1]^dimension.
        embedding: of transitions.
        temperature: τ.
        neighbours: k.
        particles: how many transitions of the batch neighbours are sought among.
        weight: of the contrastive term in the reward.
    """

    dimension: int = 2
    embedding: int = 8
    temperature: float = 0.5
    neighbours: int = 16
    particles: int = 256
    weight: float = 1.0

    name: ClassVar[str] = "cic"

    def space(self, skills):
        return Box(self.dimension)

    def model(self, observation_size, setting, key):
        of_transition, of_skill = jax.random.split(key)
        return (
            network(2 * observation_size, self.hidden, self.embedding, of_transition),
            network(self.dimension, self.hidden, self.embedding, of_skill),
        )

    def loss(self, model, batch, key):
        loss = -jnp.mean(self._log_share(model, batch))
        return loss, {"contrastive_loss": loss}

    def rewards(self, model, batch):
        spread = particle_entropy(self._embedded(model[0], batch), self.neighbours, self.particles)
        return spread + self.weight * self._log_share(model, batch)

    def _embedded(self, f, batch) -> Float[Array, "E steps d"]:
        return every(f, jnp.concatenate([batch.observation, batch.next_observation], -1))

    def _log_share(self, model, batch) -> Float[Array, "E steps"]:
        f, h = model
        x, y = _unit(self._embedded(f, batch)), _unit(jax.vmap(h)(batch.skill))
        logits = x @ y.T / self.temperature  # (E, steps, E)
        own = jnp.sum(x * y[:, None], -1) / self.temperature
        return own - jax.nn.logsumexp(logits, axis=-1)


def _unit(x: Array) -> Array:
    return x / jnp.maximum(jnp.linalg.norm(x, axis=-1, keepdims=True), 1e-6)
