"""Refusals of arguments. Each names the argument, says what is wrong with it, and what to do instead.

Values that JAX is tracing are not known yet; checks of values let them pass, checks of shapes do not.

An argument that is checked before it is used is annotated with what is wanted, or `Any`: lists will do for arrays, and
what will not do is refused in words. Fields of modules are checked by a converter, so that they are what they say.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, SupportsIndex, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Real

AnyArray = Array | np.ndarray
"""An array of JAX, traced or not, or of NumPy."""
SameArray = TypeVar("SameArray", Array, np.ndarray, AnyArray)
"""The same, where an array comes out of the library that it went in with."""
Number = float | np.number | Real[Array, ""]
"""A number: Python's, NumPy's, or one of JAX that may be traced."""
Index = int | np.integer | Int[AnyArray, ""]
"""The number of something in a list, counted from 0: Python's, NumPy's, or one of JAX that may be traced."""


def is_number(x: Any) -> bool:
    """Whether x is a number, or an array of JAX's that may be one; truth values are not numbers."""
    return isinstance(x, int | float | np.number | jax.Array) and not isinstance(x, bool)


def positive(value: Any, name: str) -> None:
    """Refuse what is not a positive finite number."""
    if isinstance(value, jax.core.Tracer):
        return
    if not is_number(value) or np.ndim(value) or not 0 < value < np.inf:
        raise ValueError(f"{name} must be a positive finite number, but is {value!r}")


def whole_number(value: Any, name: str, least: int = 1) -> None:
    """Refuse what is not a whole number of at least that size."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        kind = "a positive whole number" if least == 1 else f"a whole number of at least {least}"
        raise ValueError(f"{name} must be {kind}, but is {value!r}")


def seed_number(value: Any, name: str = "seed") -> None:
    """Refuse what cannot seed random numbers: JAX would take it modulo 2**32 without a word."""
    whole_number(value, name, 0)
    if value >= 2**32:
        raise ValueError(f"{name} must be less than 2**32, but is {value!r}")


def truth_value(value: Any, name: str) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, but is {value!r}")


def finite_number(value: Any, name: str, *, above: float = -math.inf, least: float = -math.inf) -> float:
    """The value as a float, refused if it is not finite or not in the range."""
    bound = f" greater than {above:g}" if math.isfinite(above) else f" of at least {least:g}"
    bound = bound if math.isfinite(max(above, least)) else ""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number) or number <= above or number < least:
        raise ValueError(f"{name} must be a finite number{bound}, but is {value!r}")
    return number


def one_of(value: Any, known: Sequence[str], name: str) -> None:
    """Refuse what is not among the names that are known."""
    if value not in known:
        near = f"; did you mean {likely!r}?" if (likely := nearest(value, known, cutoff=0.5)) else ""
        raise ValueError(f"{name} must be one of {', '.join(known)}, but is {value!r}{near}")


def nearest(name: Any, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The name that was probably meant, if one is near enough; capitals do not matter."""
    lower = {candidate.lower(): candidate for candidate in known}
    found = difflib.get_close_matches(str(name).lower(), lower, n=1, cutoff=cutoff)
    return lower[found[0]] if found else None


def some_of(names: Sequence[str], most: int = 20) -> str:
    """A list of names for a message, cut where it would be too long to read."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def checked_by(check: Callable[[Any, str], None], name: str) -> Callable[[Any], Any]:
    """A converter for a field: it refuses what the check refuses, and leaves everything else as it is."""

    def convert(value: Any) -> Any:
        check(value, name)
        return value

    return convert


def an_array(x: Any, name: str) -> np.ndarray:
    """Anything as a NumPy array of whatever type; an array is not copied. Masked entries are refused, not read."""
    if isinstance(x, np.ma.MaskedArray):
        if np.ma.is_masked(x):
            raise ValueError(f"{name} must not have masked entries; leave them out")
        x = x.data
    try:
        array = x if type(x) in (np.ndarray, np.memmap) else np.asarray(x)
    except (ValueError, RecursionError):
        raise ValueError(f"{name} must be a rectangular array of numbers, but its rows differ in length") from None
    return array.astype(np.float32) if array.dtype == jnp.bfloat16.dtype else array  # NumPy has no such type


def real_numbers(x: Any, name: str) -> AnyArray:
    """An array of floating-point numbers: JAX's for what is JAX's, else NumPy's."""
    if isinstance(x, jax.Array):
        if jnp.issubdtype(x.dtype, jnp.complexfloating):
            raise TypeError(f"{name} must be an array of real numbers, but has type {x.dtype}")
        return x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(float)
    array = an_array(x, name)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} must be an array of real numbers, but has type {array.dtype}")
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def finite(x: Any, name: str) -> None:
    """Refuse NaN and infinity, and say where the first one is."""
    if isinstance(x, jax.core.Tracer):
        return
    x = np.asarray(x)
    with np.errstate(all="ignore"):
        if np.isfinite(x.sum()):  # the cheaper test
            return
    if not np.isfinite(x).all():
        first = np.argwhere(~np.isfinite(x))[0]
        raise ValueError(f"{name} must be finite, but {name}{place(first)} is {x[tuple(first)]}")


def place(index: Iterable[SupportsIndex]) -> str:
    """An index as it is written in Python."""
    return "[" + ", ".join(str(int(i)) for i in index) + "]"
