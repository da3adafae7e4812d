"""Several similarities as one: weighted sums and products."""

from __future__ import annotations

import abc
import functools
import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from vendirl._checks import AnyArray, Number, as_float, shown
from vendirl._text import written
from vendirl.similarity.deals import Episodes, Regrouping
from vendirl.similarity.observations import Observations, Queued, SkillSet
from vendirl.similarity.regrouping import Joined
from vendirl.similarity.similarity import Features, Similarity

Weight = float | Float[Array, ""]
_MOST = 1e30
"""The largest weight, and the inverse of the smallest: sums of so many stay finite in float32."""
_MOST_PRODUCTS = 1024
"""A product whose embedding would have more numbers has none."""


class Combination(Similarity):
    """Several similarities as one. A subclass says what its parts are and how their values are joined; every other
    question is answered by asking the parts."""

    @property
    @abc.abstractmethod
    def parts(self) -> tuple[Similarity, ...]:
        """The similarities that are combined."""

    @abc.abstractmethod
    def with_parts(self, parts: Sequence[Similarity]) -> Combination:
        """The same combination of other similarities."""

    @abc.abstractmethod
    def joined(self, values: Sequence[Float[AnyArray, "*deals"]]) -> Float[AnyArray, "*deals"]:
        """k, or a matrix of it, from those of the parts."""

    @property
    def psd(self) -> bool:
        return all(part.psd for part in self.parts)

    @property
    def streams(self) -> bool:
        return all(part.streams for part in self.parts)

    @property
    def differentiable(self) -> bool:
        return all(part.differentiable for part in self.parts)

    @property
    def least_observations(self) -> int:
        return max(part.least_observations for part in self.parts)

    @property
    def least_episodes(self) -> int:
        return max(part.least_episodes for part in self.parts)

    @property
    def least_evenness(self) -> float:
        return max(part.least_evenness for part in self.parts)

    @property
    def tails_matter(self) -> bool:
        return any(part.tails_matter for part in self.parts)

    @property
    def has_limit(self) -> bool:
        return all(part.has_limit for part in self.parts)

    @property
    def on_host(self) -> bool:
        return any(part.on_host for part in self.parts)

    def resolve(self, names: Sequence[str] | None, features: int | None = None) -> Combination:
        return self.with_parts([part.resolve(names, features) for part in self.parts])

    def host_matrix(self, skills: SkillSet) -> Float[np.ndarray, "n n"]:
        if not self.on_host:  # all parts in one piece of compiled code
            return super().host_matrix(skills)
        with jax.enable_x64(True):  # weights may be of JAX
            return np.asarray(self.joined([part.host_matrix(skills) for part in self.parts]))

    def regroup(self, episodes: Episodes) -> Regrouping:
        if self.streams:
            return super().regroup(episodes)
        return Joined(self.joined, [part.regroup(episodes) for part in self.parts])

    def summary(self, skill: Observations) -> tuple[PyTree, ...]:
        return tuple(part.summary(skill) for part in self.parts)

    def compare(self, a: tuple[PyTree, ...], b: tuple[PyTree, ...]) -> Float[Array, ""]:
        return jnp.asarray(self.joined([part.compare(x, y) for part, x, y in zip(self.parts, a, b, strict=True)]))

    def rolling(self, queue: Queued, observations: Float[Array, "c D"]) -> tuple[PyTree, ...]:
        return tuple(part.rolling(queue, observations) for part in self.parts)

    def moments(self, skill: Observations) -> tuple[PyTree, ...]:
        return tuple(part.moments(skill) for part in self.parts)

    def of_moments(self, moments: tuple[PyTree, ...]) -> tuple[PyTree, ...]:
        return tuple(part.of_moments(m) for part, m in zip(self.parts, moments, strict=True))

    def fading(
        self, moments: tuple[PyTree, ...], observations: Float[Array, "c D"]
    ) -> tuple[tuple[PyTree, ...], tuple[PyTree, ...]]:
        pairs = [part.fading(m, observations) for part, m in zip(self.parts, moments, strict=True)]
        return tuple(m for m, _ in pairs), tuple(s for _, s in pairs)

    def _embeddings(self, summary: tuple[PyTree, ...]) -> list[Float[Array, " _"]] | None:
        """Those of the parts, or None if one of them has none."""
        parts = [part.embedding(s) for part, s in zip(self.parts, summary, strict=True)]
        known = [part for part in parts if part is not None]
        return known if len(known) == len(parts) else None

    def _ranks(self, features: int) -> list[int] | None:
        """The ranks of the parts, or None if one of them is unlimited."""
        ranks = [part.rank(features) for part in self.parts]
        known = [rank for rank in ranks if rank is not None]
        return known if len(known) == len(ranks) else None


