"""Chosen features of observations: by name, by number, as a slice, or by a function; and similarities of them.

`feature_indices` is the one place where names become numbers: for similarities, for skill data, and for methods.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from vendirl._checks import nearest, shown, some_of
from vendirl._text import short, written
from vendirl.similarity.combining import Product, Sum, bracketed
from vendirl.similarity.deals import Episodes, Regrouping
from vendirl.similarity.observations import Observations, Queued, SkillSet
from vendirl.similarity.similarity import Similarity


class Span(NamedTuple):
    """A slice that can be hashed, which Python 3.11's cannot."""

    start: int | None
    stop: int | None
    step: int | None


Chosen = tuple[int, ...] | tuple[str, ...] | Span | Callable[[Array], Array]


class On(Similarity):
    """A similarity of chosen features of the observations."""

    inner: Similarity
    features: Chosen = eqx.field(static=True)

    @classmethod
    def of(cls, inner: Similarity, features: Sequence[Any]) -> On:
        """A similarity on the features that were given to `.on`."""
        return cls(inner, chosen_features(features))

    def select(self, points: Float[Array, "*batch D"]) -> Float[Array, "*batch F"]:
        """The chosen features of observations."""
        if isinstance(self.features, tuple):
            return points[..., self._indices(points.shape[-1])]
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
        return chosen if jnp.issubdtype(chosen.dtype, jnp.floating) else chosen.astype(points.dtype)

    def _indices(self, size: int) -> list[int]:
        """The numbers of the chosen features, which are not a function, of observations of that many."""
        assert isinstance(self.features, tuple)
        return feature_indices(self.features, None, size, ".on()")

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
    def least_episodes(self) -> int:
        return self.inner.least_episodes

    @property
    def tails_matter(self) -> bool:
        return self.inner.tails_matter

    @property
    def least_evenness(self) -> float:
        return self.inner.least_evenness

    @property
    def has_limit(self) -> bool:
        return self.inner.has_limit

    @property
    def on_host(self) -> bool:
        return self.inner.on_host

    def host_matrix(self, skills: SkillSet) -> Float[np.ndarray, "n n"]:
        if not self.on_host:
            return super().host_matrix(skills)
        return self.inner.host_matrix(SkillSet(self._selected_on_host(np.asarray(skills.points)), skills.lengths))

    def regroup(self, episodes: Episodes) -> Regrouping:
        return self.inner.regroup([self._selected_on_host(episode) for episode in episodes])

    def _selected_on_host(self, points: Float[np.ndarray, "*batch D"]) -> Float[np.ndarray, "*batch F"]:
        if isinstance(self.features, tuple):
            return np.asarray(points[..., self._indices(points.shape[-1])])
        with jax.enable_x64(True):  # a function may compute
            return np.asarray(self.select(jnp.asarray(points)))

    def _selected(self, skill: Observations) -> Observations:
        return Observations(self.select(skill.points), skill.lengths)

    def summary(self, skill: Observations) -> PyTree:
        return self.inner.summary(self._selected(skill))

    def compare(self, a: PyTree, b: PyTree) -> Float[Array, ""]:
        return self.inner.compare(a, b)

    def embedding(self, summary: PyTree) -> Float[Array, " d"] | None:
        return self.inner.embedding(summary)

    def rolling(self, queue: Queued, observations: Float[Array, "c D"]) -> PyTree:
        return self.inner.rolling(queue.select(self.select), self.select(observations))

    def moments(self, skill: Observations) -> PyTree:
        return self.inner.moments(self._selected(skill))

    def of_moments(self, moments: PyTree) -> PyTree:
        return self.inner.of_moments(moments)

    def fading(self, moments: PyTree, observations: Float[Array, "c D"]) -> tuple[PyTree, PyTree]:
        return self.inner.fading(moments, self.select(observations))

    def rank(self, features: int) -> int | None:
        chosen = jax.eval_shape(self.select, jax.ShapeDtypeStruct((features,), jnp.float32))
        return self.inner.rank(chosen.shape[-1])

    def resolve(self, names: Sequence[str] | None, features: int | None = None) -> On:
        if not isinstance(self.features, tuple) or (names is None and features is None):
            return On(self.inner.resolve(None), self.features)
        size = len(names) if features is None and names is not None else features
        assert size is not None
        indices = feature_indices(self.features, names, size, ".on()")
        return On(self.inner.resolve([names[i] for i in indices] if names else None, len(indices)), tuple(indices))

    def __str__(self) -> str:
        if isinstance(self.features, Span):
            start, stop, step = ("" if bound is None else str(bound) for bound in self.features)
            chosen = f"'{start}:{stop}" + (f":{step}'" if step else "'")
        elif isinstance(self.features, tuple):
            chosen = f"[{', '.join(written(feature) for feature in self.features)}]"
        else:  # in angle brackets, so that it can never be read back as the name of a feature
            chosen = f"<function {getattr(self.features, '__name__', type(self.features).__name__)}>"
        return f"{bracketed(self.inner, Sum, Product)}.on({chosen})"


