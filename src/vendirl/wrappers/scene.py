"""A scene that is rewarded one observation at a time, while other scenes may change the memory.

    an episode begins     the scene keeps the memory M as it is: its rewards are those of `relabel` against that M
    every step            one observation, one reward
    an episode ends       the queue of the followed skill is stored in the memory

Unbatched and pure; `vmap` gives scenes.
"""

from __future__ import annotations

from typing import TypeVar, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from vendirl.memory import FadingMemory, SkillMemory
from vendirl.memory.queue import Fading, Queue
from vendirl.memory.reward import Following, Transform
from vendirl.score.border import Border
from vendirl.score.dual import Dual
from vendirl.similarity import Similarity, parse

Memory = SkillMemory | FadingMemory
Tree = TypeVar("Tree")


class Scene(eqx.Module):
    """An episode of one skill.

    Attributes:
        following: the skill, moving.
        memory: M as it was when the episode began, without the queues, which only `following` needs.
        border: that of M.
    """

    following: Following
    memory: Memory
    border: Border | Dual

    @classmethod
    def begin(cls, memory: Memory, border: Border | Dual, skill: Int[Array, ""]) -> Scene:
        """Begin an episode of a skill."""
        return cls(Following.start(memory, skill), _without_queues(memory), border)

    def observe(
        self, similarity: Similarity, observation: Float[Array, " D"], transform: Transform
    ) -> tuple[Scene, Float[Array, ""], Float[Array, ""]]:
        """The scene after one observation, the reward for it, and the score it was made from."""
        observe = self.following.observe
        following, rewards, scores = observe(similarity, self.memory, self.border, observation[None], transform)
        return Scene(following, self.memory, self.border), rewards[0], scores[0]

    def store(self, similarity: Similarity, memory: Memory) -> Memory:
        """The memory with what this scene observed as its skill's."""
        one = self.following
        if isinstance(memory, FadingMemory):
            assert isinstance(one.track, Fading)
            return memory.store(similarity, one.skill, one.track, one.summary)
        assert isinstance(one.track, Queue)
        return memory.store(similarity, one.skill, one.track, one.summary)


@eqx.filter_jit  # operation by operation it would take several times as long
def standing_still(
    similarity: Similarity, observation: Float[Array, " D"], skills: int, steps: int, fading: bool = False
) -> Memory:
    """The first memory: every skill stays where it is for an episode. All are alike, so the score is 1."""
    still = jnp.broadcast_to(observation, (skills, steps, observation.shape[-1]))
    return (FadingMemory if fading else SkillMemory).fill(similarity, still)


def where(mask: Bool[Array, "*scenes"], new: Tree, old: Tree) -> Tree:
    """`new` where the mask says so, else `old`; the leading axes of all leaves are those of the mask."""
    return jax.tree.map(lambda a, b: jnp.where(mask.reshape(mask.shape + (1,) * (a.ndim - mask.ndim)), a, b), new, old)


def checked(similarity: object, skills: object, episode_length: object) -> Similarity:
    """The similarity, parsed if it is text, or an error that says which argument is wrong."""
    similarity = parse(similarity) if isinstance(similarity, str) else similarity
    if not isinstance(similarity, Similarity):
        raise TypeError(
            f"similarity must be a Similarity or text such as 'mmd(scale=4)', but is a {type(similarity).__name__}"
        )
    for name, value in (("skills", skills), ("episode_length", episode_length)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(f"{name} must be a positive whole number, but is {value!r}")
    return similarity


def checked_transform(transform: str) -> Transform:
    """The transform, or an error that says which there are."""
    known = get_args(Transform)
    if transform not in known:
        raise ValueError(f"transform must be one of {', '.join(known)}, but is {transform!r}")
    return known[known.index(transform)]


def _without_queues(memory: Memory) -> Memory:
    if isinstance(memory, FadingMemory):
        return memory
    return eqx.tree_at(lambda m: m.observations, memory, memory.observations[:, :0])
