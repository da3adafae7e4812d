"""Refusals of arguments. Each names the argument, says what is wrong with it, and what to do instead.

Values that JAX is tracing are not known yet; checks of values let them pass, checks of shapes do not.

An argument that is checked before it is used is annotated with what is wanted, or `Any`: lists will do for arrays, and
what will not do is refused in words. Fields of modules are checked by a converter, so that they are what they say.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, SupportsIndex, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Real

AnyArray = Array | np.ndarray
"""An array of JAX, traced or not, or of NumPy."""
SameArray = TypeVar("SameArray", Array, np.ndarray, AnyArray)
"""The same, where an array comes out of the library that it went in with."""
Made = TypeVar("Made")
Number = float | np.number | Real[Array, ""]
"""A number: Python's, NumPy's, or one of JAX that may be traced."""
Index = int | np.integer | Int[AnyArray, ""]
"""The number of something in a list, counted from 0: Python's, NumPy's, or one of JAX that may be traced."""


_LONGEST_NAME = 200
_writer = reprlib.Repr()
_writer.maxstring = _writer.maxother = _writer.maxlong = 80
_writer.maxlist = _writer.maxtuple = 12
LARGEST = float(np.finfo(np.float32).max)
"""Compiled code computes in float32, to which anything beyond is infinite."""


def is_number(x: Any) -> bool:
    """Whether x is a number, or an array of JAX's that may be one; truth values are not numbers."""
    return isinstance(x, int | float | np.number | jax.Array) and not isinstance(x, bool)


def as_float(value: Any) -> float:
    """A number as a float; NaN for a whole number that is too large for one."""
    try:
        return float(value)
    except OverflowError:
        return math.nan


def shown(value: Any) -> str:
    """A value for a message, on one line and cut where it would be too long to read; a whole number of hundreds of
    digits by how many they are."""
    if isinstance(value, int) and value.bit_length() > 1024:
        return f"a whole number of {value.bit_length()} bits"
    try:
        return " ".join(_writer.repr(value).split())
    except ValueError:  # there is such a number in it, which Python does not write
        return f"a {type(value).__name__} of numbers that are too large to write"


def positive(value: Any, name: str) -> None:
    """Refuse what is not a positive finite number."""
    if isinstance(value, jax.core.Tracer):
        return
    if not is_number(value) or np.ndim(value) or not 0 < as_float(value) <= LARGEST:
        limit = (
            f" of at most {LARGEST:.3g}" if is_number(value) and not np.ndim(value) and np.inf > value > LARGEST else ""
        )
        raise ValueError(f"{name} must be a positive finite number{limit}, but is {shown(value)}")


def whole_number(value: Any, name: str, least: int = 1, most: int | None = None) -> None:
    """Refuse what is not a whole number of at least, and perhaps at most, that size."""
    fits = isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= least
    if not fits or (most is not None and value > most):
        kind = "a positive whole number" if least == 1 else f"a whole number of at least {least}"
        bound = "" if most is None or not fits else f" and at most {most}"
        raise ValueError(f"{name} must be {kind}{bound}, but is {shown(value)}")


def number_or_auto(value: Any, name: str) -> None:
    """Refuse what is neither a positive whole number nor "auto"."""
    if not isinstance(value, str):
        whole_number(value, name, most=10**9)
    elif value != "auto":
        raise ValueError(f"{name} must be a positive whole number or auto, but is {shown(value)}")


def seed_number(value: Any, name: str = "seed") -> None:
    """Refuse what cannot seed random numbers: JAX would take it modulo 2**32 without a word."""
    whole_number(value, name, 0)
    if value >= 2**32:
        raise ValueError(f"{name} must be less than 2**32, but is {value!r}")


def truth_value(value: Any, name: str) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, but is {shown(value)}")


def finite_number(
    value: Any, name: str, *, above: float = -math.inf, least: float = -math.inf, most: float = math.inf
) -> float:
    """The value as a float, refused if it is not finite or not in the range."""
    bound = f" greater than {above:g}" if math.isfinite(above) else f" of at least {least:g}"
    bound = bound if math.isfinite(max(above, least)) else ""
    bound += (" and" if bound else "") + f" at most {most:g}" if math.isfinite(most) else ""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number) or not above < number <= most or number < least:
        raise ValueError(f"{name} must be a finite number{bound}, but is {shown(value)}")
    return number


