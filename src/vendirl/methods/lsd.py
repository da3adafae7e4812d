"""LSD, Lipschitz-constrained Skill Discovery (Park et al., 2022): skills that go far in a latent space that
stretches nothing.

r = (φ(s') - φ(s)) · z,      φ maximises E[r],      |φ(x) - φ(y)| <= |x - y| by spectral normalisation
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from vendirl.methods.fitted import Fit, Fitted, Loss, every, network
from vendirl.methods.method import Rewards
from vendirl.methods.registry import register
from vendirl.methods.spectral import contracted
from vendirl.skills.networks import Network
from vendirl.skills.rollout import Transition
from vendirl.skills.spaces import CentredOneHot, Gaussian, SkillSpace


@register
@dataclasses.dataclass(frozen=True)
class LSD(Fitted):
    """Reward progress along z in a latent space no larger than the state space.

    Attributes:
        dimension: of the latent space and of skills, z ~ N(0, I); with `discrete`, one dimension for each skill.
        discrete: skills are numbers, z zero-centred one-hot.
    """

    dimension: int = 2
    discrete: bool = False
    normalise: bool = False

    name: ClassVar[str] = "lsd"
    knows_goals: ClassVar[bool] = True

    def space(self, skills: int) -> SkillSpace:
        return CentredOneHot(skills) if self.discrete else Gaussian(self.dimension)

    def model(self, observation_size: int, key: PRNGKeyArray) -> Network:
        return self.constrain(network(observation_size, self.hidden, self.problem.space.size, key))

    def constrain(self, model: Network) -> Network:
        return contracted(model)

    def loss(self, model: Network, batch: Transition, key: PRNGKeyArray) -> Loss:
        gain = jnp.mean(self.rewards(model, batch))
        return -gain, {"objective": gain}

    def rewards(self, model: Network, batch: Transition) -> Rewards:
        step = every(model, batch.next_observation) - every(model, batch.observation)
        return jnp.sum(step * self.skill_vectors(batch), -1)

    def goal_skill(
        self, state: Fit, observation: Float[Array, " D"], goal: Float[Array, " D"]
    ) -> Int[Array, ""] | Float[Array, " d"]:
        """The skill in the direction of φ(goal) - φ(s)."""
        φ = state.model
        return self.problem.space.along(φ(self.observed(state, goal)) - φ(self.observed(state, observation)))
