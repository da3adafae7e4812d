"""Rewards that are not a method's own: nothing, the floor of every comparison; and the environment's."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import PyTree

from vendirl.methods.method import Method, Metrics, Rewards
from vendirl.methods.registry import register
from vendirl.skills.rollout import Transition


@register
@dataclasses.dataclass(frozen=True)
class Random(Method):
    """Reward nothing: the skills stay as they were drawn."""

    name: ClassVar[str] = "random"
    frozen: ClassVar[bool] = True

    def reward(self, state: PyTree, batch: Transition) -> tuple[PyTree, Rewards, Metrics]:
        return state, jnp.zeros_like(batch.reward), {}


@register
@dataclasses.dataclass(frozen=True)
class FromEnvironment(Method):
    """The environment's own reward, to be added to a method's: "metra + 0.1*environment"."""

    name: ClassVar[str] = "environment"
    spreads: ClassVar[bool] = True

    def reward(self, state: PyTree, batch: Transition) -> tuple[PyTree, Rewards, Metrics]:
        return state, jnp.asarray(batch.reward), {}
