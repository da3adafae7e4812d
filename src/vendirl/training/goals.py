"""Goal reaching with the skills of a run: its method's model says which skill is to reach a goal, and that skill acts.

Two protocols on the same goals: the skill is chosen once, where the episode begins (Latent Goal Reaching), or anew in
every step (zero-shot goal reaching).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray, PyTree

from vendirl._checks import AnyArray, an_array, whole_number
from vendirl._programs import Program
from vendirl.data import Trajectories
from vendirl.environments import AnyEnvironment, HostEnvironment
from vendirl.evaluation.measures.goals import NAMES, goal_achievement, latent_goal_reaching, zero_shot_goals
from vendirl.evaluation.measures.measure import Measure
from vendirl.evaluation.measures.observed import Features, columns_of, observed
from vendirl.methods import Method
from vendirl.methods.fitted import Fitted
from vendirl.skills.episodes import first_episodes
from vendirl.skills.host_rollout import Stage, drawn
from vendirl.skills.policy import SkillPolicy
from vendirl.skills.rollout import Transition, rollout


def goal_measures(
    environment: AnyEnvironment,
    policy: SkillPolicy,
    method: Method,
    state: PyTree,
    data: Trajectories,
    goals: int | Float[AnyArray, "G D"] | Any = 20,
    rollouts: int | Any = 1,
    features: Features = None,
    radius: float | None = None,
    seed: int | Any = 0,
) -> list[Measure]:
    """Latent Goal Reaching, zero-shot goal reaching and per-dimension goal achievement of the skills of a policy, which
    act with noise. A method without a model that says which skill reaches a goal gives none, and a note.

    Args:
        environment: where the skills act.
        policy, method, state: the skills, the method bound to its problem, and what it has learned.
        data: episodes of the skills, whose states goals are drawn from and whose range says what is near.
        goals: (G, D) observations to be reached; or how many to draw. Goals drawn from what a set of skills reaches are
            easier for it than for another: give the same to compare sets. Published values are of 10 goals with 10
            rollouts each (Latent Goal Reaching) and of 50 goals (zero-shot).
        rollouts: episodes for each goal.
        features: those in which goals are to be reached; those that the method looks at if None, or the first two.
        radius: how near is there; a tenth of the diagonal of the range of the data if None.
        seed: of goals and rollouts.
    """
    if not method.knows_goals:
        note = f"{method.name} has no model that tells which skill reaches a goal; diayn, lsd, metra, csf and visr have"
        return [Measure(name, None, note=note) for name in NAMES]
    whole_number(rollouts, "rollouts")
    if features is None and isinstance(method, Fitted):
        features = method.features
    columns = columns_of(data, features, default=2)
    sought, given = _goals(goals, data, seed)
    x = observed(data, columns)
    ranges = x.max(0) - x.min(0)
    if not ranges.any() and radius is None:
        note = "the skills never leave a point, so there are no goals to reach"
        return [Measure(name, None, note=note) for name in NAMES]
    near = float(np.linalg.norm(ranges)) / 10 if radius is None else radius
    once, anew = seek(environment, policy, method, state, sought, jax.random.key(seed), rollouts)
    found = [
        latent_goal_reaching(once, sought, columns),
        *zero_shot_goals(anew, sought, near, columns),
        goal_achievement(anew, sought, ranges, features=columns),
    ]
    how = {"goals_from": given, "seed": seed}
    return [dataclasses.replace(m, settings={**m.settings, **how}) for m in found]


def seek(
    environment: AnyEnvironment,
    policy: SkillPolicy,
    method: Method,
    state: PyTree,
    goals: Float[AnyArray, "G D"],
    key: PRNGKeyArray,
    rollouts: int = 1,
) -> tuple[Trajectories, Trajectories]:
    """Episodes in which the skills seek goals: with the skill chosen once, and chosen anew in every step. That of
    "skill" i sought goal i."""
    G, T = len(goals), environment.episode_length
    sought = jnp.asarray(np.tile(np.repeat(goals, rollouts, 0), (2, 1)), jnp.float32)
    anew = jnp.arange(len(sought)) >= G * rollouts
    noise = drawn(policy.actions, key, (len(sought), T))

    def act(first, goal, again, observation, time, noise):
        now = method.goal_skill(state, observation, goal)
        return policy.skill(jnp.where(again, now, first)).act(observation, time, noise)

    def choose(observation, goal):
        return method.goal_skill(state, observation, goal)

    if isinstance(environment, HostEnvironment):
        rows = _on_host(environment, act, choose, sought, anew, key, np.asarray(noise))
    else:

        def scene(goal, again, key, noise):
            start_key, key = jax.random.split(key)
            start = environment.reset(start_key)
            first = choose(start.observation, goal)

            def policy_fn(observation, time, noise):
                return act(first, goal, again, observation, time, noise)

            return rollout(environment, policy_fn, start, jnp.array(0), goal, T, key, noise)[2]

        rows = Program(jax.vmap(scene))(sought, anew, jax.random.split(key, len(sought)), noise)
    halves = jax.tree.map(lambda x: np.asarray(x).reshape(2, G, rollouts, *x.shape[1:]), rows)
    once, again = (jax.tree.map(lambda x, i=i: x[i], halves) for i in range(2))
    names = environment.feature_names
    return first_episodes(once, np.arange(G), names), first_episodes(again, np.arange(G), names)


def _on_host(
    environment: HostEnvironment,
    act: Callable,
    choose: Callable,
    goals: Float[Array, "E D"],
    anew: Bool[Array, " E"],
    key: PRNGKeyArray,
    noise: Float[np.ndarray, "E T A"],
) -> Transition:
    stage = Stage(environment, len(goals), int(jax.random.randint(key, (), 0, 2**31 - 1)))
    try:
        first = Program(jax.vmap(choose))(jnp.asarray(stage.features), goals)
        compiled = Program(jax.vmap(act))

        def acts(observations, times, noise):
            return tuple(np.asarray(x) for x in compiled(first, goals, anew, observations, times, noise))

        return stage.roll(acts, np.asarray(goals), noise)
    finally:
        stage.close()


def _goals(goals: Any, data: Trajectories, seed: int) -> tuple[Float[np.ndarray, "G D"], str]:
    """The goals, and where they are from."""
    if isinstance(goals, int):
        whole_number(goals, "goals")
        rows = np.random.default_rng(seed).choice(len(data.observations), min(goals, len(data.observations)), False)
        return observed(data, list(range(len(data.features))), np.sort(rows)), "states of these skills"
    given = np.asarray(an_array(goals, "goals"), np.float64)
    if given.ndim != 2 or not len(given) or given.shape[1] != len(data.features) or not np.isfinite(given).all():
        raise ValueError(f"goals must be finite, of shape (G, {len(data.features)}), but have shape {given.shape}")
    return given, "given"
