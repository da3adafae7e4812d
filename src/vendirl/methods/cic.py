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
from jaxtyping import Array, Float, PRNGKeyArray

from vendirl.methods.fitted import Fitted, Loss, every, network
from vendirl.methods.method import Rewards
from vendirl.methods.particles import particle_entropy
from vendirl.methods.registry import register
from vendirl.skills.networks import Network
from vendirl.skills.rollout import Transition
from vendirl.skills.spaces import Cube, SkillSpace


@register
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

    def space(self, skills: int) -> SkillSpace:
        return Cube(self.dimension)

    def model(self, observation_size: int, key: PRNGKeyArray) -> tuple[Network, Network]:
        of_transition, of_skill = jax.random.split(key)
        return (
            network(2 * observation_size, self.hidden, self.embedding, of_transition),
            network(self.dimension, self.hidden, self.embedding, of_skill),
        )

    def loss(self, model: tuple[Network, Network], batch: Transition, key: PRNGKeyArray) -> Loss:
        loss = -jnp.mean(self._log_share(model, batch))
        return loss, {"contrastive_loss": loss}

    def rewards(self, model: tuple[Network, Network], batch: Transition) -> Rewards:
        spread = particle_entropy(self._embedded(model[0], batch), self.neighbours, self.particles)
        return spread + self.weight * self._log_share(model, batch)

    def _embedded(self, f: Network, batch: Transition) -> Float[Array, "E steps d"]:
        return every(f, jnp.concatenate([batch.observation, batch.next_observation], -1))

    def _log_share(self, model: tuple[Network, Network], batch: Transition) -> Rewards:
        f, h = model
        x, y = _unit(self._embedded(f, batch)), _unit(jax.vmap(h)(jnp.asarray(batch.skill)))
        logits = x @ y.T / self.temperature  # (E, steps, E)
        own = jnp.sum(x * y[:, None], -1) / self.temperature
        return own - jax.nn.logsumexp(logits, axis=-1)


def _unit(x: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
    return x / jnp.maximum(jnp.linalg.norm(x, axis=-1, keepdims=True), 1e-6)
