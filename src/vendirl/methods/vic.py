"""VIC, Variational Intrinsic Control (Gregor et al., 2016), and RVIC, its relative form (Baumli et al., 2021).

VIC:    r = log q(g | s_0, s_T) - log p(g)                at the last step of an episode, else 0
RVIC:   r = log q(g | s_0, s_T) - log q_abs(g | s_T)      likewise: the change that a skill makes, not where it ends
"""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from vendirl.methods.discriminator import cross_entropy, ends, of_skill
from vendirl.methods.fitted import Fitted, Loss, along, every, firsts, network
from vendirl.methods.method import Rewards
from vendirl.methods.registry import register
from vendirl.skills.networks import Network
from vendirl.skills.rollout import Transition


@register
@dataclasses.dataclass(frozen=True)
class VIC(Fitted):
    """Reward episodes whose end, seen from their beginning, tells which skill acted."""

    name: ClassVar[str] = "vic"
    needs_numbers: ClassVar[bool] = True
    whole_stretches: ClassVar[bool] = True

    def model(self, observation_size: int, key: PRNGKeyArray) -> PyTree[Array]:
        return network(2 * observation_size, self.hidden, self.problem.skills, key)

    def loss(self, model: PyTree[Array], batch: Transition, key: PRNGKeyArray) -> Loss:
        log_q, last = self.log_q(model, batch), ends(batch)
        loss = cross_entropy(log_q, batch.skill, last)
        right = (jnp.argmax(log_q, -1) == along(batch.skill, log_q.shape[1])) & last
        return loss, {"discriminator_loss": loss, "accuracy": right.sum() / jnp.maximum(last.sum(), 1)}

    def rewards(self, model: PyTree[Array], batch: Transition) -> Rewards:
        log_q = self.log_q(model, batch)
        return ends(batch) * (of_skill(log_q, batch.skill) + math.log(log_q.shape[-1]))

    def log_q(self, model: Network, batch: Transition) -> Float[Array, "E steps n"]:
        """log q(g | s_0, s') of all skills."""
        pair = jnp.concatenate([firsts(batch), batch.next_observation], -1)
        return jax.nn.log_softmax(every(model, pair))


@register
@dataclasses.dataclass(frozen=True)
class RVIC(VIC):
    """Reward episodes whose end tells which skill acted only to those who know how they began."""

    name: ClassVar[str] = "rvic"

    def model(self, observation_size: int, key: PRNGKeyArray) -> tuple[Network, Network]:
        relative, absolute = jax.random.split(key)
        return (
            network(2 * observation_size, self.hidden, self.problem.skills, relative),
            network(observation_size, self.hidden, self.problem.skills, absolute),
        )

    def loss(self, model: tuple[Network, Network], batch: Transition, key: PRNGKeyArray) -> Loss:
        relative, absolute = model
        loss, metrics = super().loss(relative, batch, key)
        return loss + cross_entropy(self.log_q_absolute(absolute, batch), batch.skill, ends(batch)), metrics

    def rewards(self, model: tuple[Network, Network], batch: Transition) -> Rewards:
        relative, absolute = model
        gain = self.log_q(relative, batch) - self.log_q_absolute(absolute, batch)
        return ends(batch) * of_skill(gain, batch.skill)

    def log_q_absolute(self, model: Network, batch: Transition) -> Float[Array, "E steps n"]:
        """log q_abs(g | s')."""
        return jax.nn.log_softmax(every(model, batch.next_observation))
