"""Environments, by name and by class."""

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

register("point", Plane, "a point in the paper's plane, bounded by [0, 1]²")
register("open", OpenPlane, "a point in an unbounded plane")
register("rooms", FourRooms, "a point in four rooms joined by doors")
register("maze", Maze, "a point in a maze of 5 x 5 cells")
