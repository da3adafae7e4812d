"""Acting in an environment and writing down what happened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from vendirl.environments.environment import Environment, State
from vendirl.skills.policy import Action, AnyArray, SkillPolicy
from vendirl.skills.policy import noise as draw_noise

PolicyFn = Callable[[Float[Array, " D"], Float[Array, ""], Any], tuple[Action, Float[Array, ""]]]
"""(observation, time, noise) -> (action, log_prob); the noise is None where `rollout` was given none."""


class Transition(eqx.Module):
    """A stretch of one scene, one row a step; under `vmap` scenes come first. Scenes outside of the compiled program
    bring NumPy's arrays.

    `next_observation` is the true successor, before any reset. Where neither `terminated` nor `truncated`, it is the
    next row's `observation`. Times are fractions of an episode, elapsed / episode_length.
    """

    observation: Float[AnyArray, "*steps D"]
    time: Float[AnyArray, "*steps"]
    action: Float[AnyArray, "*steps A"] | Int[AnyArray, "*steps"]
    log_prob: Float[AnyArray, "*steps"]
    next_observation: Float[AnyArray, "*steps D"]
    next_time: Float[AnyArray, "*steps"]
    terminated: Bool[AnyArray, "*steps"]
    truncated: Bool[AnyArray, "*steps"]
    reward: Float[AnyArray, "*steps"]
    """The environment's own."""
    skill: Int[AnyArray, "*scenes"] | Float[AnyArray, "*scenes d"]
    """A number or a vector; one for the whole stretch, so it has no axis of steps."""


def rollout(
    environment: Environment,
    policy_fn: PolicyFn,
    state: State,
    elapsed: Int[Array, ""],
    skill: Int[Array, ""] | Float[Array, " d"],
    steps: int,
    key: PRNGKeyArray,
    noise: Float[Array, "{steps} A"] | None = None,
) -> tuple[State, Int[Array, ""], Transition]:
    """Continue one scene for `steps` steps, beginning a new episode whenever one ends.

    Args:
        policy_fn: (observation, time, noise) -> (action, log_prob), e.g. `policy.skill(g).act`.
        state: where the scene is.
        elapsed: steps of the current episode that have passed.
        skill: the skill that is followed, written down and otherwise unused.
        noise: what `policy_fn` is given at each step. Drawing it for all steps and scenes at once (`policy.noise`) is
            faster than a key for each, to run and above all to compile.

    Returns:
        The state and elapsed steps to continue from, and the transitions.
    """
    T = environment.episode_length

    step_keys, reset_keys = (jax.random.split(key, steps) for key in jax.random.split(key))
    ahead = environment.reset(reset_keys[0]) if environment.costly_reset else None

    def step(carry, randomness):
        state, elapsed = carry
        action_noise, step_key, reset_key = randomness
        time = elapsed / T
        action, log_prob = policy_fn(state.observation, time, action_noise)
        successor = environment.step(state, action, step_key)
        elapsed = elapsed + 1
        truncated = (elapsed >= T) & ~successor.terminated
        row = Transition(
            observation=state.observation,
            time=time,
            action=action,
            log_prob=log_prob,
            next_observation=successor.observation,
            next_time=elapsed / T,
            terminated=successor.terminated,
            truncated=truncated,
            reward=successor.reward,
            skill=skill,
        )
        done = successor.terminated | truncated
        fresh = environment.reset(reset_key) if ahead is None else ahead
        state = jax.tree.map(lambda new, old: jnp.where(done, new, old), fresh, successor)
        return (state, jnp.where(done, 0, elapsed)), row

    (state, elapsed), rows = jax.lax.scan(step, (state, elapsed), (noise, step_keys, reset_keys))
    return state, elapsed, eqx.tree_at(lambda rows: rows.skill, rows, jnp.asarray(skill))


def act_out(
    environment: Environment,
    policy: SkillPolicy,
    skills: Int[AnyArray, " n"] | Float[AnyArray, "n d"],
    key: PRNGKeyArray,
    deterministic: bool = False,
    episodes: int | None = None,
) -> Transition:
    """T steps of each of `skills` from the first step of an episode on; T is the environment's episode length. A skill
    that terminates early begins anew and fills its T steps, as the memory's queue goes on filling; the rows tell where.

    Args:
        deterministic: take the likeliest action rather than draw one.
        episodes: N for an axis of so many episodes, (n, N, T); None for one episode without that axis, (n, T).
    """
    skills, T = jnp.asarray(skills), environment.episode_length
    shape = (len(skills),) if episodes is None else (len(skills), episodes)
    noise_key, world_key = jax.random.split(key)

    def trajectory(skill, key, noise):
        one = policy.skill(skill)

        def likeliest(observation, time, noise):
            return one.mode(observation, time), jnp.array(0.0)

        start_key, key = jax.random.split(key)
        policy_fn = likeliest if deterministic else one.act
        start = environment.reset(start_key)
        return rollout(environment, policy_fn, start, jnp.array(0), skill, T, key, noise)[2]

    of_skill = trajectory if episodes is None else jax.vmap(trajectory, (None, 0, 0))
    drawn = draw_noise(policy.actions, noise_key, (*shape, T))
    return jax.vmap(of_skill)(skills, jax.random.split(world_key, shape), drawn)
