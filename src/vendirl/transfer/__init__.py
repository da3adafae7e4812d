"""What skills are good for: tasks, ways of using skills in them, and the table of all of it.

The room can be called, as `vr.transfer(runs, "maze-goals")`; see `transferring.transfer`.
"""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from vendirl.transfer.goals import Goal, Hurdles, goal
from vendirl.transfer.rewards import Returns, returns_of
from vendirl.transfer.sets import TaskSet, known_sets, register_set, tasks_of
from vendirl.transfer.task import Function, Seen, Step, Task, as_task, known, parse_task, register
from vendirl.transfer.terms import Constant, FromEnvironment, Tolerance, Value

if TYPE_CHECKING:
    from vendirl.transfer.result import Row, Transfer
    from vendirl.transfer.settings import Learning
    from vendirl.transfer.transferring import transfer
    from vendirl.transfer.useful import useful_skills
    from vendirl.transfer.ways import Way, known_ways, parse_way

# Where names are that need training, which takes long to import; they are imported when first asked for.
_PLACE = {
    "Learning": "settings",
    "Row": "result",
    "Transfer": "result",
    "Way": "ways",
    "known_ways": "ways",
    "parse_way": "ways",
    "transfer": "transferring",
    "useful_skills": "useful",
}

__all__ = [
    "Constant",
    "FromEnvironment",
    "Function",
    "Goal",
    "Hurdles",
    "Learning",
    "Returns",
    "Row",
    "Seen",
    "Step",
    "Task",
    "TaskSet",
    "Tolerance",
    "Transfer",
    "Value",
    "Way",
    "as_task",
    "goal",
    "known",
    "known_sets",
    "known_ways",
    "parse_task",
    "parse_way",
    "register",
    "register_set",
    "returns_of",
    "tasks_of",
    "transfer",
    "useful_skills",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACE:
        raise AttributeError(f"module 'vendirl.transfer' has no attribute {name!r}")
    return getattr(importlib.import_module(f"vendirl.transfer.{_PLACE[name]}"), name)


class _Room(ModuleType):
    """This module, which can be called like the function that it is named after."""

    def __call__(self, *arguments: Any, **settings: Any) -> Any:
        from vendirl.transfer.transferring import transfer

        return transfer(*arguments, **settings)


sys.modules[__name__].__class__ = _Room
