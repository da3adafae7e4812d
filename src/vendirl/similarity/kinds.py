"""The two kinds of similarity that have a name: of moments, which stream, and of whole trajectories."""

from __future__ import annotations

import abc
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from vendirl._text import settings_text
from vendirl.similarity.moments import Moments
from vendirl.similarity.observations import Observations, Queued
from vendirl.similarity.similarity import Similarity


class Named(Similarity):
    """A similarity with a name and settings, as opposed to a combination of others."""

    name: ClassVar[str]

    def __str__(self) -> str:
        """`name(setting=value, ...)` with the settings that differ from their defaults."""
        return settings_text(self.name, self)


class MomentSimilarity(Named):
    """A similarity of the moments of the pooled observations. It streams.

    Attributes:
        order: 1 if the mean is enough, 2 if the covariance is needed.
    """

    order: ClassVar[int]

    @abc.abstractmethod
    def of_moments(self, moments: Moments) -> PyTree:
        """The summary of a skill with these moments."""

    @property
    def streams(self) -> bool:
        return True

    @property
    def least_episodes(self) -> int:
        return 8 if self.order == 1 else 20  # products of deviations are far more uneven than deviations

    @property
    def least_evenness(self) -> float:
        return 0.0 if self.order == 1 else 0.3  # 0.4 to 0.5 of normal noise

    def summary(self, skill: Observations) -> PyTree:
        return self.of_moments(Moments.of(skill, self.order))

    def rolling(self, queue: Queued, observations: Float[Array, "c D"]) -> PyTree:
        start = Moments.of(Observations(queue.observations[None]), self.order)
        new, old = observations - start.reference, queue.displaced(observations) - start.reference
        total = jnp.cumsum(new - old, 0)
        second = None
        if self.order == 2:
            second = jnp.cumsum(new[:, :, None] * new[:, None, :] - old[:, :, None] * old[:, None, :], 0)
        return jax.vmap(lambda total, second: self.of_moments(start.plus(total, second)))(total, second)

    def moments(self, skill: Observations) -> Moments:
        return Moments.of(skill, self.order)

    def fading(self, moments: Moments, observations: Float[Array, "c D"]) -> tuple[Moments, PyTree]:
        keep = 1 - 1 / moments.count

        def push(moments: Moments, x: Float[Array, " D"]) -> tuple[Moments, PyTree]:
            new = x - moments.reference
            second = None if moments.second is None else keep * moments.second + new[:, None] * new[None, :]
            moments = Moments(moments.count, moments.reference, keep * moments.total + new, second)
            return moments, self.of_moments(moments)

        return jax.lax.scan(push, moments, observations)


class TrajectorySimilarity(Named):
    """A similarity of whole trajectories."""

    @property
    def streams(self) -> bool:
        return False

    def rolling(self, queue: Queued, observations: Float[Array, "c D"]) -> PyTree:
        return jax.lax.map(lambda t: self.summary(queue.after(observations, t)), jnp.arange(observations.shape[0]))
