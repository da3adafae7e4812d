"""CIC, Contrastive Intrinsic Control (Laskin et al., 2022): embed transitions so that they tell the skill; reward
their spread.

L = -log ( exp(f(s, s')·h(z)/τ) / Σ_j exp(f(s, s')·h(z_j)/τ) ),      f, h minimise E[L],  z_j the skills of other scenes
r = log(1 + mean distance from f(s, s') to its k nearest) - weight L
"""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from vendirl.methods.fitted import Fit, Fitted, Loss, along, every
from vendirl.methods.method import Rewards
from vendirl.methods.particles import nearest, particle_entropy, references
from vendirl.methods.published import PublishedFit, Recipe, like_urlb
from vendirl.methods.registry import register
from vendirl.skills.networks import Network
from vendirl.skills.rollout import Transition
from vendirl.skills.spaces import Cube, SkillSpace, UnitCube
from vendirl.skills.statistics import RunningStatistics


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

    def model(self, observation_size: int, key: PRNGKeyArray) -> tuple[Network, ...]:
        of_transition, of_skill = jax.random.split(key)
        return (
            self.network(2 * observation_size, self.embedding, of_transition),
            self.network(self.dimension, self.embedding, of_skill),
        )

    def loss(self, model: tuple[Network, ...], batch: Transition, key: PRNGKeyArray) -> Loss:
        loss = -jnp.mean(self._log_share(model, batch))
        return loss, {"contrastive_loss": loss}

    def rewards(self, model: tuple[Network, ...], batch: Transition) -> Rewards:
        spread = particle_entropy(self._embedded(model[0], batch), self.neighbours, self.particles)
        return spread + self.weight * self._log_share(model, batch)

    def _embedded(self, f: Network, batch: Transition) -> Float[Array, "E steps d"]:
        return every(f, jnp.concatenate([batch.observation, batch.next_observation], -1))

    def _log_share(self, model: tuple[Network, ...], batch: Transition) -> Rewards:
        f, h = model
        x, y = _unit(self._embedded(f, batch)), _unit(jax.vmap(h)(jnp.asarray(batch.skill)))
        logits = x @ y.T / self.temperature  # (E, steps, E)
        own = jnp.sum(x * y[:, None], -1) / self.temperature
        return own - jax.nn.logsumexp(logits, axis=-1)


@register
@dataclasses.dataclass(frozen=True)
class PublishedCIC(PublishedFit, CIC):
    """CIC as its release trains it, from states: by DDPG, and without the contrastive term in the reward.

        L = -log ( exp(h(z)·f(s, s')/τ) / (Σ_j exp(h(z)·f(s_j, s_j')/τ) - e^{1/τ}) ),      f(s, s') = p(g(s), g(s'))
        r = log(1 + mean over k of max(0, d_k / v - c)),      d_k from g(s') to its k-th nearest, itself among them

    j are the transitions of the batch, h and f unit vectors, and v the variance of all d_k so far, which the release
    calls their deviation. z is uniform in [0, 1]^64.

    What still differs: as for diayn-urlb.

    Attributes:
        floor: c.
    """

    dimension: int = 64
    embedding: int = 64
    particles: int = 1024
    floor: float = 5e-4
    normalise: bool = False

    name: ClassVar[str] = "cic-published"
    recipe: ClassVar[Recipe] = like_urlb("CIC's release")

    def space(self, skills: int) -> SkillSpace:
        return UnitCube(self.dimension)

    def model(self, observation_size: int, key: PRNGKeyArray) -> tuple[Network, ...]:
        of_state, of_pair, of_skill = jax.random.split(key, 3)
        return (
            self.network(observation_size, self.embedding, of_state),
            self.network(2 * self.embedding, self.embedding, of_pair),
            self.network(self.dimension, self.embedding, of_skill),
        )

    def loss(self, model: tuple[Network, ...], batch: Transition, key: PRNGKeyArray) -> Loss:
        g, p, h = model
        pair = jnp.concatenate([every(g, batch.observation), every(g, batch.next_observation)], -1)
        keys = _unit(every(p, pair)).reshape(-1, self.embedding)
        queries = _unit(every(h, along(batch.skill, pair.shape[1]))).reshape(-1, self.embedding)
        logits = queries @ keys.T / self.temperature
        rest = jnp.maximum(jnp.sum(jnp.exp(logits), -1) - math.exp(1 / self.temperature), 1e-6)
        loss = jnp.mean(jnp.log(rest + 1e-6) - jnp.diagonal(logits))
        return loss, {"contrastive_loss": loss}

    def beside(self, observation_size: int) -> RunningStatistics:
        return RunningStatistics.empty(1)

    def counted(self, state: Fit, batch: Transition) -> RunningStatistics:
        return state.beside.update(self._distances(state.model, batch)[..., None])

    def paid(self, state: Fit, batch: Transition) -> Rewards:
        scaled = self._distances(state.model, batch) / jnp.maximum(state.beside.variance, 1e-12)
        return jnp.log1p(jnp.mean(jnp.maximum(scaled - self.floor, 0.0), -1))

    def _distances(self, model: tuple[Network, ...], batch: Transition) -> Float[Array, "E steps k"]:
        x = every(model[0], batch.next_observation)
        return nearest(x, references(x, self.particles), self.neighbours)


def _unit(x: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
    return x / jnp.maximum(jnp.linalg.norm(x, axis=-1, keepdims=True), 1e-6)
