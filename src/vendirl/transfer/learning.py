"""Learning tasks from reward, by the trainer that learns skills: each task is a skill with networks of its own.

A world of tasks (`tasked`) writes down what every task pays. `ByTask` deals its scenes to the tasks and pays each by
its own, so one compiled program learns all tasks, and all seeds, at once, under the learner and the loop of `vr.train`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from vendirl._checks import finite_number
from vendirl.environments import AnyEnvironment, Environment
from vendirl.methods import Method
from vendirl.methods.method import Goals, Metrics, Rewards
from vendirl.skills.policy import SkillPolicy
from vendirl.skills.rollout import Transition
from vendirl.training import driver
from vendirl.training.loop import Loop
from vendirl.training.problem import OBJECT, Objects
from vendirl.training.run import Run
from vendirl.training.settings import Settings
from vendirl.transfer.settings import Learning
from vendirl.transfer.task import Joined, Task
from vendirl.transfer.tasked import Tasked
from vendirl.transfer.tasked_host import TaskedHost

POINTS = 10
"""How often a curve is measured in training, at most, beside its beginning."""
DRAW = 1
"""What seeds the episodes that curves are measured by."""


@dataclasses.dataclass(frozen=True)
class ByTask(Method):
    """Pay each skill by the task of its number, in a world that writes down what all tasks pay."""

    name: ClassVar[str] = "tasks"
    separate: ClassVar[bool] = True

    def goals(self, state: PyTree, epoch: Int[Array, ""], key: PRNGKeyArray) -> Goals:
        """The tasks of the scenes: each task has as many as any other, or one more."""
        return jnp.arange(self.problem.scenes) % self.problem.skills

    def reward(self, state: PyTree, batch: Transition) -> tuple[PyTree, Rewards, Metrics]:
        paid = jnp.asarray(batch.next_observation)[..., -self.problem.skills :]
        chosen = jnp.asarray(batch.skill)[:, None, None]
        return state, jnp.take_along_axis(paid, chosen, axis=-1)[..., 0], {}


@dataclasses.dataclass(frozen=True, eq=False)
class Curve:
    """What was earned after so many steps of a task.

    Attributes:
        steps: (points,) steps of the body that each task has had, from 0 on.
        returns: (points, seeds, tasks) mean returns of episodes without noise.
    """

    steps: Int[np.ndarray, " points"]
    returns: Float[np.ndarray, "points seeds tasks"]


def world_of(environment: AnyEnvironment, tasks: tuple[Task, ...]) -> Tasked | TaskedHost:
    """The environment with what tasks add to it."""
    joined = Joined(tasks)
    return Tasked(environment, joined) if isinstance(environment, Environment) else TaskedHost(environment, joined)


def learn(
    world: AnyEnvironment,
    tasks: int,
    steps: float,
    seeds: int,
    seed: int,
    how: Learning,
    *,
    hold: int = 1,
    begun: Callable[[SkillPolicy, Loop], SkillPolicy] | None = None,
    report: Callable[[float], None] | None = None,
    **settings: Any,
) -> Curve:
    """Learn every task of a world.

    Args:
        world: an environment with tasks, as `world_of` makes it.
        tasks: how many tasks there are.
        steps: how many steps of the body each task has with each seed.
        seeds, seed: how many seeds are learned at once, and the first of them.
        how: how tasks are learned: the learner and its settings.
        hold: how many steps of the body a step of the world has.
        begun: makes of new networks, one set for each task, those to begin with.
        report: called with the fraction that is done.
        settings: other settings of the run.
    """
    how.check()
    finite_number(steps, "steps", above=0, most=1e15)
    asked = Settings(
        **{
            "env": f"{OBJECT}tasks",
            "similarity": "mmd(scale=1)",
            "method": ByTask.name,
            "skills": tasks,
            "steps": steps * tasks / hold,
            "seed": seed,
            "seeds": seeds,
            "scenes": how.scenes * tasks,
            "devices": 1,
            "refill": "off",
            "separate": True,
            "hidden": how.hidden,
            "activation": how.activation,
            "log_std": how.log_std,
            "learner": how.learner,
            "ppo": how.ppo,
            **settings,
        }
    )
    points: list[tuple[int, Float[np.ndarray, "seeds tasks"]]] = []

    def progress(run: Run, row: dict[str, Any]) -> None:
        if not points:
            points.append((0, _earned(run, how.episodes, untrained=True)))
        if run.done >= run.epochs or run.done * POINTS >= len(points) * run.epochs:
            points.append((run.env_steps * hold // tasks, _earned(run, how.episodes)))
        if report is not None:
            report(run.done / run.epochs)

    driver.run(asked, progress=progress, objects=Objects(environment=world, method=ByTask(), begun=begun))
    return Curve(np.array([at for at, _ in points]), np.stack([found for _, found in points]))


def _earned(run: Run, episodes: int, untrained: bool = False) -> Float[np.ndarray, "seeds tasks"]:
    """The mean return of each task, by its own skill."""
    found = []
    for seed in range(run.settings.seeds):
        data = run.episodes(episodes=episodes, seed=seed, draw=DRAW, untrained=untrained)
        paid = np.asarray(data.observations, np.float64)[:, -run.settings.skills :]
        sums = np.add.reduceat(paid, np.cumsum(data.lengths) - data.lengths, axis=0)
        found.append([sums[mine, task].mean() for task, mine in enumerate(data.of_skill)])
    return np.array(found)