def chosen_features(features: Sequence[Any]) -> Chosen:
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
                raise ValueError(
                    f".on({short(only)!r}): a slice is written 'start:stop' or 'start:stop:step'"
                ) from None
        features = tuple(only) if isinstance(only, list | tuple | range | np.ndarray) else features
    if not features:
        raise ValueError(".on() needs at least one feature: indices, a slice, names, or a function")
    features = tuple(int(f) if isinstance(f, int | np.integer) and not isinstance(f, bool) else f for f in features)
    if not (all(isinstance(f, int) for f in features) or all(isinstance(f, str) for f in features)):
        raise TypeError(f".on() takes indices, a slice, names, or one function, but got {short(repr(features))}")
    return features


def listed_features(features: Sequence[Any]) -> tuple[int | str, ...]:
    """Names and numbers of features, given one by one or in lists, as one tuple."""
    several = [given if isinstance(given, list | tuple) else (given,) for given in features]
    flat = tuple(feature for given in several for feature in given)
    if wrong := [f for f in flat if isinstance(f, bool) or not isinstance(f, int | np.integer | str)]:
        raise TypeError(f".on() takes names and numbers of features, but got {short(repr(wrong[0]))}")
    return flat


def feature_indices(
    features: Sequence[int | str] | Span | Any,
    names: Sequence[str] | None,
    size: int,
    where: str,
    distinct: bool = False,
) -> list[int]:
    """The numbers, 0 to size - 1, of chosen features.

    Args:
        features: names or numbers, of which negative ones count from the end; or a slice.
        names: what the features are called; None if they have no names.
        where: what a message begins with.
        distinct: whether to refuse a feature that is chosen twice.
    """
    if isinstance(features, Span):
        chosen = list(range(size))[slice(*features)]
    elif isinstance(features, str) or not isinstance(features, Sequence | np.ndarray):
        raise TypeError(f"{where}: features must be a list of names or numbers, but is {features!r}")
    else:
        chosen = [_index(feature, names, size, where) for feature in features]
    if not chosen:
        known = f"; there are {some_of(names)}" if names else f" of the {size} features"
        raise ValueError(f"{where}: no features were chosen{known}")
    if distinct and len(set(chosen)) < len(chosen):
        twice = next(c for c in chosen if chosen.count(c) > 1)
        raise ValueError(f"{where}: the feature {names[twice] if names else twice!r} is chosen twice")
    return chosen


def _index(feature: Any, names: Sequence[str] | None, size: int, where: str) -> int:
    if isinstance(feature, str):
        if names is not None and feature in names:
            return list(names).index(feature)
        if feature.isascii() and feature.isdecimal() and len(feature) < 10:  # as typed in a terminal
            return _index(int(feature), names, size, where)
        if names is None:
            raise ValueError(
                f"{where}: {feature!r} is the name of a feature, but these observations have none; give names, or "
                "choose features by number"
            )
        likely = nearest(feature, names)
        hint = f"did you mean {likely!r}? The features are" if likely else "the features are"
        raise ValueError(f"{where}: no feature is called {shown(feature)}; {hint} {some_of(names)}")
    if isinstance(feature, bool | np.bool_) or not isinstance(feature, int | np.integer):
        raise TypeError(f"{where}: a feature is chosen by name or number, not by {feature!r}")
    if not -size <= feature < size:
        raise ValueError(f"{where}: feature {feature} is out of range: there are {size}, numbered from 0")
    return int(feature) % size
