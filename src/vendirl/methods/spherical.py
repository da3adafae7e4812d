"""What methods share whose skills are unit vectors z in the latent space that a network φ maps observations to."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from jaxtyping import PRNGKeyArray

from vendirl.methods.fitted import Fitted
from vendirl.skills.networks import Network
from vendirl.skills.spaces import SkillSpace, Sphere


@dataclasses.dataclass(frozen=True)
class Spherical(Fitted):
    """A method that fits φ, and whose skills are directions.

    Attributes:
        dimension: of the latent space and of skills, unit vectors.
    """

    dimension: int = 2

    knows_goals: ClassVar[bool] = True

    def space(self, skills: int) -> SkillSpace:
        return Sphere(self.dimension)

    def model(self, observation_size: int, key: PRNGKeyArray) -> Network:
        return self.network(observation_size, self.dimension, key)
