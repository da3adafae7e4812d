"""The interface between a world and everything that acts in it."""

import abc
from typing import TYPE_CHECKING

import equinox as eqx
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from vendirl.environments.spaces import Box, Discrete


class State(eqx.Module):
    """Where a scene is, and what the last step brought."""

    physics: PyTree
    """All that the next step depends upon."""
    observation: Float[Array, " D"]
    """All features: first those that a policy sees, then those that only similarities and methods do."""
    terminated: Bool[Array, ""]
    """The episode ended for good: there is no future to value. Running out of time is not termination."""
    reward: Float[Array, ""]
    """The environment's own reward; zero where there is none."""


class Environment(eqx.Module):
    """A world with pure, unbatched dynamics; `jax.vmap` gives many scenes.

    `step` never resets: whoever rolls out counts `episode_length` and resets, so that the true successor of the
    last step is never lost.
    """

    if TYPE_CHECKING:  # type checkers would let only fields take the place of Equinox's abstract variables

        @property
        @abc.abstractmethod
        def episode_length(self) -> int: ...
        @property
        @abc.abstractmethod
        def observation_size(self) -> int: ...
        @property
        @abc.abstractmethod
        def feature_names(self) -> tuple[str, ...]: ...
        @property
        @abc.abstractmethod
        def actions(self) -> Discrete | Box: ...
    else:  # fields or properties
        episode_length: eqx.AbstractVar[int]
        observation_size: eqx.AbstractVar[int]
        feature_names: eqx.AbstractVar[tuple[str, ...]]
        actions: eqx.AbstractVar[Discrete | Box]

    @property
    def visible(self) -> int:
        """How many of the features, the first ones, a policy sees: all, unless this says otherwise."""
        return self.observation_size

    @property
    def costly_reset(self) -> bool:
        """Whether a reset costs more than a step. If so, a rollout draws one start ahead for each scene, which is where
        all episodes begin that begin in the course of it."""
        return False

    @property
    def differentiable(self) -> bool:
        """Whether derivatives of many steps are of use, as `attainable` needs."""
        return True

    @abc.abstractmethod
    def reset(self, key: PRNGKeyArray) -> State:
        """The first state of an episode."""

    @abc.abstractmethod
    def step(self, state: State, action: Float[Array, " A"] | Int[Array, ""], key: PRNGKeyArray) -> State:
        """The successor of `state` under `action`."""
