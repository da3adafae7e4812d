"""The skill that a method's own model infers for a task, without any selection by returns.

goals      the skill that leads from where the body is to the goal, asked for anew in every step (or once):
           z = (φ(g) - φ(s)) / |.| for METRA, LSD and CSF, φ(g) / |φ(g)| for VISR and APS, argmax q(z | g) for DIAYN;
           g is the first observation of an episode, moved to the goal
the rest   w = argmin Σ (w·φ_t - r_t)² over stored episodes, and z along w, for methods whose reward is φ·z: VISR,
           APS and CSF
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from vendirl._programs import Recent
from vendirl.data import Trajectories
from vendirl.environments import HostEnvironment
from vendirl.methods import Method
from vendirl.methods.fitted import Fitted
from vendirl.methods.visr import infer_skill
from vendirl.skills.episodes import first_episodes
from vendirl.skills.host_rollout import act_out as act_out_on_host
from vendirl.skills.rollout import Transition, act_out
from vendirl.training.goals import seek
from vendirl.transfer.goals import Goal
from vendirl.transfer.rewards import returns_of, step_rewards
from vendirl.transfer.task import Task
from vendirl.transfer.ways.select import stored_episodes
from vendirl.transfer.ways.way import Asked, Used, Way, register


@register
@dataclasses.dataclass(frozen=True)
class Infer(Way):
    """Ask the method's own model which skill suits the task; no step of the environment is needed.

    Attributes:
        anew: Whether the skill for a goal is inferred anew in every step, rather than once.
    """

    anew: bool = True

    name: ClassVar[str] = "infer"

    def check(self, asked: Asked) -> None:
        method = asked.skills.loop.method
        for task in asked.tasks:
            if task.parameters:
                raise ValueError(f"infer: {task} is another task in every episode, and one skill is inferred for each")
            if not (isinstance(task, Goal) and method.knows_goals) and not _has_features(method):
                which = "of a goal" if isinstance(task, Goal) else "of a reward"
                raise ValueError(
                    f"infer: {method.name} has no model that tells the skill {which}; metra, lsd, csf, visr, aps and "
                    "diayn know goals, and csf, visr and aps rewards"
                )

    def use(self, asked: Asked) -> Used:
        stored, method = stored_episodes(asked), asked.skills.loop.method
        state = asked.skills.method_state(asked.run_seed)
        found = np.zeros((1, asked.seeds, len(asked.tasks)))
        goals = [i for i, task in enumerate(asked.tasks) if isinstance(task, Goal) and method.knows_goals]
        others = [i for i in range(len(asked.tasks)) if i not in goals]
        skills = [self._by_regression(asked, asked.tasks[i], stored, state) for i in others]
        for seed in range(asked.seeds):
            key = jax.random.key(asked.seed + seed)
            if goals:
                found[0, seed, goals] = self._to_goals(asked, [asked.tasks[i] for i in goals], stored, state, key)
            if others:
                found[0, seed, others] = _earned(asked, np.stack(skills), [asked.tasks[i] for i in others], key)
        return Used(np.zeros(1, int), found)

    def _to_goals(
        self, asked: Asked, tasks: list[Task], stored: Trajectories, state: Any, key: jax.Array
    ) -> Float[np.ndarray, " tasks"]:
        assert stored.first_observations is not None
        run, names = asked.skills, asked.environment.feature_names
        goals = np.tile(np.asarray(stored.first_observations[0], np.float32), (len(tasks), 1))
        for row, task in zip(goals, tasks, strict=True):
            assert isinstance(task, Goal)
            row[[names.index(name) for name in task.coordinates]] = task.at
        policy, method = run.skills_of(asked.run_seed), run.loop.method
        once, anew = seek(asked.environment, policy, method, state, goals, key, asked.learning.episodes)
        return np.diagonal(returns_of(tasks, anew if self.anew else once).profile).copy()

    def _by_regression(self, asked: Asked, task: Task, stored: Trajectories, state: Any) -> Float[np.ndarray, " d"]:
        """The skill whose reward is nearest to the task's in stored episodes."""
        assert stored.first_observations is not None
        method, run = asked.skills.loop.method, asked.skills
        starts = np.cumsum(stored.lengths) - stored.lengths
        after = np.asarray(stored.observations, np.float32)
        before = np.roll(after, 1, axis=0)
        before[starts] = stored.first_observations
        nothing, T = jnp.zeros((1, len(after))), asked.environment.episode_length
        time = np.arange(len(after)) - np.repeat(starts, stored.lengths)
        batch = Transition(
            observation=jnp.asarray(before)[None],
            time=jnp.asarray(time / T, jnp.float32)[None],
            action=jnp.asarray(stored.actions, jnp.float32)[None],
            log_prob=nothing,
            next_observation=jnp.asarray(after)[None],
            next_time=jnp.asarray((time + 1) / T, jnp.float32)[None],
            terminated=nothing > 0,
            truncated=nothing > 0,
            reward=nothing,
            skill=run.goals[:1],
        )
        features = method.features_of(state, batch)[0]
        w = infer_skill(features, jnp.asarray(step_rewards([task], stored)[0, :, 0], jnp.float32))
        return np.asarray(run.loop.problem.space.along(w))


def _earned(asked: Asked, skills: Float[np.ndarray, "tasks d"], tasks: list[Task], key: jax.Array) -> np.ndarray:
    """What each task earns by a skill of its own, which acts without noise."""
    world, policy = asked.environment, asked.skills.skills_of(asked.run_seed)
    act: Any = act_out_on_host if isinstance(world, HostEnvironment) else _act_out
    rows = act(world, policy, jnp.asarray(skills), key, True, asked.learning.episodes)
    data = first_episodes(rows, list(range(len(tasks))), world.feature_names, "episodes of inferred skills")
    return np.diagonal(returns_of(tasks, data).profile).copy()


def _has_features(method: Method) -> bool:
    """Whether the method's reward is φ·z, with φ to be asked for."""
    return isinstance(method, Fitted) and type(method).cumulants is not Fitted.cumulants


_act_out = Recent(act_out)
