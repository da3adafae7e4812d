"""How tasks are learned from reward: one set of settings for learning with skills and without."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from vendirl._checks import check_settings
from vendirl.algorithms import PPO


@dataclasses.dataclass(frozen=True)
class Learning:
    """How tasks are learned from reward, with skills and without.

    Attributes:
        learner: The algorithm of choice, as in training.
        scenes: How many copies of the environment each task has.
        hidden: The widths of the hidden layers of what is learned anew.
        activation: The activation between these layers: tanh or relu.
        log_std: The logarithm of the standard deviation that actions have at first, in half widths of their box.
        ppo: The settings of PPO.
        episodes: How many episodes of each task each point of a curve is measured by.
    """

    learner: str = "ppo"
    scenes: int = 16
    hidden: tuple[int, ...] = (64, 64)
    activation: str = "tanh"
    log_std: float = -0.5
    ppo: PPO = dataclasses.field(
        default_factory=lambda: PPO(learning_rate=2e-3, discount=0.99, entropy_coefficient=0.01, minibatches=4)
    )
    episodes: int = 8

    bounds: ClassVar[dict[str, tuple[float, float]]] = {"scenes": (1, 10**6), "episodes": (1, 10**6)}

    def check(self) -> None:
        """Refuse what is wrong in itself."""
        check_settings(self, "learning.")
