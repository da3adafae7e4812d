"""DIAYN with spectral normalisation (Choi et al., 2021): a discriminator that cannot separate skills that are near.

DIAYN's reward, with every spectral norm of the discriminator at most 1: its logits change no faster than the state
does, so that only skills far apart are told apart with certainty. `sharpness`, which is ours, scales the logits, which
is how far apart that is.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from vendirl.methods.diayn import DIAYN
from vendirl.methods.fitted import every
from vendirl.methods.registry import register
from vendirl.methods.spectral import contracted, normalised
from vendirl.skills.networks import Network
from vendirl.skills.rollout import Transition


@register
@dataclasses.dataclass(frozen=True)
class DIAYNSN(DIAYN):
    """DIAYN whose discriminator is spectrally normalised: skills must be apart, not only discernible.

    Attributes:
        sharpness: factor of the logits.
        always: divide weights by their spectral norms whatever these are, rather than only where they are above 1.
    """

    sharpness: float = 4.0
    always: bool = False

    name: ClassVar[str] = "diayn-sn"

    def model(self, observation_size: int, key: PRNGKeyArray) -> Network:
        return self.constrain(super().model(observation_size, key))

    def constrain(self, model: Network) -> Network:
        return model if self.always else contracted(model)

    def discriminator(self, model: Network) -> Network:
        return normalised(model) if self.always else model

    def log_q(self, model: Network, batch: Transition) -> Float[Array, "E steps n"]:
        x = batch.observation if self.current else batch.next_observation
        logits = self.sharpness * every(self.discriminator(model), x)
        return jax.nn.log_softmax(jnp.clip(logits, -self.clip, self.clip))


# As Brax's library of skills has it beside DIAYN, with whose settings it shares all but the weights.
register(
    DIAYNSN,
    "diayn-sn-braxlines",
    always=True,
    sharpness=1.0,
    clip=5.0,
    bonus=5.0,
    normalise=False,
    hidden=(32, 32),
    learning_rate=3e-4,
)
