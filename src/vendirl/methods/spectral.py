"""Networks that cannot stretch distances: spectral normalisation (Miyato et al., 2018), as it is or as a projection.

As a projection, every weight matrix W is divided by max(1, σ(W)), σ a close bound on the largest singular value, after
each gradient step (`contracted`). As published, the network has W / σ(W) wherever it is used, whatever σ, and the
gradient knows it (`normalised`). With tanh or ReLU between the layers, which stretch nothing, |f(x) - f(y)| <= |x - y|.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from vendirl.skills.networks import Network


def contracted(network: Network) -> Network:
    """The network with every spectral norm at most 1."""
    layers = [eqx.tree_at(lambda layer: layer.weight, layer, _contracted(layer.weight)) for layer in network.layers]
    return eqx.tree_at(lambda n: n.layers, network, tuple(layers))


def normalised(network: Network) -> Network:
    """The network with every W divided by its largest singular value."""
    layers = [eqx.tree_at(lambda l: l.weight, layer, layer.weight / leading(layer.weight)) for layer in network.layers]
    return eqx.tree_at(lambda n: n.layers, network, tuple(layers))


def leading(W: Float[Array, "m n"], iterations: int = 16) -> Float[Array, ""]:
    """The largest singular value of W from below, u'Wv; u and v, by power iteration, are constant to the gradient."""
    fixed = jax.lax.stop_gradient(W)
    v = jax.random.normal(jax.random.key(0), (W.shape[1],))
    for _ in range(iterations):
        u = _unit(fixed @ v)
        v = _unit(fixed.T @ u)
    return jnp.maximum(_unit(fixed @ v) @ W @ v, 1e-12)


def _unit(x: Float[Array, " n"]) -> Float[Array, " n"]:
    return x / jnp.maximum(jnp.linalg.norm(x), 1e-12)


def _contracted(W: Float[Array, "m n"]) -> Float[Array, "m n"]:
    return W / jnp.maximum(1.0, spectral_bound(jax.lax.stop_gradient(W)) * (1 + 1e-5))


def spectral_bound(W: Float[Array, "m n"], squarings: int = 8) -> Float[Array, ""]:
    """An upper bound on the largest singular value of W, less than 1 % above it for up to 64 rows or columns:

        σ(W) <= (tr (W W')^p)^(1/(2p)),      p = 2^squarings

    By matrix products alone: batches of LAPACK's decompositions in one program have been seen to wait for each other
    for ever on two cores.
    """
    G = W @ W.T if W.shape[0] <= W.shape[1] else W.T @ W
    trace = jnp.maximum(jnp.trace(G), 1e-30)
    G, log_trace = G / trace, jnp.log(trace)
    for _ in range(squarings):  # G is a power of W W', scaled to trace 1
        G = G @ G
        t = jnp.maximum(jnp.trace(G), 1e-30)
        G, log_trace = G / t, 2 * log_trace + jnp.log(t)
    return jnp.exp(log_trace / 2 ** (squarings + 1))
