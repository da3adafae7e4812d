"""Skill spaces: where the goals g that a policy is given come from.

A goal is a number, 0 to n - 1, or a vector; `vector` is what methods that need a vector z take it for. To evaluate
skills from a continuous space, n of them are fixed once and for all (`fixed`), so that scores compare.
"""

from __future__ import annotations

import abc
import dataclasses
import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Int, PRNGKeyArray


@dataclasses.dataclass(frozen=True)
class SkillSpace(abc.ABC):
    """Where goals come from.

    Attributes:
        size: how many skills there are or, where a skill is a vector, how many numbers it has.
    """

    size: int

    def __post_init__(self):
        if self.size < 1:
            raise ValueError(f"{type(self).__name__}: size must be at least 1, but is {self.size}")

    @property
    @abc.abstractmethod
    def discrete(self) -> bool:
        """Whether goals are numbers."""

    @abc.abstractmethod
    def sample(self, key: PRNGKeyArray, count: int) -> Int[Array, " {count}"] | Float[Array, "{count} {self.size}"]:
        """Numbers or vectors, drawn from the prior p(g)."""

    def vector(self, goal: Int[ArrayLike, ""] | Float[ArrayLike, " {self.size}"]) -> Float[Array, " {self.size}"]:
        """z, the vector that a goal stands for."""
        return jnp.asarray(goal)

    def along(self, direction: Float[Array, " {self.size}"]) -> Int[Array, ""] | Float[Array, " {self.size}"]:
        """The goal whose z lies most in a direction: the unit vector."""
        return direction / jnp.maximum(jnp.linalg.norm(direction), 1e-12)

    def fixed(self, n: int) -> Int[Array, " {n}"] | Float[Array, "{n} {self.size}"]:
        """n goals to evaluate: always the same ones."""
        return self.sample(jax.random.key(0), n)

    def mixed(self, goals: Float[Array, "m {self.size}"], weights: Float[Array, " m"]) -> Float[Array, " {self.size}"]:
        """A goal between m others, Σ w_i z_i with weights that add up to one, as the space wants its goals to be."""
        return weights @ goals


class OneHot(SkillSpace):
    """Skills 0, ..., n - 1 with equal chances; z is one-hot."""

    @property
    def discrete(self) -> bool:
        return True

    def sample(self, key: PRNGKeyArray, count: int) -> Int[Array, " {count}"]:
        return jax.random.randint(key, (count,), 0, self.size)

    def vector(self, goal: Int[ArrayLike, ""]) -> Float[Array, " {self.size}"]:
        return jax.nn.one_hot(goal, self.size)

    def along(self, direction: Float[Array, " {self.size}"]) -> Int[Array, ""]:
        return jnp.argmax(direction)

    def fixed(self, n: int) -> Int[Array, " {n}"]:
        if n != self.size:
            raise ValueError(f"there are {self.size} skills, not {n}")
        return jnp.arange(n)


class CentredOneHot(OneHot):
    """The same with z centred: (e_g - 1/n) n / (n - 1), as METRA and LSD have it. They sum to zero over all skills."""

    def vector(self, goal: Int[ArrayLike, ""]) -> Float[Array, " {self.size}"]:
        n = self.size
        return (jax.nn.one_hot(goal, n) - 1 / n) * (n / max(n - 1, 1))


class Sphere(SkillSpace):
    """Unit vectors. Those of two numbers that are evaluated are evenly spaced on the circle; others are drawn."""

    @property
    def discrete(self) -> bool:
        return False

    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "{count} {self.size}"]:
        x = jax.random.normal(key, (count, self.size))
        return x / jnp.maximum(jnp.linalg.norm(x, axis=-1, keepdims=True), 1e-12)

    def fixed(self, n: int) -> Float[Array, "{n} {self.size}"]:
        if self.size != 2:
            return super().fixed(n)
        angle = 2 * jnp.pi * jnp.arange(n) / n
        return jnp.stack([jnp.cos(angle), jnp.sin(angle)], -1)

    def mixed(self, goals: Float[Array, "m {self.size}"], weights: Float[Array, " m"]) -> Float[Array, " {self.size}"]:
        """The unit vector in that direction; of vectors that cancel each other there is none."""
        z = weights @ goals
        if float(jnp.linalg.norm(z)) < 1e-4:
            raise ValueError("these skills are opposite, so that nothing lies between them; give one more weight")
        return self.along(z)


class Gaussian(SkillSpace):
    """z ~ N(0, I)."""

    @property
    def discrete(self) -> bool:
        return False

    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "{count} {self.size}"]:
        return jax.random.normal(key, (count, self.size))

    def along(self, direction: Float[Array, " {self.size}"]) -> Float[Array, " {self.size}"]:
        """In that direction, as long as z is on average: sqrt 2 Γ((d + 1) / 2) / Γ(d / 2)."""
        length = math.sqrt(2) * math.exp(math.lgamma((self.size + 1) / 2) - math.lgamma(self.size / 2))
        return length * super().along(direction)

    def mixed(self, goals: Float[Array, "m {self.size}"], weights: Float[Array, " m"]) -> Float[Array, " {self.size}"]:
        """Σ w_i z_i / sqrt(Σ w_i²), which is distributed as each z_i is."""
        return weights @ goals / jnp.linalg.norm(weights)


class Cube(SkillSpace):
    """z uniform in [-1, 1]^d."""

    @property
    def discrete(self) -> bool:
        return False

    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "{count} {self.size}"]:
        return jax.random.uniform(key, (count, self.size), minval=-1.0)


class UnitCube(SkillSpace):
    """z uniform in [0, 1]^d, as CIC's release has it."""

    @property
    def discrete(self) -> bool:
        return False

    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "{count} {self.size}"]:
        return jax.random.uniform(key, (count, self.size))
