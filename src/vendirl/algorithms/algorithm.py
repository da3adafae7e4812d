"""What a learner is, the paper's "algorithm of choice": something that improves skills by what they did.

A learner is a frozen dataclass whose fields are its settings. It needs a `name`, `init` and `update`; the rest says
what it can do, and has answers that suit a learner that can do nothing special. `register` makes it known by name:

    @register
    @dataclasses.dataclass(frozen=True)
    class Mine(Algorithm):
        name: ClassVar[str] = "mine"
        learning_rate: float = 1e-3

        def init(self, policy, key, example, rewards): ...
        def update(self, policy, state, batch, rewards, key, context=Context()): ...

    vr.train(learner="mine(learning_rate=3e-4)")
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

import jax
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray, PyTree

from vendirl._checks import Bounds, check_settings
from vendirl._text import Expressions, settings_text
from vendirl.environments.spaces import Box, Discrete
from vendirl.skills.policy import SkillPolicy
from vendirl.skills.rollout import Transition

Metrics = dict[str, Float[Array, ""]]
Rewards = Float[Array, "scenes steps *d"]
"""Numbers to learn from or, for learners of successor features, vectors."""
ShapeOfRewards = Float[Array | jax.ShapeDtypeStruct, "scenes steps *d"]
"""The shape and type of rewards, or rewards of that shape."""

Result = TypeVar("Result")
Kind = TypeVar("Kind", bound="type[Algorithm]")


def _as_it_is(x: Result) -> Result:
    return x


@dataclasses.dataclass(frozen=True)
class Model:
    """What a method learns from the very transitions that a learner replays, in each of the learner's gradient steps.

    Attributes:
        learn: (state, stretches, key) -> the state after a step on them, and metrics.
        rewards: (state, stretches) -> the rewards that they have then.
    """

    learn: Callable[[PyTree, Transition, PRNGKeyArray], tuple[PyTree, Metrics]]
    rewards: Callable[[PyTree, Transition], Rewards]


@dataclasses.dataclass(frozen=True)
class Context:
    """What an update may need to know beside the transitions and rewards.

    Attributes:
        remaining: the fraction of training that is still to come.
        devices: how many devices the scenes are spread over.
        averaged: makes of f(x, batch) the same function, averaged over the devices' shares of the batch.
        rewards_now: the rewards that stored stretches of scenes would have now; None if those that were paid count.
        whole_stretches: whether `rewards_now` needs stretches as they were collected, rather than single transitions.
        replayed: what stored stretches of scenes are now: as they were, or another skill's.
    """

    remaining: Float[ArrayLike, ""] = 1.0
    devices: int = 1
    averaged: Callable[[Callable[[PyTree, PyTree], Any]], Callable[[PyTree, PyTree], Any]] = _as_it_is
    rewards_now: Callable[[Transition], Rewards] | None = None
    whole_stretches: bool = False
    replayed: Callable[[Transition], Transition] = _as_it_is


@dataclasses.dataclass(frozen=True)
class Algorithm(abc.ABC):
    """A learner; its fields are its settings. Its state is any pytree of arrays."""

    name: ClassVar[str]
    squashes: ClassVar[bool] = False
    """Whether it wants policies whose continuous actions are squashed into their box."""
    spreads: ClassVar[bool] = False
    """Whether it can learn from scenes that are spread over devices."""
    replays: ClassVar[bool] = False
    """Whether it learns from what it has stored, rather than from what the skills just did."""
    bounds: ClassVar[Mapping[str, Bounds]] = {}
    """The least and the most that its settings may be, by name."""

    def __post_init__(self) -> None:
        check_settings(self, f"{self.name}.")

    @property
    def deviation(self) -> float | None:
        """Of the noise that it wants added to squashed actions, in half widths of their box; None if the policy is to
        have a deviation for each state."""
        return None

    @property
    def rewards_anew(self) -> bool:
        """Whether it replays what was stored, and has it rewarded anew by what the method knows now."""
        return False

    @property
    def successor_features(self) -> bool:
        """Whether it learns from a method's cumulants, whose product with z is the reward, rather than from rewards."""
        return False

    def check(self, actions: Discrete | Box, scenes: int) -> None:  # noqa: B027 - most can learn from any
        """Refuse an environment or a number of scenes that it cannot learn from, before anything compiles."""

    def minibatch(self, scenes: int) -> int:
        """How many of the scenes are used in one gradient step, which is what devices share."""
        return scenes

    def for_updates(self, updates: int) -> Algorithm:
        """The same learner for a training of so many updates, if it plans ahead."""
        return self

    @abc.abstractmethod
    def init(
        self, policy: SkillPolicy, key: PRNGKeyArray, example: Transition, rewards: ShapeOfRewards
    ) -> PyTree[Array]:
        """The state before the first update; `example` and `rewards` have the shapes of what updates will bring."""

    @abc.abstractmethod
    def update(
        self,
        policy: SkillPolicy,
        state: PyTree[Array],
        batch: Transition,
        rewards: Rewards,
        key: PRNGKeyArray,
        context: Context = Context(),  # noqa: B008  (it is frozen)
    ) -> tuple[SkillPolicy, PyTree[Array], Metrics]:
        """Improve the skills by what the scenes did.

        Args:
            batch: transitions with leading axes (scenes, steps), of this policy.
            rewards: to learn from, in place of `batch.reward`.
            context: what else there is to know.

        Returns:
            The new skills, the new state, and metrics.
        """

    def update_with(
        self,
        model: Model,
        known: PyTree[Array],
        *data: Any,
    ) -> tuple[PyTree[Array], SkillPolicy, PyTree[Array], Metrics]:
        """`update` by a learner that `replays`, where a method learns from what is replayed: `known` is what it knows,
        and comes back as what it knows then; `data` are all arguments of `update`."""
        raise ValueError(f"{self.name} replays nothing that a method could learn from; sac does")

    def __str__(self) -> str:
        return settings_text(self.name, self)


_algorithms: Expressions[Algorithm] = Expressions("learner", Algorithm)


def register(algorithm: Kind) -> Kind:
    """Make a learner known by its name, to `vr.train(learner=...)` and `--learner`."""
    _algorithms.register(algorithm.name, algorithm)
    return algorithm


def known() -> dict[str, Callable[..., Algorithm]]:
    """The learners that have a name."""
    return _algorithms.known()


def parse_learner(text: str | object, usual: Callable[[str], Algorithm | None] = lambda name: None) -> Algorithm:
    """The learner that a text describes: "ppo", "sac(updates=8)".

    Args:
        text: a name, perhaps with settings.
        usual: gives, for a name, the learner whose settings hold where the text does not say otherwise; None for those
            that the class has by default.

    >>> parse_learner("sac(updates=8)").updates
    8
    """
    return _algorithms.parse(text, usual)
