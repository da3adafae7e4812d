"""Named sets of tasks, each with a part to train on, or to choose by, and a part that is held out.

Whatever is decided by looking at tasks, such as a scale or a similarity, is decided on the first part, and what is
reported is the second. Where θ is drawn for every episode, the two parts are the same task with other draws.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal, get_args

from vendirl._checks import nearest, one_of
from vendirl._text import short
from vendirl.transfer.goals import evenly
from vendirl.transfer.task import Task, as_task, parse_task
from vendirl.transfer.terms import Tolerance

Part = Literal["held-out", "train", "all"]
"""Which tasks of a set."""


@dataclasses.dataclass(frozen=True)
class TaskSet:
    """Tasks for one kind of body.

    Attributes:
        name: the name of the set.
        env: an environment that has the features, as it is written after --env.
        train: the tasks to decide by.
        held_out: the tasks to report.
        description: one line for people.
    """

    name: str
    env: str
    train: tuple[Task, ...]
    held_out: tuple[Task, ...]
    description: str = ""

    def part(self, part: Part) -> tuple[Task, ...]:
        """The tasks of a part; those of both, each once."""
        if part == "all":
            return tuple(dict.fromkeys((*self.train, *self.held_out)))
        return self.train if part == "train" else self.held_out


_sets: dict[str, TaskSet] = {}


def register_set(tasks: TaskSet) -> TaskSet:
    """Make a set of tasks known by its name."""
    if not tasks.train or not tasks.held_out:
        raise ValueError(f"the task set {tasks.name!r} has no {'held-out' if tasks.train else 'train'} tasks")
    _sets[tasks.name] = tasks
    return tasks


def known_sets() -> dict[str, TaskSet]:
    """The sets of tasks that have a name."""
    return dict(_sets)


def tasks_of(asked: str | Task | Any | Sequence[Any], part: Part = "held-out") -> tuple[Task, ...]:
    """The tasks that were asked for: the name of a set, tasks, their texts, functions, or a list of such.

    Args:
        part: which part is meant of each set among them.

    >>> [str(task) for task in tasks_of(["goal(x, y, at=[0.9, 0.1], radius=0.1)", "environment"])]
    ['goal(x, y, at=[0.9, 0.1], radius=0.1)', 'environment']
    """
    one_of(part, get_args(Part), "part")
    listed = list(asked) if isinstance(asked, list | tuple) else [asked]
    if not listed:
        raise ValueError(f"tasks is empty: name a set, such as {', '.join(_sets)}, or tasks such as environment")
    found: list[Task] = []
    for one in listed:
        if isinstance(one, TaskSet):
            found += one.part(part)
        elif isinstance(one, str) and one.strip() in _sets:
            found += _sets[one.strip()].part(part)
        else:
            found.append(_read(one))
    if len(set(map(str, found))) < len(found):
        twice = next(str(task) for task in found if list(map(str, found)).count(str(task)) > 1)
        raise ValueError(f"the task {twice} is named twice; give each task once, and functions a name of their own")
    return tuple(found)


def _read(one: Any) -> Task:
    if isinstance(one, str) and "(" not in one and (near := nearest(one, _sets, cutoff=0.7)):
        raise ValueError(f"there is no task set {short(one)!r}; did you mean {near!r}? Known are {', '.join(_sets)}")
    return as_task(one)


def _places(name: str, env: str, each: int, start: tuple[float, float], radius: float, what: str) -> None:
    """A sparse and a dense set of goals on a grid of the unit square, dealt to the two parts like the fields of a
    chessboard; a goal within the radius of the start is left out."""
    cells = evenly((0, 1), (0, 1), each=each)
    for ending, how in (("", f"radius={radius}"), ("-dense", "dense=True")):
        parts: tuple[list[Task], list[Task]] = [], []
        for i, (x, y) in enumerate(cells):
            if (x - start[0]) ** 2 + (y - start[1]) ** 2 > radius**2:
                parts[(i // each + i % each) % 2].append(parse_task(f"goal(x, y, at=[{x}, {y}], {how})"))
        paid = "1 within it" if not ending else "the negative distance"
        train, held_out = map(tuple, parts)
        register_set(TaskSet(f"{name}{ending}", env, train, held_out, f"{what}, paid by {paid}"))


def _of_texts(name: str, env: str, train: Sequence[str], held_out: Sequence[str], what: str) -> None:
    register_set(TaskSet(name, env, tuple(map(parse_task, train)), tuple(map(parse_task, held_out)), what))


_places("plane-goals", "point", 4, (0.5, 0.5), 0.1, "16 goals in the paper's plane")
_places("rooms-goals", "rooms", 4, (0.25, 0.25), 0.1, "16 goals in four rooms")
_places("maze-goals", "maze", 5, (0.5, 0.5), 0.1, "24 goals in the maze, one in each cell")

register_set(
    TaskSet(
        "speeds",
        "envpool:HalfCheetah-v5",
        tuple(Tolerance("x_velocity", v - 0.25, v + 0.25, margin=1.0) for v in (-5, -3, -1, 1, 3, 5)),
        tuple(Tolerance("x_velocity", v - 0.25, v + 0.25, margin=1.0) for v in (-4, -2, 2, 4)),
        "speeds to be kept, forwards and backwards",
    )
)
_of_texts(
    "cheetah-goal",
    "envpool:HalfCheetah-v5(episode_length=200)",
    ["goal(x, range=100, radius=3)"],
    ["goal(x, range=100, radius=3)"],
    "a place along the way, drawn for every episode",
)
_of_texts(
    "cheetah-hurdle",
    "envpool:HalfCheetah-v5(episode_length=200)",
    ["hurdles(x)"],
    ["hurdles(x)"],
    "places along the way to be left behind, without anything that stands there",
)
_of_texts(
    "ant-multigoal",
    "envpool:Ant-v5(episode_length=200)",
    ["goal(x, y, range=7.5, radius=3, every=50)"],
    ["goal(x, y, range=7.5, radius=3, every=50)"],
    "four places one after the other, drawn for every episode",
)

_STAND = "0.25*(3*tolerance(height, 1.2, inf, margin=0.6) + constant(0.5) + value(orientations_0, 0.5))"
_MOVE = (
    f"{1 / 6!r}*(" + _STAND + ")*(constant(1) + "
    "5*tolerance(velocity_1, {0}, inf, margin={1}, value_at_margin=0.5, sigmoid='linear'))"
)
_of_texts(
    "walker",
    "envpool:WalkerWalk-v1",
    [_STAND, _MOVE.format(1, 0.5)],
    [_MOVE.format(8, 4)],
    "stand, walk and run as dm_control has them, by the speed of the torso rather than of all the body",
)
