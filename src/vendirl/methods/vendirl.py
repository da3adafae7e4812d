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
import math
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar, TypeVar, cast, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from vendirl._checks import Bounds, one_of, shown, whole_number
from vendirl._text import divisors, divisors_of
from vendirl.memory import Following, SkillMemory, Transform
from vendirl.methods.method import Method, Metrics, Rehearse, Rewards
from vendirl.methods.problem import Problem
from vendirl.methods.registry import register
from vendirl.score.border import Border
from vendirl.score.inputs import orders_of
from vendirl.similarity import Similarity, as_similarity
from vendirl.skills.policy import AnyArray, SkillPolicy
from vendirl.skills.rollout import Transition

Pool = TypeVar("Pool")
Scenes = TypeVar("Scenes")
Found = TypeVar("Found")


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


@register
@dataclasses.dataclass(frozen=True)
class VendiRL(Method):
    """Reward what the skills gain in Vendi Score: Algorithm 1 of the paper.

    Each setting that is None is that of the run.

    Attributes:
        similarity: k.
        transform: of the reward: "raw", "derivative", "penalty" or "log".
        q: order of the score.
        episodes: N, trajectories per skill in memory.
        refill: how the memories of the scenes are refilled: "auto", "scene", "shared", "pool(m)" or "off".
        synchronise: with `off`, after how many epochs all memories are refilled together.
    """

    similarity: Similarity | str | None = None
    transform: str | None = None
    q: float | None = None
    episodes: int | None = None
    refill: str | None = None
    synchronise: int | None = None

    name: ClassVar[str] = "vendirl"
    bounds: ClassVar[Mapping[str, Bounds]] = {
        "q": (0, math.inf),
        "episodes": (1, 10**6),
        "synchronise": (1, 10**9),
    }
    needs_numbers: ClassVar[bool] = True
    whole_stretches: ClassVar[bool] = True
    spreads: ClassVar[bool] = True

    def bind(self, problem: Problem) -> VendiRL:
        world, own = problem.environment, self.similarity
        k = problem.similarity
        if own is not None:
            k = as_similarity(own).resolve(world.feature_names, world.observation_size)
        own_or_run = dataclasses.replace(
            self,
            similarity=k,
            transform=problem.transform if self.transform is None else self.transform,
            q=problem.order if self.q is None else self.q,
            episodes=problem.episodes if self.episodes is None else self.episodes,
            refill=problem.refill if self.refill is None else self.refill,
            synchronise=problem.synchronise if self.synchronise is None else self.synchronise,
        )
        bound = super(VendiRL, own_or_run).bind(problem)
        assert isinstance(bound, VendiRL)
        bound._check()
        return bound

    def _check(self) -> None:
        one_of(self.transform, get_args(Transform), "vendirl: transform")
        whole_number(self.episodes, "vendirl: episodes")
        whole_number(self.synchronise, "vendirl: synchronise")
        orders_of(self._q)
        T = self.problem.environment.episode_length
        if self._k.least_observations > self._episodes * T:
            raise ValueError(f"{self._k} needs {self._k.least_observations} observations, an episode has {T}")
        _ = self.memories  # refuses what cannot be dealt

    @property
    def depends_on_similarity(self) -> bool:
        return self.similarity is None

    @property
    def similarities(self) -> tuple[Similarity, ...]:
        return (self._k,)

    @property
    def _k(self) -> Similarity:
        assert isinstance(self.similarity, Similarity), "`bind` sees to it"
        return self.similarity

    @property
    def _q(self) -> float:
        assert self.q is not None
        return self.q

    @property
    def _episodes(self) -> int:
        assert self.episodes is not None
        return self.episodes

    @property
    def _transform(self) -> Transform:
        return cast(Transform, self.transform)  # `bind` has looked

    @property
    def keeps(self) -> bool:
        """Whether memories go on from epoch to epoch (`off`), rather than be filled anew for each."""
        return self.refill == "off"

    @property
    def memories(self) -> int:
        """m, the size of the pool of memories."""
        problem, refill = self.problem, str(self.refill)
        if refill in ("scene", "off"):
            return problem.scenes
        if refill == "shared":
            return 1
        if refill == "auto":
            # the largest pool for which refilling takes an eighth, or half, as many steps as training
            trained = problem.episodes_per_epoch * problem.scenes
            most = trained / ((8 if problem.costly else 2) * problem.skills * self._episodes)
            return max(m for m in divisors_of(problem.scenes) if m == 1 or m <= most)
        found = re.fullmatch(r"pool\(([0-9]{1,12})\)", refill.replace(" ", ""))
        if not found:
            raise ValueError(f"refill must be auto, scene, shared, pool(m) or off, but is {shown(refill)}")
        m = int(found[1])
        if m < 1 or problem.scenes % m:
            raise ValueError(
                f"refill={refill}: {m} memories cannot be dealt evenly to {problem.scenes} scenes; "
                f"use one of {divisors(problem.scenes)}"
            )
        return m

    @property
    def pools(self) -> tuple[int, ...]:
        return (self.memories,) if self.memories > 1 else ()

    @property
    def rehearsal(self) -> int:
        return self.memories * self._episodes

    @property
    def rehearsal_period(self) -> int:
        if not self.keeps:
            return 1
        assert self.synchronise is not None
        return self.synchronise

    def filled(self, points: Float[Array, "n mN T D"]) -> SkillMemory:
        """m memories of m N new trajectories of each skill, (m, ...)."""
        n, _, T, D = points.shape
        points = points.reshape(n, self.memories, self._episodes, T, D)
        return jax.vmap(partial(SkillMemory.fill, self._k), in_axes=1)(points)

    def start(self, policy: SkillPolicy, key: PRNGKeyArray) -> Kept:
        memory = None
        if self.keeps:  # nothing yet, of the right shape: the first epoch fills it
            T, D = self.problem.environment.episode_length, self.problem.environment.observation_size
            points = jax.ShapeDtypeStruct((self.problem.skills, self.rehearsal, T, D), jnp.float32)
            shapes = jax.eval_shape(self.filled, points)
            memory = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
        return Kept(jnp.zeros((), jnp.int32), memory)

    def prepare(
        self, state: Kept, goals: Int[Array, " E"], elapsed: Int[Array, " E"], key: PRNGKeyArray, rehearse: Rehearse
    ) -> Carried:
        if state.memory is None:
            memory = self.filled(rehearse(key, self.rehearsal))
        else:
            due = state.epoch % self.rehearsal_period == 0
            memory = jax.lax.cond(due, lambda: self.filled(rehearse(key, self.rehearsal)), lambda: state.memory)
        border = jax.vmap(lambda K: Border.of(K, self._q, self._k.psd))(memory.kernel)
        return Carried(state.epoch, memory, border, self._dealt(self._follow, memory, (goals, elapsed)))

    def reward(self, state: Carried, batch: Transition) -> tuple[Carried, Rewards, Metrics]:
        pool, scenes = (state.memory, state.border), (state.following, batch.next_observation)
        following, rewards, scores = self._dealt(self._observe, pool, scenes)
        state = Carried(state.epoch, state.memory, state.border, following)
        return state, rewards, {"score": scores[:, -1].mean()}

    def reward_stored(self, state: Carried, batch: Transition) -> Rewards:
        """Rewards of stored stretches of episodes, against one of the present memories."""
        memory, border = jax.tree.map(lambda leaf: leaf[0], (state.memory, state.border))
        elapsed = jnp.round(batch.time[:, 0] * self.problem.environment.episode_length).astype(jnp.int32)
        following = self._follow(memory, (batch.skill, elapsed))
        return self._observe((memory, border), (following, batch.next_observation))[1]

    def finish(self, state: Carried) -> Kept:
        if not self.keeps:
            return Kept(state.epoch + 1, None)
        store = jax.vmap(lambda memory, f: memory.store(self._k, f.skill, f.track, f.summary))
        return Kept(state.epoch + 1, store(state.memory, state.following))

    def _follow(self, memory: SkillMemory, scenes: tuple[Int[AnyArray, " E"], Int[Array, " E"]]) -> Following:
        """Begin to follow the goals of the scenes that share a memory; slots are steps of the episode."""

        def scene(goal, elapsed):
            return eqx.tree_at(lambda f: f.track.position, Following.start(memory, goal), elapsed)

        return jax.vmap(scene)(*scenes)

    def _observe(
        self, pool: tuple[SkillMemory, Border], scenes: tuple[Following, Float[AnyArray, "E steps D"]]
    ) -> tuple[Following, Rewards, Rewards]:
        """What the scenes that share a memory observe: where they are in it then, their rewards, and their scores."""
        carry = self.problem.updates > 1 or self.keeps  # else nobody looks at it after one chunk of steps

        def scene(following, observations):
            after, rewards, scores = following.observe(self._k, *pool, observations, self._transform)
            return after if carry else following, rewards, scores

        return jax.vmap(scene)(*scenes)

    def _dealt(self, function: Callable[[Pool, Scenes], Found], pool: Pool, scenes: Scenes) -> Found:
        """Apply a function of (one of the pool, the scenes that use it) to the pool and the scenes dealt to it."""
        m = self.memories
        grouped = jax.tree.map(lambda leaf: leaf.reshape(m, -1, *leaf.shape[1:]), scenes)
        out = jax.vmap(function)(pool, grouped)
        return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), out)
