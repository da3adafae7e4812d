"""A user's own similarity, in five lines.

@vr.similarity.moments                              # of two skills' moments: .mean, .covariance, .count. Streams.
def speed(a, b, scale=1.0):
    return jnp.exp(-scale * jnp.abs(a.mean[0] - b.mean[0]))

@vr.similarity.trajectories                         # of two whole trajectories, (T, D) each
def shape(x, y, scale=1.0):
    return jnp.exp(-scale * jnp.mean((x - y) ** 2))

k = 0.5 * speed(scale=2.0) + 0.5 * vr.similarity.cosine()
k = vr.similarity.parse("0.5*speed(scale=2) + 0.5*cosine")
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar, Literal, overload

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from vendirl._checks import AnyArray
from vendirl._text import written
from vendirl.similarity.deals import Episodes, Regrouping
from vendirl.similarity.kinds import MomentSimilarity, TrajectorySimilarity
from vendirl.similarity.moments import Moments
from vendirl.similarity.observations import Observations, SkillSet
from vendirl.similarity.parsing import register
from vendirl.similarity.similarity import Similarity

Factory = Callable[..., Similarity]
"""A function of settings."""
Padded = tuple[Float[Array, "_ _ D"], Int[Array, " _"]]
"""Trajectories, (N, T, D), and the length of each, (N,)."""


@overload
def moments(function: Callable, *, psd: bool = False, order: Literal[1, 2] = 2, name: str | None = None) -> Factory: ...


@overload
def moments(
    function: None = None, *, psd: bool = False, order: Literal[1, 2] = 2, name: str | None = None
) -> Callable[[Callable], Factory]: ...


def moments(
    function: Callable | None = None, *, psd: bool = False, order: Literal[1, 2] | Any = 2, name: str | None = None
) -> Factory | Callable[[Callable], Factory]:
    """Make a similarity from a function of two skills' moments; it streams, since moments do.

    Args:
        function: f(a, b, **settings) -> k, of two `Moments` with `.mean` (D,), `.covariance` (D, D) and `.count`.
            Averaged with f(b, a), and divided by sqrt(f(a, a) f(b, b)), so that k is symmetric and k(a, a) = 1;
            where f(a, a) is not positive, k is 0.
        psd: say True if it is positive semidefinite: rewards are then much faster. Otherwise the spectrum is computed
            in full and negative eigenvalues are clipped, which is always right.
        order: 1 if the mean is enough, which spares the D x D covariance.
        name: for `parse` and the command line; the function's own if None.

    Returns:
        A function of the settings (and of `scale`, if that is one of them) that returns the similarity.
    """
    if order not in (1, 2):
        raise ValueError(f"order must be 1 (mean) or 2 (mean and covariance), but is {order!r}")
    return _decorator(_OfMoments if order == 2 else _OfMeans, function, psd, name)


@overload
def trajectories(function: Callable, *, psd: bool = False, name: str | None = None) -> Factory: ...


@overload
def trajectories(
    function: None = None, *, psd: bool = False, name: str | None = None
) -> Callable[[Callable], Factory]: ...


def trajectories(
    function: Callable | None = None, *, psd: bool = False, name: str | None = None
) -> Factory | Callable[[Callable], Factory]:
    """Make a similarity from a function f(x, y, **settings) -> k of two whole trajectories, (T, D) each.

    Skills with several trajectories are compared by the mean over all pairs. The trajectories of one call have the same
    length; for unequal lengths write f(x, y, length_x, length_y, **settings), where x and y are padded with zeros.
    Otherwise as `moments`.
    """
    return _decorator(_OfTrajectories, function, psd, name)


class _Defined(eqx.Module):
    """What a user's similarity is made of."""

    numbers: dict[str, float | AnyArray]  # settings that may be traced
    options: tuple[tuple[str, Any], ...] = eqx.field(static=True)  # settings that may not: whole numbers, text, ...
    function: Callable = eqx.field(static=True)
    label: str = eqx.field(static=True)
    is_psd: bool = eqx.field(static=True)

    @property
    def settings(self) -> dict[str, Any]:
        return {**dict(self.options), **self.numbers}

    @property
    def psd(self) -> bool:
        return self.is_psd

    def compare(self, a: tuple[PyTree, Float[Array, ""]], b: tuple[PyTree, Float[Array, ""]]) -> Float[Array, ""]:
        (x, xx), (y, yy) = a, b
        some = (xx > 0) & (yy > 0)
        norm = jnp.sqrt(jnp.where(some, xx, 1)) * jnp.sqrt(jnp.where(some, yy, 1))
        return jnp.where(some, (self.raw(x, y) + self.raw(y, x)) / (2 * norm), 0)

    def raw(self, a: PyTree, b: PyTree) -> Float[Array, ""]:
        """f(a, b)."""
        return self._number(self.function(a, b, **self.settings))

    def _number(self, value: Any) -> Float[Array, ""]:
        """What the function returned, as a floating-point number."""
        value = jnp.asarray(value)
        if value.shape != ():
            raise ValueError(f"similarity {self.label} must return one number, but returned shape {value.shape}")
        return value if jnp.issubdtype(value.dtype, jnp.floating) else value.astype(float)

    def __str__(self) -> str:
        settings = ", ".join(f"{key}={written(value)}" for key, value in self.settings.items())
        return f"{self.label}({settings})" if settings else self.label


