"""A similarity k(a, b) between skills: a summary of what each skill observed, and a comparison of two summaries.

Similarities are values. They add, multiply, and take scalar weights; `.on(...)` restricts them to chosen features:

    0.5 * cosine() + 0.5 * covariance(scale=200)          k = Σ w_i k_i / Σ w_i
    mmd(scale=4) * covariance(scale=50)                   k = Π k_i
    mmd().on([0, 1]),  mmd().on(["x", "y"]),  mmd().on(lambda observation: observation[:2] ** 2)

All of them have k(a, a) = 1, so weights are relative: an expression is taken literally, then divided by its value at
k(a, a). Sums and products of positive semidefinite similarities are positive semidefinite. `str(k)` is text that
`parse` reads back.
"""

from __future__ import annotations

import abc
import difflib
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from vendirl.similarity.observations import Moments, Observations

Features = int | str | slice | Sequence[int] | Sequence[str] | Callable[[Array], Array]


class Span(NamedTuple):
    """A slice that can be hashed, which Python 3.11's cannot."""

    start: int | None
    stop: int | None
    step: int | None


class Similarity(eqx.Module):
    """How alike two skills are. Unbatched and pure: `vmap` compares many.

    A summary is any pytree of arrays. Its size and the work of comparing two of them are what a kernel matrix costs.
    """

    @property
    @abc.abstractmethod
    def psd(self) -> bool:
        """Whether every kernel matrix of this similarity is positive semidefinite (False also if not known)."""

    @property
    @abc.abstractmethod
    def streams(self) -> bool:
        """Whether running moments are enough, so that memory need not grow with the length of a trajectory."""

    @abc.abstractmethod
    def summary(self, skill: Observations) -> PyTree:
        """What `compare` needs of a skill's observations."""

    @abc.abstractmethod
    def compare(self, a: PyTree, b: PyTree) -> Float[Array, ""]:
        """k(a, b) of two summaries."""

    @abc.abstractmethod
    def rolling(self, queue: Any, observations: Float[Array, "c D"]) -> PyTree:
        """The summaries, with a leading axis c, after each of c observations is pushed onto a `memory.Queue`."""

    def moments(self, skill: Observations) -> PyTree:
        """The running moments of a skill, for similarities that stream."""
        raise TypeError(f"{self} needs whole trajectories: it has no running moments; use a queue for the skill memory")

    def of_moments(self, moments: PyTree) -> PyTree:
        """The summary of a skill with these moments, for similarities that stream."""
        raise TypeError(f"{self} needs whole trajectories: moments are not enough")

    def fading(self, moments: PyTree, observations: Float[Array, "c D"]) -> tuple[PyTree, PyTree]:
        """Running moments after c observations that each displace the average one, and the c summaries."""
        raise TypeError(f"{self} needs whole trajectories: it has no running moments; use a queue for the skill memory")

    @property
    def differentiable(self) -> bool:
        """Whether k changes smoothly with the observations, so that gradients of it are of use."""
        return True

    @property
    def least_observations(self) -> int:
        """How many observations of a skill there must be."""
        return 1

    def rank(self, features: int) -> int | None:
        """The largest rank a kernel matrix can have over observations of that many features; None if unlimited."""
        return None

    def resolve(self, names: Sequence[str] | None, features: int | None = None) -> Similarity:
        """The same similarity with feature names turned into indices, and indices checked."""
        return self

    def matrix(self, summaries: PyTree) -> Float[Array, "n n"]:
        """k between all pairs of n stacked summaries."""
        row = jax.vmap(self.compare, in_axes=(None, 0))
        if self.streams:  # small summaries: all pairs at once
            K = jax.vmap(row, in_axes=(0, None))(summaries, summaries)
        else:  # a row at a time, so that whole trajectories are never held n² times
            K = jax.lax.map(lambda summary: row(summary, summaries), summaries)
        n = K.shape[0]
        return jnp.where(jnp.eye(n, dtype=bool), 1, (K + K.T) / 2)

    @property
    def on_host(self) -> bool:
        """Whether `host_matrix` does better than compiled code, be it for a part of the similarity only."""
        return False

    def host_matrix(self, skills: Observations) -> Float[np.ndarray, "n n"]:
        """K of skills in NumPy, in float64."""
        with jax.enable_x64(True):
            return np.asarray(compiled_matrix(self, skills))

    def ceiling(self, n: int, features: int) -> float:
        """No set of n skills scores more: the number of skills, or the rank of the kernel if that is smaller."""
        rank = self.rank(features)
        return float(n if rank is None else min(n, rank))

    def on(self, *features: Features) -> Similarity:
        """This similarity on chosen features: indices, a slice, names, or a function of one observation."""
        chosen = _selection(features)
        if isinstance(self, Sum):  # on each term, so that the weights stay in sight of further sums and products
            return Sum(self.weights, tuple(On(term, chosen) for term in self.terms))
        return On(self, chosen)

    def __add__(self, other: Similarity) -> Similarity:
        return Sum.of(self, other) if isinstance(other, Similarity) else NotImplemented

    def __radd__(self, other: int) -> Similarity:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # what `sum` begins with

    def __mul__(self, other: Similarity | float) -> Similarity:
        if isinstance(other, Similarity):
            return _product(self, other)
        if not _is_number(other):
            return NotImplemented
        weights, terms = zip(*_weighted_terms(self), strict=True)
        return Sum(tuple(w * _weight(other) for w in weights), terms)

    __rmul__ = __mul__

    def __str__(self) -> str:
        return repr(self)


