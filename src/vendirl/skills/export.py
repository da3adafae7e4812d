"""From a run's skills to policies in NumPy: which skill is meant, and its weights with the environment's own bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from vendirl._checks import finite, real_numbers, shown
from vendirl.environments import AnyEnvironment
from vendirl.environments.spaces import Discrete
from vendirl.environments.suites.flat import Acting
from vendirl.skills.policy import Skill
from vendirl.skills.portable import Policy
from vendirl.skills.spaces import SkillSpace


def chosen_goal(
    skill: Any, goals: Int[Array, " n"] | Float[Array, "n d"], space: SkillSpace
) -> Int[Array, ""] | Float[Array, "*d"]:
    """The goal that is meant by the number of one of the skills that are evaluated, by a vector, or by a mixture of
    those such as {3: 0.5, 4: 0.5}; refused if these skills have no such thing. `SkillPolicy.skill` checks the shape."""
    n, skill = len(goals), _plain(skill)
    if isinstance(skill, int | np.integer) and not isinstance(skill, bool):
        return goals[skill_number(skill, n)]
    if space.discrete:
        what = "a mixture" if isinstance(skill, Mapping) else shown(skill)
        raise ValueError(
            f"skill must be a number from 0 to {n - 1}, but is {what}: these skills are numbered, and there is nothing "
            "between two of them; those of methods such as metra are vectors"
        )
    if isinstance(skill, Mapping):
        if not skill:
            raise ValueError("a mixture needs at least one skill, such as {3: 0.5, 4: 0.5}")
        numbers = [skill_number(number, n) for number in skill]
        weights = np.asarray(real_numbers(list(skill.values()), "the weights of a mixture"), np.float64)
        if weights.ndim != 1 or not (weights >= 0).all() or not 0 < weights.sum() < math.inf:
            raise ValueError(f"the weights of a mixture must be at least 0, and not all 0, but are {shown(skill)}")
        return space.mixed(goals[jnp.asarray(numbers)], jnp.asarray(weights / weights.sum(), jnp.float32))
    vector = real_numbers(skill, "skill")
    finite(vector, "skill")
    return jnp.asarray(vector, jnp.float32)


def policy_of(skill: Skill, environment: AnyEnvironment, env: str, name: str) -> Policy:
    """A skill with all that acting needs, in NumPy; its actions are those that the environment itself takes."""
    act = getattr(environment, "act", None)  # of suites whose actions have bounds of their own
    first, shape, low, high = 0, None, None, None
    if isinstance(skill.actions, Discrete):
        first = act.first if isinstance(act, Acting) else 0
    else:
        A = skill.actions.size
        low, high = np.full(A, skill.actions.low, np.float64), np.full(A, skill.actions.high, np.float64)
        if isinstance(act, Acting):
            low, high = (low, high) if act.low is None or act.high is None else (act.low, act.high)
            shape = None if tuple(act.shape) == (A,) else tuple(map(int, act.shape))
    actor, statistics = skill.actor, skill.statistics
    kind = "discrete" if isinstance(skill.actions, Discrete) else "squashed" if skill.squashed else "normal"
    return Policy(
        kind=kind,
        activation=getattr(actor, "activation", "tanh"),
        layers=tuple((np.asarray(layer.weight), np.asarray(layer.bias)) for layer in actor.layers),
        mean=np.asarray(statistics.mean),
        scale=np.asarray(jax.lax.rsqrt(jnp.maximum(statistics.variance, 1e-8))),
        features=tuple(environment.feature_names),
        episode_length=environment.episode_length,
        timed=skill.timed,
        low=low,
        high=high,
        log_std=None if skill.log_std is None else np.asarray(skill.log_std),
        first=first,
        shape=shape,
        env=env,
        skill=name,
    )


def skill_number(number: Any, n: int) -> int:
    """The number of one of n skills, be it Python's, NumPy's or JAX's; refused if it is none."""
    number = _plain(number)
    if not isinstance(number, int | np.integer) or isinstance(number, bool) or not 0 <= number < n:
        raise ValueError(f"skill must be a number from 0 to {n - 1}, but is {shown(number)}")
    return int(number)


def _plain(given: Any) -> Any:
    """An array of a single number as that number; anything else as it is."""
    return given.item() if isinstance(given, np.ndarray | jax.Array) and not given.ndim else given
