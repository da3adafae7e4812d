"""DIAYN, Diversity Is All You Need (Eysenbach et al., 2019): skills that a discriminator can tell apart by their
states.

r = log q(g | s) - log p(g),      q fitted to maximise E[log q(g | s)],      p(g) = 1/n
"""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from vendirl.methods.discriminator import of_skill
from vendirl.methods.fitted import Fit, Fitted, Loss, along, every
from vendirl.methods.method import Rewards
from vendirl.methods.published import PublishedFit, Recipe, like_urlb
from vendirl.methods.registry import register
from vendirl.skills.networks import Network
from vendirl.skills.rollout import Transition


@register
@dataclasses.dataclass(frozen=True)
class DIAYN(Fitted):
    """Reward states that tell which skill is acting.

    Attributes:
        current: discriminate the state before the action, s, as the original does; by default the state after it,
            s', as most later implementations do.
        clip: bound on the discriminator's logits; inf for none.
        bonus: what log q is paid with; None for -log p(g) = log n.
    """

    current: bool = False
    clip: float = math.inf
    bonus: float | None = None

    name: ClassVar[str] = "diayn"
    needs_numbers: ClassVar[bool] = True
    knows_goals: ClassVar[bool] = True

    def model(self, observation_size: int, key: PRNGKeyArray) -> Network:
        return self.network(observation_size, self.problem.skills, key)

    def loss(self, model: Network, batch: Transition, key: PRNGKeyArray) -> Loss:
        log_q = self.log_q(model, batch)
        correct = jnp.argmax(log_q, -1) == along(batch.skill, log_q.shape[1])
        loss = -jnp.mean(of_skill(log_q, batch.skill))
        return loss, {"discriminator_loss": loss, "accuracy": jnp.mean(correct)}

    def rewards(self, model: Network, batch: Transition) -> Rewards:
        log_q = self.log_q(model, batch)
        return of_skill(log_q, batch.skill) + (math.log(log_q.shape[-1]) if self.bonus is None else self.bonus)

    def goal_skill(self, state: Fit, observation: Float[Array, " D"], goal: Float[Array, " D"]) -> Int[Array, ""]:
        """argmax over g of q(g | goal), wherever the scene is."""
        return jnp.argmax(self.discriminator(state.model)(self.observed(state, goal)))

    def discriminator(self, model: Network) -> Network:
        """The network that gives the logits of q."""
        return model

    def log_q(self, model: Network, batch: Transition) -> Float[Array, "E steps n"]:
        """log q(g | s) of all skills."""
        logits = every(self.discriminator(model), batch.observation if self.current else batch.next_observation)
        return jax.nn.log_softmax(jnp.clip(logits, -self.clip, self.clip))


@register
@dataclasses.dataclass(frozen=True)
class PublishedDIAYN(PublishedFit, DIAYN):
    """DIAYN as URLB trains it, from states: by DDPG.

    What still differs: targets have one reward, where URLB pays the reward of the third state ahead and bootstraps
    from there; the first layers of actor and critics have no layer normalisation, and the critics share none; a skill
    acts for an episode rather than for 50 steps; the policy sees standardised observations. URLB has 16 skills.
    """

    normalise: bool = False

    name: ClassVar[str] = "diayn-urlb"
    recipe: ClassVar[Recipe] = like_urlb("URLB's DIAYN")


# As it was published, and as Brax's library of skills had it: observations as they are, and rewards that are seldom
# negative. Its PPO multiplies them by ten.
register(DIAYN, "diayn-original", current=True)
register(DIAYN, "diayn-braxlines", clip=5.0, bonus=5.0, normalise=False, hidden=(32, 32), learning_rate=3e-4)