class Named(Similarity):
    """A similarity with a name and settings, as opposed to a combination of others."""

    name: ClassVar[str]

    def __str__(self) -> str:
        """`name(setting=value, ...)` with the settings that differ from their defaults."""
        changed = {
            field.name: getattr(self, field.name)
            for field in self.__dataclass_fields__.values()
            if field.init and not _same(getattr(self, field.name), field.default)
        }
        return self.name + (f"({', '.join(f'{k}={_text(v)}' for k, v in changed.items())})" if changed else "")


class MomentSimilarity(Named):
    """A similarity of the moments of the pooled observations. It streams.

    Attributes:
        order: 1 if the mean is enough, 2 if the covariance is needed.
    """

    order: ClassVar[int]

    @abc.abstractmethod
    def of_moments(self, moments: Moments) -> PyTree:
        """The summary of a skill with these moments."""

    @property
    def streams(self) -> bool:
        return True

    def summary(self, skill: Observations) -> PyTree:
        return self.of_moments(Moments.of(skill, self.order))

    def rolling(self, queue, observations):
        start = Moments.of(Observations(queue.observations[None]), self.order)
        new, old = observations - start.reference, queue.displaced(observations) - start.reference
        total = jnp.cumsum(new - old, 0)
        second = None
        if self.order == 2:
            second = jnp.cumsum(new[:, :, None] * new[:, None, :] - old[:, :, None] * old[:, None, :], 0)
        return jax.vmap(self.of_moments)(start.plus(total, second))

    def moments(self, skill: Observations) -> Moments:
        return Moments.of(skill, self.order)

    def fading(self, moments: Moments, observations):
        keep = 1 - 1 / moments.count

        def push(moments: Moments, x):
            new = x - moments.reference
            second = None if moments.second is None else keep * moments.second + new[:, None] * new[None, :]
            moments = Moments(moments.count, moments.reference, keep * moments.total + new, second)
            return moments, self.of_moments(moments)

        return jax.lax.scan(push, moments, observations)


class TrajectorySimilarity(Named):
    """A similarity of whole trajectories."""

    @property
    def streams(self) -> bool:
        return False

    def rolling(self, queue, observations):
        return jax.lax.map(lambda t: self.summary(queue.after(observations, t)), jnp.arange(observations.shape[0]))


