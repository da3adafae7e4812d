"""LSD, Lipschitz-constrained Skill Discovery (Park et al., 2022): skills that go far in a latent space that
stretches nothing.

r = (φ(s') - φ(s)) · z,      φ maximises E[r],      |φ(x) - φ(y)| <= |x - y| by spectral normalisation
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from vendirl.methods.fitted import Fit, Fitted, Loss, every
from vendirl.methods.method import Rewards
from vendirl.methods.published import PublishedFit, Recipe, like_metra
from vendirl.methods.registry import register
from vendirl.methods.spectral import contracted, normalised
from vendirl.skills.networks import Network
from vendirl.skills.rollout import Transition
from vendirl.skills.spaces import CentredOneHot, Gaussian, SkillSpace, Sphere


@register
@dataclasses.dataclass(frozen=True)
class LSD(Fitted):
    """Reward progress along z in a latent space no larger than the state space.

    Attributes:
        dimension: of the latent space and of skills, z ~ N(0, I); with `discrete`, one dimension for each skill.
        discrete: skills are numbers, z zero-centred one-hot.
        unit: z are unit vectors rather than normal ones.
        always: divide weights by their spectral norms whatever these are, rather than only where they are above 1.
    """

    dimension: int = 2
    discrete: bool = False
    unit: bool = False
    always: bool = False
    normalise: bool = False

    name: ClassVar[str] = "lsd"
    knows_goals: ClassVar[bool] = True

    def space(self, skills: int) -> SkillSpace:
        if self.discrete:
            return CentredOneHot(skills)
        return Sphere(self.dimension) if self.unit else Gaussian(self.dimension)

    def model(self, observation_size: int, key: PRNGKeyArray) -> Network:
        return self.constrain(self.network(observation_size, self.problem.space.size, key))

    def constrain(self, model: Network) -> Network:
        return model if self.always else contracted(model)

    def encoder(self, model: Network) -> Network:
        """φ."""
        return normalised(model) if self.always else model

    def loss(self, model: Network, batch: Transition, key: PRNGKeyArray) -> Loss:
        gain = jnp.mean(self.rewards(model, batch))
        return -gain, {"objective": gain}

    def rewards(self, model: Network, batch: Transition) -> Rewards:
        φ = self.encoder(model)
        step = every(φ, batch.next_observation) - every(φ, batch.observation)
        return jnp.sum(step * self.skill_vectors(batch), -1)

    def goal_skill(
        self, state: Fit, observation: Float[Array, " D"], goal: Float[Array, " D"]
    ) -> Int[Array, ""] | Float[Array, " d"]:
        """The skill in the direction of φ(goal) - φ(s)."""
        φ = self.encoder(state.model)
        return self.problem.space.along(φ(self.observed(state, goal)) - φ(self.observed(state, observation)))


@register
@dataclasses.dataclass(frozen=True)
class PublishedLSD(PublishedFit, LSD):
    """LSD as METRA's release trains it, from states as on Ant and HalfCheetah.

    What still differs: as for metra-published; and singular values are found by sixteen steps of power iteration each
    time rather than by one that goes on. LSD's own, earlier release has normal z, a constant temperature, no replay,
    and policies that learn before φ does.
    """

    unit: bool = True
    always: bool = True

    name: ClassVar[str] = "lsd-published"
    recipe: ClassVar[Recipe] = like_metra("METRA's release of LSD")
