"""A replay: the latest stretches of scenes, kept on the device as they were collected."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from vendirl.algorithms.algorithm import Rewards
from vendirl.skills.rollout import Transition


class Replay(eqx.Module):
    """The latest stretches of scenes, (rows, steps, ...), their rewards, and how many were ever written."""

    rows: Transition
    rewards: Float[Array, "rows steps *d"]
    written: Int[Array, ""]

    def add(self, batch: Transition, rewards: Rewards) -> Replay:
        """Write the scenes' stretches over the oldest ones."""
        capacity, scenes = self.rewards.shape[0], rewards.shape[0]
        place = self.written % capacity  # capacity is a multiple of the number of scenes, so that none is split

        def write(old, new):
            return jax.lax.dynamic_update_slice_in_dim(old, new.astype(old.dtype), place, 0)

        rows = jax.tree.map(write, self.rows, batch)
        return Replay(rows, write(self.rewards, rewards), self.written + scenes)

    def stretches(self, rows: Int[Array, " rows"], t: Int[Array, " rows"] | None = None) -> Transition:
        """Stretches that are stored, (rows, steps, ...); unless t is None, of each the t-th step, (rows, 1, ...)."""
        if t is None:
            return jax.tree.map(lambda x: x[rows], self.rows)
        skill = self.rows.skill[rows]
        steps = jax.tree.map(lambda x: x[rows, t][:, None], eqx.tree_at(lambda s: s.skill, self.rows, None))
        return eqx.tree_at(lambda s: s.skill, steps, skill, is_leaf=lambda x: x is None)

    @property
    def filled(self) -> Int[Array, ""]:
        """How many rows hold something."""
        return jnp.minimum(self.written, self.rewards.shape[0])
