"""VendiRL (Algorithm 1): reward what the skill memory gains in Vendi Score.

    r_t = VS(K_t) - VS(K_{t-1}),      K_t the kernel matrix of the skills' memories after observation t (`derivative`)

Scenes are dealt evenly to a pool of m memories, each filled with trajectories of its own:

    scene       m = number of scenes: the paper's, a memory for each scene, E n T steps for each refill
    pool(m)     between the two
    shared      m = 1: one memory for all scenes, n T steps for each refill
    off         a memory for each scene that goes on filling with what the scene observes; all are refilled together
                every `synchronise` epochs
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from vendirl.border import Border
from vendirl.environments import AnyEnvironment
from vendirl.memory import SkillMemory
from vendirl.methods.method import Method
from vendirl.reward import Following, Transform
from vendirl.similarity import Similarity


class Kept(eqx.Module):
    """Between epochs: how many are done and, with `off`, the scenes' memories."""

    epoch: Int[Array, ""]
    memory: SkillMemory | None


class Carried(eqx.Module):
    """Within an epoch: the pool of memories and their borders, and where each scene is in the one it was dealt."""

    epoch: Int[Array, ""]
    memory: SkillMemory
    border: Border
    following: Following


@dataclasses.dataclass(frozen=True)
class VendiRL(Method):
    """Reward what the skills gain in Vendi Score: Algorithm 1 of the paper.

    Attributes:
        similarity: k; None for that of the run.
        environment: where the skills act. This and the rest are filled in from the settings of the run.
        skills: n.
        memories: m, the size of the pool.
        synchronise: None if memories are refilled at every epoch; else after how many epochs (`off`).
        episodes: N, trajectories per skill in memory.
        carry: whether the memory must be followed beyond one chunk of steps.
        transform, q: of the reward.
    """

    similarity: Similarity | str | None = None
    environment: AnyEnvironment | None = None
    skills: int = 1
    memories: int = 1
    synchronise: int | None = None
    episodes: int = 1
    carry: bool = True
    transform: Transform = "derivative"
    q: float = 1.0

    name: ClassVar[str] = "vendirl"
    needs_numbers: ClassVar[bool] = True
    whole: ClassVar[bool] = True
    spreads: ClassVar[bool] = True

    def _k(self) -> Similarity:
        assert isinstance(self.similarity, Similarity), "the settings of the run fill this in"
        return self.similarity

    def _world(self) -> AnyEnvironment:
        assert self.environment is not None, "the settings of the run fill this in"
        return self.environment

    @property
    def rehearsal(self):
        return self.memories * self.episodes

    @property
    def rehearsal_period(self):
        return self.synchronise or 1

    def refill(self, points: Float[Array, "n mN T D"]) -> SkillMemory:
        """m memories of m N new trajectories of each skill, (m, ...)."""
        n, _, T, D = points.shape
        points = points.reshape(n, self.memories, self.episodes, T, D)
        return jax.vmap(partial(SkillMemory.fill, self._k()), in_axes=1)(points)

    def start(self, setting, policy, key):
        memory = None
        if self.synchronise is not None:  # nothing yet, of the right shape: the first epoch fills it
            T, D = self._world().episode_length, self._world().observation_size
            points = jax.ShapeDtypeStruct((self.skills, self.rehearsal, T, D), jnp.float32)
            shapes = jax.eval_shape(self.refill, points)
            memory = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
        return Kept(jnp.zeros((), jnp.int32), memory)

    def prepare(self, state: Kept, goals, elapsed, key, rehearse):
        if state.memory is None:
            memory = self.refill(rehearse(key, self.rehearsal))
        else:
            due = state.epoch % self.rehearsal_period == 0
            memory = jax.lax.cond(due, lambda: self.refill(rehearse(key, self.rehearsal)), lambda: state.memory)
        border = jax.vmap(lambda K: Border.of(K, self.q, self._k().psd))(memory.kernel)
        return Carried(state.epoch, memory, border, self._dealt(self._follow, memory, (goals, elapsed)))

    def reward(self, state: Carried, batch):
        pool, scenes = (state.memory, state.border), (state.following, batch.next_observation)
        following, rewards, scores = self._dealt(self._observe, pool, scenes)
        state = Carried(state.epoch, state.memory, state.border, following)
        return state, rewards, {"score": scores[:, -1].mean()}

    def relabel(self, state: Carried, batch):
        """Rewards of stored stretches of episodes, against one of the present memories."""
        memory, border = jax.tree.map(lambda leaf: leaf[0], (state.memory, state.border))
        elapsed = jnp.round(batch.time[:, 0] * self._world().episode_length).astype(jnp.int32)
        following = self._follow(memory, (batch.skill, elapsed))
        return self._observe((memory, border), (following, batch.next_observation))[1]

    def finish(self, state: Carried):
        if self.synchronise is None:
            return Kept(state.epoch + 1, None)
        store = jax.vmap(lambda memory, f: memory.store(self._k(), f.skill, f.track, f.summary))
        return Kept(state.epoch + 1, store(state.memory, state.following))

    def _follow(self, memory: SkillMemory, scenes) -> Following:
        """Begin to follow the goals of the scenes that share a memory; slots are steps of the episode."""

        def scene(goal, elapsed):
            return eqx.tree_at(lambda f: f.track.position, Following.start(memory, goal), elapsed)

        return jax.vmap(scene)(*scenes)

    def _observe(self, pool: tuple[SkillMemory, Border], scenes):
        def scene(following, observations):
            after, rewards, scores = following.observe(self._k(), *pool, observations, self.transform)
            return after if self.carry else following, rewards, scores

        return jax.vmap(scene)(*scenes)

    def _dealt(self, function, pool, scenes):
        """Apply a function of (one of the pool, the scenes that use it) to the pool and the scenes dealt to it."""
        m = self.memories
        grouped = jax.tree.map(lambda leaf: leaf.reshape(m, -1, *leaf.shape[1:]), scenes)
        out = jax.vmap(function)(pool, grouped)
        return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), out)
