"""How many steps an episode has."""

import operator
from typing import Any, SupportsIndex, TypeAlias

Steps: TypeAlias = SupportsIndex | float
"""A number of steps as people write it: a whole one, or one that is refused with a sentence that says so."""


LONGEST = 10**9
"""Steps of an episode, which are counted in 32 bits."""


def checked_length(value: Any) -> int:
    """An episode's length, or an error that says what is wrong with it."""
    try:
        length = operator.index(value)
    except TypeError:
        raise TypeError(f"episode_length={value!r} must be a whole number of steps.") from None
    if length < 1:
        raise ValueError(f"episode_length={_shown(length)} must be at least 1 step.")
    if length > LONGEST:
        raise ValueError(f"episode_length={_shown(length)} must be at most {LONGEST} steps.")
    return length


def _shown(length: int) -> str:
    from vendirl._checks import shown  # late, since processes that only step scenes load no JAX

    return shown(length)
