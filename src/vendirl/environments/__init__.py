"""Environments, by name and by class."""

import ast
import dataclasses
import difflib
from collections.abc import Callable

from vendirl.environments.environment import Environment, State
from vendirl.environments.point import FourRooms, Maze, OpenPlane, Plane
from vendirl.environments.spaces import Box, Discrete

__all__ = [
    "Box",
    "Discrete",
    "Environment",
    "FourRooms",
    "Maze",
    "OpenPlane",
    "Plane",
    "State",
    "describe",
    "make",
    "names",
    "parse_environment",
    "register",
]


@dataclasses.dataclass(frozen=True)
class _Entry:
    factory: Callable[..., Environment]
    description: str


_registry: dict[str, _Entry] = {}


def register(name: str, factory: Callable[..., Environment], description: str) -> None:
    """Make an environment known by `name`; `factory(**settings)` builds it and `description` is one line for people."""
    if name in _registry:
        raise ValueError(f"An environment named {name!r} is registered already; choose another name.")
    _registry[name] = _Entry(factory, description)


def make(name: str, **settings) -> Environment:
    """Build the environment called `name`.

    >>> make("point", step_size=0.1).step_size
    0.1
    """
    return _entry(name).factory(**settings)


def parse_environment(text: str) -> Environment:
    """Build the environment that a text names, `name` or `name(setting=value, ...)`. Nothing in it is evaluated.

    >>> parse_environment("point(noise=0.01, start=(0.2, 0.5))").start
    (0.2, 0.5)
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        match tree:
            case ast.Name(id=name):
                return make(name)
            case ast.Call(func=ast.Name(id=name), args=[], keywords=keywords) if all(k.arg for k in keywords):
                settings = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in keywords}
                _entry(name)
                return make(name, **settings)
    except (SyntaxError, RecursionError, MemoryError):
        pass
    except TypeError as error:
        raise ValueError(f"The environment {text!r} cannot be made: {error}") from None
    near = difflib.get_close_matches(text, _registry, n=1, cutoff=0.0)
    raise ValueError(
        f"There is no environment {text!r}. Write a name, such as {near[0]!r}, or a name with settings, such as "
        f"'point(noise=0.01)'. Known: {', '.join(_registry)}."
    )


def names() -> tuple[str, ...]:
    """All registered names, in the order of registration."""
    return tuple(_registry)


def describe(name: str) -> str:
    """The one line that says what the environment called `name` is."""
    return _entry(name).description


def _entry(name: str) -> _Entry:
    if name not in _registry:
        near = difflib.get_close_matches(name, _registry, n=1, cutoff=0.0)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"There is no environment {name!r}.{hint} Known: {', '.join(_registry)}.")
    return _registry[name]


register("point", Plane, "a point in the paper's plane, bounded by [0, 1]²")
register("open", OpenPlane, "a point in an unbounded plane")
register("rooms", FourRooms, "a point in four rooms joined by doors")
register("maze", Maze, "a point in a maze of 5 x 5 cells")
