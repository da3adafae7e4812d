"""Gymnasium's spaces as VendiRL has them: observations as vectors of named numbers, actions as a box or a choice."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

from vendirl.environments.host import Actions, Features
from vendirl.environments.spaces import Box, Discrete
from vendirl.environments.suites.bodies import identifier, numbered

Part = tuple[tuple[Hashable, ...], tuple[int, ...], int]
MOST_NUMBERS = 4096
"""Longer observations are images, which similarities and the policies' networks are not made for."""


@dataclasses.dataclass(frozen=True)
class Observing:
    """How observations of a space become vectors.

    Attributes:
        parts: (keys, shape, n) of each part, n for a choice among n that becomes one-hot, else 0.
        names: of all numbers.
    """

    parts: tuple[Part, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, space: Any, environment: str) -> Observing:
        """For a Gymnasium space of one scene."""
        parts: list[Part] = []
        names: list[str] = []
        for keys, shape, n in _leaves(space, (), environment):
            size = n or int(np.prod(shape, dtype=int))
            names += numbered("_".join(identifier(str(key)) for key in keys) or "observation", size)
            parts.append((keys, shape, n))
        if len(names) > MOST_NUMBERS:
            raise ValueError(
                f"{environment} observes {len(names):,} numbers at each step, such as an image; VendiRL's networks "
                f"take at most {MOST_NUMBERS:,}: wrap it in an environment that observes features"
            )
        return cls(tuple(parts), tuple(names))

    def __call__(self, observations: Any, scenes: int) -> Features:
        """(E, D) of a batch of observations."""
        rows = []
        for keys, _, n in self.parts:
            leaf = observations
            for key in keys:
                leaf = leaf[key]
            leaf = np.asarray(leaf)
            rows.append(np.eye(n, dtype=np.float32)[leaf.reshape(scenes)] if n else leaf.reshape(scenes, -1))
        return np.concatenate(rows, 1).astype(np.float32) if len(rows) > 1 else rows[0].astype(np.float32)


@dataclasses.dataclass(frozen=True)
class Acting:
    """How a policy's actions become those of a space: each number from [-1, 1] to its own bounds."""

    actions: Discrete | Box
    shape: tuple[int, ...]
    dtype: np.dtype
    low: Float[np.ndarray, " A"] | None = None
    high: Float[np.ndarray, " A"] | None = None
    first: int = 0

    @classmethod
    def of(cls, space: Any, environment: str) -> Acting:
        """For a Gymnasium space of one scene."""
        kind = type(space).__name__
        if kind == "Discrete":
            return cls(Discrete(int(space.n)), (), space.dtype, first=int(getattr(space, "start", 0)))
        if kind != "Box":
            raise TypeError(
                f"{environment} takes actions from a space of type {kind}; VendiRL acts in Box and Discrete"
            )
        low, high = np.ravel(space.low).astype(np.float64), np.ravel(space.high).astype(np.float64)
        if np.isfinite(low).all() and np.isfinite(high).all():
            return cls(Box(low.size), space.shape, space.dtype, low, high)
        return cls(Box(low.size, -np.inf, np.inf), space.shape, space.dtype)

    def __call__(self, actions: Actions) -> Shaped[np.ndarray, "E ..."]:
        """A batch of the policy's actions as the environment wants them, within its bounds."""
        actions = np.asarray(actions)
        if isinstance(self.actions, Discrete):
            return (actions + self.first).astype(self.dtype)
        if self.low is not None and self.high is not None:
            actions = self.low + 0.5 * (np.clip(actions, -1.0, 1.0) + 1.0) * (self.high - self.low)
        return actions.reshape(len(actions), *self.shape).astype(self.dtype)


def alone(observation: Any) -> Any:
    """An observation as a batch of one."""
    if isinstance(observation, dict):
        return {key: alone(value) for key, value in observation.items()}
    if isinstance(observation, tuple):
        return tuple(alone(value) for value in observation)
    return np.asarray(observation)[None]


def _leaves(space: Any, keys: tuple[Hashable, ...], environment: str) -> Iterator[Part]:
    kind = type(space).__name__
    if kind == "Dict":
        for key, inner in space.spaces.items():
            yield from _leaves(inner, (*keys, key), environment)
    elif kind == "Tuple":
        for i, inner in enumerate(space.spaces):
            yield from _leaves(inner, (*keys, i), environment)
    elif kind == "Discrete":
        yield keys, (), int(space.n)
    elif kind in ("Box", "MultiBinary"):
        yield keys, tuple(space.shape), 0
    else:
        raise TypeError(
            f"{environment} observes a space of type {kind}; VendiRL takes Box, Discrete, MultiBinary, and Dict or "
            "Tuple of these: wrap it in an environment that observes those"
        )
