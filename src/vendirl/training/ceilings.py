"""Attainable scores that were sought in this process."""

from __future__ import annotations

from vendirl.methods import Problem
from vendirl.training.attainable import Attainable, attainable
from vendirl.training.settings import Settings

_ceilings: dict[tuple[str, str, int, float], Attainable] = {}


def ceiling_of(settings: Settings, problem: Problem) -> Attainable:
    """The attainable score of a problem, sought once in a process: other methods in the same world have the same."""
    known = (f"{settings.env} {problem.environment!r}", str(problem.similarity), problem.skills, problem.order)
    if known not in _ceilings:
        _ceilings[known] = attainable(problem.environment, problem.similarity, problem.skills, q=problem.order)
    return _ceilings[known]
