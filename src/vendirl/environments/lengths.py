"""How many steps an episode has."""

import operator
from typing import Any, SupportsIndex, TypeAlias

Steps: TypeAlias = SupportsIndex | float
"""A number of steps as people write it: a whole one, or one that is refused with a sentence that says so."""


def checked_length(value: Any) -> int:
    """An episode's length, or an error that says what is wrong with it."""
    try:
        length = operator.index(value)
    except TypeError:
        raise TypeError(f"episode_length={value!r} must be a whole number of steps.") from None
    if length < 1:
        raise ValueError(f"episode_length={length} must be at least 1 step.")
    return length
