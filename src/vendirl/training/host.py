"""The loop where the environment is outside the compiled program: `Loop.epoch` in pieces.

Acting, rewarding and learning are compiled; between them the scenes are stepped by the host. With several seeds the
scenes of all seeds are stepped at once.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vendirl.environments.host import HostEnvironment
from vendirl.host_rollout import Stage, acting, drawn, rehearsed
from vendirl.rollout import Transition
from vendirl.score import vendi_score
from vendirl.similarity import Observations, Similarity
from vendirl.training.loop import Loop, Training


class HostLoop:
    """Epochs in scenes that live in this object, which must be closed."""

    def __init__(self, loop: Loop, seeds: int, seed: int):
        assert isinstance(loop.environment, HostEnvironment)
        self.loop, self.seeds, self.seed = loop, seeds, seed
        self.environment = loop.environment
        self.stages: dict[str, Stage] = {}
        self.points: Any = None

        def begin(training, points):
            return loop.begin(training, lambda key, episodes: points[:, :episodes])

        over = (lambda f: f) if seeds == 1 else eqx.filter_vmap
        self._begin = eqx.filter_jit(over(begin))
        self._learn = eqx.filter_jit(over(loop.learn))
        self._end = eqx.filter_jit(over(loop.end))
        self._scored = eqx.filter_jit(score_of if seeds == 1 else eqx.filter_vmap(score_of, in_axes=(0, None, None)))

    def epoch(self, training: Training) -> tuple[Training, dict[str, Any]]:
        """One epoch in all scenes, and its metrics."""
        loop = self.loop
        stage = self._stage("acting", loop.scenes)
        epoch = int(np.max(np.asarray(training.epoch)))
        points = self._rehearse(training, epoch)
        training = eqx.tree_at(lambda t: t.elapsed, training, self._per_seed(stage.elapsed))
        goals, learned, keys, key = self._begin(training, points)
        metrics: dict[str, Any] = {}
        for c in range(loop.chunks):
            act_key, learn_key = (keys[..., c, i] for i in (0, 1))
            act = acting(learned.policy, goals, self.seeds > 1)
            noise = np.asarray(drawn(learned.policy.actions, self._one(act_key), (stage.count, loop.chunk)))
            batch = stage.roll(act, np.asarray(goals).reshape(stage.count, *goals.shape[self._axes :]), noise)
            learned, metrics = self._learn(learned, self._batch(batch), training.epoch, learn_key)
        elapsed = self._per_seed(stage.elapsed)
        return self._end(training, learned, None, elapsed, key), metrics

    def score(self, policy, similarity: Similarity, goals, order: float):
        """The Vendi Score of the skills acting without noise, one trajectory each; of each seed."""
        S = None if self.seeds == 1 else self.seeds
        stage = self._stage("scoring", goals.shape[0])
        points = jnp.asarray(rehearsed(stage, policy, goals, jax.random.key(0), 1, True, S))
        return self._scored(points, similarity, order)

    def close(self) -> None:
        """End the scenes."""
        for stage in self.stages.values():
            stage.close()
        self.stages = {}

    @property
    def _axes(self) -> int:
        return 1 if self.seeds == 1 else 2

    def _rehearse(self, training: Training, epoch: int):
        method, n = self.loop.method, self.loop.skills
        T, D = self.environment.episode_length, self.environment.observation_size
        if not method.rehearsal:
            return jnp.zeros((*([self.seeds] if self.seeds > 1 else []), n, 0, T, D))
        if self.points is None or epoch % method.rehearsal_period == 0:
            stage = self._stage("rehearsing", n * method.rehearsal)
            key = jax.random.fold_in(self._one(training.key), 1)
            S = None if self.seeds == 1 else self.seeds
            found = rehearsed(stage, training.policy, jnp.arange(n), key, method.rehearsal, False, S)
            self.points = jnp.asarray(found)
        return self.points

    def _stage(self, name: str, scenes: int) -> Stage:
        """The scenes for one purpose, opened when they are first needed."""
        if name not in self.stages:
            seed = self.seed + 1_000_003 * (1 + len(self.stages))
            self.stages[name] = Stage(self.environment, scenes * self.seeds, seed)
        return self.stages[name]

    def _one(self, key):
        """A key for all seeds: that of the first."""
        return key if self.seeds == 1 else key[0]

    def _per_seed(self, x: np.ndarray):
        return jnp.array(x if self.seeds == 1 else x.reshape(self.seeds, -1, *x.shape[1:]))

    def _batch(self, batch: Transition) -> Transition:
        return jax.tree.map(self._per_seed, batch)


def score_of(points, similarity: Similarity, order: float):
    """The score of skills by their trajectories (n, N, T, D)."""
    return vendi_score(similarity.matrix(jax.vmap(similarity.summary)(Observations(points))), order)
