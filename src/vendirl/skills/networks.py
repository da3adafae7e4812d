"""Small fully connected networks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Real

from vendirl._checks import one_of


class Layer(eqx.Module):
    """x -> W x + b; at first W is orthogonal times `gain`, and b is 0."""

    weight: Float[Array, "outputs inputs"]
    bias: Float[Array, " outputs"]

    def __init__(self, normals: Float[Array, "outputs inputs"], gain: float):
        outputs, inputs = normals.shape
        Q, R = jnp.linalg.qr(normals if outputs >= inputs else normals.T)
        Q = Q * jnp.sign(jnp.diagonal(R))  # makes the orthogonal matrix uniformly distributed
        self.weight = gain * (Q if outputs >= inputs else Q.T)
        self.bias = jnp.zeros(outputs)

    def __call__(self, x: Float[Array, " inputs"]) -> Float[Array, " outputs"]:
        return self.weight @ x + self.bias


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {"tanh": jnp.tanh, "relu": jax.nn.relu}
"""What may be between the layers, by name."""

LOOKED_UP = 128
"""From so many skills on, what a skill adds to a layer is looked up."""


class Network(eqx.Module):
    """A network with tanh or ReLU between its layers."""

    layers: tuple[Layer, ...]
    activation: str = eqx.field(static=True)

    def __init__(
        self, sizes: Sequence[int], output_gain: float, normals: Float[Array, " weights"], activation: str = "tanh"
    ):
        """`normals`: as many standard normal numbers as there are weights. They are drawn at once for all layers, since
        compiling the drawing takes longer than compiling everything else here."""
        one_of(activation, list(ACTIVATIONS), "activation")
        shapes = list(zip(sizes[1:], sizes[:-1], strict=True))
        gains = [2**0.5] * (len(sizes) - 2) + [output_gain]
        ends = np.cumsum([outputs * inputs for outputs, inputs in shapes])[:-1]
        parts = jnp.split(normals, ends)
        self.layers = tuple(
            Layer(part.reshape(shape), gain) for part, shape, gain in zip(parts, shapes, gains, strict=True)
        )
        self.activation = activation

    @staticmethod
    def size(sizes: Sequence[int]) -> int:
        """The number of weights of a network with layers of these widths."""
        return sum(inputs * outputs for inputs, outputs in itertools.pairwise(sizes))

    def __call__(self, x: Float[Array, " inputs"]) -> Float[Array, " outputs"]:
        bent = ACTIVATIONS[self.activation]
        for layer in self.layers[:-1]:
            x = bent(layer(x))
        return self.layers[-1](x)

    def of_scenes(
        self,
        x: Float[Array, "inputs scenes steps"],
        skill: Int[Array, " scenes"] | Float[Array, "scenes {skills}"],
        skills: int,
    ) -> Float[Array, "outputs scenes steps"]:
        """This network of [x, skill] in all steps of scenes of one skill each.

        What the skill adds to the first layer is computed once a scene, and each layer is one product of matrices
        whose columns are the steps of all scenes: a PPO update takes a fifth less than with vmaps of the network.
        """
        bent, first = ACTIVATIONS[self.activation], self.layers[0]
        if self._looks_up(skill.ndim == 1, skills):
            added = first.weight[:, -skills:][:, skill]
        else:
            z = skill if skill.ndim == 2 else jax.nn.one_hot(skill, skills)
            added = first.weight[:, -skills:] @ z.T
        bias = first.bias[:, None] + added
        h = (first.weight[:, :-skills] @ x.reshape(len(x), -1)).reshape(-1, *x.shape[1:]) + bias[:, :, None]
        h = h.reshape(len(h), -1)
        for layer in self.layers[1:]:
            h = layer.weight @ bent(h) + layer.bias[:, None]
        return h.reshape(-1, *x.shape[1:])

    def skill_bias(
        self, skill: Int[ArrayLike, ""] | Real[ArrayLike, " {skills}"], skills: int
    ) -> Float[Array, " hidden"]:
        """What the input of a skill amounts to. In W [x, z] + b = W_x x + (W_z z + b) it is a change of the first bias;
        a skill that is a number is the vector z = e_g."""
        first = self.layers[0]
        if self._looks_up(not jnp.ndim(skill), skills):
            return first.bias + first.weight[:, -skills:][:, skill]
        z = jnp.asarray(skill) if jnp.ndim(skill) else jax.nn.one_hot(skill, skills)
        return first.bias + first.weight[:, -skills:] @ z

    def _looks_up(self, numbered: bool, skills: int) -> bool:
        """Whether W_z e_g is looked up. Few skills are multiplied instead, because the derivative of a product is a
        product, and that of an index a scattered sum; but a product takes longer the more skills there are."""
        return numbered and skills >= LOOKED_UP

    def given(self, skill_bias: Float[Array, " hidden"], skills: int) -> Network:
        """This network of [x, skill] as a network of x alone."""
        first = self.layers[0]
        return eqx.tree_at(
            lambda network: network.layers[0],
            self,
            eqx.tree_at(lambda layer: (layer.weight, layer.bias), first, (first.weight[:, :-skills], skill_bias)),
        )
