"""DIAYN with spectral normalisation (Choi et al., 2021): a discriminator that cannot separate skills that are near.

DIAYN's reward, with every spectral norm of the discriminator at most 1: its logits change no faster than the state
does, so
that only skills far apart are told apart with certainty. `sharpness` scales the logits, which is how far apart that is.
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
from vendirl.methods.spectral import contracted
from vendirl.skills.networks import Network
from vendirl.skills.rollout import Transition


@register
@dataclasses.dataclass(frozen=True)
class DIAYNSN(DIAYN):
    """DIAYN whose discriminator is spectrally normalised: skills must be apart, not only discernible.

    Attributes:
        sharpness: factor of the logits.
    """

    sharpness: float = 4.0

    name: ClassVar[str] = "diayn-sn"

    def model(self, observation_size: int, key: PRNGKeyArray) -> Network:
        return self.constrain(super().model(observation_size, key))

    def constrain(self, model: Network) -> Network:
        return contracted(model)

    def log_q(self, model: Network, batch: Transition) -> Float[Array, "E steps n"]:
        logits = self.sharpness * every(model, batch.observation if self.current else batch.next_observation)
        return jax.nn.log_softmax(jnp.clip(logits, -self.clip, self.clip))