class Sum(Similarity):
    """k = Σ w_i k_i / Σ w_i."""

    weights: tuple[Any, ...]
    terms: tuple[Similarity, ...]

    @classmethod
    def of(cls, *parts: Similarity) -> Sum:
        weights, terms = zip(*(pair for part in parts for pair in _weighted_terms(part)), strict=True)
        return cls(weights, terms)

    @property
    def psd(self) -> bool:
        return all(term.psd for term in self.terms)

    @property
    def streams(self) -> bool:
        return all(term.streams for term in self.terms)

    @property
    def differentiable(self) -> bool:
        return all(term.differentiable for term in self.terms)

    @property
    def least_observations(self) -> int:
        return max(term.least_observations for term in self.terms)

    @property
    def on_host(self) -> bool:
        return any(term.on_host for term in self.terms)

    def host_matrix(self, skills):
        if not self.on_host:  # all terms in one piece of compiled code
            return super().host_matrix(skills)
        weights = [float(w) for w in self.weights]
        parts = [w * term.host_matrix(skills) for w, term in zip(weights, self.terms, strict=True)]
        return np.sum(parts, axis=0) / sum(weights)

    def summary(self, skill):
        return tuple(term.summary(skill) for term in self.terms)

    def compare(self, a, b):
        parts = [w * k.compare(x, y) for w, k, x, y in zip(self.weights, self.terms, a, b, strict=True)]
        return sum(parts[1:], parts[0]) / sum(self.weights)

    def rolling(self, queue, observations):
        return tuple(term.rolling(queue, observations) for term in self.terms)

    def moments(self, skill):
        return tuple(term.moments(skill) for term in self.terms)

    def of_moments(self, moments):
        return tuple(term.of_moments(m) for term, m in zip(self.terms, moments, strict=True))

    def fading(self, moments, observations):
        pairs = [term.fading(m, observations) for term, m in zip(self.terms, moments, strict=True)]
        return tuple(m for m, _ in pairs), tuple(s for _, s in pairs)

    def rank(self, features):
        ranks = [term.rank(features) for term in self.terms]
        return None if None in ranks else sum(rank for rank in ranks if rank is not None)

    def resolve(self, names, features=None):
        return Sum(self.weights, tuple(term.resolve(names, features) for term in self.terms))

    def __str__(self) -> str:
        parts = zip(self.weights, self.terms, strict=True)
        return " + ".join(f"{_text(w)}*{_bracketed(k, Sum, Product)}" for w, k in parts)


class Product(Similarity):
    """k = Π k_i."""

    factors: tuple[Similarity, ...]

    @property
    def psd(self) -> bool:
        return all(factor.psd for factor in self.factors)

    @property
    def streams(self) -> bool:
        return all(factor.streams for factor in self.factors)

    @property
    def differentiable(self) -> bool:
        return all(factor.differentiable for factor in self.factors)

    @property
    def least_observations(self) -> int:
        return max(factor.least_observations for factor in self.factors)

    @property
    def on_host(self) -> bool:
        return any(factor.on_host for factor in self.factors)

    def host_matrix(self, skills):
        if not self.on_host:
            return super().host_matrix(skills)
        return np.prod([factor.host_matrix(skills) for factor in self.factors], axis=0)

    def summary(self, skill):
        return tuple(factor.summary(skill) for factor in self.factors)

    def compare(self, a, b):
        value = self.factors[0].compare(a[0], b[0])
        for factor, x, y in zip(self.factors[1:], a[1:], b[1:], strict=True):
            value = value * factor.compare(x, y)
        return value

    def rolling(self, queue, observations):
        return tuple(factor.rolling(queue, observations) for factor in self.factors)

    def moments(self, skill):
        return tuple(factor.moments(skill) for factor in self.factors)

    def of_moments(self, moments):
        return tuple(factor.of_moments(m) for factor, m in zip(self.factors, moments, strict=True))

    def fading(self, moments, observations):
        pairs = [factor.fading(m, observations) for factor, m in zip(self.factors, moments, strict=True)]
        return tuple(m for m, _ in pairs), tuple(s for _, s in pairs)

    def rank(self, features):
        ranks = [factor.rank(features) for factor in self.factors]
        return None if None in ranks else int(np.prod([rank for rank in ranks if rank is not None]))

    def resolve(self, names, features=None):
        return Product(tuple(factor.resolve(names, features) for factor in self.factors))

    def __str__(self) -> str:
        return "*".join(_bracketed(factor, Sum) for factor in self.factors)


