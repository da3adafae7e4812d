"""Going on from the skill that earns most: it becomes the first network of the task, which is learned from reward."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vendirl._checks import one_of
from vendirl.algorithms import parse_learner
from vendirl.skills.networks import Network
from vendirl.skills.policy import Skill, SkillPolicy
from vendirl.skills.statistics import RunningStatistics
from vendirl.training.carrying import carried
from vendirl.training.loop import Loop
from vendirl.transfer.learning import learn, world_of
from vendirl.transfer.task import Joined
from vendirl.transfer.ways.select import best_stored
from vendirl.transfer.ways.way import Asked, Used, Way, register

SEEN_BEFORE = 1e4
"""What the statistics of observations count for at most, so that they follow what the task shows."""


@register
@dataclasses.dataclass(frozen=True)
class Finetune(Way):
    """Learn each task from its reward, beginning with the skill that its stored episodes say is best.

    Attributes:
        carry: What is carried over from the skill: its actor; trunk, which leaves out the last layer; or all, its
            critic too.
        log_std: The logarithm of the standard deviation that actions have at first, as in training; None for that of
            the skill.
    """

    carry: str = "actor"
    log_std: float | None = None

    name: ClassVar[str] = "finetune"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self.carry, ("actor", "trunk", "all"), "finetune: carry")

    def check(self, asked: Asked) -> None:
        mine, theirs = parse_learner(asked.learning.learner), asked.skills.loop.algorithm
        if (mine.squashes, mine.deviation) != (theirs.squashes, theirs.deviation):
            raise ValueError(
                f"finetune: the skills act as {theirs.name} has it, and {mine.name} would go on with them otherwise; "
                f"use learner {theirs.name}"
            )

    def use(self, asked: Asked) -> Used:
        run = asked.skills
        chosen = best_stored(asked)
        old = run.skills_of(asked.run_seed)
        each = [old.skill(run.goals[number]) for number in chosen]
        tasks = Joined(asked.tasks)

        def begun(fresh: SkillPolicy, loop: Loop) -> SkillPolicy:
            found = carried_to_tasks(fresh, each, self.carry, tasks.shows)
            if self.log_std is not None and found.log_std is not None:
                found = eqx.tree_at(lambda p: p.log_std, found, jnp.full_like(found.log_std, self.log_std))
            return found

        curve = learn(
            world_of(asked.environment, asked.tasks),
            len(asked.tasks),
            asked.steps,
            asked.seeds,
            asked.seed,
            asked.learning,
            begun=begun,
            report=asked.report,
            hidden=run.settings.hidden,
            activation=run.settings.activation,
            time=run.settings.time,
        )
        return Used(curve.steps, curve.returns, np.tile(np.array(chosen), (asked.seeds, 1)))


def carried_to_tasks(fresh: SkillPolicy, skills: list[Skill], carry: str, shows: int) -> SkillPolicy:
    """A policy of separate networks, one for each task, that begin as skills do. What tasks show beside what a skill
    sees has no weight at first."""

    def one(new: Skill, skill: Skill) -> Skill:
        seen = skill.statistics.size
        wider = eqx.tree_at(
            lambda s: (s.actor, s.critic, s.statistics),
            skill,
            (_wider(skill.actor, seen, shows), _wider(skill.critic, seen, shows), _more(skill.statistics, shows)),
        )
        return carried(new, wider, carry)

    each = [one(fresh.skill(task), skill) for task, skill in enumerate(skills)]
    actor, critic, log_std = (_stacked([getattr(s, part) for s in each]) for part in ("actor", "critic", "log_std"))
    found = eqx.tree_at(lambda p: (p.actor, p.critic), fresh, (actor, critic))
    if fresh.log_std is not None:
        found = eqx.tree_at(lambda p: p.log_std, found, log_std)
    return found.with_statistics(each[0].statistics)


def _stacked(each: list[Network] | list[Float[Array, " A"] | None]) -> Network | Float[Array, "tasks A"] | None:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *each)


def _wider(network: Network, at: int, more: int) -> Network:
    """The network with that many more inputs from a place on, which have no weight."""
    W = network.layers[0].weight
    wider = jnp.concatenate([W[:, :at], jnp.zeros((W.shape[0], more)), W[:, at:]], 1)
    return eqx.tree_at(lambda n: n.layers[0].weight, network, wider)


def _more(statistics: RunningStatistics, more: int) -> RunningStatistics:
    """The statistics with that many more features, which count as not seen."""
    count = jnp.minimum(statistics.count, SEEN_BEFORE)
    mean = jnp.concatenate([statistics.mean, jnp.zeros(more)])
    return RunningStatistics(count, mean, jnp.concatenate([statistics.variance, jnp.ones(more)]))
