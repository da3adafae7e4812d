"""Methods as they were published: the settings of a method, its learner, networks and run, as a release has them.

A published form is a class beside its method, with the release's settings for defaults, and a recipe for the rest of
the run. Whatever is asked for explicitly wins over the recipe, and a run says what it has
otherwise (`training.recipes`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from vendirl.algorithms import SAC, Algorithm
from vendirl.methods.fitted import Fitted
from vendirl.methods.method import Method


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How a release trains.

    Attributes:
        release: which one it is.
        learner: the algorithm of choice, with its settings.
        settings: other settings of the run, by name.
    """

    release: str
    learner: Algorithm
    settings: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Published(Method):
    """A method as it was published.

    Attributes:
        shrink: how many times narrower all networks are than in the release.
    """

    shrink: int = 1

    recipe: ClassVar[Recipe]

    @property
    def widths(self) -> Sequence[int]:
        """Of the hidden layers of the method's own networks."""
        return self.narrowed(getattr(self, "hidden", ()))

    def narrowed(self, widths: Sequence[int]) -> tuple[int, ...]:
        """Widths as many times narrower as was asked for."""
        return tuple(max(1, width // self.shrink) for width in widths)

    def run_settings(self) -> dict[str, Any]:
        """What the release says of a run: its settings by name, among them the learner and its settings."""
        recipe = self.recipe
        learner: Any = recipe.learner
        learner = dataclasses.replace(learner, hidden=self.narrowed(learner.hidden))
        hidden = self.narrowed(recipe.settings["hidden"])
        return {**recipe.settings, "hidden": hidden, "learner": learner.name, learner.name: learner}


@dataclasses.dataclass(frozen=True)
class PublishedFit(Published, Fitted):
    """What the published forms of methods that fit a model share: ReLU networks, and one gradient step on each batch
    that the learner replays."""

    hidden: Sequence[int] = (1024, 1024)
    learning_rate: float = 1e-4
    passes: int = 1
    minibatches: int = 1
    normalise: bool = True
    activation: str = "relu"
    replay: bool = True


# Of METRA and CSF, whose repositories also hold LSD, DADS, VISR and others under the same learner: eight trajectories,
# then fifty gradient steps, none of which believes that an episode has an end. The actor is a tanh network there.
_GARAGE = SAC(
    learning_rate=1e-4,
    discount=0.99,
    polyak=0.005,
    temperature=0.01,
    reward_scale=1.0,
    target_entropy=-0.5,
    updates=50,
    batch=256,
    capacity=1_000_000,
    warmup=10_000,
    hidden=(1024, 1024),
    activation="relu",
)
_EIGHT = {"hidden": (1024, 1024), "activation": "tanh", "time": False, "scenes": 8, "epoch": 1.0, "updates": 1}


def like_metra(release: str, **changes: Any) -> Recipe:
    """The recipe of METRA's and CSF's releases (Ant and HalfCheetah, from states), with changes to their SAC."""
    return Recipe(release, dataclasses.replace(_GARAGE, **changes), _EIGHT)


# Of URLB, the benchmark that has DIAYN and APS, and that CIC's and BeCL's releases are forks of: DDPG, a gradient step
# for every two steps of one scene.
_URLB = SAC(
    learning_rate=1e-4,
    discount=0.99,
    polyak=0.01,
    reward_scale=1.0,
    ratio=0.5,
    batch=1024,
    capacity=1_000_000,
    warmup=4_000,
    hidden=(1024, 1024),
    activation="relu",
    noise=0.2,
    noise_clip=0.3,
)
_ONE = {"hidden": (1024, 1024), "activation": "relu", "time": False, "scenes": 1, "epoch": 1.0, "updates": 1}


def like_urlb(release: str, **changes: Any) -> Recipe:
    """The recipe of URLB (from states), with changes to its DDPG."""
    return Recipe(release, dataclasses.replace(_URLB, **changes), _ONE)