class _OfMoments(_Defined, MomentSimilarity):
    name: ClassVar[str] = "moments"
    order: ClassVar[int] = 2

    def of_moments(self, moments: Moments) -> tuple[Moments, Float[Array, ""]]:
        return moments, self.raw(moments, moments)


class _OfMeans(_OfMoments):
    order: ClassVar[int] = 1


class _OfTrajectories(_Defined, TrajectorySimilarity):
    name: ClassVar[str] = "trajectories"

    def regroup(self, episodes: Episodes) -> Regrouping:
        from vendirl.similarity.regrouping import OfPairs  # it knows similarities

        one = SkillSet.of([list(episodes)])
        self._check(one.lengths is None)
        with jax.enable_x64(True):
            return OfPairs(np.asarray(_pairs(self, one)))

    def _check(self, even: bool) -> None:
        if not even and not _takes_lengths(self.function):
            raise ValueError(
                f"similarity {self.label} compares trajectories of equal length, but these differ in length; write it "
                "as f(x, y, length_x, length_y) to accept padded ones"
            )

    def summary(self, skill: Observations) -> tuple[Padded, Float[Array, ""]]:
        self._check(skill.lengths is None)
        N, T, _ = skill.points.shape
        lengths = jnp.full(N, T) if skill.lengths is None else jnp.asarray(skill.lengths)
        x = skill.points, lengths
        return x, self.raw(x, x)

    def raw(self, a: Padded, b: Padded) -> Float[Array, ""]:
        """The mean over all pairs of real trajectories."""
        with_lengths = _takes_lengths(self.function)

        def one(
            x: Float[Array, "T D"], length_x: Int[Array, ""], y: Float[Array, "S D"], length_y: Int[Array, ""]
        ) -> Float[Array, ""]:
            lengths = (length_x, length_y) if with_lengths else ()
            return self._number(self.function(x, y, *lengths, **self.settings))

        values = jax.vmap(jax.vmap(one, (None, None, 0, 0)), (0, 0, None, None))(*a, *b)
        real = (a[1][:, None] > 0) & (b[1][None, :] > 0)
        return jnp.where(real, values, 0).sum() / jnp.maximum(real.sum(), 1)


@jax.jit
def _pairs(similarity: _OfTrajectories, episodes: SkillSet) -> Float[Array, "N N"]:
    """f of every pair of the episodes of one skill."""
    _, N, T, _ = episodes.points.shape
    points = jnp.asarray(episodes.points)[0]
    lengths = jnp.full(N, T) if episodes.lengths is None else jnp.asarray(episodes.lengths)[0]

    def row(e: Int[Array, ""]) -> Float[Array, " N"]:
        x = points[e][None], lengths[e][None]
        return jax.vmap(lambda y, length: similarity.raw(x, (y[None], length[None])))(points, lengths)

    return jax.lax.map(row, jnp.arange(N))


def _decorator(
    kind: type[_OfMoments] | type[_OfTrajectories], function: Callable | None, psd: bool, name: str | None
) -> Factory | Callable[[Callable], Factory]:
    def decorate(function: Callable) -> Factory:
        label = name or function.__name__
        parameters = list(inspect.signature(function).parameters.values())
        first = 4 if kind is _OfTrajectories and _takes_lengths(function) else 2
        for parameter in parameters[first:]:
            if parameter.default is inspect.Parameter.empty:
                raise TypeError(f"similarity {label}: setting {parameter.name!r} needs a default value")
        defaults = {parameter.name: parameter.default for parameter in parameters[first:]}

        def factory(**settings: Any) -> Similarity:
            for key in settings:
                if key not in defaults:
                    raise TypeError(
                        f"similarity {label} has no setting {key!r}; it has {', '.join(defaults) or 'none'}"
                    )
            chosen = {key: _fixed(value) for key, value in {**defaults, **settings}.items()}
            numbers = {key: value for key, value in chosen.items() if isinstance(value, float | jax.Array | np.ndarray)}
            options = tuple((key, value) for key, value in chosen.items() if key not in numbers)
            return kind(numbers=numbers, options=options, function=function, label=label, is_psd=psd)

        factory.__name__, factory.__doc__, factory.__module__ = label, function.__doc__, function.__module__
        factory.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters[first:]]
        )
        return register(label, factory)

    return decorate if function is None else decorate(function)


def _fixed(value: Any) -> Any:
    """A setting that can be part of what is compiled: lists become tuples, NumPy's numbers Python's."""
    if isinstance(value, np.generic):
        return value.item()
    return tuple(_fixed(v) for v in value) if isinstance(value, list | tuple) else value


def _takes_lengths(function: Callable) -> bool:
    names = list(inspect.signature(function).parameters)
    return names[2:4] == ["length_x", "length_y"]
