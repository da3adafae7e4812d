"""VISR, Variational Intrinsic Successor Features (Hansen et al., 2020), and APS, Active Pretraining with them (Liu
et al., 2021).

    VISR:   r = φ(s') · z,      φ a unit vector, maximising E[φ(s') · z]
    APS:    r = φ(s') · z + log(1 + mean distance from φ(s') to its k nearest)

A learner with vector-valued critics learns the successor features of φ; others learn from r.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from vendirl.methods.fitted import Fit, Fitted, Loss, every, network
from vendirl.methods.method import Rewards
from vendirl.methods.particles import particle_entropy
from vendirl.methods.registry import register
from vendirl.skills.networks import Network
from vendirl.skills.rollout import Transition
from vendirl.skills.spaces import SkillSpace, Sphere


@register
@dataclasses.dataclass(frozen=True)
class VISR(Fitted):
    """Reward states whose feature direction is that of z.

    Attributes:
        dimension: of features and skills, unit vectors.
    """

    dimension: int = 2

    name: ClassVar[str] = "visr"
    knows_goals: ClassVar[bool] = True

    def space(self, skills: int) -> SkillSpace:
        return Sphere(self.dimension)

    def model(self, observation_size: int, key: PRNGKeyArray) -> Network:
        return network(observation_size, self.hidden, self.dimension, key)

    def loss(self, model: Network, batch: Transition, key: PRNGKeyArray) -> Loss:
        agreement = jnp.mean(self._agreement(model, batch))
        return -agreement, {"objective": agreement}

    def rewards(self, model: Network, batch: Transition) -> Rewards:
        return self._agreement(model, batch)

    def cumulants(self, model: Network, batch: Transition) -> Float[Array, "E steps d"]:
        """φ(s'), of which successor features are the discounted sum."""
        x = every(model, batch.next_observation)
        return x / jnp.maximum(jnp.linalg.norm(x, axis=-1, keepdims=True), 1e-6)

    def goal_skill(self, state: Fit, observation: Float[Array, " D"], goal: Float[Array, " D"]) -> Float[Array, " d"]:
        """φ(goal), wherever the scene is."""
        return self.problem.space.along(state.model(self.observed(state, goal)))

    def _agreement(self, model: Network, batch: Transition) -> Rewards:
        return jnp.sum(self.cumulants(model, batch) * batch.skill[:, None], -1)


@register
@dataclasses.dataclass(frozen=True)
class APS(VISR):
    """VISR, and reward features that are far from those of other states.

    Attributes:
        neighbours: k.
        particles: how many states of the batch neighbours are sought among.
    """

    neighbours: int = 12
    particles: int = 256

    name: ClassVar[str] = "aps"

    def rewards(self, model: Network, batch: Transition) -> Rewards:
        φ = self.cumulants(model, batch)
        return self._agreement(model, batch) + particle_entropy(φ, self.neighbours, self.particles)


def infer_skill(features: Float[Array, "steps d"], rewards: Float[Array, " steps"]) -> Float[Array, " d"]:
    """The skill for a task: least squares of its rewards on the features, as a unit vector."""
    z = jnp.linalg.lstsq(features, rewards)[0]
    return z / jnp.maximum(jnp.linalg.norm(z), 1e-12)
