"""Environments by name: those registered here, those of suites, and those of other packages.

A name is one that was registered, such as "point"; one of a suite's, such as "envpool:Ant-v5"; or either with settings,
"point(noise=0.01)", "envpool:Ant-v5(episode_length=200)". Packages register theirs by an entry point in the group
`vendirl.environments`, whose name is the environment's and whose object makes it.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import importlib.metadata
import math
import re
from collections.abc import Callable
from typing import Any, TypeAlias

from vendirl._checks import LARGEST, nearest
from vendirl._text import short, syntax
from vendirl.environments.environment import Environment
from vendirl.environments.host import HostEnvironment
from vendirl.environments.lengths import Steps
from vendirl.environments.point import FourRooms, Maze, OpenPlane, Plane

AnyEnvironment: TypeAlias = Environment | HostEnvironment


@dataclasses.dataclass(frozen=True)
class _Entry:
    factory: Callable[..., AnyEnvironment] | str
    description: str

    def made(self) -> Callable[..., AnyEnvironment]:
        """What makes the environment, imported if only its place was said."""
        if not isinstance(self.factory, str):
            return self.factory
        module, _, name = self.factory.partition(":")
        found: Callable[..., AnyEnvironment] = getattr(importlib.import_module(module), name)
        return found


_registry: dict[str, _Entry] = {}
_LONGEST = 10_000  # characters of a name with its settings

_SUITES = {
    "envpool": (
        "vendirl.environments.suites.envpool",
        "EnvPoolEnvironment",
        "EnvPool's, such as envpool:HalfCheetah-v5",
    ),
    "gymnasium": (
        "vendirl.environments.suites.gymnasium",
        "GymnasiumEnvironment",
        "Gymnasium's: gymnasium:Walker2d-v5",
    ),
    "playground": (
        "vendirl.environments.suites.playground",
        "PlaygroundEnvironment",
        "MuJoCo Playground's: playground:CheetahRun",
    ),
    "brax": ("vendirl.environments.suites.brax", "BraxEnvironment", "Brax's, such as brax:ant"),
}


def register(name: str, factory: Callable[..., AnyEnvironment] | str, description: str) -> None:
    """Make an environment known by `name`; `factory(**settings)` builds it and `description` is one line for people.

    In place of the factory its place may be said, "module:name", which is imported when it is first asked for.
    """
    if name in _registry:
        raise ValueError(f"An environment named {name!r} is registered already; choose another name.")
    _registry[name] = _Entry(factory, description)


def make(name: str, **settings: Any) -> AnyEnvironment:
    """Build the environment called `name`, which may be one of a suite's.

    >>> make("point", step_size=0.1).step_size
    0.1
    """
    suite, colon, inner = name.partition(":")
    if not colon:
        return _entry(name).made()(**settings)
    if suite not in _SUITES:
        near = nearest(suite, _SUITES, cutoff=0.0)
        raise ValueError(
            f"There is no suite {short(suite)!r}. Did you mean {near}:{short(inner)}? Known: {', '.join(_SUITES)}."
        )
    module, factory, _ = _SUITES[suite]
    return getattr(importlib.import_module(module), factory)(inner, **settings)


def parse_environment(text: str, episode_length: Steps | None = None) -> AnyEnvironment:
    """Build the environment that a text names, `name` or `name(setting=value, ...)`. Nothing in it is evaluated.

    Args:
        text: the name, perhaps with settings.
        episode_length: how many steps an episode has, if not as many as the environment says.

    >>> parse_environment("point(noise=0.01, start=(0.2, 0.5))").start
    (0.2, 0.5)
    """
    name, settings = parse_text(text)
    if episode_length is not None:
        said = settings.setdefault("episode_length", episode_length)
        if said != episode_length:
            raise ValueError(
                f"the environment {short(text)!r} says how long an episode is, and so does "
                f"episode_length={episode_length}; leave one of them out"
            )
    try:
        return make(name, **settings)
    except (TypeError, OverflowError) as error:
        raise ValueError(f"The environment {short(text)!r} cannot be made: {short(str(error), 300)}") from None


def parse_text(text: str) -> tuple[str, dict[str, Any]]:
    """The name and the settings in a text, `name` or `name(setting=value, ...)`. Nothing is imported or made."""
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise ValueError(f"the name of an environment must be a text of at most {_LONGEST} characters")
    name, bracket, rest = text.strip().partition("(")
    name, settings = name.rstrip(), _settings(f"({rest}" if bracket else "()")
    if not re.fullmatch(r"[\w.:/+-]+", name) or settings is None:
        raise ValueError(
            f"There is no environment {short(text)!r}. Write a name, such as 'point', or a name with settings, such as "
            f"'point(noise=0.01)'. Known: {', '.join([*names(), *(f'{suite}:...' for suite in _SUITES)])}."
        )
    return name, settings


def as_environment(environment: object, episode_length: Steps | None = None) -> AnyEnvironment:
    """The environment that was meant: one by name, an object, or a function that makes one of Gymnasium's.

    `episode_length` is how many steps an episode has, if not as many as the environment says; an object says it itself.
    """
    if isinstance(environment, str):
        return parse_environment(environment, episode_length)
    if isinstance(environment, Environment | HostEnvironment):
        if episode_length not in (None, environment.episode_length):
            raise ValueError(
                f"episode_length={episode_length}, but {type(environment).__name__} has episodes of "
                f"{environment.episode_length} steps; make the object with the length you want"
            )
        return environment
    if callable(environment):
        from vendirl.environments.suites.gymnasium import GymnasiumEnvironment

        return GymnasiumEnvironment(environment, episode_length)
    raise TypeError(
        f"env must be a name, an Environment, or a function that makes a Gymnasium environment, but is "
        f"{type(environment).__name__}; for a Gymnasium environment of yours pass the function: lambda: MyEnv()"
    )


def _settings(text: str) -> dict[str, Any] | None:
    """{setting: value} of "(setting=value, ...)"; None if it is not of that kind."""
    try:
        match tree := syntax(f"_{text}"):
            case ast.Call(func=ast.Name(id="_"), args=[], keywords=keywords) if all(k.arg for k in keywords):
                names = [str(keyword.arg) for keyword in keywords]
                if len(set(names)) == len(names) and all(map(_moderate, ast.walk(tree))):
                    return {k: ast.literal_eval(keyword.value) for k, keyword in zip(names, keywords, strict=True)}
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        pass
    return None


def _moderate(node: ast.AST) -> bool:
    """Whether what a node of the tree says is not a number that is too large to compute with."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return abs(value) <= LARGEST or value == math.inf
    return True


