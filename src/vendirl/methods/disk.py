"""DISk, Discovery of Incremental Skills (Shafiullah and Pinto, 2022): one skill after another, each its own policy.

    r = β d_k(s', states of earlier skills) - α d_k(s', own recent states)

d_k is the mean distance to the k nearest states. Each skill is learned in its share of the epochs, while the earlier
ones stay as they are; α grows from 0 to its value over that share.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from vendirl.methods.method import Method, Metrics, Rewards
from vendirl.methods.particles import nearest, references
from vendirl.methods.registry import register
from vendirl.skills.policy import SkillPolicy
from vendirl.skills.rollout import Transition


class States(eqx.Module):
    """Recent states of all skills, (n, M, D), and which epoch of how many this is."""

    kept: Float[Array, "n M D"]
    epoch: Int[Array, ""]
    epochs: Int[Array, ""]


@register
@dataclasses.dataclass(frozen=True)
class DISk(Method):
    """Reward states far from those of the skills before, and near the skill's own.

    Attributes:
        diversity: β.
        consistency: α.
        neighbours: k.
        states: M, how many recent states of a skill are kept; no more than there are between two updates.
    """

    diversity: float = 1.0
    consistency: float = 0.2
    neighbours: int = 3
    states: int = 128

    name: ClassVar[str] = "disk"
    separate: ClassVar[bool] = True
    needs_numbers: ClassVar[bool] = True

    def start(self, policy: SkillPolicy, key: PRNGKeyArray) -> States:
        D, zero = self.problem.environment.observation_size, jnp.zeros((), jnp.int32)
        M = min(self.states, self.problem.scenes * self.problem.steps)
        return States(jnp.zeros((self.problem.skills, M, D)), zero, jnp.array(self.problem.epochs, jnp.int32))

    def goals(self, state: States, epoch: Int[Array, ""], key: PRNGKeyArray) -> Int[Array, " E"]:
        return jnp.full(self.problem.scenes, self._current(state))

    def learn(self, state: States, batch: Transition, key: PRNGKeyArray) -> tuple[States, Metrics]:
        recent = references(batch.next_observation, self.states)
        return eqx.tree_at(lambda s: s.kept, state, state.kept.at[self._current(state)].set(recent)), {}

    def reward(self, state: States, batch: Transition) -> tuple[States, Rewards, Metrics]:
        x, current, n = batch.next_observation, self._current(state), state.kept.shape[0]
        earlier = jnp.arange(n) < current
        far = jnp.where(earlier[:, None, None], state.kept, 1e6).reshape(
            -1, x.shape[-1]
        )  # later ones are never nearest
        novelty = jnp.where(current > 0, jnp.mean(nearest(x, far, self.neighbours), -1), 0.0)
        # the nearest of the own states may be the state itself, so one more is looked at
        own = jnp.mean(nearest(x, state.kept[current], self.neighbours + 1)[..., 1:], -1)
        share = state.epochs / n
        α = self.consistency * jnp.clip((state.epoch - current * share) / share, 0.0, 1.0)
        return state, self.diversity * novelty - α * own, {"novelty": novelty.mean(), "consistency": own.mean()}

    def finish(self, state: States) -> States:
        return eqx.tree_at(lambda s: s.epoch, state, state.epoch + 1)

    def _current(self, state: States) -> Int[Array, ""]:
        """The skill whose turn it is."""
        n = state.kept.shape[0]
        return jnp.minimum(state.epoch * n // state.epochs, n - 1)
