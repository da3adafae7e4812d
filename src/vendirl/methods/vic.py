"""VIC, Variational Intrinsic Control (Gregor et al., 2016), and RVIC, its relative form (Baumli et al., 2021).

    VIC:    r = log q(g | s_0, s_T) - log p(g)               at the last step, else 0
    RVIC:   r = log q(g | s_0, s_T) - log q_abs(g | s_T)     likewise: the change that a skill makes, not where it ends

From s_0 to s_T one skill acts: for an episode or, where another skill comes before the episode ends, until then.
"""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from vendirl.environments import Environment
from vendirl.methods.discriminator import cross_entropy, ends, of_skill
from vendirl.methods.fitted import Fitted, Loss, along, every, firsts
from vendirl.methods.method import Method, Rewards
from vendirl.methods.problem import Problem
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

    def bind(self, problem: Problem) -> Method:
        T = problem.environment.episode_length
        if problem.updates > 1 and problem.steps % T:
            raise ValueError(
                f"{self.name} pays a skill for where it led from where it began, but each of the {problem.updates} "
                f"updates of an epoch sees {problem.steps} steps, and an episode has {T}; use updates=1, or updates of "
                "whole episodes"
            )
        return super().bind(problem)

    def model(self, observation_size: int, key: PRNGKeyArray) -> PyTree[Array]:
        return self.network(2 * observation_size, self.problem.skills, key)

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
    """Reward episodes whose end tells which skill acted only to those who know how they began.

    Where all episodes begin at the same state there is nothing to know, and the reward is how far two fits of the same
    thing differ: a run in such a world says so.
    """

    name: ClassVar[str] = "rvic"

    @property
    def caveat(self) -> str | None:
        world, steps = self.problem.environment, self.problem.steps
        if not isinstance(world, Environment) or world.costly_reset or steps % world.episode_length:
            return None
        firsts = jax.vmap(world.reset)(jax.random.split(jax.random.key(0), 8)).observation
        seen = firsts if self.features is None else firsts[:, jnp.array(self.features)]
        if bool(jnp.any(seen != seen[0])):
            return None
        return (
            "rvic rewards what the beginning of an episode adds to its end, but here all episodes begin alike, so that "
            "its reward is noise; use vic, or a world whose beginnings vary"
        )

    def model(self, observation_size: int, key: PRNGKeyArray) -> tuple[Network, Network]:
        relative, absolute = jax.random.split(key)
        return (
            self.network(2 * observation_size, self.problem.skills, relative),
            self.network(observation_size, self.problem.skills, absolute),
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
