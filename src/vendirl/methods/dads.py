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

from vendirl.methods.fitted import Fit, Fitted, Loss
from vendirl.methods.method import Rewards
from vendirl.methods.published import PublishedFit, Recipe, like_metra
from vendirl.methods.registry import register
from vendirl.skills.networks import Network
from vendirl.skills.rollout import Transition
from vendirl.skills.spaces import Cube, OneHot, SkillSpace
from vendirl.skills.statistics import RunningStatistics


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
        return self.network(inputs, observation_size, key)

    def loss(self, model: Network, batch: Transition, key: PRNGKeyArray) -> Loss:
        log_q = self._log_density(model, batch, _scaled(batch), self.skill_vectors(batch))
        return -jnp.mean(log_q), {"dynamics_loss": -jnp.mean(log_q)}

    def rewards(self, model: Network, batch: Transition) -> Rewards:
        space, change = self.problem.space, _scaled(batch)
        own = self._log_density(model, batch, change, self.skill_vectors(batch))
        others = jax.vmap(space.vector)(space.fixed(space.size if space.discrete else self.samples))
        each = jax.lax.map(lambda z: self._log_density(model, batch, change, z[None, None]), others)
        marginal = jax.nn.logsumexp(each, axis=0) - math.log(len(others))
        return jnp.clip(own - marginal, -self.clip, self.clip)

    def _log_density(
        self,
        model: Network,
        batch: Transition,
        change: Float[Array, "E steps D"],
        z: Float[Array, "#E #steps d"],
    ) -> Float[Array, "E steps"]:
        """log q(s' | s, z) up to a constant, by the change from s to s' as it is scaled."""
        # W [s, z] + b = W_s s + (W_z z + b): what the skill adds to the first layer is computed once for a scene
        size = z.shape[-1]
        biases = jax.vmap(jax.vmap(lambda z: model.skill_bias(z, size)))(z)
        biases = jnp.broadcast_to(biases, (*change.shape[:-1], biases.shape[-1]))
        predict = jax.vmap(jax.vmap(lambda bias, s: model.given(bias, size)(s)))
        return -0.5 * jnp.sum((change - predict(biases, batch.observation)) ** 2, -1)


def _scaled(batch: Transition) -> Float[Array, "E steps D"]:
    """The change from s to s', of unit variance over the batch."""
    change = jnp.asarray(batch.next_observation - batch.observation)
    return change / jnp.maximum(jnp.std(change, axis=(0, 1)), 1e-6)


@register
@dataclasses.dataclass(frozen=True)
class PublishedDADS(PublishedFit, DADS):
    """DADS as CSF's release trains it, from states as on Ant and HalfCheetah.

        r = log(L + 1) - log(1 + Σ_l exp clip(log q(s' | s, z_l) - log q(s' | s, z), ±50))

    with L fresh z_l for each transition and each time. The change is standardised by the batch while q is fitted, and
    by running statistics for the reward.

    What still differs: as for metra-published; running statistics are of all that was replayed rather than of the
    latest; and s is standardised by them while q is fitted too, where the release takes those of the batch. The
    original release fits q to what the skills just did, with a mixture of four normal distributions.
    """

    dimension: int | None = 3
    learning_rate: float = 3e-4

    name: ClassVar[str] = "dads-published"
    recipe: ClassVar[Recipe] = like_metra(
        "CSF's release of DADS", learning_rate=3e-4, temperature=0.1, learn_temperature=False
    )

    def beside(self, observation_size: int) -> tuple[RunningStatistics, PRNGKeyArray]:
        """Of changes, and the key of the z_l to come."""
        return RunningStatistics.empty(observation_size), jax.random.key(0)

    def counted(self, state: Fit, batch: Transition) -> tuple[RunningStatistics, PRNGKeyArray]:
        statistics, key = state.beside
        return statistics.update(batch.next_observation - batch.observation), jax.random.split(key)[0]

    def loss(self, model: Network, batch: Transition, key: PRNGKeyArray) -> Loss:
        change = jnp.asarray(batch.next_observation - batch.observation)
        standard = (change - jnp.mean(change, (0, 1))) * jax.lax.rsqrt(jnp.var(change, (0, 1)) + 1e-5)
        log_q = self._log_density(model, batch, standard, self.skill_vectors(batch))
        return -jnp.mean(log_q), {"dynamics_loss": -jnp.mean(log_q)}

    def paid(self, state: Fit, batch: Transition) -> Rewards:
        (statistics, key), space, L = state.beside, self.problem.space, self.samples
        change = jnp.asarray(batch.next_observation - batch.observation)
        standard = (change - statistics.mean) * jax.lax.rsqrt(statistics.variance + 1e-5)
        own = self._log_density(state.model, batch, standard, self.skill_vectors(batch))

        def other(key):
            z = jax.vmap(space.vector)(space.sample(key, own.size)).reshape(*own.shape, -1)
            return self._log_density(state.model, batch, standard, z)

        each = jax.lax.map(other, jax.random.split(key, L))
        ratio = jnp.exp(jnp.clip(each - own, -self.clip, self.clip))
        return math.log(L + 1) - jnp.log1p(jnp.sum(ratio, 0))
