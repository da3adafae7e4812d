"""The skill memory M: what the agent last observed under each of its skills, and the kernel matrix of that.

A skill's observations are a queue of one episode (or of several): each new observation displaces the one made at the
same time step of the oldest episode. `SkillMemory` holds n queues, their summaries and K; while one skill is followed
in a scene, only that skill's `Queue` moves. Similarities that need only moments may instead use `FadingMemory`, where a
new observation displaces the average one: its size does not depend on the length of an episode at all.

Everything here is unbatched and pure; `vmap` gives scenes.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

from vendirl._checks import AnyArray, Index
from vendirl.memory.queue import Fading, Queue
from vendirl.score.border import Border
from vendirl.score.dual import Dual
from vendirl.similarity import Observations, Similarity, SkillSet
from vendirl.similarity.kernel import check_sizes


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
    def fill(cls, similarity: Similarity, trajectories: Float[AnyArray, "n *N T D"] | Any) -> SkillMemory:
        """A memory of new trajectories, (n, T, D) or (n, N, T, D), and its kernel matrix (Algorithm 1, lines 4-5)."""
        points = _checked(similarity, trajectories)
        n, N, T, D = points.shape
        summaries = similarity.summaries(SkillSet(points))
        positions = jnp.zeros(n, jnp.int32)
        return cls(points.reshape(n, N * T, D), positions, summaries, similarity.matrix(summaries), N)

    @property
    def features(self) -> int:
        """D."""
        return self.observations.shape[-1]

    def track(self, skill: Index) -> Queue:
        """The queue of one skill."""
        return Queue(self.observations[skill], self.positions[skill], self.episodes)

    def store(self, similarity: Similarity, skill: Index, queue: Queue, summary: PyTree) -> SkillMemory:
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
    def fill(cls, similarity: Similarity, trajectories: Float[AnyArray, "n *N T D"] | Any) -> FadingMemory:
        """A memory of the moments of new trajectories."""
        if not similarity.streams:
            raise ValueError(f"{similarity} needs whole trajectories, which a fading memory does not keep; use a queue")
        points = _checked(similarity, trajectories)
        summaries = similarity.summaries(SkillSet(points))
        moments = jax.vmap(lambda points: similarity.moments(Observations(points)))(points)
        return cls(moments, summaries, similarity.matrix(summaries), points.shape[-1])

    def track(self, skill: Index) -> Fading:
        """The running moments of one skill."""
        return Fading(jax.tree.map(lambda leaf: leaf[skill], self.moments))

    def store(self, similarity: Similarity, skill: Index, fading: Fading, summary: PyTree) -> FadingMemory:
        """The memory with those moments and their summary as the skill's, and the skill's row of K renewed."""
        return FadingMemory(
            jax.tree.map(lambda all_, one: all_.at[skill].set(one), self.moments, fading.moments),
            *_renewed(similarity, self, skill, summary),
            self.features,
        )


def border_of(similarity: Similarity, memory: SkillMemory | FadingMemory, q: float | Any = 1.0) -> Border | Dual:
    """The memory made ready for the scores that it has while one skill is followed: in the skills' embeddings, if they
    have fewer numbers than there are skills; else in its kernel matrix."""
    features = jax.vmap(similarity.embedding)(memory.summaries)
    if features is not None and features.shape[1] < features.shape[0]:
        return Dual.of(features, q)
    return Border.of(memory.kernel, q, similarity.psd)


def _checked(similarity: Similarity, trajectories: Any) -> Float[Array, "n N T D"]:
    """(n, T, D) or (n, N, T, D) trajectories of n skills, or an error that says what is wrong with them."""
    skills = SkillSet.of(trajectories)
    if skills.lengths is not None:
        raise ValueError("trajectories differ in length, but a skill memory holds whole episodes of one length")
    check_sizes(similarity, skills)
    return jnp.asarray(skills.points)


def _renewed(
    similarity: Similarity, memory: SkillMemory | FadingMemory, skill: Index, summary: PyTree
) -> tuple[PyTree, Float[Array, "n n"]]:
    """The memory's summaries and kernel with those of one skill replaced (Algorithm 1: for the current skill)."""
    summaries = jax.tree.map(lambda all_, one: all_.at[skill].set(one), memory.summaries, summary)
    row = jax.vmap(similarity.compare, in_axes=(None, 0))(summary, summaries).at[skill].set(1)
    return summaries, memory.kernel.at[skill].set(row).at[:, skill].set(row)
