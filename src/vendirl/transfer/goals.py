"""Tasks of places: goals to be reached, and hurdles to be left behind.

    goal(x, y, at=[0.9, 0.1], radius=0.1)                  r = 1 in every step that ends within the radius of the goal
    goal(x, y, at=[0.9, 0.1], dense=True)                  r = -‖(x, y) - goal‖
    goal(x, range=100, radius=3)                           a goal drawn for every episode, each coordinate within ±100
    goal(x, y, range=7.5, radius=3, every=50, goals=4)     a new one after 50 steps, within ±7.5 of the last one
    hurdles(x, first=3, gap=4, count=7)                    r = how many of 3, 7, ..., 27 the step left behind

A learner is shown where a drawn goal lies from where it is; fixed goals are not shown.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from vendirl._checks import finite_number, of_anything, shown, truth_value, whole_number
from vendirl.transfer.task import LARGEST, Seen, Step, Task, register, term_text


@of_anything
@dataclasses.dataclass(frozen=True)
class Goal(Task):
    """Places to be reached, fixed or drawn.

    Attributes:
        coordinates: the features that say where the body is.
        at: where the goal lies, if it is fixed.
        range: how far along each axis a drawn goal lies, at most, from the one before it.
        about: the point about which the first goal is drawn; the origin if None.
        radius: how near is near enough.
        every: after how many steps there is another goal; None if there is one for the whole episode.
        goals: how many goals an episode then has; the last one stays to its end.
        dense: pay the negative distance in every step, rather than 1 within the radius.
    """

    coordinates: tuple[str, ...]
    at: tuple[float, ...] | None = None
    range: float | None = None
    about: tuple[float, ...] | None = None
    radius: float = 1.0
    every: int | None = None
    goals: int = 4
    dense: bool = False

    def __post_init__(self) -> None:
        if not self.coordinates or not all(isinstance(name, str) for name in self.coordinates):
            raise ValueError(f"goal: name the features that say where it is, such as goal(x, y, at=[1, 2]): {self}")
        if (self.at is None) == (self.range is None):
            raise ValueError("goal: say either where it lies, at=[...], or how far goals are drawn, range=...")
        if self.at is not None and (self.about is not None or self.every is not None):
            raise ValueError("goal: about and every are for goals that are drawn, with range=...")
        for name in ("at", "about"):
            if (place := getattr(self, name)) is not None and len(place) != len(self.coordinates):
                raise ValueError(
                    f"goal: {name} must have a number for each of {', '.join(self.coordinates)}, but is {list(place)}"
                )
        if self.range is not None:
            finite_number(self.range, "goal: range", above=0, most=LARGEST)
        finite_number(self.radius, "goal: radius", above=0, most=LARGEST)
        if self.every is not None:
            whole_number(self.every, "goal: every")
            whole_number(self.goals, "goal: goals", most=10_000)
        truth_value(self.dense, "goal: dense")

    @property
    def features(self) -> tuple[str, ...]:
        return self.coordinates

    @property
    def count(self) -> int:
        """How many goals an episode has."""
        return 1 if self.every is None else self.goals

    @property
    def parameters(self) -> int:
        return 0 if self.range is None else self.count * len(self.coordinates)

    @property
    def shows(self) -> int:
        return 0 if self.range is None else len(self.coordinates)

    def draw(self, key: PRNGKeyArray) -> Float[Array, " P"]:
        if self.range is None:
            return jnp.zeros(0)
        shape = (self.count, len(self.coordinates))
        moves = jax.random.uniform(key, shape, minval=-self.range, maxval=self.range)
        first = jnp.zeros(shape[1]) if self.about is None else jnp.asarray(self.about, float)
        return (first + jnp.cumsum(moves, 0)).ravel()

    def place(self, θ: Float[Array, " P"], time: Int[Array, ""]) -> Float[Array, " F"]:
        """Where the goal is after so many steps."""
        if self.at is not None:
            return jnp.asarray(self.at, float)
        which = jnp.zeros((), int) if self.every is None else jnp.minimum(time // self.every, self.goals - 1)
        return θ.reshape(self.count, -1)[which]

    def shown(self, θ: Float[Array, " P"], now: Seen, time: Int[Array, ""]) -> Float[Array, " S"]:
        return jnp.zeros(0) if self.range is None else self.place(θ, time) - now.several(self.coordinates)

    def reward(self, θ: Float[Array, " P"], step: Step) -> Float[Array, ""]:
        gap = step.after.several(self.coordinates) - self.place(θ, step.time)
        if self.dense:
            return -jnp.sqrt(jnp.sum(gap**2))
        return jnp.where(jnp.sum(gap**2) <= self.radius**2, 1.0, 0.0)

    def __str__(self) -> str:
        return term_text("goal", self.coordinates, self, without=["coordinates"])


def goal(
    *features: str,
    at: Any = None,
    range: Any = None,
    about: Any = None,
    radius: Any = 1.0,
    every: Any = None,
    goals: Any = 4,
    dense: Any = False,
) -> Goal:
    """A place to be reached, fixed (`at`) or drawn (`range`)."""
    return Goal(tuple(features), _place(at, "at"), range, _place(about, "about"), radius, every, goals, dense)


def _place(place: Any, name: str) -> tuple[float, ...] | None:
    if place is None:
        return None
    numbers = list(place) if isinstance(place, list | tuple) else [place]
    return tuple(
        finite_number(number, f"goal: each number in {name}", least=-LARGEST, most=LARGEST) for number in numbers
    )


@of_anything
@dataclasses.dataclass(frozen=True)
class Hurdles(Task):
    """r = how many places along a feature the step left behind, less those that it came back over."""

    feature: str
    first: float = 3.0
    gap: float = 4.0
    count: int = 7

    def __post_init__(self) -> None:
        if not isinstance(self.feature, str):
            raise ValueError(f"hurdles: the feature must be a name, such as x, but is {shown(self.feature)}")
        finite_number(self.first, "hurdles: first", least=-LARGEST, most=LARGEST)
        finite_number(self.gap, "hurdles: gap", above=0, most=LARGEST)
        whole_number(self.count, "hurdles: count", most=10_000)

    @property
    def features(self) -> tuple[str, ...]:
        return (self.feature,)

    def reward(self, θ: Float[Array, " P"], step: Step) -> Float[Array, ""]:
        return self._behind(step.after[self.feature]) - self._behind(step.before[self.feature])

    def _behind(self, x: Float[Array, ""]) -> Float[Array, ""]:
        return jnp.clip(jnp.floor((x - self.first) / self.gap) + 1, 0, self.count)

    def __str__(self) -> str:
        return term_text("hurdles", [self.feature], self, without=["feature"])


def evenly(*bounds: tuple[float, float], each: int) -> list[tuple[float, ...]]:
    """The middles of the cells of an even grid with so many along each axis, the first axis slowest."""
    axes = [[low + (high - low) * (i + 0.5) / each for i in range(each)] for low, high in bounds]
    found: list[tuple[float, ...]] = [()]
    for axis in axes:
        found = [(*place, round(x, 6)) for place in found for x in axis]
    assert len(found) == math.prod([each] * len(bounds))
    return found


register("goal", goal)
register("hurdles", Hurdles)
