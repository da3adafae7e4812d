"""VISR, Variational Intrinsic Successor Features (Hansen et al., 2020), and APS, Active Pretraining with them (Liu
et al., 2021).

    VISR:   r = φ(s') · z,      φ a unit vector, maximising E[φ(s') · z]
    APS:    r = φ(s') · z + log(1 + mean distance from φ(s') to its k nearest)

A learner with vector-valued critics learns the successor features of φ for VISR. For APS, whose r is more than φ·z, it
learns ψ by what ψ·z is to be, the discounted sum of r, as the release does; others learn from r.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from vendirl.methods.fitted import Fit, Loss, every
from vendirl.methods.method import Rewards
from vendirl.methods.particles import nearest, particle_entropy, references
from vendirl.methods.published import PublishedFit, Recipe, like_metra, like_urlb
from vendirl.methods.registry import register
from vendirl.methods.spherical import Spherical
from vendirl.skills.networks import Network
from vendirl.skills.rollout import Transition
from vendirl.skills.statistics import RunningStatistics


@register
@dataclasses.dataclass(frozen=True)
class VISR(Spherical):
    """Reward states whose feature direction is that of z.

    Attributes:
        current: look at the state before the action, s, rather than the one after it.
        raw: give a learner of successor features φ as the network has it, rather than as a unit vector.
    """

    current: bool = False
    raw: bool = False

    name: ClassVar[str] = "visr"

    def loss(self, model: Network, batch: Transition, key: PRNGKeyArray) -> Loss:
        agreement = jnp.mean(self._agreement(model, batch))
        return -agreement, {"objective": agreement}

    def rewards(self, model: Network, batch: Transition) -> Rewards:
        return self._agreement(model, batch)

    def cumulants(self, model: Network, batch: Transition) -> Float[Array, "E steps d"]:
        """φ(s'), of which successor features are the discounted sum."""
        return self._embedded(model, batch) if self.raw else self._units(model, batch)

    def goal_skill(self, state: Fit, observation: Float[Array, " D"], goal: Float[Array, " D"]) -> Float[Array, " d"]:
        """φ(goal), wherever the scene is."""
        return self.problem.space.along(state.model(self.observed(state, goal)))

    def _embedded(self, model: Network, batch: Transition) -> Float[Array, "E steps d"]:
        return every(model, batch.observation if self.current else batch.next_observation)

    def _units(self, model: Network, batch: Transition) -> Float[Array, "E steps d"]:
        x = self._embedded(model, batch)
        return x / jnp.maximum(jnp.linalg.norm(x, axis=-1, keepdims=True), 1e-6)

    def _agreement(self, model: Network, batch: Transition) -> Rewards:
        return jnp.sum(self._units(model, batch) * batch.skill[:, None], -1)


@register
@dataclasses.dataclass(frozen=True)
class PublishedVISR(PublishedFit, VISR):
    """VISR as CSF's release trains it, from states as on Ant and HalfCheetah; the original, of Atari, has no release.

    What still differs: as for csf-published. As in that release φ is of s, the successor features are of φ before it
    is made a unit vector, and nothing generalises over policies.
    """

    dimension: int = 5
    current: bool = True
    raw: bool = True

    name: ClassVar[str] = "visr-published"
    recipe: ClassVar[Recipe] = like_metra("CSF's release of VISR", successor=True)


@register
@dataclasses.dataclass(frozen=True)
class APS(VISR):
    """VISR, and reward features that are far from those of other states.

    Attributes:
        neighbours: k.
        particles: how many states of the batch neighbours are sought among.
    """

    neighbours: int = 12
    particles: int = 256

    name: ClassVar[str] = "aps"
    linear: ClassVar[bool] = False

    def rewards(self, model: Network, batch: Transition) -> Rewards:
        φ = self._units(model, batch)
        return self._agreement(model, batch) + particle_entropy(φ, self.neighbours, self.particles)


@register
@dataclasses.dataclass(frozen=True)
class PublishedAPS(PublishedFit, APS):
    """APS as URLB trains it, from states: by DDPG with Q = ψ·z, and distances divided by their running mean.

        r = φ(s')·z / |φ(s')| + log(1 + mean over k of max(0, d_k / m - c)),      d_k from φ(s') to its k-th nearest

    m is the mean of all d_k so far; φ is not a unit vector in d_k, and is its own nearest.

    What still differs: as for diayn-urlb; and a skill acts for an episode rather than for 5 steps.

    Attributes:
        floor: c.
    """

    dimension: int = 10
    particles: int = 1024
    floor: float = 1e-4
    normalise: bool = False

    name: ClassVar[str] = "aps-published"
    recipe: ClassVar[Recipe] = like_urlb("URLB's APS", successor=True)

    def beside(self, observation_size: int) -> RunningStatistics:
        return RunningStatistics.empty(1)

    def counted(self, state: Fit, batch: Transition) -> RunningStatistics:
        return state.beside.update(self._distances(state.model, batch)[..., None])

    def paid(self, state: Fit, batch: Transition) -> Rewards:
        scaled = self._distances(state.model, batch) / jnp.maximum(state.beside.mean, 1e-12)
        spread = jnp.log1p(jnp.mean(jnp.maximum(scaled - self.floor, 0.0), -1))
        return self._agreement(state.model, batch) + spread

    def _distances(self, model: Network, batch: Transition) -> Float[Array, "E steps k"]:
        φ = self._embedded(model, batch)
        return nearest(φ, references(φ, self.particles), self.neighbours)


def infer_skill(features: Float[Array, "steps d"], rewards: Float[Array, " steps"]) -> Float[Array, " d"]:
    """The skill for a task: least squares of its rewards on the features, as a unit vector."""
    z = jnp.linalg.lstsq(features, rewards)[0]
    return z / jnp.maximum(jnp.linalg.norm(z), 1e-12)
