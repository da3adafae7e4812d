"""The VendiRL reward (Definition 3, Appendix B), as a relabelling of observations that were already made.

Following skill g, observation t displaces slot t of g's queue; the reward is a function of the score of the kernel
matrix afterwards, VS_{t+1}:

    raw          VS_{t+1}
    derivative   VS_{t+1} - VS_t
    penalty      VS_{t+1} - n
    log          log(VS_{t+1} / n)

A chunk of c observations is relabelled at once: c summaries by cumulative sums, c rows of K, c scores. c = 1 is the
literal loop of Algorithm 1, and gives the same rewards. Unbatched and pure; `vmap` gives scenes, with the memory shared
(`in_axes=None`) or one for each.

A score costs O(n²), so that with many skills it is most of what an epoch costs. With `every` = k only each k-th
observation of a chunk, and the last, is scored, and the score is taken to change evenly in between,

    VS_{t+i} = VS_t + (i / k) (VS_{t+k} - VS_t),      0 <= i <= k,

so that the derivative is the gain of k steps spread evenly over them: what it adds up to is exact, and which of the k
steps it is owed to is not known. k = 1 is the reward itself.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from vendirl._checks import AnyArray, Index, an_array, whole_number
from vendirl.memory.memory import FadingMemory, SkillMemory, border_of
from vendirl.memory.queue import Fading, Queue
from vendirl.score.border import Border
from vendirl.score.dual import Dual
from vendirl.similarity import Similarity

Transform = Literal["raw", "derivative", "penalty", "log"]


class Following(eqx.Module):
    """A skill being followed in a scene: what has changed of it since the memory was filled.

    Attributes:
        skill: g.
        track: the queue (or fading moments) of g, moving.
        row: (n,) the current similarities of g to all skills.
        summary: the current summary of g.
        value: the score now, where it need not be computed again from the row; else None.
    """

    skill: Int[Array, ""]
    track: Queue | Fading
    row: Float[Array, " n"]
    summary: PyTree
    value: Float[Array, ""] | None = None

    @classmethod
    def start(
        cls, memory: SkillMemory | FadingMemory, skill: Index, value: Float[Array, ""] | None = None
    ) -> Following:
        """Begin to follow a skill, in a memory whose score is `value`, if that is known."""
        skill = _checked_skill(skill, memory.kernel.shape[0])
        summary = jax.tree.map(lambda leaf: leaf[skill], memory.summaries)
        return cls(skill, memory.track(skill), memory.kernel[skill], summary, value)

    def observe(
        self,
        similarity: Similarity,
        memory: SkillMemory | FadingMemory,
        border: Border | Dual,
        observations: Float[AnyArray, "c D"] | Any,
        transform: Transform | Any = "raw",
        every: int = 1,
    ) -> tuple[Following, Float[Array, " c"], Float[Array, " c"]]:
        """Observe c steps: the skill afterwards, the c rewards, and the c scores they were made from.

        `border` is that of the memory, `border_of(similarity, memory, q)`, of the order q that is wanted. Where scenes
        share a memory they share it too. `every` is k, counted from where the chunk begins.
        """
        if transform not in get_args(Transform):
            raise ValueError(f"transform must be one of {', '.join(get_args(Transform))}, but is {transform!r}")
        observations = _checked(observations, memory.features)
        scored = scored_steps(len(observations), every)
        track, summaries = self.track.roll(similarity, observations)
        if every > 1:
            summaries = jax.tree.map(lambda leaf: leaf[scored], summaries)
        summary = jax.tree.map(lambda leaf: leaf[-1], summaries)
        if isinstance(border, Dual):
            rows = jax.vmap(similarity.compare, (None, 0))(summary, memory.summaries)[None]
            both = jax.tree.map(lambda before, after: jnp.concatenate([before[None], after]), self.summary, summaries)
            which = jax.vmap(similarity.embedding)(both)
            assert which is not None  # else there would be no dual
        else:
            rows = self._rows(similarity, memory, summaries)
            which = jnp.concatenate([self.row[None], rows])
        if self.value is None:
            scores = border.scores(self.skill, which)
        else:
            scores = jnp.append(self.value, border.scores(self.skill, which[1:]))
        scores = scores if every == 1 else evenly(scored, scores)
        value = None if self.value is None else scores[-1]
        following = Following(self.skill, track, rows[-1], summary, value)
        return following, transformed(scores, self.row.shape[0], transform), scores[1:]

    def score(self, similarity: Similarity, border: Border | Dual) -> Float[Array, ""]:
        """The score that the memory has with the skill as it is now."""
        if isinstance(border, Dual):
            now = similarity.embedding(self.summary)
            assert now is not None  # else it would have no dual
            return border.scores(self.skill, now[None])[0]
        return border.scores(self.skill, self.row[None])[0]

    def _rows(
        self, similarity: Similarity, memory: SkillMemory | FadingMemory, summaries: PyTree
    ) -> Float[Array, "_ n"]:
        """The similarities of each of several summaries to all skills."""
        one = jax.vmap(similarity.compare, (None, 0))
        if similarity.streams:
            return jax.vmap(one, (0, None))(summaries, memory.summaries)
        # a step at a time, so that whole trajectories are not held for all steps at once
        return jax.lax.map(lambda summary: one(summary, memory.summaries), summaries)


def relabel(
    similarity: Similarity,
    memory: SkillMemory | FadingMemory,
    skill: Index,
    observations: Float[AnyArray, "c D"] | Any,
    transform: Transform | Any = "raw",
    q: float | Any = 1.0,
    every: int | Any = 1,
) -> tuple[Float[Array, " c"], SkillMemory | FadingMemory]:
    """The rewards of c successive observations of a skill, and the memory afterwards.

    Args:
        similarity: k.
        memory: M, filled by `SkillMemory.fill` with the same similarity.
        skill: g, the skill that was followed.
        observations: (c, D) the successor observations s_{t+1} of c steps.
        transform: "raw", "derivative", "penalty" or "log".
        q: order of the score.
        every: k, to score only each k-th of the c observations, and the last, and spread what is gained evenly.

    Example:
        >>> import jax, vendirl as vr
        >>> k = vr.similarity.mmd(scale=4.0)
        >>> old = jax.random.normal(jax.random.key(0), (8, 50, 2))
        >>> rewards, memory = vr.relabel(k, vr.SkillMemory.fill(k, old), 3, old[3] + 1.0, "derivative")
        >>> rewards.shape
        (50,)
    """
    skill = _checked_skill(skill, memory.kernel.shape[0])
    whole_number(every, "every")
    return _relabel(similarity, memory, skill, _checked(observations, memory.features), transform, q, int(every))


@eqx.filter_jit  # operation by operation the first call would take several times as long
def _relabel(
    similarity: Similarity,
    memory: SkillMemory | FadingMemory,
    skill: Int[Array, ""],
    observations: Float[Array, "c D"],
    transform: Transform | Any,
    q: float | Any,
    every: int,
) -> tuple[Float[Array, " c"], SkillMemory | FadingMemory]:
    border = border_of(similarity, memory, q)
    start = Following.start(memory, skill)
    following, rewards, _ = start.observe(similarity, memory, border, observations, transform, every)
    track, summary = following.track, following.summary
    if isinstance(memory, SkillMemory):
        assert isinstance(track, Queue)  # what such a memory tracks a skill by
        return rewards, memory.store(similarity, following.skill, track, summary)
    assert isinstance(track, Fading)
    return rewards, memory.store(similarity, following.skill, track, summary)


def _checked_skill(skill: Index, n: int) -> Int[Array, ""]:
    if not isinstance(skill, jax.core.Tracer) and not 0 <= int(skill) < n:
        raise ValueError(f"skill must be one of the {n} skills 0 to {n - 1}, but is {int(skill)}")
    return jnp.asarray(skill)


def _checked(observations: Any, features: int) -> Float[Array, "c {features}"]:
    """Observations of a memory's kind as an array of floating-point numbers."""
    observations = (
        observations if isinstance(observations, jax.Array) else jnp.asarray(an_array(observations, "observations"))
    )
    if observations.ndim != 2 or observations.shape[0] == 0 or observations.shape[1] != features:
        raise ValueError(
            f"observations must have shape (steps, {features}), as those in the memory have {features} features, but "
            f"has shape {observations.shape}"
        )
    if not isinstance(observations, jax.core.Tracer) and not np.isfinite(observations).all():
        step, feature = np.argwhere(~np.isfinite(observations))[0]
        raise ValueError(
            f"observations must be finite, but feature {feature} at step {step} is {observations[step, feature]}"
        )
    return observations if jnp.issubdtype(observations.dtype, jnp.floating) else observations.astype(float)


def transformed(scores: Float[Array, " scores"], n: int, transform: Transform) -> Float[Array, " scores-1"]:
    """Rewards from the scores before and after each of c steps."""
    after = scores[1:]
    if transform == "raw":
        return after
    if transform == "derivative":
        return after - scores[:-1]
    if transform == "penalty":
        return after - n
    return jnp.log(after / n)


def scored_steps(c: int, every: int) -> Int[np.ndarray, " scored"]:
    """Which of c steps are scored: each k-th, and the last."""
    return np.unique(np.append(np.arange(every - 1, c, every), c - 1))


def evenly(scored: Int[np.ndarray, " scored"], scores: Float[Array, " scored+1"]) -> Float[Array, " _"]:
    """The scores before and after each step up to the last that is scored, from those before the first and after the
    scored ones."""
    ends = np.append(-1, scored)  # the score before the first step is that after step -1
    steps = np.arange(-1, ends[-1] + 1)
    group = np.searchsorted(ends, steps)  # each step's group ends with this one
    first = np.maximum(group - 1, 0)
    width = np.maximum(ends[group] - ends[first], 1)
    part = ((steps - ends[first]) / width).astype(scores.dtype)
    return scores[first] + part * (scores[group] - scores[first])
