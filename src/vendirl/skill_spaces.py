"""Skill spaces: where the goals g that a policy is given come from.

A goal is a number, 0 to n - 1, or a vector; `vector` is what methods that need a vector z take it for. To evaluate
skills from a continuous space, n of them are fixed once and for all (`fixed`), so that scores compare.
"""

from __future__ import annotations

import abc
import dataclasses

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray


@dataclasses.dataclass(frozen=True)
class SkillSpace(abc.ABC):
    """Attributes: size: how many skills there are, or of how many numbers a skill is a vector."""

    size: int

    def __post_init__(self):
        if self.size < 1:
            raise ValueError(f"{type(self).__name__}: size must be at least 1, but is {self.size}")

    @property
    @abc.abstractmethod
    def discrete(self) -> bool:
        """Whether goals are numbers."""

    @abc.abstractmethod
    def sample(self, key: PRNGKeyArray, count: int) -> Array:
        """(count,) goals, or (count, size) vectors, drawn from the prior p(g)."""

    def vector(self, goal: Array) -> Float[Array, " size"]:
        """z, the vector that a goal stands for."""
        return goal

    def fixed(self, n: int) -> Array:
        """n goals to evaluate: always the same ones."""
        return self.sample(jax.random.key(0), n)


class Discrete(SkillSpace):
    """Skills 0, ..., n - 1 with equal chances; z is one-hot."""

    @property
    def discrete(self) -> bool:
        return True

    def sample(self, key, count):
        return jax.random.randint(key, (count,), 0, self.size)

    def vector(self, goal):
        return jax.nn.one_hot(goal, self.size)

    def fixed(self, n):
        if n != self.size:
            raise ValueError(f"there are {self.size} skills, not {n}")
        return jnp.arange(n)


class Centred(Discrete):
    """The same, z centred: (e_g - 1/n) n / (n - 1), as METRA and LSD have it. They sum to zero over all skills."""

    def vector(self, goal):
        n = self.size
        return (jax.nn.one_hot(goal, n) - 1 / n) * (n / max(n - 1, 1))


class Sphere(SkillSpace):
    """Unit vectors. Fixed ones are evenly spaced on the circle, else drawn."""

    @property
    def discrete(self) -> bool:
        return False

    def sample(self, key, count):
        x = jax.random.normal(key, (count, self.size))
        return x / jnp.maximum(jnp.linalg.norm(x, axis=-1, keepdims=True), 1e-12)

    def fixed(self, n):
        if self.size != 2:
            return super().fixed(n)
        angle = 2 * jnp.pi * jnp.arange(n) / n
        return jnp.stack([jnp.cos(angle), jnp.sin(angle)], -1)


class Gaussian(SkillSpace):
    """z ~ N(0, I)."""

    @property
    def discrete(self) -> bool:
        return False

    def sample(self, key, count):
        return jax.random.normal(key, (count, self.size))


class Box(SkillSpace):
    """z uniform in [-1, 1]^d."""

    @property
    def discrete(self) -> bool:
        return False

    def sample(self, key, count):
        return jax.random.uniform(key, (count, self.size), minval=-1.0)
