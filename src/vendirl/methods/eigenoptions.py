"""Eigenoptions (Machado et al., 2017), by a learned Laplacian: skills that follow the slowest directions of the world.

    r = ±(e_i(s') - e_i(s)),      e_i the i-th eigenvector of the graph Laplacian of the state space

Skills 2i and 2i + 1 go up and down along e_{i+1}; e_0 is constant and left out. The eigenvectors are learned (Gomez
et al., 2024) as the saddle point of

    E[Σ_i (φ_i(s) - φ_i(s'))²] + Σ_{j<=i} β_ij c_ij + b Σ_{j<=i} c_ij²,      c_ij = E[φ_i φ_j°] - δ_ij

where ° stops the gradient, so that later eigenvectors make way for earlier ones, and β rises by dual ascent.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from vendirl.methods.fitted import Fitted, Loss, every
from vendirl.methods.method import Rewards
from vendirl.methods.registry import register
from vendirl.skills.networks import Network
from vendirl.skills.rollout import Transition


class Laplacian(eqx.Module):
    """φ, (D,) -> (d + 1,), and the dual variables β of the orthogonality constraints."""

    φ: Network
    dual: Float[Array, "d d"]


@register
@dataclasses.dataclass(frozen=True)
class Eigenoptions(Fitted):
    """Reward progress up or down an eigenvector of the world's Laplacian.

    Attributes:
        barrier: b.
        dual_rate: how fast β follows the violations.
    """

    barrier: float = 2.0
    dual_rate: float = 1.0
    passes: int = 4

    name: ClassVar[str] = "eigenoptions"
    needs_numbers: ClassVar[bool] = True

    def model(self, observation_size: int, key: PRNGKeyArray) -> Laplacian:
        d = (self.problem.skills + 1) // 2 + 1
        return Laplacian(self.network(observation_size, d, key), jnp.zeros((d, d)))

    def loss(self, model: Laplacian, batch: Transition, key: PRNGKeyArray) -> Loss:
        x, y = every(model.φ, batch.observation), every(model.φ, batch.next_observation)
        x, y = (v.reshape(-1, v.shape[-1]) for v in (x, y))
        smooth = jnp.mean(jnp.sum((x - y) ** 2, -1))
        c = jnp.tril(x.T @ jax.lax.stop_gradient(x) / len(x) - jnp.eye(x.shape[-1]))
        orthogonal = jnp.sum(jax.lax.stop_gradient(model.dual) * c) + self.barrier * jnp.sum(c**2)
        ascent = -self.dual_rate * jnp.sum(model.dual * jax.lax.stop_gradient(c))
        return smooth + orthogonal + ascent, {"smoothness": smooth, "violation": jnp.abs(c).max()}

    def rewards(self, model: Laplacian, batch: Transition) -> Rewards:
        step = every(model.φ, batch.next_observation) - every(model.φ, batch.observation)
        skill = jnp.asarray(batch.skill)
        which = jax.nn.one_hot(1 + skill // 2, step.shape[-1])
        sign = 1 - 2 * (skill % 2)
        return sign[:, None] * jnp.sum(step * which[:, None], -1)
