"""WURL, Wasserstein Unsupervised RL (He et al., 2022): skills whose states are far from those of the nearest other
skill.

    r_t = the share of state t in the transport cost to the states of the nearest other skill,   Σ_t r_t = T W²

W² is sliced: the mean, over directions u, of the squared cost of matching u·x to u·y in order, which is optimal in one
dimension. Each skill is a policy of its own.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from vendirl.methods.method import Method, Metrics, Rewards
from vendirl.methods.registry import register
from vendirl.skills.policy import SkillPolicy
from vendirl.skills.rollout import Transition


class Targets(eqx.Module):
    """The states of the latest stretch of each skill, (n, T, D), and whether there is one; directions, (P, D)."""

    states: Float[Array, "n T D"]
    seen: Float[Array, " n"]
    directions: Float[Array, "P D"]


@register
@dataclasses.dataclass(frozen=True)
class WURL(Method):
    """Reward states by what it costs to move them to those of the nearest other skill.

    Attributes:
        projections: P, how many directions.
    """

    projections: int = 16

    name: ClassVar[str] = "wurl"
    separate: ClassVar[bool] = True
    needs_numbers: ClassVar[bool] = True
    whole_stretches: ClassVar[bool] = True

    def start(self, policy: SkillPolicy, key: PRNGKeyArray) -> Targets:
        D = self.problem.environment.observation_size
        directions = jax.random.normal(key, (self.projections, D))
        directions = directions / jnp.linalg.norm(directions, axis=-1, keepdims=True)
        return Targets(
            jnp.zeros((self.problem.skills, self.problem.steps, D)), jnp.zeros(self.problem.skills), directions
        )

    def learn(self, state: Targets, batch: Transition, key: PRNGKeyArray) -> tuple[Targets, Metrics]:
        n = state.seen.shape[0]
        mine = batch.skill[None, :] == jnp.arange(n)[:, None]
        scene = jnp.argmax(mine, axis=1)
        some = mine.any(1)
        states = jnp.where(some[:, None, None], batch.next_observation[scene], state.states)
        return Targets(states, jnp.maximum(state.seen, some), state.directions), {}

    def reward(self, state: Targets, batch: Transition) -> tuple[Targets, Rewards, Metrics]:
        def scene(x, skill):
            costs = jax.vmap(lambda y: transport(x, y, state.directions))(state.states)  # (n, T)
            other = (state.seen > 0) & (jnp.arange(costs.shape[0]) != skill)
            nearest = jnp.argmin(jnp.where(other, costs.sum(-1), jnp.inf))
            return jnp.where(other.any(), costs[nearest], 0.0)

        rewards = jax.vmap(scene)(batch.next_observation, batch.skill)
        return state, rewards, {"transport": rewards.mean()}


def transport(x: Float[Array, "T D"], y: Float[Array, "T D"], directions: Float[Array, "P D"]) -> Float[Array, " T"]:
    """What each x contributes to the cost of transport to y: the mean over directions of its squared move in order."""

    def along(u):
        p, q = x @ u, y @ u
        order = jnp.argsort(p)
        return jnp.zeros_like(p).at[order].set((p[order] - jnp.sort(q)) ** 2)

    return jnp.mean(jax.vmap(along)(directions), 0)
