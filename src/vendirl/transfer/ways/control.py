"""A controller over frozen skills: it sees the state and the task, and chooses what skill to hold for the next K steps.

    s_0, g ~ π(. | s_0, θ)  ->  s_K,      r = Σ_{k<K} r(s_k, s_k+1),      discounted once for each choice

The skills see what they have always seen, and act without noise.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from vendirl.environments import Environment
from vendirl.transfer.learning import learn
from vendirl.transfer.task import Joined
from vendirl.transfer.tasked import OverSkills
from vendirl.transfer.tasked_host import Skills, TaskedHost
from vendirl.transfer.ways.way import Asked, Used, Way, register


@register
@dataclasses.dataclass(frozen=True)
class Control(Way):
    """Learn which skill to hold when, with the skills as they are.

    Attributes:
        hold: For how many steps a skill is held.
    """

    hold: int = 10

    name: ClassVar[str] = "control"
    bounds: ClassVar[dict[str, tuple[float, float]]] = {"hold": (1, 10**6)}

    def check(self, asked: Asked) -> None:
        T = asked.environment.episode_length
        if self.hold > T:
            raise ValueError(f"control: hold={self.hold} is more than the {T} steps of an episode; use less")

    def use(self, asked: Asked) -> Used:
        run, world, joined = asked.skills, asked.environment, Joined(asked.tasks)
        policy, space = run.skills_of(asked.run_seed), run.loop.problem.space
        over = (
            OverSkills(inner=world, tasks=joined, policy=policy, space=space, hold=self.hold)
            if isinstance(world, Environment)
            else TaskedHost(world, joined, Skills(policy, space, self.hold))
        )
        curve = learn(
            over,
            len(asked.tasks),
            asked.steps,
            asked.seeds,
            asked.seed,
            asked.learning,
            hold=self.hold,
            report=asked.report,
        )
        return Used(curve.steps, curve.returns)
