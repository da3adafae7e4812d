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
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from vendirl._checks import AnyArray, Index, an_array
from vendirl.memory.memory import FadingMemory, SkillMemory
from vendirl.memory.queue import Fading, Queue
from vendirl.score.border import Border
from vendirl.similarity import Similarity

Transform = Literal["raw", "derivative", "penalty", "log"]


class Following(eqx.Module):
    """A skill being followed in a scene: what has changed of it since the memory was filled.

    Attributes:
        skill: g.
        track: the queue (or fading moments) of g, moving.
        row: (n,) the current similarities of g to all skills.
        summary: the current summary of g.
    """

    skill: Int[Array, ""]
    track: Queue | Fading
    row: Float[Array, " n"]
    summary: PyTree

    @classmethod
    def start(cls, memory: SkillMemory | FadingMemory, skill: Index) -> Following:
        """Begin to follow a skill."""
        skill = _checked_skill(skill, memory.kernel.shape[0])
        summary = jax.tree.map(lambda leaf: leaf[skill], memory.summaries)
        return cls(skill, memory.track(skill), memory.kernel[skill], summary)

    def observe(
        self,
        similarity: Similarity,
        memory: SkillMemory | FadingMemory,
        border: Border,
        observations: Float[AnyArray, "c D"] | Any,
        transform: Transform | Any = "raw",
    ) -> tuple[Following, Float[Array, " c"], Float[Array, " c"]]:
        """Observe c steps: the skill afterwards, the c rewards, and the c scores they were made from.

        `border` is that of the memory's kernel, `Border.of(memory.kernel, q, similarity.psd)`, of the order q that is
        wanted. Where scenes share a memory they share it too.
        """
        if transform not in get_args(Transform):
            raise ValueError(f"transform must be one of {', '.join(get_args(Transform))}, but is {transform!r}")
        observations = _checked(observations, memory.features)
        track, summaries = self.track.roll(similarity, observations)
        compare = jax.vmap(jax.vmap(similarity.compare, (None, 0)), (0, None))
        if similarity.streams:
            rows = compare(summaries, memory.summaries)
        else:  # a step at a time, so that whole trajectories are not held for all steps at once
            one = jax.vmap(similarity.compare, (None, 0))
            rows = jax.lax.map(lambda summary: one(summary, memory.summaries), summaries)
        scores = border.scores(self.skill, jnp.concatenate([self.row[None], rows]))
        summary = jax.tree.map(lambda leaf: leaf[-1], summaries)
        following = Following(self.skill, track, rows[-1], summary)
        return following, transformed(scores, self.row.shape[0], transform), scores[1:]


def relabel(
    similarity: Similarity,
    memory: SkillMemory | FadingMemory,
    skill: Index,
    observations: Float[AnyArray, "c D"] | Any,
    transform: Transform | Any = "raw",
    q: float | Any = 1.0,
) -> tuple[Float[Array, " c"], SkillMemory | FadingMemory]:
    """The rewards of c successive observations of a skill, and the memory afterwards.

    Args:
        similarity: k.
        memory: M, filled by `SkillMemory.fill` with the same similarity.
        skill: g, the skill that was followed.
        observations: (c, D) the successor observations s_{t+1} of c steps.
        transform: "raw", "derivative", "penalty" or "log".
        q: order of the score.

    Example:
        >>> import jax, vendirl as vr
        >>> k = vr.similarity.mmd(scale=4.0)
        >>> old = jax.random.normal(jax.random.key(0), (8, 50, 2))
        >>> rewards, memory = vr.relabel(k, vr.SkillMemory.fill(k, old), 3, old[3] + 1.0, "derivative")
        >>> rewards.shape
        (50,)
    """
    skill = _checked_skill(skill, memory.kernel.shape[0])
    return _relabel(similarity, memory, skill, _checked(observations, memory.features), transform, q)


@eqx.filter_jit  # operation by operation the first call would take several times as long
def _relabel(
    similarity: Similarity,
    memory: SkillMemory | FadingMemory,
    skill: Int[Array, ""],
    observations: Float[Array, "c D"],
    transform: Transform | Any,
    q: float | Any,
) -> tuple[Float[Array, " c"], SkillMemory | FadingMemory]:
    border = Border.of(memory.kernel, q, similarity.psd)
    following, rewards, _ = Following.start(memory, skill).observe(similarity, memory, border, observations, transform)
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
