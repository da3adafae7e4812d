"""The problem that a method is put to: where the skills act, what "alike" means, and how training goes about it."""

from __future__ import annotations

import dataclasses

from vendirl.environments import AnyEnvironment, HostEnvironment
from vendirl.memory import Transform
from vendirl.similarity import Similarity
from vendirl.skills.spaces import SkillSpace


@dataclasses.dataclass(frozen=True)
class Problem:
    """What a method sees when it is bound (`Method.bind`).

    Attributes:
        environment: where the skills act.
        similarity: what "alike" means in this run, its features resolved.
        space: where goals come from.
        skills: n.
        scenes: E.
        steps: steps of a scene between two updates of the skills.
        epochs: how many there will be.
        extended: after how many of them the run was given more, if it was.
        updates: updates in an epoch.
        transform, order: of the reward in Vendi Score, unless a method says otherwise.
        refill, synchronise, episodes, every, keep: of the skill memory, unless a method says otherwise.
    """

    environment: AnyEnvironment
    similarity: Similarity
    space: SkillSpace
    skills: int
    scenes: int
    steps: int
    epochs: int
    updates: int = 1
    transform: Transform = "derivative"
    order: float = 1.0
    refill: str = "auto"
    synchronise: int = 10
    episodes: int = 1
    every: int | str = "auto"
    keep: int = 1
    extended: int = 0

    @property
    def costly(self) -> bool:
        """Whether a step of the environment costs much more than what is computed of it."""
        return isinstance(self.environment, HostEnvironment) or self.environment.costly_reset

    @property
    def episodes_per_epoch(self) -> float:
        """For how many episodes a scene follows one skill."""
        return self.steps * self.updates / self.environment.episode_length
