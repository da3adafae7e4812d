"""Several methods at once: a weighted sum of their rewards."""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from vendirl._text import written
from vendirl.methods.method import Goals, Method, Metrics, Rehearse, Rewards
from vendirl.methods.problem import Problem
from vendirl.similarity import Similarity
from vendirl.skills.policy import SkillPolicy
from vendirl.skills.rollout import Transition
from vendirl.skills.spaces import OneHot, SkillSpace

States = tuple[PyTree, ...]
"""One for each of the methods."""


@dataclasses.dataclass(frozen=True)
class Combined(Method):
    """A weighted sum of methods' rewards. The skill space is that of the first that has one of its own."""

    terms: tuple[tuple[float, Method], ...] = ()
    name: ClassVar[str] = "combined"

    def __post_init__(self) -> None:
        for weight, method in self.terms:
            if not math.isfinite(weight):
                raise ValueError(f"the weight of {method} must be finite, but is {weight:g}")

    def space(self, skills: int) -> SkillSpace:
        spaces = [method.space(skills) for _, method in self.terms]
        special = [space for space in spaces if type(space) is not OneHot]
        if len(set(special)) > 1:
            raise ValueError(f"methods with different skill spaces cannot be added: {', '.join(map(str, special))}")
        if special and not special[0].discrete and any(method.needs_numbers for _, method in self.terms):
            raise ValueError("a method with continuous skills cannot be added to one that counts its skills")
        return special[0] if special else spaces[0]

    def bind(self, problem: Problem) -> Method:
        return super(Combined, Combined(tuple((w, method.bind(problem)) for w, method in self.terms))).bind(problem)

    def start(self, policy: SkillPolicy, key: PRNGKeyArray) -> States:
        keys = jax.random.split(key, len(self.terms))
        return tuple(m.start(policy, k) for (_, m), k in zip(self.terms, keys, strict=True))

    def prepare(
        self, state: States, goals: Goals, elapsed: Int[Array, " E"], key: PRNGKeyArray, rehearse: Rehearse
    ) -> States:
        keys = jax.random.split(key, len(self.terms))
        triples = zip(self.terms, state, keys, strict=True)
        return tuple(m.prepare(s, goals, elapsed, k, rehearse) for (_, m), s, k in triples)

    @property
    def plans_ahead(self) -> bool:
        return any(method.plans_ahead for _, method in self.terms)

    @property
    def rehearsal(self) -> int:
        return max(method.rehearsal for _, method in self.terms)

    @property
    def rehearsal_period(self) -> int:
        return math.gcd(*(method.rehearsal_period for _, method in self.terms if method.rehearsal))

    def learn(self, state: States, batch: Transition, key: PRNGKeyArray) -> tuple[States, Metrics]:
        keys = jax.random.split(key, len(self.terms))
        states: list[PyTree] = []
        metrics: Metrics = {}
        for (_, method), s, k in zip(self.terms, state, keys, strict=True):
            s, found = method.learn(s, batch, k)
            states.append(s)
            metrics |= found
        return tuple(states), metrics

    @property
    def learns_from_replay(self) -> bool:
        return any(method.learns_from_replay for _, method in self.terms)

    def learn_replayed(self, state: States, batch: Transition, key: PRNGKeyArray) -> tuple[States, Metrics]:
        keys = jax.random.split(key, len(self.terms))
        triples = zip(self.terms, state, keys, strict=True)
        found = [m.learn_replayed(s, batch, k) for (_, m), s, k in triples]
        return tuple(s for s, _ in found), {name: x for _, metrics in found for name, x in metrics.items()}

    def reward(self, state: States, batch: Transition) -> tuple[States, Rewards, Metrics]:
        states: list[PyTree] = []
        total = jnp.zeros(())
        metrics: Metrics = {}
        for (weight, method), s in zip(self.terms, state, strict=True):
            s, rewards, found = method.reward(s, batch)
            states.append(s)
            total = total + weight * rewards
            metrics |= {**found, f"reward_{method.name}": rewards.mean()}
        return tuple(states), total, metrics

    def reward_stored(self, state: States, batch: Transition) -> Rewards:
        pairs = zip(self.terms, state, strict=True)
        return sum((w * method.reward_stored(s, batch) for (w, method), s in pairs), start=jnp.zeros(()))

    @property
    def reassigns(self) -> bool:
        return any(method.reassigns for _, method in self.terms)

    def replayed(self, state: States, batch: Transition) -> Transition:
        for (_, method), s in zip(self.terms, state, strict=True):
            batch = method.replayed(s, batch)
        return batch

    @property
    def caveat(self) -> str | None:
        return "; ".join(method.caveat for _, method in self.terms if method.caveat) or None

    @property
    def knows_goals(self) -> bool:
        return any(method.knows_goals for _, method in self.terms)

    def goal_skill(
        self, state: States, observation: Float[Array, " D"], goal: Float[Array, " D"]
    ) -> Int[Array, ""] | Float[Array, " d"]:
        """What the first that knows says."""
        for (_, method), s in zip(self.terms, state, strict=True):
            if method.knows_goals:
                return method.goal_skill(s, observation, goal)
        return super().goal_skill(state, observation, goal)

    def finish(self, state: States) -> States:
        return tuple(method.finish(s) for (_, method), s in zip(self.terms, state, strict=True))

    def rehearsed(self, epochs: int) -> int:
        return sum(method.rehearsed(epochs) for _, method in self.terms)

    @property
    def pools(self) -> tuple[int, ...]:
        return tuple(pool for _, method in self.terms for pool in method.pools)

    @property
    def depends_on_similarity(self) -> bool:
        return any(method.depends_on_similarity for _, method in self.terms)

    @property
    def similarities(self) -> tuple[Similarity, ...]:
        return tuple(k for _, method in self.terms for k in method.similarities)

    @property
    def frozen(self) -> bool:
        return all(method.frozen for _, method in self.terms)

    @property
    def whole_stretches(self) -> bool:
        return any(method.whole_stretches for _, method in self.terms)

    @property
    def spreads(self) -> bool:
        return all(method.spreads for _, method in self.terms)

    @property
    def separate(self) -> bool:
        return any(method.separate for _, method in self.terms)

    def goals(self, state: States, epoch: Int[Array, ""], key: PRNGKeyArray) -> Goals:
        return self.terms[0][1].goals(state[0], epoch, key)

    def __str__(self) -> str:
        return " + ".join(f"{written(weight)}*{method}" for weight, method in self.terms)

    def on(self, *features: int | str | list[int | str] | tuple[int | str, ...]) -> Combined:
        return Combined(tuple((w, method.on(*features)) for w, method in self.terms))


def terms(method: Method) -> tuple[tuple[float, Method], ...]:
    """The methods that a method is a weighted sum of."""
    return method.terms if isinstance(method, Combined) else ((1.0, method),)