def one_of(value: Any, known: Sequence[str], name: str) -> None:
    """Refuse what is not among the names that are known."""
    if not isinstance(value, str) or value not in known:
        near = f"; did you mean {likely!r}?" if (likely := nearest(value, known, cutoff=0.5)) else ""
        raise ValueError(f"{name} must be one of {', '.join(known)}, but is {shown(value)}{near}")


def widths(value: Any, name: str) -> None:
    """Refuse what are not the widths of the layers of a network."""
    if not isinstance(value, list | tuple | np.ndarray) or len(value) > 100:
        raise ValueError(f"{name} must be a list of at most 100 widths, such as (64, 64), but is {shown(value)}")
    for width in value:
        whole_number(width, f"each width in {name}", most=10**6)


def _names(value: Any, name: str) -> None:
    right = isinstance(value, list | tuple) and all(isinstance(x, str | int) and not isinstance(x, bool) for x in value)
    if not right:
        raise ValueError(f'{name} must be a list of names or numbers, such as ("x", "y"), but is {shown(value)}')


def _text(value: Any, name: str) -> None:
    if not isinstance(value, str):
        raise ValueError(f"{name} must be text, but is {shown(value)}")


def _some_whole_number(value: Any, name: str) -> None:
    whole_number(value, name, -(2**31), 2**31 - 1)


def _some_number(value: Any, name: str) -> None:
    if not is_number(value) or np.ndim(value) or value != value or (isinstance(value, int) and abs(value) > LARGEST):
        raise ValueError(f"{name} must be a number, but is {shown(value)}")


_KINDS: dict[str, Callable[[Any, str], None]] = {
    "int": _some_whole_number,
    "float": _some_number,
    "bool": truth_value,
    "str": _text,
    "Sequence[int]": widths,
    "tuple[int, ...]": widths,
    "tuple[str, ...]": _names,
}
Bounds = tuple[float, float]
"""The least and the most that a setting may be."""


def check_settings(settings: Any, name: str = "", given: Mapping[str, Any] | None = None) -> None:
    """Refuse settings that are not of the kind that their dataclass says, or beyond its `bounds`, if it has some.

    Values that JAX is tracing, and fields of other kinds than numbers, text, truth values and widths, are let pass.

    Args:
        settings: the dataclass.
        name: what messages put before the name of a setting.
        given: values that it is about to be made of, in place of those that it has.
    """
    for field in dataclasses.fields(settings):
        if given is not None and field.name not in given:
            continue
        value = getattr(settings, field.name) if given is None else given[field.name]
        kind = field.type if isinstance(field.type, str) else getattr(field.type, "__name__", "")
        known = _KINDS.get(kind.removesuffix(" | None"))
        if known is None or isinstance(value, jax.Array) or (value is None and kind.endswith(" | None")):
            continue
        bounds: Bounds = getattr(settings, "bounds", {}).get(field.name, (-math.inf, math.inf))
        _check_setting(value.item() if isinstance(value, np.generic) else value, f"{name}{field.name}", known, bounds)


def _check_setting(value: Any, name: str, known: Callable[[Any, str], None], bounds: Bounds) -> None:
    least, most = bounds
    if known is _some_whole_number and math.isfinite(least) and math.isfinite(most):
        return whole_number(value, name, int(least), int(most))
    known(value, name)
    if known is _some_number and not least <= value <= most:
        low = "" if least == -math.inf else f" of at least {least:g}"
        high = "" if most == math.inf else f"{' and' if low else ' of'} at most {most:g}"
        raise ValueError(f"{name} must be a number{low}{high}, but is {shown(value)}")
    return None


def nearest(name: Any, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The name that was probably meant, if one is near enough; capitals do not matter."""
    if isinstance(name, str) and len(name) > _LONGEST_NAME:
        return None  # nobody means it, and comparing takes the square of its length
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


def of_anything(cls: type[Made]) -> type[Made]:
    """Say that a dataclass, whose fields say what it holds, is made of anything: it refuses what is wrong in words."""
    kinds = vars(cls)["__init__"].__annotations__
    kinds.update({name: Any for name in kinds if name != "return"})
    return cls
