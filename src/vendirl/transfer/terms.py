"""What tasks are made of: a feature, a wish of a feature, a constant, and the environment's own reward.

value(f)                        r = w f
constant(c)                     r = c
tolerance(f, a, b, margin=m)    r = 1 while f is in [a, b], and falls with the distance d from it:

    gaussian   exp(-(d/m)² log(1/v))        v: what is left at d = m, 0.1 by default
    linear     max(0, 1 - (1 - v) d/m)

and, as in dm_control, also hyperbolic, long_tail, reciprocal, cosine, quadratic and tanh_squared. Without a margin
r = 0 outside of [a, b].
environment                     r is the environment's own
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from vendirl._checks import finite_number, is_number, of_anything, one_of, shown
from vendirl.transfer.task import LARGEST, Step, Task, register, term_text

# Each is 1 at d = 0 and v at d = 1.
FALLS: dict[str, Callable[[Float[Array, ""], float], Float[Array, ""]]] = {
    "gaussian": lambda d, v: jnp.exp(d**2 * math.log(v)),
    "hyperbolic": lambda d, v: 1 / jnp.cosh(d * math.acosh(1 / v)),
    "long_tail": lambda d, v: 1 / (d**2 * (1 / v - 1) + 1),
    "reciprocal": lambda d, v: 1 / (d * (1 / v - 1) + 1),
    "cosine": lambda d, v: (1 + jnp.cos(jnp.minimum(d * math.acos(2 * v - 1), math.pi))) / 2,
    "linear": lambda d, v: jnp.maximum(1 - d * (1 - v), 0.0),
    "quadratic": lambda d, v: jnp.maximum(1 - d**2 * (1 - v), 0.0),
    "tanh_squared": lambda d, v: 1 - jnp.tanh(d * math.atanh(math.sqrt(1 - v))) ** 2,
}
"""How a wish is forgotten with distance, by name."""
TO_ZERO = ("cosine", "linear", "quadratic")
"""Those that may be 0 at the margin."""


@of_anything
@dataclasses.dataclass(frozen=True)
class Value(Task):
    """r = w f, f a feature after the step."""

    feature: str
    weight: float = 1.0

    def __post_init__(self) -> None:
        _feature(self.feature, "value")
        finite_number(self.weight, "value: weight", least=-LARGEST, most=LARGEST)

    @property
    def features(self) -> tuple[str, ...]:
        return (self.feature,)

    def reward(self, θ: Float[Array, " P"], step: Step) -> Float[Array, ""]:
        return self.weight * step[self.feature]

    def __str__(self) -> str:
        return term_text("value", [self.feature], self, without=["feature"])


@of_anything
@dataclasses.dataclass(frozen=True)
class Constant(Task):
    """r = c, to be added to others or multiplied by them."""

    c: float

    def __post_init__(self) -> None:
        finite_number(self.c, "constant: c", least=-LARGEST, most=LARGEST)

    @property
    def features(self) -> tuple[str, ...]:
        return ()

    def reward(self, θ: Float[Array, " P"], step: Step) -> Float[Array, ""]:
        return jnp.asarray(self.c, float)

    def __str__(self) -> str:
        return term_text("constant", [self.c], self, without=["c"])


@dataclasses.dataclass(frozen=True)
class FromEnvironment(Task):
    """The environment's own reward."""

    @property
    def features(self) -> tuple[str, ...]:
        return ()

    @property
    def needs_reward(self) -> bool:
        return True

    def reward(self, θ: Float[Array, " P"], step: Step) -> Float[Array, ""]:
        return step.paid

    def __str__(self) -> str:
        return "environment"


@of_anything
@dataclasses.dataclass(frozen=True)
class Tolerance(Task):
    """1 while a feature is in [lower, upper], and less the farther it is from there, as in dm_control.

    Attributes:
        feature: the name of the feature.
        lower, upper: the ends of the interval, which may be infinite.
        margin: the distance from the interval at which the reward is `value_at_margin`; 0 if there is none outside.
        sigmoid: the shape of the fall: how the reward decreases with the distance.
        value_at_margin: the reward at the margin.
    """

    feature: str
    lower: float = 0.0
    upper: float = 0.0
    margin: float = 0.0
    sigmoid: str = "gaussian"
    value_at_margin: float = 0.1

    def __post_init__(self) -> None:
        _feature(self.feature, "tolerance")
        if not (is_number(self.lower) and is_number(self.upper) and self.lower <= self.upper):
            raise ValueError(
                f"tolerance: lower must be at most upper, but they are {shown(self.lower)} and {shown(self.upper)}"
            )
        finite_number(self.margin, "tolerance: margin", least=0, most=LARGEST)
        one_of(self.sigmoid, list(FALLS), "tolerance: sigmoid")
        finite_number(self.value_at_margin, "tolerance: value_at_margin", least=0, most=1)
        if self.value_at_margin == 1 or (self.value_at_margin == 0 and self.sigmoid not in TO_ZERO):
            raise ValueError(
                f"tolerance: value_at_margin must lie between 0 and 1, but is {self.value_at_margin:g}; 0 itself goes "
                f"with sigmoid {', '.join(TO_ZERO)}"
            )

    @property
    def features(self) -> tuple[str, ...]:
        return (self.feature,)

    def reward(self, θ: Float[Array, " P"], step: Step) -> Float[Array, ""]:
        return self.of(step[self.feature])

    def of(self, x: Float[Array, ""]) -> Float[Array, ""]:
        """The reward of a value of the feature."""
        d = jnp.maximum(jnp.maximum(self.lower - x, x - self.upper), 0.0)
        inside = (x >= self.lower) & (x <= self.upper)
        if self.margin == 0:
            return jnp.where(inside, 1.0, 0.0)
        return jnp.where(inside, 1.0, FALLS[self.sigmoid](d / self.margin, self.value_at_margin))

    def __str__(self) -> str:
        places = [self.feature, self.lower, self.upper]
        return term_text("tolerance", places, self, without=["feature", "lower", "upper"])


def _feature(name: Any, what: str) -> None:
    if not isinstance(name, str) or not name:
        raise ValueError(f"{what}: the feature must be a name, such as x_velocity, but is {shown(name)}")


register("value", Value)
register("constant", Constant)
register("tolerance", Tolerance)
register("environment", FromEnvironment)
