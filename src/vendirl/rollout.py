"""Acting in an environment and writing down what happened."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from vendirl.environments.environment import Environment, State
from vendirl.policies import Action, SkillPolicy

PolicyFn = Callable[
    [Float[Array, " D"], Float[Array, ""], PRNGKeyArray], tuple[Action, Float[Array, ""], Float[Array, ""]]
]


class Transition(eqx.Module):
    """A stretch of one scene, one row a step; under `vmap` scenes come first.

    `next_observation` is the true successor, before any reset. Where neither `terminated` nor `truncated`, it is the
    next row's `observation`. Times are fractions of an episode, elapsed / episode_length.
    """

    observation: Float[Array, "*steps D"]
    time: Float[Array, "*steps"]
    action: Float[Array, "*steps A"] | Int[Array, "*steps"]
    log_prob: Float[Array, "*steps"]
    value: Float[Array, "*steps"]
    next_observation: Float[Array, "*steps D"]
    next_time: Float[Array, "*steps"]
    terminated: Bool[Array, "*steps"]
    truncated: Bool[Array, "*steps"]
    reward: Float[Array, "*steps"]
    """The environment's own."""
    skill: Int[Array, ""]
    """One for the whole stretch, so it has no axis of steps."""


def rollout(
    environment: Environment,
    policy_fn: PolicyFn,
    state: State,
    elapsed: Int[Array, ""],
    skill: Int[Array, ""],
    steps: int,
    key: PRNGKeyArray,
    noise: Callable[[PRNGKeyArray], PyTree] = lambda key: key,
) -> tuple[State, Int[Array, ""], Transition]:
    """Continue one scene for `steps` steps, beginning a new episode whenever one ends.

    Args:
        policy_fn: (observation, time, key) -> (action, log_prob, value), e.g. `policy.skill(g).action_and_value`.
        state: where the scene is.
        elapsed: steps of the current episode that have passed.
        skill: the skill that is followed, written down and otherwise unused.
        noise: makes of a key what `policy_fn` takes in the key's place, for the whole stretch at once and outside the
            scan; see `Skill.noise` and `Skill.act`.

    Returns:
        The state and elapsed steps to continue from, and the transitions.
    """
    T = environment.episode_length

    action_keys, step_keys, reset_keys = (jax.random.split(key, steps) for key in jax.random.split(key, 3))

    def step(carry, randomness):
        state, elapsed = carry
        action_noise, step_key, reset_key = randomness
        time = elapsed / T
        action, log_prob, value = policy_fn(state.observation, time, action_noise)
        successor = environment.step(state, action, step_key)
        elapsed = elapsed + 1
        truncated = (elapsed >= T) & ~successor.terminated
        row = Transition(
            observation=state.observation,
            time=time,
            action=action,
            log_prob=log_prob,
            value=value,
            next_observation=successor.observation,
            next_time=elapsed / T,
            terminated=successor.terminated,
            truncated=truncated,
            reward=successor.reward,
            skill=skill,
        )
        done = successor.terminated | truncated
        fresh = environment.reset(reset_key)
        state = jax.tree.map(lambda new, old: jnp.where(done, new, old), fresh, successor)
        return (state, jnp.where(done, 0, elapsed)), row

    randomness = (jax.vmap(noise)(action_keys), step_keys, reset_keys)
    (state, elapsed), rows = jax.lax.scan(step, (state, elapsed), randomness)
    return state, elapsed, eqx.tree_at(lambda rows: rows.skill, rows, jnp.asarray(skill))


def trajectories(
    environment: Environment,
    policy: SkillPolicy,
    skills: Int[Array, " n"],
    key: PRNGKeyArray,
    deterministic: bool = False,
) -> Float[Array, "n T D"]:
    """The observations s_1, ..., s_T of one episode of each of `skills`, T the environment's episode length. A skill
    that terminates early begins anew and fills its T steps.

    Args:
        deterministic: take the likeliest action rather than draw one.
    """

    def trajectory(skill, key):
        one = policy.skill(skill)

        def likeliest(observation, time, noise):
            return one.mode(observation, time), jnp.array(0.0), jnp.array(0.0)

        start_key, key = jax.random.split(key)
        start, elapsed, T = environment.reset(start_key), jnp.array(0), environment.episode_length
        policy_fn = likeliest if deterministic else one.act
        _, _, rows = rollout(environment, policy_fn, start, elapsed, skill, T, key, one.noise)
        return rows.next_observation

    skills = jnp.asarray(skills)
    return jax.vmap(trajectory)(skills, jax.random.split(key, len(skills)))
