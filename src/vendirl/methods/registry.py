"""Methods by name: how one becomes known, and what a text means."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from vendirl._text import Expressions
from vendirl.methods.method import Method

Kind = TypeVar("Kind", bound=type[Method])

_methods: Expressions[Method] = Expressions("method", Method)


def register(method: Kind, name: str | None = None, **settings: Any) -> Kind:
    """Make a method known by its name, or by another name with other settings, to `parse_method` and `--method`."""
    if not settings:
        _methods.register(name or method.name, method)
        return method

    def factory(**given: Any) -> Method:
        return method(**{**settings, **given})

    factory.__doc__ = inspect.getdoc(method)
    vars(factory)["__wrapped__"] = method  # whose settings it has
    _methods.register(name or method.name, factory)
    return method


def known() -> dict[str, Callable[..., Method]]:
    """The methods that have a name."""
    return _methods.known()


def parse_method(text: str | object) -> Method:
    """The method that a text describes: "metra", "metra(dimension=3)", "diayn.on(x, y)", "diayn + 0.5*vendirl".

    >>> parse_method("metra(dimension=3)").dimension
    3
    """
    return _methods.parse(text)
