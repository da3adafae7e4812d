"""System Neural Diversity of the skills of a policy: how differently they act in the same states."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from jaxtyping import Array, ArrayLike, Float, Int

from vendirl._programs import Program
from vendirl.environments.spaces import Discrete
from vendirl.evaluation.measures.measure import Measure
from vendirl.evaluation.measures.neural_diversity import (
    discrete_neural_diversity,
    finite_array,
    gaussian_neural_diversity,
    quantile_neural_diversity,
)
from vendirl.skills.policy import SkillPolicy

_LEVELS = 16  # quantiles of actions that are not normal


def neural_diversity(
    policy: SkillPolicy,
    observations: ArrayLike | Sequence[Sequence[float]],
    times: ArrayLike | Sequence[float] | None = None,
    skills: Int[Array, " n"] | Float[Array, "n d"] | None = None,
) -> Measure:
    """SND of the skills of a `SkillPolicy` in given states.

    Args:
        policy: a `SkillPolicy`, whose actions are compared as it draws them, before an environment clips them.
        observations: (S, D) the states, e.g. a sample of those that all skills visit.
        times: (S,) fractions of the episode, for a policy that sees the time.
        skills: (n,) numbers or (n, d) vectors of the skills to compare; None for all, which works only where skills are
            numbers.
    """
    states = finite_array(np.asarray(observations), "observations", ndim=2)
    if times is None and policy.time:
        raise ValueError("times is None, but this policy sees the time: give the fraction of the episode of each state")
    moments = np.zeros(len(states)) if times is None else finite_array(np.asarray(times), "times", ndim=1)
    if len(moments) != len(states):
        raise ValueError(f"times has {len(moments)} entries, but there are {len(states)} observations")

    if skills is None:
        if not policy.numbered:
            raise ValueError("skills is None, but the skills of this policy are vectors: give those to compare")
        skills = jnp.arange(policy.skills)

    def of_all(f):  # f(Skill, observation, time) of all skills and states
        over_states = jax.vmap(f, (None, 0, 0))

        def outputs(policy, states, moments):
            return jax.vmap(lambda g: over_states(policy.skill(g), states, moments))(skills)

        return np.asarray(Program(outputs)(policy, states, moments), np.float64)

    if isinstance(policy.actions, Discrete):
        actions = np.arange(policy.actions.n)
        log_probs = of_all(lambda skill, x, t: jax.vmap(lambda a: skill.evaluate(x, t, a)[0])(actions))
        return discrete_neural_diversity(np.exp(log_probs))
    if policy.log_std is None:
        ε = jnp.asarray(scipy.special.ndtri((np.arange(_LEVELS) + 0.5) / _LEVELS))
        same = jnp.ones(policy.actions.size)
        return quantile_neural_diversity(
            of_all(lambda skill, x, t: jax.vmap(lambda level: skill.act(x, t, level * same)[0], out_axes=-1)(ε))
        )
    means = of_all(lambda skill, x, t: skill.mode(x, t))
    log_std = policy.log_std[skills] if policy.separate else policy.log_std
    stds = policy.actions.half_width * np.exp(np.asarray(log_std, np.float64))
    return gaussian_neural_diversity(means, stds.reshape(-1, 1, stds.shape[-1]))
