"""Similarities as text: names, and expressions such as "0.5*cosine + 0.5*covariance(scale=200)"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from vendirl._text import Expressions
from vendirl.similarity.similarity import Similarity

Factory = TypeVar("Factory", bound=Callable[..., Similarity])

_similarities: Expressions[Similarity] = Expressions("similarity", Similarity)


def register(name: str, factory: Factory) -> Factory:
    """Make a similarity known by name to `parse` and the command line."""
    return _similarities.register(name, factory)


def known() -> dict[str, Callable[..., Similarity]]:
    """The similarities that have a name."""
    return _similarities.known()


def parse(text: str | Any) -> Similarity:
    """The similarity that a text describes.

    Grammar: `name`, `name(setting=value, ...)`, `k.on(features)`, `weight*k`, `k*k`, `k + k`, and brackets. Features
    are names, indices or a slice in quotes: `.on(x, y)`, `.on(0, 1)`, `.on('0:2')`.

    Example:
        >>> import vendirl as vr
        >>> print(vr.similarity.parse("0.5*cosine + 0.5*covariance(scale=200)"))
        0.5*cosine + 0.5*covariance(scale=200)
    """
    return _similarities.parse(text)


def as_similarity(similarity: Similarity | str | Any) -> Similarity:
    """A similarity, or the one that a text describes; anything else is refused."""
    if isinstance(similarity, str):
        return parse(similarity)
    if not isinstance(similarity, Similarity):
        raise TypeError(
            f"similarity must be a Similarity such as vr.similarity.cosine(), or its text, but is "
            f"{type(similarity).__name__}"
        )
    return similarity