def names() -> tuple[str, ...]:
    """All registered names, in the order of registration, then those of other packages."""
    return (*_registry, *(name for name in _entry_points() if name not in _registry))


def known_suites() -> dict[str, str]:
    """The suites of other libraries whose environments can be used, with one line each."""
    return {name: line for name, (_, _, line) in _SUITES.items()}


def ids(suite: str) -> list[str]:
    """All environments of a suite."""
    return importlib.import_module(_SUITES[suite][0]).ids()


def describe(name: str) -> str:
    """The one line that says what the environment called `name` is. Nothing of another package is imported for it."""
    if name not in _registry and (value := offered(name)) is not None:
        return f"from {value}"
    return _entry(name).description


def registered(name: str) -> Callable[..., AnyEnvironment] | None:
    """What makes the environment that was registered in this process by a name, if there is one."""
    return _registry[name].made() if name in _registry else None


def offered(name: str) -> str | None:
    """The place of what another package offers by a name, "module:object", if there is one; it is not imported."""
    point = _entry_points().get(name)
    return None if point is None else point.value


def _entry(name: str) -> _Entry:
    if name in _registry:
        return _registry[name]
    points = _entry_points()
    if name in points:
        return _Entry(points[name].load(), f"from {points[name].value}")
    near = nearest(name, names(), cutoff=0.0)
    hint = f" Did you mean {near!r}?" if near else ""
    raise ValueError(
        f"There is no environment {short(name)!r}.{hint} Known: {', '.join(names())}, and those of suites, such as "
        "envpool:Ant-v5."
    )


def _entry_points() -> dict[str, importlib.metadata.EntryPoint]:
    """What other packages offer."""
    return {point.name: point for point in importlib.metadata.entry_points(group="vendirl.environments")}


register("point", Plane, "a point in the paper's plane, bounded by [0, 1]²")
register("open", OpenPlane, "a point in an unbounded plane")
register("rooms", FourRooms, "a point in four rooms joined by doors")
register("maze", Maze, "a point in a maze of 5 x 5 cells")
