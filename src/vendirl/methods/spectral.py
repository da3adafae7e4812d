"""Networks that cannot stretch distances: spectral normalisation (Miyato et al., 2018) as a projection.

Every weight matrix W is divided by max(1, σ(W)), σ the largest singular value, after each gradient step. With tanh
between the layers, which stretches nothing, |f(x) - f(y)| <= |x - y|.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp

from vendirl.networks import Network


def contracted(network: Network) -> Network:
    """The network with every spectral norm at most 1."""
    layers = [eqx.tree_at(lambda layer: layer.weight, layer, _contracted(layer.weight)) for layer in network.layers]
    return eqx.tree_at(lambda n: n.layers, network, tuple(layers))


def _contracted(W):
    σ = jnp.linalg.norm(jax.lax.stop_gradient(W), 2)
    return W / jnp.maximum(1.0, σ * (1 + 1e-6))
