"""Similarities as text: names, and expressions such as "0.5*cosine + 0.5*covariance(scale=200)"."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from vendirl.expressions import Expressions
from vendirl.similarity.algebra import Similarity

Factory = TypeVar("Factory", bound=Callable[..., Similarity])

_similarities: Expressions[Similarity] = Expressions("similarity", Similarity)  # type: ignore[type-abstract]


def register(name: str, factory: Factory) -> Factory:
    """Make a similarity known by name to `parse` and the command line."""
    return _similarities.register(name, factory)


def known() -> dict[str, Callable[..., Similarity]]:
    """The similarities that have a name."""
    return _similarities.known()


def parse(text: str) -> Similarity:
    """The similarity that a text describes.

    Grammar: `name`, `name(setting=value, ...)`, `k.on(features)`, `weight*k`, `k*k`, `k + k`, and brackets. Features
    are names, indices or a slice in quotes: `.on(x, y)`, `.on(0, 1)`, `.on('0:2')`.

    Example:
        >>> import vendirl as vr
        >>> print(vr.similarity.parse("0.5*cosine + 0.5*covariance(scale=200)"))
        0.5*cosine + 0.5*covariance(scale=200)
    """
    return _similarities.parse(text)
