"""The skill memory M: what the agent last observed under each of its skills, and the kernel matrix of that.

A skill's observations are a queue of one episode (or of several): each new observation displaces the one made at the
same time step of the oldest episode. `SkillMemory` holds n queues, their summaries and K; while one skill is followed
in a scene, only that skill's `Queue` moves. Similarities that need only moments may instead use `FadingMemory`, where a
new observation displaces the average one: its size does not depend on the length of an episode at all.

Everything here is unbatched and pure; `vmap` gives scenes.
"""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

from vendirl.similarity import Observations, Similarity
from vendirl.similarity.kernel import check_sizes
from vendirl.similarity.observations import as_observations


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

    def after(self, observations: Float[Array, "c D"], step: Int[Array, ""]) -> Observations:
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


class SkillMemory(eqx.Module):
    """One queue per skill, the skills' summaries, and their kernel matrix.

    Attributes:
        observations: (n, N T, D).
        positions: (n,) the slot that the next observation of each skill takes.
        summaries: of the n skills, stacked.
        kernel: K, (n, n).
        episodes: N.
    """

    observations: Float[Array, "n M D"]
    positions: Int[Array, " n"]
    summaries: PyTree
    kernel: Float[Array, "n n"]
    episodes: int = eqx.field(static=True, default=1)

    @classmethod
    def fill(cls, similarity: Similarity, trajectories: Float[Array, "n *N T D"]) -> SkillMemory:
        """A memory of new trajectories, (n, T, D) or (n, N, T, D), and its kernel matrix (Algorithm 1, lines 4-5)."""
        skills = _skills(similarity, trajectories)
        n, N, T, D = skills.points.shape
        summaries = jax.vmap(similarity.summary)(skills)
        positions = jnp.zeros(n, jnp.int32)
        return cls(skills.points.reshape(n, N * T, D), positions, summaries, similarity.matrix(summaries), N)

    @property
    def features(self) -> int:
        """D."""
        return self.observations.shape[-1]

    def track(self, skill: Int[Array, ""]) -> Queue:
        """The queue of one skill."""
        return Queue(self.observations[skill], self.positions[skill], self.episodes)

    def store(self, similarity: Similarity, skill: Int[Array, ""], queue: Queue, summary: PyTree) -> SkillMemory:
        """The memory with that queue and its summary as the skill's, and the skill's row of K renewed."""
        return SkillMemory(
            self.observations.at[skill].set(queue.observations),
            self.positions.at[skill].set(queue.position),
            *_renewed(similarity, self, skill, summary),
            self.episodes,
        )


class FadingMemory(eqx.Module):
    """Running moments per skill, the skills' summaries, and their kernel matrix. Its size does not depend on T.

    Attributes:
        moments: of the n skills, stacked.
        summaries: of the n skills, stacked.
        kernel: K, (n, n).
        features: D.
    """

    moments: PyTree
    summaries: PyTree
    kernel: Float[Array, "n n"]
    features: int = eqx.field(static=True)

    @classmethod
    def fill(cls, similarity: Similarity, trajectories: Float[Array, "n *N T D"]) -> FadingMemory:
        """A memory of the moments of new trajectories."""
        if not similarity.streams:
            raise ValueError(f"{similarity} needs whole trajectories, which a fading memory does not keep; use a queue")
        skills = _skills(similarity, trajectories)
        summaries = jax.vmap(similarity.summary)(skills)
        features = skills.points.shape[-1]
        return cls(jax.vmap(similarity.moments)(skills), summaries, similarity.matrix(summaries), features)

    def track(self, skill: Int[Array, ""]) -> Fading:
        """The running moments of one skill."""
        return Fading(jax.tree.map(lambda leaf: leaf[skill], self.moments))

    def store(self, similarity: Similarity, skill: Int[Array, ""], fading: Fading, summary: PyTree) -> FadingMemory:
        """The memory with those moments and their summary as the skill's, and the skill's row of K renewed."""
        return FadingMemory(
            jax.tree.map(lambda all_, one: all_.at[skill].set(one), self.moments, fading.moments),
            *_renewed(similarity, self, skill, summary),
            self.features,
        )


def _skills(similarity: Similarity, trajectories) -> Observations:
    """The n skills of (n, T, D) or (n, N, T, D) trajectories, or an error that says what is wrong with them."""
    skills = as_observations(trajectories)
    if skills.lengths is not None:
        raise ValueError("trajectories differ in length, but a skill memory holds whole episodes of one length")
    check_sizes(similarity, skills)
    return Observations(jnp.asarray(skills.points))


def _renewed(similarity: Similarity, memory: SkillMemory | FadingMemory, skill, summary) -> tuple[PyTree, Array]:
    """The memory's summaries and kernel with those of one skill replaced (Algorithm 1: for the current skill)."""
    summaries = jax.tree.map(lambda all_, one: all_.at[skill].set(one), memory.summaries, summary)
    row = jax.vmap(similarity.compare, in_axes=(None, 0))(summary, summaries).at[skill].set(1)
    return summaries, memory.kernel.at[skill].set(row).at[:, skill].set(row)
