"""DADS, Dynamics-Aware Discovery of Skills (Sharma et al., 2020): skills whose changes are predictable, and differ.

    r = log q(s' | s, z) - log (1/L) Σ_l q(s' | s, z_l),      z_l all skills, or L draws from the prior

q predicts the change s' - s, scaled to unit variance over the batch, by a normal distribution of variance 1.
"""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from vendirl.methods.fitted import Fitted, Loss, network
from vendirl.methods.method import Rewards
from vendirl.methods.registry import register
from vendirl.skills.networks import Network
from vendirl.skills.rollout import Transition
from vendirl.skills.spaces import Cube, OneHot, SkillSpace


@register
@dataclasses.dataclass(frozen=True)
class DADS(Fitted):
    """Reward changes that the skill predicts, and other skills do not.

    Attributes:
        dimension: None for skills that are numbers; else skills are vectors, uniform in [-1, 1]^dimension.
        samples: L, for vectors.
        clip: bound on the reward.
    """

    dimension: int | None = None
    samples: int = 100
    clip: float = 50.0

    name: ClassVar[str] = "dads"

    def space(self, skills: int) -> SkillSpace:
        return OneHot(skills) if self.dimension is None else Cube(self.dimension)

    def model(self, observation_size: int, key: PRNGKeyArray) -> Network:
        inputs = observation_size + self.problem.space.size
        return network(inputs, self.hidden, observation_size, key)

    def loss(self, model: Network, batch: Transition, key: PRNGKeyArray) -> Loss:
        log_q = self._log_density(model, batch, self.skill_vectors(batch))
        return -jnp.mean(log_q), {"dynamics_loss": -jnp.mean(log_q)}

    def rewards(self, model: Network, batch: Transition) -> Rewards:
        space = self.problem.space
        own = self._log_density(model, batch, self.skill_vectors(batch))
        others = jax.vmap(space.vector)(space.fixed(space.size if space.discrete else self.samples))
        each = jax.lax.map(lambda z: self._log_density(model, batch, z[None, None]), others)
        marginal = jax.nn.logsumexp(each, axis=0) - math.log(len(others))
        return jnp.clip(own - marginal, -self.clip, self.clip)

    def _log_density(
        self, model: Network, batch: Transition, z: Float[Array, "#E #steps d"]
    ) -> Float[Array, "E steps"]:
        """log q(s' | s, z) up to a constant."""
        change = batch.next_observation - batch.observation
        change = change / jnp.maximum(jnp.std(change, axis=(0, 1)), 1e-6)
        # W [s, z] + b = W_s s + (W_z z + b): what the skill adds to the first layer is computed once for a scene
        size = z.shape[-1]
        biases = jax.vmap(jax.vmap(lambda z: model.skill_bias(z, size)))(z)
        biases = jnp.broadcast_to(biases, (*change.shape[:-1], biases.shape[-1]))
        predict = jax.vmap(jax.vmap(lambda bias, s: model.given(bias, size)(s)))
        return -0.5 * jnp.sum((change - predict(biases, batch.observation)) ** 2, -1)
