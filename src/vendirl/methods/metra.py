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
from jaxtyping import Array, Float

from vendirl.methods.method import Fitted, every, network
from vendirl.networks import Network
from vendirl.skill_spaces import Centred, Sphere


class Encoder(eqx.Module):
    """φ, and the logarithm of the dual variable λ."""

    φ: Network
    log_dual: Float[Array, ""]


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

    def space(self, skills):
        return Centred(skills) if self.discrete else Sphere(self.dimension)

    def model(self, observation_size, setting, key):
        outputs = self.space(setting.skills).size
        return Encoder(network(observation_size, self.hidden, outputs, key), jnp.log(jnp.array(self.dual, float)))

    def loss(self, model: Encoder, batch, key):
        step = self.step(model, batch)
        norm = jnp.sum(step**2, -1) / (step.shape[-1] if self.mean_norm else 1)
        constraint = jnp.minimum(self.slack, 1 - norm)
        λ = jnp.exp(model.log_dual)
        gain = jnp.sum(step * self._z(model, batch), -1)
        objective = jnp.mean(gain + jax.lax.stop_gradient(λ) * constraint)
        dual_loss = self.dual_rate * model.log_dual * jax.lax.stop_gradient(jnp.mean(constraint))
        return dual_loss - objective, {"objective": jnp.mean(gain), "dual": λ, "step_norm": jnp.mean(norm)}

    def rewards(self, model, batch):
        return jnp.sum(self.step(model, batch) * self._z(model, batch), -1)

    def step(self, model: Encoder, batch) -> Float[Array, "E steps d"]:
        """φ(s') - φ(s)."""
        return every(model.φ, batch.next_observation) - every(model.φ, batch.observation)

    def _z(self, model: Encoder, batch) -> Float[Array, "E 1 d"]:
        space = self.space(model.φ.layers[-1].bias.shape[0])
        return jax.vmap(space.vector)(batch.skill)[:, None]
