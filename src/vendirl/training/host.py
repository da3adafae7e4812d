"""The loop where the environment is outside the compiled program: `Loop.epoch` in pieces.

Acting, rewarding and learning are compiled; between them the scenes are stepped by the host. With several seeds the
scenes of all seeds are stepped at once.

What goes on inside such scenes cannot be saved. So that a run which is resumed goes on as if it had never stopped, all
scenes are seeded anew and begin new episodes at the start of every block of epochs, by the seed of the run and the
epoch alone. This holds as far as scenes of the same seed do the same for the same actions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PRNGKeyArray, Shaped

from vendirl._programs import Program
from vendirl.environments.host import HostEnvironment
from vendirl.methods.method import Goals
from vendirl.score.score import vendi_score
from vendirl.similarity import Similarity, SkillSet
from vendirl.skills.host_rollout import Stage, acting, drawn, rehearsed
from vendirl.skills.policy import SkillPolicy
from vendirl.skills.rollout import Transition
from vendirl.training.loop import Loop, Training


class HostLoop:
    """Epochs in scenes that live in this object, which must be closed."""

    def __init__(self, loop: Loop, seeds: int, seed: int):
        assert isinstance(loop.problem.environment, HostEnvironment)
        self.loop, self.seeds, self.seed = loop, seeds, seed
        self.environment = loop.problem.environment
        self.stages: dict[str, Stage] = {}
        self.points: Float[Array, "*S n N T D"] | None = None
        self.block = 0

        def begin(training, points):
            return loop.begin(training, lambda key, episodes: points[:, :episodes])

        def over(function: Callable[..., Any]) -> Callable[..., Any]:
            return function if seeds == 1 else eqx.filter_vmap(function)

        self._begin = Program(over(begin))
        self._learn = Program(over(loop.learn))
        self._end = Program(over(loop.end))
        self._scored = Program(score_of if seeds == 1 else eqx.filter_vmap(score_of, in_axes=(0, None, None)))

    def begin_block(self, epoch: int) -> None:
        """Let all scenes begin anew, as the seed and the number of epochs that are done say."""
        self.block = epoch
        for name in self.stages.keys() & {"acting", "rehearsing"}:
            self.stages[name].restart(self._seed(name))

    def epoch(self, training: Training) -> tuple[Training, dict[str, Float[Array, "*S"]]]:
        """One epoch in all scenes, and its metrics; of each seed, if there are several."""
        loop = self.loop
        stage = self._stage("acting", loop.problem.scenes)
        epoch = int(np.max(np.asarray(training.epoch)))
        points = self._rehearse(training, epoch)
        training = eqx.tree_at(lambda t: t.elapsed, training, self._per_seed(stage.elapsed))
        goals, learned, keys, key = self._begin(training, points)
        metrics: dict[str, Float[Array, "*S"]] = {}
        for c in range(loop.problem.updates):
            act_key, learn_key = (keys[..., c, i] for i in (0, 1))
            act = acting(learned.policy, goals, self.seeds > 1)
            noise = np.asarray(drawn(learned.policy.actions, self._one(act_key), (stage.count, loop.problem.steps)))
            batch = stage.roll(act, np.asarray(goals).reshape(stage.count, *goals.shape[self._axes :]), noise)
            learned, metrics = self._learn(learned, self._batch(batch), training.epoch, learn_key)
        elapsed = self._per_seed(stage.elapsed)
        return self._end(training, learned, None, elapsed, key), metrics

    def score(self, policy: SkillPolicy, similarity: Similarity, goals: Goals, order: float) -> Float[Array, "*S"]:
        """The Vendi Score of the skills acting without noise, one trajectory each; of each seed."""
        S = None if self.seeds == 1 else self.seeds
        opened = "scoring" in self.stages
        stage = self._stage("scoring", goals.shape[0])
        if opened:  # every score is of the same beginnings
            stage.restart(self._seed("scoring"))
        points = jnp.asarray(rehearsed(stage, policy, goals, jax.random.key(0), 1, True, S))
        return self._scored(points, similarity, order)

    def close(self) -> None:
        """End the scenes, and forget what they did."""
        for stage in self.stages.values():
            stage.close()
        self.stages, self.points = {}, None

    @property
    def _axes(self) -> int:
        return 1 if self.seeds == 1 else 2

    def _rehearse(self, training: Training, epoch: int) -> Float[Array, "*S n N T D"]:
        method, n = self.loop.method, self.loop.problem.skills
        T, D = self.environment.episode_length, self.environment.observation_size
        if not method.rehearsal or (self.points is None and epoch % method.rehearsal_period):
            return jnp.zeros((*([self.seeds] if self.seeds > 1 else []), n, method.rehearsal, T, D))
        if self.points is None or epoch % method.rehearsal_period == 0:  # else nobody looks at them
            stage = self._stage("rehearsing", n * method.rehearsal)
            key = jax.random.fold_in(self._one(training.key), 1)
            S = None if self.seeds == 1 else self.seeds
            found = rehearsed(stage, training.policy, jnp.arange(n), key, method.rehearsal, False, S)
            self.points = jnp.asarray(found)
        return self.points

    def _stage(self, name: str, scenes: int) -> Stage:
        """The scenes for one purpose, opened when they are first needed."""
        if name not in self.stages:
            self.stages[name] = Stage(self.environment, scenes * self.seeds, self._seed(name))
        return self.stages[name]

    def _seed(self, name: str) -> int:
        purpose = ("acting", "rehearsing", "scoring").index(name)
        mixed = np.random.SeedSequence((self.seed % 2**64, purpose, 0 if name == "scoring" else self.block))
        return int(mixed.generate_state(1)[0] >> 1)  # 31 bits, which every environment takes

    def _one(self, key: Key[Array, "*S"]) -> PRNGKeyArray:
        """A key for all seeds: that of the first."""
        return key if self.seeds == 1 else key[0]

    def _per_seed(self, x: Shaped[np.ndarray, " scenes *rest"]) -> Array:
        return jnp.array(x if self.seeds == 1 else x.reshape(self.seeds, -1, *x.shape[1:]))

    def _batch(self, batch: Transition) -> Transition:
        return jax.tree.map(self._per_seed, batch)


def score_of(points: Float[Array, "n N T D"], similarity: Similarity, order: float) -> Float[Array, ""]:
    """The score of skills by their trajectories."""
    return jnp.asarray(vendi_score(similarity.matrix(similarity.summaries(SkillSet(points))), order))
