"""Brax's own PPO with the VendiRL reward: four skills in the paper's plane, written as an environment of Brax's.

    pip install 'vendirl[brax]' jax==0.9.2 jaxlib==0.9.2      # Brax's learners do not work with later ones
    python examples/brax_ppo.py

It prints the Vendi Score that the skills reach, and what is attainable.
"""

import functools
import warnings

import jax
import jax.numpy as jnp
import numpy as np

import vendirl as vr
from vendirl.wrappers.brax import wrap

SKILLS, LENGTH = 4, 50


class Plane:
    """The paper's plane, for Brax."""

    observation_size, action_size, backend = 2, 2, "generalized"

    @property
    def unwrapped(self):
        return self

    def reset(self, rng):
        from brax.envs.base import State

        return State(jnp.full(2, 0.5), jnp.full(2, 0.5), jnp.zeros(()), jnp.zeros(()), {}, {})

    def step(self, state, action):
        position = jnp.clip(state.pipeline_state + 0.05 * jnp.clip(action, -1, 1), 0, 1)
        return state.replace(pipeline_state=position, obs=position)


def learn():
    """Train by Brax's PPO: the wrapped environment, and the policy."""
    from brax.training.agents.ppo import networks
    from brax.training.agents.ppo import train as ppo

    wrap_env_fn = functools.partial(wrap, similarity="mmd(scale=4)", skills=SKILLS, time=True)
    make_policy, parameters, _ = ppo.train(
        Plane(),
        120_000,
        wrap_env_fn=wrap_env_fn,
        episode_length=LENGTH,
        num_envs=64,
        unroll_length=LENGTH,
        batch_size=16,
        num_minibatches=4,
        num_updates_per_batch=4,
        learning_rate=2e-3,
        entropy_cost=0.0,
        discounting=0.97,
        gae_lambda=0.95,
        num_evals=2,
        num_eval_envs=8,
        network_factory=functools.partial(
            networks.make_ppo_networks, policy_hidden_layer_sizes=(64, 64), value_hidden_layer_sizes=(64, 64)
        ),
    )
    return wrap_env_fn(Plane(), episode_length=LENGTH), make_policy(parameters, deterministic=True)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Brax's about itself
        env, policy = learn()
    state = env.follow(env.reset(jax.random.split(jax.random.PRNGKey(1), SKILLS)), jnp.arange(SKILLS))

    def step(state, key):
        state = env.step(state, policy(state.obs, key)[0])
        return state, state.info["features"]

    _, points = jax.lax.scan(step, state, jax.random.split(jax.random.PRNGKey(2), LENGTH))
    score = vr.effective_number(np.asarray(points).swapaxes(0, 1), env.similarity)
    attainable = vr.attainable("point", env.similarity, SKILLS, restarts=4, iterations=300).score
    print(f"Vendi Score {score:.3f} of {attainable:.3f} attainable")
