"""BeCL, Behaviour Contrastive Learning (Yang et al., 2023): states of a skill are alike, states of different skills
are not.

    r = exp(-L),      L = -log ( exp(f(s)·f(s⁺)/τ) / Σ_g exp(f(s)·f(s_g)/τ) ),      f minimises E[L]

f is a unit vector, s⁺ another state of the same skill, and s_g one of skill g for each g, s⁺ among them.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray, PyTree

from vendirl.methods.discriminator import of_skill
from vendirl.methods.fitted import Fitted, Loss, along, every, network
from vendirl.methods.method import Rewards
from vendirl.methods.published import PublishedFit, Recipe, like_urlb
from vendirl.methods.registry import register
from vendirl.skills.networks import Network
from vendirl.skills.rollout import Transition


@register
@dataclasses.dataclass(frozen=True)
class BeCL(Fitted):
    """Reward states that are like those of the same skill and unlike those of others.

    Attributes:
        temperature: τ.
        dimension: of f.
    """

    temperature: float = 0.5
    dimension: int = 16

    name: ClassVar[str] = "becl"
    needs_numbers: ClassVar[bool] = True

    def model(self, observation_size: int, key: PRNGKeyArray) -> PyTree[Array]:
        return self.network(observation_size, self.dimension, key)

    def loss(self, model: PyTree[Array], batch: Transition, key: PRNGKeyArray) -> Loss:
        loss = -jnp.mean(self._log_share(model, batch, key))
        return loss, {"contrastive_loss": loss}

    def rewards(self, model: PyTree[Array], batch: Transition) -> Rewards:
        return jnp.exp(self._log_share(model, batch, jax.random.key(0)))

    def _log_share(self, model: PyTree[Array], batch: Transition, key: PRNGKeyArray) -> Rewards:
        n = self.problem.skills
        x = every(model, batch.next_observation)
        x = x / jnp.maximum(jnp.linalg.norm(x, axis=-1, keepdims=True), 1e-6)
        E, steps = x.shape[:2]
        # one state of each skill: of a random scene that follows it, at a random step
        scene_key, step_key = jax.random.split(key)
        chance = jax.random.uniform(scene_key, (E,))
        mine = batch.skill[None, :] == jnp.arange(n)[:, None]
        scene = jnp.argmax(jnp.where(mine, chance, -1.0), axis=1)
        chosen = x[scene, jax.random.randint(step_key, (n,), 0, steps)]
        logits = jnp.where(mine.any(1), x @ chosen.T / self.temperature, -jnp.inf)
        return of_skill(jnp.where(mine.any(1), jax.nn.log_softmax(logits), 0.0), batch.skill)


@register
@dataclasses.dataclass(frozen=True)
class PublishedBeCL(PublishedFit, BeCL):
    """BeCL as its release trains it, from states: by DDPG, and with all states of a batch for negatives.

        r = exp(-L),      L = -log ( exp(f(s)·f(s⁺)/τ) / Σ_{s_j ≠ s} exp(f(s)·f(s_j)/τ) )

    s⁺ is the first other state of the same skill, states of which are among the s_j too; f has a projection head.

    What still differs: as for diayn-urlb; the three gradient steps of f are on the same batch; and f has 16 dimensions
    however many skills there are, where the release has as many as its 16 skills.
    """

    passes: int = 3
    normalise: bool = False

    name: ClassVar[str] = "becl-published"
    recipe: ClassVar[Recipe] = like_urlb("BeCL's release")

    def model(self, observation_size: int, key: PRNGKeyArray) -> tuple[Network, Network]:
        embed, project = jax.random.split(key)
        head = network(self.dimension, self.widths[-1:], self.dimension, project, activation=self.activation)
        return self.network(observation_size, self.dimension, embed), head

    def _log_share(self, model: PyTree[Array], batch: Transition, key: PRNGKeyArray) -> Rewards:
        embed, project = model
        x = every(project, every(embed, batch.next_observation))
        E, steps, d = x.shape
        x = (x / jnp.maximum(jnp.linalg.norm(x, axis=-1, keepdims=True), 1e-12)).reshape(-1, d)
        skill = along(batch.skill, steps).reshape(-1)
        itself = jnp.eye(len(x), dtype=bool)
        logits = jnp.where(itself, -jnp.inf, x @ x.T / self.temperature)
        alike = (skill[:, None] == skill) & ~itself
        first = jnp.argmax(alike, 1)  # the first of the others if no state of the skill is among them, as there
        chosen = jnp.take_along_axis(logits, jnp.where(alike.any(1), first, jnp.argmin(itself, 1))[:, None], 1)[:, 0]
        least = jnp.max(logits, 1)
        share = jnp.exp(chosen - least) / (jnp.sum(jnp.exp(logits - least[:, None]), 1) + 1e-6)
        return jnp.log(share + 1e-6).reshape(E, steps)
