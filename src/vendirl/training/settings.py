"""What a run is, as text: one set of settings that serves Python, the command line and the saved run.

`Settings` names a problem; `training.problem` builds it out of objects.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, ClassVar, get_args

import numpy as np

from vendirl._checks import (
    Bounds,
    check_settings,
    finite_number,
    nearest,
    number_or_auto,
    of_anything,
    one_of,
    shown,
    some_of,
)
from vendirl._moved import no_more
from vendirl.algorithms import PPO, SAC, Algorithm, parse_learner
from vendirl.memory import Transform
from vendirl.skills.networks import ACTIVATIONS
from vendirl.training.budget import MOST_EPOCHS, Rounding, epochs_within


@no_more(build="vendirl.training.problem.build(settings)", policy="vendirl.training.problem.new_policy(settings, ...)")
@of_anything
@dataclasses.dataclass(frozen=True)
class Settings:
    """Learn a set of skills that are diverse in the sense of a similarity.

    Attributes:
        env: Where the skills act: a name, or a name with settings such as "point(noise=0.01)". `vendirl list` has
            them all.
        similarity: What "alike" means, such as "0.5*cosine + 0.5*covariance(scale=200)". `vendirl list` has them
            all. The skills of other methods are measured by it.
        method: What is rewarded: vendirl, a rival such as diayn or metra, or a sum such as "diayn + 0.5*vendirl".
        skills: How many skills to learn.
        steps: How many environment steps to train for at most, over all scenes, such as 2e6. Training takes whole
            epochs, and fewer scenes if one epoch of all would be too much; steps that refill the memory come on top.
        seed: The seed of everything random. If there are several seeds, this is the first of them.
        seeds: How many seeds to train at once, in one compiled program.
        scenes: How many copies of the environment are stepped in parallel.
        episode_length: How many steps an episode has, if not as many as the environment says.
        devices: How many of JAX's devices the scenes are spread over; where there is nothing faster, these are the
            cores of the processor. 0 means as many as help, and the run keeps the number that was found.
        refill: How the memories of the scenes are refilled: scene (one for each), shared (one for all), pool(m),
            off, or auto, which is a pool that takes at most half as many steps to refill as training does, or an
            eighth where steps are costly.
        synchronise: With --refill off, after how many epochs all memories are refilled together.
        episodes: How many trajectories of each skill the memory holds.
        every: How many steps share a score, whose change is spread evenly over them: 1 scores each step; auto does so
            for up to about a hundred skills, beyond which scoring would take most of the time.
        keep: For how many epochs memories, and what is computed of them alone, are kept before they are refilled.
            With very many skills more than 1 is much faster, but the skills compared are then not quite the current
            ones.
        epoch: For how many episodes a scene follows one skill before the memory is refilled. It may be a fraction.
        updates: How often the skills are updated in each epoch.
        reward: How the score becomes a reward: the score itself (raw), its change (derivative), the score less the
            number of skills (penalty), or the logarithm of the score divided by the number of skills (log).
        order: The order q of the Vendi Score.
        hidden: The widths of the hidden layers of actor and critic.
        activation: The activation between the layers of actor and critic: tanh or relu.
        separate: Give each skill a network of its own, rather than one network that is told the skill.
        time: Let the skills see how much of the episode has passed.
        log_std: The logarithm of the standard deviation that actions have at first, in half widths of the action
            box.
        learner: The algorithm of choice: ppo, sac, or one of your own; `vendirl list` has them all. It may have
            settings, such as "sac(updates=8)".
        ppo: The settings of PPO.
        sac: The settings of SAC.
        coverage: Features, such as x y, in which to count the cells that the episodes of training visit, as in METRA's
            curves of state coverage; by default nothing is counted. The count is in the metrics and the summary.
        cell: The width of such a cell.
        rounding: How steps become whole epochs: down, so that there are never more than asked for; or nearest, to
            whole blocks of ten epochs, at least one, as in runs that are older than the choice.
        extended: After how many epochs the run was given more steps than before; 0 if it never was.
        init: The folder of a run whose skills this one begins with, rather than with new ones. It must be of the same
            body, and have as many skills and the same networks. If it has several seeds, the best is taken.
        carry: What is carried over from that run: the actor; trunk, which leaves out its last layer; or all, the critic
            too.
    """

    env: str = "point"
    similarity: str = "mmd(scale=4)"
    method: str = "vendirl"
    skills: int = 8
    steps: float = 4e6
    seed: int = 0
    seeds: int = 1
    scenes: int = 256
    episode_length: int | None = None
    devices: int = 0
    refill: str = "auto"
    synchronise: int = 10
    episodes: int = 1
    every: int | str = "auto"
    keep: int = 1
    epoch: float = 1.0
    updates: int = 1
    reward: Transform = "derivative"
    order: float = 1.0
    hidden: tuple[int, ...] = (64, 64)
    activation: str = "tanh"
    separate: bool = False
    time: bool = True
    log_std: float = -0.5
    learner: str = "ppo"
    ppo: PPO = dataclasses.field(
        # The change in score adds up to the score of the whole trajectory, so nothing is discounted or bootstrapped.
        default_factory=lambda: PPO(learning_rate=2e-3, discount=1.0, gae_lambda=1.0, entropy_coefficient=0.01)
    )
    sac: SAC = dataclasses.field(default_factory=SAC)
    coverage: tuple[str, ...] = ()
    cell: float = 1.0
    rounding: Rounding = "down"
    extended: int = 0
    init: str = ""
    carry: str = "actor"

    bounds: ClassVar[Mapping[str, Bounds]] = {
        "seed": (0, 2**32 - 1),
        "skills": (1, 10**6),
        "seeds": (1, 10**6),
        "scenes": (1, 10**7),
        "episode_length": (1, 10**9),
        "devices": (0, 10**6),
        "synchronise": (1, 10**9),
        "keep": (1, 10**9),
        "episodes": (1, 10**6),
        "updates": (1, 10**6),
        "extended": (0, MOST_EPOCHS),
        "order": (0, math.inf),
        "log_std": (-50, 50),
    }

    def __post_init__(self) -> None:
        """Plain Python in place of NumPy's numbers and lists, so that settings can be compared and saved."""
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            usual = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
            if isinstance(usual, Algorithm) and not isinstance(value, Algorithm):
                value = learner_of(usual, value, field.name)
            object.__setattr__(self, field.name, _plain(value))

    def check(self) -> None:
        """Refuse what is wrong in itself, whatever the environment."""
        if isinstance(self.devices, int) and self.devices < 0:
            raise ValueError(
                f"devices must be a number of devices, or 0 for as many as help, but is {shown(self.devices)}"
            )
        check_settings(self)
        one_of(self.reward, get_args(Transform), "reward")
        one_of(self.rounding, get_args(Rounding), "rounding")
        one_of(self.activation, list(ACTIVATIONS), "activation")
        number_or_auto(self.every, "every")
        one_of(self.carry, ("actor", "trunk", "all"), "carry")
        if self.seed + self.seeds > 2**32:
            raise ValueError(
                f"seed must be at most 2**32 - {shown(self.seeds)}, since there are {shown(self.seeds)} seeds, but is "
                f"{shown(self.seed)}"
            )
        finite_number(self.steps, "steps", above=0, most=1e15)
        finite_number(self.cell, "cell", above=0, most=1e15)
        finite_number(self.epoch, "epoch", above=0, most=1e6)

    def check_new(self) -> None:
        """Refuse what would be ignored in a run that begins; one that was saved with it can still be read."""
        if self.carry != "actor" and not self.init:
            raise ValueError(f"carry={self.carry!r} is what is carried over from a run, but none is named: init=...")
        if self.cell != 1.0 and not self.coverage:
            raise ValueError(
                f"cell={self.cell:g} is the width of cells that are counted, but no features are named: coverage=..."
            )

    @property
    def algorithm(self) -> Algorithm:
        """The learner that `learner` names. Its settings are those of its own field here, such as `ppo`, if it has one,
        but for those that the text gives."""

        def usual(name: str) -> Algorithm | None:
            found = getattr(self, name, None)
            return found if isinstance(found, Algorithm) else None

        return parse_learner(self.learner, usual)

    def epochs(self, steps_per_epoch: int) -> int:
        """Epochs to train for, of so many steps of each scene. A run that was given more steps keeps the epochs that it
        had until then, and the rest of the budget is one by itself."""
        each = self.scenes * steps_per_epoch
        more = epochs_within(self.steps - self.extended * each, each, self.rounding)
        if self.extended and more < 1:
            raise ValueError(
                f"steps={self.steps:g} is not an epoch of {each:,} steps more than the {self.extended * each:,} that "
                f"the run has had; use at least {(self.extended + 1) * each}"
            )
        found = self.extended + more
        if found < 1:
            raise ValueError(
                f"steps={self.steps:g} is less than an epoch of {self.scenes} scenes, each of which takes "
                f"{steps_per_epoch} steps; use at least {each} steps, or fewer scenes, or a smaller epoch"
            )
        if found > MOST_EPOCHS:
            raise ValueError(
                f"steps={self.steps:g} are {found} epochs of {each} steps, but at most {MOST_EPOCHS} are counted; use "
                "fewer steps, or more scenes"
            )
        return found

    def to_json(self) -> dict[str, Any]:
        """Plain data, from which `from_json` makes the same settings."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, data: object) -> Settings:
        """Settings from a run's settings.json."""
        if not isinstance(data, dict):
            raise TypeError(f"settings must be a table of names and values, but are {type(data).__name__}")
        known = {field.name for field in dataclasses.fields(cls)}
        if unknown := set(data) - known:
            names = some_of([shown(name) for name in sorted(unknown)])
            raise ValueError(f"these settings are from another version: {names} are not known")
        usual: dict[str, Algorithm] = {"ppo": PPO(), "sac": SAC()}
        learners = {name: learner_of(usual[name], data.get(name, {}), name) for name in usual}
        # Runs that do not say over how many devices they were spread, how they were rounded, or which steps were scored
        # are older than the choice.
        before = {"devices": 1, "rounding": "nearest", "every": 1}
        found = cls(**{**before, **data, **learners})
        found.check()
        return found

    @classmethod
    def named(cls, settings: Mapping[str, Any]) -> Settings:
        """Settings by name, where a name that is not known is refused with the one that was probably meant."""
        known = [field.name for field in dataclasses.fields(cls)]
        for name in settings:
            if name not in known:
                near = nearest(name, known)
                hint = f"did you mean {near!r}? " if near else ""
                raise TypeError(f"there is no setting {shown(name)}; {hint}There are {', '.join(known)}")
        return cls(**settings)


def learner_of(usual: Algorithm, given: Any, name: str) -> Algorithm:
    """A learner's settings that were given as a dictionary: those that are missing are the usual ones."""
    if not isinstance(given, Mapping):
        kind = type(usual).__name__
        raise TypeError(f"{name} must be a {kind} or a dictionary of its settings, but is {type(given).__name__}")
    known = [field.name for field in dataclasses.fields(usual)]
    for key in given:
        if key not in known:
            near = nearest(key, known)
            hint = f"did you mean {near!r}? " if near else ""
            raise TypeError(f"{name} has no setting {shown(key)}; {hint}It has {', '.join(known)}")
    check_settings(usual, f"{name}.", given)
    return dataclasses.replace(usual, **given)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Algorithm):
        return dataclasses.replace(value, **{f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)})
    return tuple(map(_plain, value)) if isinstance(value, list | tuple | np.ndarray) else value