class On(Similarity):
    """A similarity of chosen features of the observations."""

    inner: Similarity
    features: Any = eqx.field(static=True)  # a tuple of indices or of names, a Span, or a function

    def select(self, points: Float[Array, "*batch D"]) -> Float[Array, "*batch F"]:
        """The chosen features of observations."""
        if callable(self.features):
            function = self.features
            for _ in range(points.ndim - 1):
                function = jax.vmap(function)
            chosen = function(points)
            if chosen.ndim == points.ndim - 1:
                chosen = chosen[..., None]
            if chosen.ndim != points.ndim:
                raise ValueError(
                    f"the function given to .on() must return a vector of features for one observation, but returned "
                    f"shape {chosen.shape[points.ndim - 1 :]}"
                )
            return chosen
        return points[..., _indices(self.features, None, points.shape[-1])]

    @property
    def psd(self) -> bool:
        return self.inner.psd

    @property
    def streams(self) -> bool:
        return self.inner.streams

    @property
    def differentiable(self) -> bool:
        return self.inner.differentiable

    @property
    def least_observations(self) -> int:
        return self.inner.least_observations

    @property
    def on_host(self) -> bool:
        return self.inner.on_host

    def host_matrix(self, skills):
        if not self.on_host:
            return super().host_matrix(skills)
        with jax.enable_x64(True):
            return self.inner.host_matrix(Observations(np.asarray(self.select(skills.points)), skills.lengths))

    def _selected(self, skill: Observations) -> Observations:
        return Observations(self.select(skill.points), skill.lengths)

    def summary(self, skill):
        return self.inner.summary(self._selected(skill))

    def compare(self, a, b):
        return self.inner.compare(a, b)

    def rolling(self, queue, observations):
        return self.inner.rolling(queue.select(self.select), self.select(observations))

    def moments(self, skill):
        return self.inner.moments(self._selected(skill))

    def of_moments(self, moments):
        return self.inner.of_moments(moments)

    def fading(self, moments, observations):
        return self.inner.fading(moments, self.select(observations))

    def rank(self, features):
        return self.inner.rank(self._size(features))

    def resolve(self, names, features=None):
        if callable(self.features) or (names is None and features is None):
            return On(self.inner.resolve(None), self.features)
        indices = _indices(self.features, names, features)
        return On(self.inner.resolve([names[i] for i in indices] if names else None, len(indices)), tuple(indices))

    def _size(self, features: int) -> int:
        return jax.eval_shape(self.select, jax.ShapeDtypeStruct((features,), jnp.float32)).shape[-1]

    def __str__(self) -> str:
        if callable(self.features):
            chosen = getattr(self.features, "__name__", "function")
        elif isinstance(self.features, Span):
            start, stop, step = ("" if bound is None else str(bound) for bound in self.features)
            chosen = f"'{start}:{stop}" + (f":{step}'" if step else "'")
        else:
            chosen = f"[{', '.join(_text(feature) for feature in self.features)}]"
        return f"{_bracketed(self.inner, Sum, Product)}.on({chosen})"


@jax.jit
def compiled_matrix(similarity: Similarity, skills: Observations) -> Float[Array, "n n"]:
    """K of skills with a leading axis, (n, N, T, D)."""
    return similarity.matrix(jax.vmap(similarity.summary)(skills))


# ---- small print ---------------------------------------------------------------------------------------------------


