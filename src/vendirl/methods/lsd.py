"""LSD, Lipschitz-constrained Skill Discovery (Park et al., 2022): skills that go far in a latent space that
stretches nothing.

r = (φ(s') - φ(s)) · z,      φ maximises E[r],      |φ(x) - φ(y)| <= |x - y| by spectral normalisation
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp

from vendirl.methods.method import Fitted, every, network
from vendirl.methods.spectral import contracted
from vendirl.skill_spaces import Centred, Gaussian


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

    def space(self, skills):
        return Centred(skills) if self.discrete else Gaussian(self.dimension)

    def model(self, observation_size, setting, key):
        return self.constrain(network(observation_size, self.hidden, self.space(setting.skills).size, key))

    def constrain(self, model):
        return contracted(model)

    def loss(self, model, batch, key):
        gain = jnp.mean(self.rewards(model, batch))
        return -gain, {"objective": gain}

    def rewards(self, model, batch):
        step = every(model, batch.next_observation) - every(model, batch.observation)
        z = jax.vmap(self.space(step.shape[-1]).vector)(batch.skill)
        return jnp.sum(step * z[:, None], -1)
