"""VendiRL (Algorithm 1): reward what the skill memory gains in Vendi Score.

    r_t = VS(K_t) - VS(K_{t-1}),      K_t the kernel matrix of the skills' memories after observation t (`derivative`)

Scenes are dealt evenly to a pool of m memories, each filled with trajectories of its own:

    scene       m = number of scenes: the paper's, a memory for each scene, E n T steps for each refill
    pool(m)     between the two
    shared      m = 1: one memory for all scenes, n T steps for each refill
    off         a memory for each scene that goes on filling with what the scene observes; all are refilled together
                every `synchronise` epochs

With many skills most of an epoch would be reward: O(n²) for each score, O(n³) for each decomposition of a memory. So
from some hundred skills on only each k-th step is scored, with what was gained spread evenly over the k (`every`), and
memories may be kept, with their decompositions, for several epochs (`keep`). `benchmarks/cost.py` has what that saves,
and `benchmarks/many_skills.py` what it costs in score.
"""

from __future__ import annotations

import bisect
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

from vendirl._checks import Bounds, number_or_auto, one_of, shown, whole_number
from vendirl._text import divisors, divisors_of
from vendirl.memory import Following, SkillMemory, Transform, border_of
from vendirl.methods.method import Method, Metrics, Rehearse, Rewards
from vendirl.methods.problem import Problem
from vendirl.methods.registry import register
from vendirl.score.border import Border
from vendirl.score.dual import Dual
from vendirl.score.inputs import orders_of
from vendirl.similarity import Observations, Similarity, as_similarity
from vendirl.skills.policy import AnyArray, SkillPolicy
from vendirl.skills.rollout import Transition

Pool = TypeVar("Pool")
Scenes = TypeVar("Scenes")
Found = TypeVar("Found")

FROM = (128, 1024)
SPACINGS = (1, 10, 25)
"""Below, between and from these numbers of skills on, how many steps share a score."""


class Kept(eqx.Module):
    """Between epochs: how many are done, the memories that are kept and, unless they go on filling, their borders."""

    epoch: Int[Array, ""]
    memory: SkillMemory | None
    border: Border | Dual | None = None


