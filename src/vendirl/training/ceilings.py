"""Attainable scores that were sought in this process."""

from __future__ import annotations

from collections import OrderedDict

from vendirl.methods import Problem
from vendirl.training.attainable import Attainable, attainable
from vendirl.training.settings import Settings

_ceilings: OrderedDict[tuple[str, str, int, float], Attainable] = OrderedDict()
MOST = 256
"""How many are kept, with the trajectories that reach them."""


def ceiling_of(settings: Settings, problem: Problem) -> Attainable:
    """The attainable score of a problem, sought once in a process: other methods in the same world have the same."""
    known = (f"{settings.env} {problem.environment!r}", str(problem.similarity), problem.skills, problem.order)
    if known not in _ceilings:
        _ceilings[known] = attainable(problem.environment, problem.similarity, problem.skills, q=problem.order)
        while len(_ceilings) > MOST:
            _ceilings.popitem(last=False)
    _ceilings.move_to_end(known)  # as the newest
    return _ceilings[known]
