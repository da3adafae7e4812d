"""METRA, Metric-Aware Abstraction (Park et al., 2024): skills that go far in a latent space where one step is at
most 1 long.

r = (φ(s') - φ(s)) · z
φ maximises E[r] + λ E[min(ε, 1 - ‖φ(s') - φ(s)‖²)],      λ >= 0 falls where the constraint holds (dual descent)
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from vendirl.methods.fitted import Fit, Fitted, Loss, every
from vendirl.methods.method import Rewards
from vendirl.methods.published import PublishedFit, Recipe, like_metra
from vendirl.methods.registry import register
from vendirl.skills.networks import Network
from vendirl.skills.rollout import Transition
from vendirl.skills.spaces import CentredOneHot, SkillSpace, Sphere


class Encoder(eqx.Module):
    """φ, and the logarithm of the dual variable λ."""

    φ: Network
    log_dual: Float[Array, ""]


@register
@dataclasses.dataclass(frozen=True)
class METRA(Fitted):
    """Reward progress along z in a latent space whose distances are bounded by the number of steps.

    Attributes:
        dimension: of the latent space and of skills, unit vectors; with `discrete`, one dimension for each skill.
        discrete: skills are numbers, z zero-centred one-hot.
        dual: λ at first.
        slack: ε.
        dual_rate: the learning rate of λ, as a multiple of the encoder's.
        mean_norm: average the squared norm over dimensions, as METRA's release does, rather than add.
    """

    dimension: int = 2
    discrete: bool = False
    dual: float = 30.0
    slack: float = 1e-3
    dual_rate: float = 1.0
    mean_norm: bool = False
    normalise: bool = False

    name: ClassVar[str] = "metra"
    knows_goals: ClassVar[bool] = True

    def space(self, skills: int) -> SkillSpace:
        return CentredOneHot(skills) if self.discrete else Sphere(self.dimension)

    def model(self, observation_size: int, key: PRNGKeyArray) -> Encoder:
        outputs = self.problem.space.size
        return Encoder(self.network(observation_size, outputs, key), jnp.log(jnp.array(self.dual, float)))

    def loss(self, model: Encoder, batch: Transition, key: PRNGKeyArray) -> Loss:
        step = self.step(model, batch)
        norm = jnp.sum(step**2, -1) / (step.shape[-1] if self.mean_norm else 1)
        constraint = jnp.minimum(self.slack, 1 - norm)
        λ = jnp.exp(model.log_dual)
        gain = jnp.sum(step * self.skill_vectors(batch), -1)
        objective = jnp.mean(gain + jax.lax.stop_gradient(λ) * constraint)
        dual_loss = self.dual_rate * model.log_dual * jax.lax.stop_gradient(jnp.mean(constraint))
        return dual_loss - objective, {"objective": jnp.mean(gain), "dual": λ, "step_norm": jnp.mean(norm)}

    def rewards(self, model: Encoder, batch: Transition) -> Rewards:
        return jnp.sum(self.step(model, batch) * self.skill_vectors(batch), -1)

    def step(self, model: Encoder, batch: Transition) -> Float[Array, "E steps d"]:
        """φ(s') - φ(s)."""
        return every(model.φ, batch.next_observation) - every(model.φ, batch.observation)

    def goal_skill(
        self, state: Fit, observation: Float[Array, " D"], goal: Float[Array, " D"]
    ) -> Int[Array, ""] | Float[Array, " d"]:
        """The skill in the direction of φ(goal) - φ(s)."""
        φ = state.model.φ
        return self.problem.space.along(φ(self.observed(state, goal)) - φ(self.observed(state, observation)))


@register
@dataclasses.dataclass(frozen=True)
class PublishedMETRA(PublishedFit, METRA):
    """METRA as its release trains it, from states as on Ant and HalfCheetah.

    What still differs: observations are standardised by running statistics rather than by constants of each
    environment; first weights are orthogonal rather than Xavier's, and first actions less noisy; episodes are as long
    as the environment says, 200 steps there.
    """

    mean_norm: bool = True

    name: ClassVar[str] = "metra-published"
    recipe: ClassVar[Recipe] = like_metra("METRA's release")