class Carried(eqx.Module):
    """Within an epoch: the pool of memories and their borders, and where each scene is in the one it was dealt."""

    epoch: Int[Array, ""]
    memory: SkillMemory
    border: Border | Dual
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
        every: k, how many steps share a score, or "auto".
        keep: for how many epochs memories are kept before they are refilled.
    """

    similarity: Similarity | str | None = None
    transform: str | None = None
    q: float | None = None
    episodes: int | None = None
    refill: str | None = None
    synchronise: int | None = None
    every: int | str | None = None
    keep: int | None = None

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
            every=problem.every if self.every is None else self.every,
            keep=problem.keep if self.keep is None else self.keep,
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
        number_or_auto(self.every, "vendirl: every")
        whole_number(self.keep, "vendirl: keep")
        if self.fills_on and self.keep != 1:
            raise ValueError(
                f"vendirl: keep={self.keep} keeps memories as they are, but with refill=off they go on filling; use "
                f"synchronise={self.keep} for how long, or another refill"
            )
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
    def fills_on(self) -> bool:
        """Whether memories go on filling from epoch to epoch (`off`), rather than be filled anew."""
        return self.refill == "off"

    @property
    def spacing(self) -> int:
        """k: how many steps share a score."""
        if self.every != "auto":
            assert isinstance(self.every, int)
            return self.every
        return 1 if self._q == 2 else SPACINGS[bisect.bisect(FROM, self._size)]

    @property
    def lasts(self) -> int:
        """For how many epochs a memory is kept."""
        assert self.keep is not None
        return self.keep

    @property
    def _size(self) -> int:
        """Of the matrix that a memory's score is found by: the skills or, if they are fewer, the numbers of an
        embedding."""
        n, world = self.problem.skills, self.problem.environment
        points = jax.ShapeDtypeStruct((self._episodes, world.episode_length, world.observation_size), jnp.float32)
        embedding = jax.eval_shape(lambda points: self._k.embedding(self._k.summary(Observations(points))), points)
        return n if embedding is None else min(n, len(embedding))

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
        if not self.fills_on:
            return self.lasts
        assert self.synchronise is not None
        return self.synchronise

    def filled(self, points: Float[Array, "n mN T D"]) -> SkillMemory:
        """m memories of m N new trajectories of each skill, (m, ...)."""
        n, _, T, D = points.shape
        points = points.reshape(n, self.memories, self._episodes, T, D)
        return jax.vmap(partial(SkillMemory.fill, self._k), in_axes=1)(points)

    def start(self, policy: SkillPolicy, key: PRNGKeyArray) -> Kept:
        epoch = jnp.zeros((), jnp.int32)
        if self.rehearsal_period == 1 and not self.fills_on:
            return Kept(epoch, None)
        # nothing yet, of the right shape: the first epoch fills it
        T, D = self.problem.environment.episode_length, self.problem.environment.observation_size
        points = jax.ShapeDtypeStruct((self.problem.skills, self.rehearsal, T, D), jnp.float32)
        shapes = jax.eval_shape(self._anew, points)
        memory, border = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
        return Kept(epoch, memory, None if self.fills_on else border)

    def prepare(
        self, state: Kept, goals: Int[Array, " E"], elapsed: Int[Array, " E"], key: PRNGKeyArray, rehearse: Rehearse
    ) -> Carried:
        if state.memory is None:
            memory, border = self._anew(rehearse(key, self.rehearsal))
        else:
            due = state.epoch % self.rehearsal_period == 0
            if state.border is None:
                filled = lambda: self.filled(rehearse(key, self.rehearsal))  # noqa: E731
                memory = jax.lax.cond(due, filled, lambda: state.memory)
                border = self._borders(memory)
            else:
                kept = (state.memory, state.border)
                memory, border = jax.lax.cond(due, lambda: self._anew(rehearse(key, self.rehearsal)), lambda: kept)
        following = self._dealt(self._follow, (memory, border), (goals, elapsed))
        return Carried(state.epoch, memory, border, following)

    def _anew(self, points: Float[Array, "n mN T D"]) -> tuple[SkillMemory, Border | Dual]:
        """Memories of these trajectories, and their borders."""
        memory = self.filled(points)
        return memory, self._borders(memory)

    def _borders(self, memory: SkillMemory) -> Border | Dual:
        return jax.vmap(lambda memory: border_of(self._k, memory, self._q))(memory)

    def reward(self, state: Carried, batch: Transition) -> tuple[Carried, Rewards, Metrics]:
        pool, scenes = (state.memory, state.border), (state.following, batch.next_observation)
        following, rewards, scores = self._dealt(self._observe, pool, scenes)
        state = Carried(state.epoch, state.memory, state.border, following)
        return state, rewards, {"score": scores[:, -1].mean()}

    def reward_stored(self, state: Carried, batch: Transition) -> Rewards:
        """Rewards of stored stretches of episodes, against one of the present memories."""
        memory, border = jax.tree.map(lambda leaf: leaf[0], (state.memory, state.border))
        elapsed = jnp.round(batch.time[:, 0] * self.problem.environment.episode_length).astype(jnp.int32)
        following = self._follow((memory, border), (batch.skill, elapsed))
        return self._observe((memory, border), (following, batch.next_observation))[1]

    def finish(self, state: Carried) -> Kept:
        if not self.fills_on:
            kept = (state.memory, state.border) if self.lasts > 1 else (None, None)
            return Kept(state.epoch + 1, *kept)
        store = jax.vmap(lambda memory, f: memory.store(self._k, f.skill, f.track, f.summary))
        return Kept(state.epoch + 1, store(state.memory, state.following))

    def _follow(
        self, pool: tuple[SkillMemory, Border | Dual], scenes: tuple[Int[AnyArray, " E"], Int[Array, " E"]]
    ) -> Following:
        """Begin to follow the goals of the scenes that share a memory; slots are steps of the episode."""
        memory, border = pool
        value = border.score if self.spacing > 1 else None  # one score less of few; of each step it would hardly count

        def scene(goal, elapsed):
            return eqx.tree_at(lambda f: f.track.position, Following.start(memory, goal, value), elapsed)

        return jax.vmap(scene)(*scenes)

    def _observe(
        self, pool: tuple[SkillMemory, Border | Dual], scenes: tuple[Following, Float[AnyArray, "E steps D"]]
    ) -> tuple[Following, Rewards, Rewards]:
        """What the scenes that share a memory observe: where they are in it then, their rewards, and their scores."""
        carry = self.problem.updates > 1 or self.fills_on  # else nobody looks at it after one chunk of steps

        def scene(following, observations):
            after, rewards, scores = following.observe(self._k, *pool, observations, self._transform, self.spacing)
            return after if carry else following, rewards, scores

        return jax.vmap(scene)(*scenes)

    def _dealt(self, function: Callable[[Pool, Scenes], Found], pool: Pool, scenes: Scenes) -> Found:
        """Apply a function of (one of the pool, the scenes that use it) to the pool and the scenes dealt to it."""
        m = self.memories
        grouped = jax.tree.map(lambda leaf: leaf.reshape(m, -1, *leaf.shape[1:]), scenes)
        out = jax.vmap(function)(pool, grouped)
        return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), out)
