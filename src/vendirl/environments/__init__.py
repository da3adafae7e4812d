"""Environments, by name and by class."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vendirl.environments.environment import Environment, State
    from vendirl.environments.host import EnvironmentFailure, HostEnvironment, Scenes, Step
    from vendirl.environments.point import FourRooms, Maze, OpenPlane, Plane
    from vendirl.environments.registry import (
        AnyEnvironment,
        as_environment,
        describe,
        ids,
        known_suites,
        make,
        names,
        parse_environment,
        register,
    )
    from vendirl.environments.spaces import Box, Discrete
    from vendirl.environments.trust import built_in, refuse_untrusted

# Where names are; they are imported when first asked for, so that a process that only steps scenes loads no JAX.
_PLACE = {
    "AnyEnvironment": "registry",
    "Box": "spaces",
    "Discrete": "spaces",
    "Environment": "environment",
    "EnvironmentFailure": "host",
    "FourRooms": "point",
    "HostEnvironment": "host",
    "Maze": "point",
    "OpenPlane": "point",
    "Plane": "point",
    "Scenes": "host",
    "State": "environment",
    "Step": "host",
    "as_environment": "registry",
    "built_in": "trust",
    "describe": "registry",
    "ids": "registry",
    "known_suites": "registry",
    "make": "registry",
    "names": "registry",
    "parse_environment": "registry",
    "refuse_untrusted": "trust",
    "register": "registry",
}

__all__ = [
    "AnyEnvironment",
    "Box",
    "Discrete",
    "Environment",
    "EnvironmentFailure",
    "FourRooms",
    "HostEnvironment",
    "Maze",
    "OpenPlane",
    "Plane",
    "Scenes",
    "State",
    "Step",
    "as_environment",
    "built_in",
    "describe",
    "ids",
    "known_suites",
    "make",
    "names",
    "parse_environment",
    "refuse_untrusted",
    "register",
]


def __getattr__(name: str):
    if name not in _PLACE:
        raise AttributeError(f"module 'vendirl.environments' has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(f"vendirl.environments.{_PLACE[name]}"), name)
    return found


def __dir__() -> list[str]:
    return list(__all__)
