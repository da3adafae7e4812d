"""Discriminators q(g | ...): what they are asked, and how they are fitted."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from vendirl.skills.policy import AnyArray
from vendirl.skills.rollout import Transition


def ends(batch: Transition) -> Bool[Array, "E steps"]:
    """The last steps of episodes, and of the stretch: after it another skill may act."""
    return jnp.logical_or(batch.terminated, batch.truncated).at[:, -1].set(True)


def of_skill(values: Float[Array, "E steps n"], skill: Int[AnyArray, " E"]) -> Float[Array, "E steps"]:
    """Each scene's own skill's."""
    return jnp.sum(values * jax.nn.one_hot(skill, values.shape[-1])[:, None], -1)


def cross_entropy(
    log_q: Float[Array, "E steps n"], skill: Int[AnyArray, " E"], where: Bool[AnyArray, "E steps"]
) -> Float[Array, ""]:
    """-E[log q(g)] over the steps chosen; 0 if there are none."""
    return -jnp.sum(of_skill(log_q, skill) * where) / jnp.maximum(where.sum(), 1)
