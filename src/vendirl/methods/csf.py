"""CSF, Contrastive Successor Features (Zheng et al., 2025): METRA's reward with a contrastive bound in place of the
constraint.

    r = (φ(s') - φ(s)) · z
    φ maximises E[r] - ξ E[log (1/L) Σ_l exp((φ(s') - φ(s)) · z_l)],      z_l fresh draws from the unit sphere

A learner with vector-valued critics learns the successor features of φ(s') - φ(s); others learn from r.
"""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from vendirl.methods.fitted import Fit, Loss, every
from vendirl.methods.method import Rewards
from vendirl.methods.published import PublishedFit, Recipe, like_metra
from vendirl.methods.registry import register
from vendirl.methods.spherical import Spherical
from vendirl.skills.networks import Network
from vendirl.skills.rollout import Transition
from vendirl.skills.spaces import Sphere


@register
@dataclasses.dataclass(frozen=True)
class CSF(Spherical):
    """Reward progress along z in a latent space learned by contrast.

    Attributes:
        contrast: ξ.
        samples: L.
    """

    contrast: float = 5.0
    samples: int = 256
    normalise: bool = False

    name: ClassVar[str] = "csf"

    def loss(self, model: Network, batch: Transition, key: PRNGKeyArray) -> Loss:
        step = self.cumulants(model, batch)
        gain = jnp.mean(jnp.sum(step * batch.skill[:, None], -1))
        others = Sphere(self.dimension).sample(key, self.samples)
        contrast = jnp.mean(jax.nn.logsumexp(step @ others.T, axis=-1)) - math.log(self.samples)
        return self.contrast * contrast - gain, {"objective": gain, "contrast": contrast}

    def rewards(self, model: Network, batch: Transition) -> Rewards:
        return jnp.sum(self.cumulants(model, batch) * batch.skill[:, None], -1)

    def cumulants(self, model: Network, batch: Transition) -> Float[Array, "E steps d"]:
        """φ(s') - φ(s), of which successor features are the discounted sum."""
        return every(model, batch.next_observation) - every(model, batch.observation)

    def goal_skill(self, state: Fit, observation: Float[Array, " D"], goal: Float[Array, " D"]) -> Float[Array, " d"]:
        """The skill in the direction of φ(goal) - φ(s)."""
        φ = state.model
        return self.problem.space.along(φ(self.observed(state, goal)) - φ(self.observed(state, observation)))


@register
@dataclasses.dataclass(frozen=True)
class PublishedCSF(PublishedFit, CSF):
    """CSF as its release trains it, from states as on Ant and HalfCheetah: with successor features.

    What still differs: as for metra-published; and critics minimise the sum of squares over features rather than their
    mean, which Adam makes little of.
    """

    name: ClassVar[str] = "csf-published"
    recipe: ClassVar[Recipe] = like_metra("CSF's release", successor=True)
