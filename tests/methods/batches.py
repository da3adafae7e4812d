"""Small batches of transitions, made by hand."""

import jax.numpy as jnp
import numpy as np

from vendirl.skills.rollout import Transition


def batch(observations, skill, ended=None, reward=None) -> Transition:
    """Transitions of scenes that observed (E, T + 1, D); `ended` (E, T) says after which steps an episode ended."""
    x = jnp.asarray(observations, jnp.float32)
    E, T = x.shape[0], x.shape[1] - 1
    nothing = jnp.zeros((E, T))
    ended = jnp.zeros((E, T), bool).at[:, -1].set(True) if ended is None else jnp.asarray(ended)
    time = jnp.broadcast_to(jnp.arange(T) / T, (E, T))
    return Transition(
        observation=x[:, :-1],
        time=time,
        action=jnp.zeros((E, T, 2)),
        log_prob=nothing,
        next_observation=x[:, 1:],
        next_time=time + 1 / T,
        terminated=jnp.zeros((E, T), bool),
        truncated=ended,
        reward=nothing if reward is None else jnp.asarray(reward),
        skill=jnp.asarray(skill),
    )


def linear(weights):
    """A network that is a linear function of its input."""
    import jax

    from vendirl.skills.networks import Network

    weights = np.asarray(weights, np.float32)
    network = Network((weights.shape[1], weights.shape[0]), 1.0, jax.random.normal(jax.random.key(0), (weights.size,)))
    layer = network.layers[0]
    object.__setattr__(layer, "weight", jnp.asarray(weights))
    return network
