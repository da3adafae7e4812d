"""A similarity k(a, b) between skills: a summary of what each skill observed, and a comparison of two summaries.

Similarities are values. They add, multiply, and take weights (`combining`); `.on(...)` restricts them to chosen
features (`features`):

    0.5 * cosine() + 0.5 * covariance(scale=200)          k = Σ w_i k_i / Σ w_i
    mmd(scale=4) * covariance(scale=50)                   k = Π k_i
    mmd().on([0, 1]),  mmd().on(["x", "y"]),  mmd().on(lambda observation: observation[:2] ** 2)

All of them have k(a, a) = 1, so weights are relative: an expression is taken literally, then divided by its value at
k(a, a). Sums and products of positive semidefinite similarities are positive semidefinite. `str(k)` is text that
`parse` reads back.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from vendirl._checks import Number, is_number
from vendirl.similarity.deals import Episodes, Regrouping
from vendirl.similarity.observations import Observations, Queued, SkillSet

Features = int | str | slice | Sequence[int] | Sequence[str] | Callable[[Array], Array]


class Similarity(eqx.Module):
    """How alike two skills are. Unbatched and pure: `vmap` compares many.

    A summary is any pytree of arrays. Its size and the work of comparing two of them are what a kernel matrix costs.
    """

    @property
    @abc.abstractmethod
    def psd(self) -> bool:
        """Whether every kernel matrix of this similarity is positive semidefinite (False also if not known)."""

    @property
    @abc.abstractmethod
    def streams(self) -> bool:
        """Whether running moments are enough, so that memory need not grow with the length of a trajectory."""

    @abc.abstractmethod
    def summary(self, skill: Observations) -> PyTree:
        """What `compare` needs of a skill's observations."""

    @abc.abstractmethod
    def compare(self, a: PyTree, b: PyTree) -> Float[Array, ""]:
        """k(a, b) of two summaries."""

    @abc.abstractmethod
    def rolling(self, queue: Queued, observations: Float[Array, "c D"]) -> PyTree:
        """The summaries, with a leading axis c, after each of c observations is pushed onto a `memory.Queue`."""

    def embedding(self, summary: PyTree) -> Float[Array, " d"] | None:
        """φ(a) of length one with k(a, b) = φ(a)·φ(b), if k has one of d numbers; None if it has none.

        Where d is less than the number of skills, rewards then cost O(d²) rather than O(n²) a step.
        """
        return None

    def moments(self, skill: Observations) -> PyTree:
        """The running moments of a skill, for similarities that stream."""
        raise TypeError(f"{self} needs whole trajectories: it has no running moments; use a queue for the skill memory")

    def of_moments(self, moments: PyTree) -> PyTree:
        """The summary of a skill with these moments, for similarities that stream."""
        raise TypeError(f"{self} needs whole trajectories: moments are not enough")

    def fading(self, moments: PyTree, observations: Float[Array, "c D"]) -> tuple[PyTree, PyTree]:
        """Running moments after c observations that each displace the average one, and the c summaries."""
        raise TypeError(f"{self} needs whole trajectories: it has no running moments; use a queue for the skill memory")

    @property
    def differentiable(self) -> bool:
        """Whether k changes smoothly with the observations, so that gradients of it are of use."""
        return True

    @property
    def least_observations(self) -> int:
        """How many observations of a skill there must be."""
        return 1

    @property
    def least_episodes(self) -> int:
        """How many episodes of a skill there must be to tell how much a score varies."""
        return 8

    @property
    def least_evenness(self) -> float:
        """How much of the average effect that episodes of a skill have on it the middle one must have, for tails not
        to be too long to tell how much a score varies; 0 where noise may have any."""
        return 0.0

    @property
    def tails_matter(self) -> bool:
        """Whether an observation counts for more the farther out it is, so that rare ones may decide a score."""
        return True

    @property
    def has_limit(self) -> bool:
        """Whether k is known to come to rest as ever more episodes of the same skills are added."""
        return True

    def rank(self, features: int) -> int | None:
        """The largest rank a kernel matrix can have over observations of that many features; None if unlimited."""
        return None

    def resolve(self, names: Sequence[str] | None, features: int | None = None) -> Similarity:
        """The same similarity with feature names turned into indices, and indices checked."""
        return self

    def summaries(self, skills: SkillSet) -> PyTree:
        """The summaries of all skills of a set, stacked."""
        return jax.vmap(lambda points, lengths: self.summary(Observations(points, lengths)))(*skills.arrays)

    def matrix(self, summaries: PyTree) -> Float[Array, "n n"]:
        """k between all pairs of n stacked summaries."""
        row = jax.vmap(self.compare, in_axes=(None, 0))
        if self.streams:  # small summaries: all pairs at once
            K = jax.vmap(row, in_axes=(0, None))(summaries, summaries)
        else:  # a row at a time, so that whole trajectories are never held n² times
            K = jax.lax.map(lambda summary: row(summary, summaries), summaries)
        n = K.shape[0]
        return jnp.where(jnp.eye(n, dtype=bool), 1, (K + K.T) / 2)

    @property
    def on_host(self) -> bool:
        """Whether `host_matrix` does better than compiled code, be it for a part of the similarity only."""
        return False

    def host_matrix(self, skills: SkillSet) -> Float[np.ndarray, "n n"]:
        """K of skills in NumPy, in float64."""
        with jax.enable_x64(True):
            return np.asarray(compiled_matrix(self, skills))

    def regroup(self, episodes: Episodes) -> Regrouping:
        """The kernel matrices of these episodes for many ways of dealing them to skills, as fast as k allows."""
        from vendirl.similarity.regrouping import (  # they compute kernel matrices, so they know this file
            Anew,
            OfMoments,
        )

        return OfMoments(self, episodes) if self.streams else Anew(self, episodes)

    def ceiling(self, n: int, features: int) -> float:
        """No set of n skills scores more: the number of skills, or the rank of the kernel if that is smaller."""
        rank = self.rank(features)
        return float(n if rank is None else min(n, rank))

    def on(self, *features: Features | Any) -> Similarity:
        """This similarity on chosen features: indices, a slice, names, or a function of one observation."""
        from vendirl.similarity.features import On  # it is a similarity, so it knows this file

        return On.of(self, features)

    def __add__(self, other: Similarity | Any) -> Similarity:
        from vendirl.similarity.combining import Sum

        return Sum.of(self, other) if isinstance(other, Similarity) else NotImplemented

    def __radd__(self, other: Literal[0] | Any) -> Similarity:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # what `sum` begins with

    def __mul__(self, other: Similarity | Number | Any) -> Similarity:
        from vendirl.similarity.combining import product, weighted

        if isinstance(other, Similarity):
            return product(self, other)
        return weighted(self, other) if is_number(other) else NotImplemented

    __rmul__ = __mul__

    def __str__(self) -> str:
        return repr(self)


@jax.jit
def compiled_matrix(similarity: Similarity, skills: SkillSet) -> Float[Array, "n n"]:
    """K of a set of skills, in compiled code."""
    return similarity.matrix(similarity.summaries(skills))
