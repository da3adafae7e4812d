"""DISk, Discovery of Incremental Skills (Shafiullah and Pinto, 2022): one skill after another, each its own policy.

    r = β d_k(s', states of earlier skills) - α d_k(s', own recent states)

d_k is the mean distance to the k nearest states. Each skill is learned in its share of the epochs, while the earlier
ones stay as they are; α grows from 0 to its value over that share. A learner with a replay lets the current skill learn
from what all skills did.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from vendirl.algorithms import SAC
from vendirl.methods.method import Method, Metrics, Rewards
from vendirl.methods.particles import nearest, references
from vendirl.methods.problem import Problem
from vendirl.methods.published import Published, Recipe
from vendirl.methods.registry import register
from vendirl.similarity.features import feature_indices, listed_features
from vendirl.skills.policy import AnyArray, SkillPolicy
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
    reassigns: ClassVar[bool] = True
    plans_ahead: ClassVar[bool] = True

    def start(self, policy: SkillPolicy, key: PRNGKeyArray) -> States:
        D, zero = self._size, jnp.zeros((), jnp.int32)
        M = min(self.states, self.problem.scenes * self.problem.steps)
        return States(jnp.zeros((self.problem.skills, M, D)), zero, jnp.array(self.problem.epochs, jnp.int32))

    def goals(self, state: States, epoch: Int[Array, ""], key: PRNGKeyArray) -> Int[Array, " E"]:
        return jnp.full(self.problem.scenes, self._current(state))

    def learn(self, state: States, batch: Transition, key: PRNGKeyArray) -> tuple[States, Metrics]:
        recent = references(self._places(batch), self.states)
        return eqx.tree_at(lambda s: s.kept, state, state.kept.at[self._current(state)].set(recent)), {}

    def reward(self, state: States, batch: Transition) -> tuple[States, Rewards, Metrics]:
        novelty, own = self._distances(state, batch)
        n = state.kept.shape[0]
        share = state.epochs / n
        α = self.consistency * jnp.clip((state.epoch - self._current(state) * share) / share, 0.0, 1.0)
        return state, self.diversity * novelty - α * own, {"novelty": novelty.mean(), "consistency": own.mean()}

    def _distances(self, state: States, batch: Transition) -> tuple[Rewards, Rewards]:
        """Of each state, to the states of earlier skills and to the current one's own."""
        x, current, n = self._places(batch), self._current(state), state.kept.shape[0]
        earlier = jnp.arange(n) < current
        far = jnp.where(earlier[:, None, None], state.kept, 1e6).reshape(
            -1, x.shape[-1]
        )  # later ones are never nearest
        novelty = jnp.where(current > 0, jnp.mean(nearest(x, far, self.neighbours), -1), 0.0)
        # the nearest of the own states may be the state itself, so one more is looked at
        return novelty, jnp.mean(nearest(x, state.kept[current], self.neighbours + 1)[..., 1:], -1)

    @property
    def _size(self) -> int:
        return self.problem.environment.observation_size

    def _places(self, batch: Transition) -> Float[AnyArray, "E steps D"]:
        """What distances are between."""
        return batch.next_observation

    def replayed(self, state: States, batch: Transition) -> Transition:
        """What earlier skills did, as if the current one had done it: they stay as they are, and it learns from all."""
        return eqx.tree_at(lambda b: b.skill, batch, jnp.full_like(batch.skill, self._current(state)))

    def finish(self, state: States) -> States:
        return eqx.tree_at(lambda s: s.epoch, state, state.epoch + 1)

    def _current(self, state: States) -> Int[Array, ""]:
        """The skill whose turn it is."""
        n = state.kept.shape[0]
        return jnp.minimum(state.epoch * n // state.epochs, n - 1)


class Scaled(States):
    """The same, with the sums of both mean distances over the epochs so far, how many there were, and what the two are
    divided by: their means when the current skill began."""

    total: Float[Array, " 2"]
    count: Float[Array, ""]
    usual: Float[Array, " 2"]


@register
@dataclasses.dataclass(frozen=True)
class PublishedDISk(Published, DISk):
    """DISk as its release trains it on Ant.

        r = β d_k(x, earlier skills') / m - α(t) d_k(x, own) / m',      x = s' - s,      α(t) = α tanh(4 (2t - 1))

    d_k is the distance to the k-th nearest, t the part of the skill's share that has passed, and m, m' are the means of
    both distances before the skill began. For the first skill the first term is β, α(t) = α, and m = m' = 1. x is of
    the position alone there: `.on(x, y)`.

    What still differs: the release keeps a hundred episodes of each skill and draws from them anew for each batch; new
    skills begin with new critics and a new temperature, and with half of the replay; all skills have equal shares; m'
    there is of the logged penalty, α and sign included; target critics move at every gradient step, not at every other.
    """

    consistency: float = 60.0
    states: int = 512
    features: Sequence[int | str] | None = None

    name: ClassVar[str] = "disk-published"
    recipe: ClassVar[Recipe] = Recipe(
        "DISk's release",
        SAC(
            learning_rate=1e-4,
            temperature=0.1,
            reward_scale=1.0,
            ratio=1.0,
            batch=1024,
            capacity=2_000_000,
            warmup=5_000,
            hidden=(1024, 1024),
            activation="relu",
        ),
        {"hidden": (1024, 1024), "activation": "relu", "time": False, "scenes": 1, "epoch": 1.0, "updates": 1},
    )

    def on(self, *features: Any) -> PublishedDISk:
        return dataclasses.replace(self, features=listed_features(features))

    def bind(self, problem: Problem) -> Method:
        names, size = problem.environment.feature_names, problem.environment.observation_size
        chosen = None if self.features is None else tuple(feature_indices(self.features, names, size, self.name))
        return super(PublishedDISk, dataclasses.replace(self, features=chosen)).bind(problem)

    def start(self, policy: SkillPolicy, key: PRNGKeyArray) -> Scaled:
        s = super().start(policy, key)
        return Scaled(s.kept, s.epoch, s.epochs, jnp.zeros(2), jnp.zeros(()), jnp.ones(2))

    def reward(self, state: Any, batch: Transition) -> tuple[Scaled, Rewards, Metrics]:
        novelty, own = self._distances(state, batch)
        current, share = self._current(state), state.epochs / state.kept.shape[0]
        t = (state.epoch - current * share) / share
        α = self.consistency * jnp.where(current > 0, jnp.tanh(4 * (2 * t - 1)), 1.0)
        far = jnp.where(current > 0, novelty / state.usual[0], 1.0)
        seen = state.total + jnp.stack([novelty.mean(), own.mean()])
        state = eqx.tree_at(lambda s: (s.total, s.count), state, (seen, state.count + 1))
        found = {"novelty": novelty.mean(), "consistency": own.mean()}
        return state, self.diversity * far - α * own / state.usual[1], found

    def finish(self, state: Any) -> Scaled:
        after: Any = super().finish(state)
        new = self._current(after) > self._current(state)
        mean = jnp.maximum(after.total / jnp.maximum(after.count, 1), 1e-6)
        return eqx.tree_at(lambda s: s.usual, after, jnp.where(new, mean, after.usual))

    def _distances(self, state: States, batch: Transition) -> tuple[Rewards, Rewards]:
        x, current, n = self._places(batch), self._current(state), state.kept.shape[0]
        before = jnp.where((jnp.arange(n) < current)[:, None, None], state.kept, 1e6).reshape(-1, x.shape[-1])
        far = jnp.where(current > 0, nearest(x, before, self.neighbours)[..., -1], 0.0)
        return far, nearest(x, state.kept[current], self.neighbours)[..., -1]

    @property
    def _size(self) -> int:
        return super()._size if self.features is None else len(self.features)

    def _places(self, batch: Transition) -> Float[AnyArray, "E steps D"]:
        change = batch.next_observation - batch.observation
        return change if self.features is None else change[..., jnp.array(self.features)]
