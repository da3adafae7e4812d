"""What is remembered of one skill while it is followed: a queue of its last observations, or fading moments of them."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

from vendirl._checks import Index
from vendirl.similarity import Observations, Similarity


class Queue(eqx.Module):
    """The last N T observations of one skill, N trajectories of T.

    Attributes:
        observations: (N T, D), in slots: slot t of an episode holds the observation at its time step t.
        position: the slot that the next observation takes.
        episodes: N.
    """

    observations: Float[Array, "M D"]
    position: Int[Array, ""]
    episodes: int = eqx.field(static=True, default=1)

    def displaced(self, observations: Float[Array, "c D"]) -> Float[Array, "c D"]:
        """The observations that leave when c others are pushed; from the (M + 1)-th on, these are pushed ones."""
        c, M = observations.shape[0], self.observations.shape[0]
        slots = (self.position + jnp.arange(min(c, M))) % M
        return jnp.concatenate([self.observations[slots], observations])[:c]

    def after(self, observations: Float[Array, "c D"], step: Index) -> Observations:
        """The queue's trajectories once observations 0..step have been pushed."""
        M, D = self.observations.shape
        newest = step - (step + self.position - jnp.arange(M)) % M  # the last push into each slot
        kept = newest < 0
        points = jnp.where(kept[:, None], self.observations, observations[jnp.maximum(newest, 0)])
        return Observations(points.reshape(self.episodes, M // self.episodes, D))

    def push(self, observations: Float[Array, "c D"]) -> Queue:
        """The queue after c observations."""
        c, M = observations.shape[0], self.observations.shape[0]
        points = self.after(observations, jnp.asarray(c - 1)).pooled
        return Queue(points, (self.position + c) % M, self.episodes)

    def select(self, features: Callable[[Array], Array]) -> Queue:
        """The queue of some features of the observations."""
        return Queue(features(self.observations), self.position, self.episodes)

    def roll(self, similarity: Similarity, observations: Float[Array, "c D"]) -> tuple[Queue, PyTree]:
        """The queue after c observations, and the skill's c summaries on the way there."""
        return self.push(observations), similarity.rolling(self, observations)


class Fading(eqx.Module):
    """The running moments of one skill, in which each new observation displaces the average one."""

    moments: PyTree

    def roll(self, similarity: Similarity, observations: Float[Array, "c D"]) -> tuple[Fading, PyTree]:
        """The moments after c observations, and the skill's c summaries on the way there."""
        moments, summaries = similarity.fading(self.moments, observations)
        return Fading(moments), summaries