class Sum(Combination):
    """k = Σ w_i k_i / Σ w_i."""

    weights: tuple[Weight, ...]
    terms: tuple[Similarity, ...]

    def __check_init__(self) -> None:
        for weight in self.weights:
            if not isinstance(weight, jax.Array) and not 1 / _MOST <= weight <= _MOST:
                raise ValueError(
                    f"the weights of similarities, and their products, must lie between {1 / _MOST:g} and {_MOST:g}, "
                    f"but one is {weight:g}; only their ratios count, so divide all by the same number"
                )

    @classmethod
    def of(cls, *parts: Similarity) -> Sum:
        """The sum of similarities, those that are sums already taken apart."""
        weights, terms = zip(*(pair for part in parts for pair in _weighted_terms(part)), strict=True)
        return cls(weights, terms)

    @property
    def parts(self) -> tuple[Similarity, ...]:
        return self.terms

    def with_parts(self, parts: Sequence[Similarity]) -> Sum:
        return Sum(self.weights, tuple(parts))

    def joined(self, values: Sequence[Float[AnyArray, "*deals"]]) -> Float[AnyArray, "*deals"]:
        parts = [w * value for w, value in zip(self.weights, values, strict=True)]
        return sum(parts[1:], parts[0]) / sum(self.weights)

    def embedding(self, summary: tuple[PyTree, ...]) -> Float[Array, " d"] | None:
        """All embeddings in a row, each times the root of its weight."""
        parts, whole = self._embeddings(summary), sum(self.weights)
        if parts is None:
            return None
        return jnp.concatenate(
            [jnp.sqrt(jnp.asarray(w / whole, x.dtype)) * x for w, x in zip(self.weights, parts, strict=True)]
        )

    def rank(self, features: int) -> int | None:
        ranks = self._ranks(features)
        return None if ranks is None else sum(ranks)

    def on(self, *features: Features | Any) -> Sum:
        """On each term, so that the weights stay in sight of further sums and products."""
        return self.with_parts([term.on(*features) for term in self.terms])

    def __str__(self) -> str:
        parts = zip(self.weights, self.terms, strict=True)
        return " + ".join(f"{written(w)}*{bracketed(k, Sum, Product)}" for w, k in parts)


class Product(Combination):
    """k = Π k_i."""

    factors: tuple[Similarity, ...]

    @property
    def parts(self) -> tuple[Similarity, ...]:
        return self.factors

    def with_parts(self, parts: Sequence[Similarity]) -> Product:
        return Product(tuple(parts))

    def joined(self, values: Sequence[Float[AnyArray, "*deals"]]) -> Float[AnyArray, "*deals"]:
        result = values[0]
        for value in values[1:]:
            result = result * value
        return result

    def embedding(self, summary: tuple[PyTree, ...]) -> Float[Array, " d"] | None:
        """The products of each number of one with each of the others, if they are not too many."""
        parts = self._embeddings(summary)
        if parts is None or math.prod(len(part) for part in parts) > _MOST_PRODUCTS:
            return None
        return functools.reduce(lambda x, y: (x[:, None] * y).reshape(-1), parts)

    def rank(self, features: int) -> int | None:
        ranks = self._ranks(features)
        return None if ranks is None else int(np.prod(ranks))

    def __str__(self) -> str:
        return "*".join(bracketed(factor, Sum) for factor in self.factors)


def weighted(k: Similarity, weight: Number) -> Similarity:
    """weight * k."""
    if not isinstance(weight, jax.core.Tracer):
        if np.ndim(weight) or not 0 < as_float(weight) < np.inf:
            raise ValueError(f"the weight of a similarity must be positive and finite, but is {shown(weight)}")
        weight = weight if isinstance(weight, jax.Array) else float(weight)
    weights, terms = zip(*_weighted_terms(k), strict=True)
    return Sum(tuple(w * weight for w in weights), terms)


def product(a: Similarity, b: Similarity) -> Similarity:
    """a * b, with the weights of both in front: 0.5*a*b + c is 0.5*(a*b) + c."""
    (v, left), (w, right) = _factors(a), _factors(b)
    product, weight = Product(left + right), v * w
    return product if not isinstance(weight, jax.Array) and weight == 1 else Sum((weight,), (product,))


def bracketed(k: Similarity, *kinds: type[Similarity]) -> str:
    """The text of k, in brackets if it is of one of these kinds."""
    return f"({k})" if isinstance(k, kinds) else str(k)


def _weighted_terms(k: Similarity) -> list[tuple[Weight, Similarity]]:
    return list(zip(k.weights, k.terms, strict=True)) if isinstance(k, Sum) else [(1.0, k)]


def _factors(k: Similarity) -> tuple[Weight, tuple[Similarity, ...]]:
    """The weight of k and its factors, which have none."""
    if isinstance(k, Product):
        return 1.0, k.factors
    if not isinstance(k, Sum):
        return 1.0, (k,)
    weight = sum(k.weights)
    if len(k.terms) == 1:
        return weight, _factors(k.terms[0])[1]
    known = not isinstance(weight, jax.Array)
    if known and np.isclose(weight, 1, rtol=1e-12):
        return 1.0, (k,)
    return weight, (Sum(tuple(w / weight for w in k.weights), k.terms),)
