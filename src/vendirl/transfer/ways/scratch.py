"""Without skills: the same learner, from new networks."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from vendirl.transfer.learning import learn, world_of
from vendirl.transfer.ways.way import Asked, Used, Way, register


@register
@dataclasses.dataclass(frozen=True)
class Scratch(Way):
    """Learn each task from its reward alone, without skills.

    Attributes:
        times: By how much the steps are multiplied.
    """

    times: float = 1.0

    name: ClassVar[str] = "scratch"
    uses_skills: ClassVar[bool] = False
    bounds: ClassVar[dict[str, tuple[float, float]]] = {"times": (1e-6, 1e6)}

    def use(self, asked: Asked) -> Used:
        world = world_of(asked.environment, asked.tasks)
        curve = learn(
            world,
            len(asked.tasks),
            self.times * asked.steps,
            asked.seeds,
            asked.seed,
            asked.learning,
            report=asked.report,
        )
        return Used(curve.steps, curve.returns)