def _selection(features: tuple) -> Any:
    """The arguments of `.on` as a tuple of indices, a tuple of names, a slice or a function."""
    if len(features) == 1:
        (only,) = features
        if callable(only):
            return only
        if isinstance(only, slice):
            return Span(only.start, only.stop, only.step)
        if isinstance(only, str) and ":" in only:
            try:
                bounds = [int(part) if part.strip() else None for part in only.split(":")]
                return Span(*bounds, *[None] * (3 - len(bounds)))
            except (ValueError, TypeError):
                raise ValueError(f".on({only!r}): a slice is written 'start:stop' or 'start:stop:step'") from None
        features = tuple(only) if isinstance(only, list | tuple | range | np.ndarray) else features
    if not features:
        raise ValueError(".on() needs at least one feature: indices, a slice, names, or a function")
    features = tuple(int(f) if isinstance(f, int | np.integer) and not isinstance(f, bool) else f for f in features)
    if not (all(isinstance(f, int) for f in features) or all(isinstance(f, str) for f in features)):
        raise TypeError(f".on() takes indices, a slice, names, or one function, but got {features!r}")
    return features


def _indices(features, names: Sequence[str] | None, size: int | None) -> list[int]:
    """Indices of the chosen features among `size` of them, called `names`."""
    size = len(names) if size is None and names is not None else size
    assert size is not None
    if isinstance(features, Span):
        chosen = list(range(size))[slice(*features)]
        if not chosen:
            raise ValueError(f".on({list(features)}) selects none of the {size} features")
        return chosen
    if isinstance(features[0], str):
        if names is None:
            raise ValueError(
                f".on({list(features)}) uses names, but these observations have none; give names= or use indices"
            )
        for name in features:
            if name not in names:
                near = difflib.get_close_matches(name, names, 1)
                hint = f"did you mean {near[0]!r}? " if near else ""
                raise ValueError(f".on(): there is no feature {name!r}; {hint}The features are {', '.join(names)}")
        return [list(names).index(name) for name in features]
    for index in features:
        if not -size <= index < size:
            raise ValueError(f".on({list(features)}): index {index} is out of range for {size} features")
    return [index % size for index in features]


def _weighted_terms(k: Similarity) -> list[tuple[Any, Similarity]]:
    return list(zip(k.weights, k.terms, strict=True)) if isinstance(k, Sum) else [(1.0, k)]


def _factors(k: Similarity) -> tuple[Any, tuple[Similarity, ...]]:
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


def _product(a: Similarity, b: Similarity) -> Similarity:
    """a * b, with the weights of both in front: 0.5*a*b + c is 0.5*(a*b) + c."""
    (v, left), (w, right) = _factors(a), _factors(b)
    product, weight = Product(left + right), v * w
    return product if not isinstance(weight, jax.Array) and weight == 1 else Sum((weight,), (product,))


def _is_number(x: Any) -> bool:
    return isinstance(x, int | float | np.number | jax.Array) and not isinstance(x, bool)


def _weight(w: Any) -> Any:
    if isinstance(w, jax.core.Tracer):
        return w
    if np.ndim(w) or not 0 < w < np.inf:
        raise ValueError(f"the weight of a similarity must be positive and finite, but is {w}")
    return w if isinstance(w, jax.Array) else float(w)


def _same(value: Any, default: Any) -> bool:
    return value is default or (isinstance(value, int | float | str) and value == default)


def _text(value: Any) -> str:
    if isinstance(value, np.generic | np.ndarray) or (
        isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer)
    ):
        value = value.tolist()
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(_text(v) for v in value)}]"
    return repr(value)


def _bracketed(k: Similarity, *kinds: type) -> str:
    return f"({k})" if isinstance(k, kinds) else str(k)


def positive(value: Any, name: str) -> None:
    """Refuse a setting that is not a positive finite number; traced values pass."""
    if isinstance(value, jax.core.Tracer):
        return
    if not _is_number(value) or np.ndim(value) or not 0 < value < np.inf:
        raise ValueError(f"{name} must be a positive finite number, but is {value!r}")


def whole(value: Any, name: str, least: int = 1) -> None:
    """Refuse a setting that is not a whole number of at least that size."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        kind = "a positive whole number" if least == 1 else f"a whole number of at least {least}"
        raise ValueError(f"{name} must be {kind}, but is {value!r}")


def yes_or_no(value: Any, name: str) -> None:
    """Refuse a setting that is not a truth value."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, but is {value!r}")
