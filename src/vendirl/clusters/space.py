"""The settings that a sweep goes over: which of them, and what each may be, as text or in Python.

    ppo.learning_rate=1e-4..1e-2 log; ppo.discount=0.9,0.97,0.99; hidden=(32,32),(64,64); skills=4..16 in 4

A part is a name and, after "=", either choices between commas, or a range `low..high`: with `log`, evenly spaced
values are so in their logarithms, and `in 5` makes five choices of it, the two ends among them.
"""

from __future__ import annotations

import ast
import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vendirl._checks import as_float, nearest, shown, whole_number
from vendirl._text import short, syntax, written
from vendirl.algorithms import Algorithm
from vendirl.clusters.comparing import split
from vendirl.training.settings import Settings

MOST_CHOICES = 10_000
"""Of a setting, also of a range that is made into choices."""
MOST_POINTS = 10**6
"""Of a whole grid."""
LARGEST_WHOLE = 2**53
"""To which a range of whole numbers may go, either way; beyond it floats leave some out."""
FIXED = ("rounding", "extended", "seeds")
"""Settings that are the same in all runs of a sweep: the last so that all are as many runs."""


@dataclasses.dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, both included.

    Attributes:
        low, high: the two ends.
        log: whether values are evenly spaced in their logarithms, rather than in themselves.
        points: how many choices are made of it; None if it stays a range.
    """

    low: float
    high: float
    log: bool = False
    points: int | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high)) or not self.low < self.high:
            raise ValueError(f"a range must have two finite ends, low < high, but is {self.low:g}..{self.high:g}")
        if self.log and self.low <= 0:
            raise ValueError(f"a range with log must begin above 0, but is {self.low:g}..{self.high:g}")
        if self.points is not None:
            whole_number(self.points, "the number after in", least=2, most=MOST_CHOICES)

    def at(self, share: float) -> float:
        """The value so far along the range: `low` at 0, `high` at 1."""
        if self.log:
            found = math.exp((1 - share) * math.log(self.low) + share * math.log(self.high))
        else:
            found = (1 - share) * self.low + share * self.high
        return min(max(found, self.low), self.high)

    def __str__(self) -> str:
        within = "" if self.points is None else f" in {self.points}"
        return f"{written(self.low)}..{written(self.high)}{' log' if self.log else ''}{within}"


@dataclasses.dataclass(frozen=True)
class Dimension:
    """A setting and what it may be.

    Attributes:
        name: the name of the setting, such as "skills" or "ppo.discount".
        choices: what the setting may be, if that is a list.
        range: where the setting may lie, if it is not.
        whole: whether it is a whole number.
    """

    name: str
    choices: tuple[Any, ...] = ()
    range: Range | None = None
    whole: bool = False

    def at(self, share: float) -> Any:
        """What the setting is for a number from 0 to 1 (without 1): all choices, or all of the range, are alike."""
        if self.range is None:
            return self.choices[min(int(share * len(self.choices)), len(self.choices) - 1)]
        if not self.whole:
            return self.range.at(share)
        low, high = math.ceil(self.range.low), math.floor(self.range.high)
        if self.range.log:
            return min(max(round(self.range.at(share)), low), high)
        return min(low + int(share * (high - low + 1)), high)

    def __str__(self) -> str:
        said = str(self.range) if self.range is not None else ",".join(map(_as_text, self.choices))
        return f"{self.name}={said}"


def parse_space(over: str | Mapping[str, Any] | Any) -> tuple[Dimension, ...]:
    """The dimensions that a text describes, or a mapping from names to choices, ranges or their text.

    >>> [str(dimension) for dimension in parse_space("ppo.discount=0.9,0.99; skills=4..16 in 3")]
    ['ppo.discount=0.9,0.99', 'skills=4,10,16']
    """
    if isinstance(over, str):
        parts = [part.strip() for part in over.split(";") if part.strip()]
        pairs: list[tuple[str, Any]] = []
        for part in parts:
            name, equals, said = part.partition("=")
            if not equals or not said.strip():
                raise ValueError(f"over: {short(part)!r} must be a setting, = and what it may be, such as skills=4,8")
            pairs.append((name.strip(), said.strip()))
    elif isinstance(over, Mapping):
        pairs = list(over.items())
    else:
        raise TypeError(f"over must be text or a mapping, but is {type(over).__name__}")
    if not pairs:
        raise ValueError("over is empty: name at least one setting, such as ppo.learning_rate=1e-4..1e-2 log")
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"over names a setting twice: {shown(twice)}")
    return tuple(_dimension(name, said) for name, said in pairs)


def space_text(space: Sequence[Dimension]) -> str:
    """The text of dimensions, which `parse_space` reads back."""
    return "; ".join(map(str, space))


def with_values(settings: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by name with the values of a trial in place; those of a learner are replaced within it."""
    found = dict(settings)
    for name, value in values.items():
        inside, _, field = name.rpartition(".")
        found[inside or field] = dataclasses.replace(found[inside], **{field: value}) if inside else value
    return found


def _dimension(name: str, said: Any) -> Dimension:
    usual, kind = _known(name)
    whole = kind == "int" or (isinstance(usual, int) and not isinstance(usual, bool))
    if isinstance(said, str):
        said = _read(name, said, isinstance(usual, str))
    if isinstance(said, Range):
        if isinstance(usual, bool) or not (whole or isinstance(usual, float)):
            raise ValueError(f"over: {name} is no number, so it takes choices such as {name}=a,b, and no range")
        if whole and math.floor(said.high) <= math.ceil(said.low):
            raise ValueError(f"over: {name} is a whole number, but there are not two of them in {said}")
        if whole and max(abs(said.low), abs(said.high)) > LARGEST_WHOLE:
            raise ValueError(f"over: {name} is a whole number of at most {LARGEST_WHOLE:,}, which {said} exceeds")
        if said.points is None:
            return Dimension(name, (), said, whole)
        along = [said.at(share) for share in np.linspace(0, 1, said.points)]
        said = list(dict.fromkeys(round(x) for x in along)) if whole else along
    if not isinstance(said, Sequence) or not said:
        raise TypeError(f"over: {name} must be a Range or a list of choices, but is {shown(said)}")
    if len(said) > MOST_CHOICES:
        raise ValueError(f"over: {name} has {len(said):,} choices; at most {MOST_CHOICES:,} can be tried")
    choices = [_plain(choice, name) for choice in said]
    if isinstance(usual, float):
        choices = [math.inf if one == "inf" else one for one in choices]
        choices = [float(one) if isinstance(one, int) and not isinstance(one, bool) else one for one in choices]
    seen: set[Any] = set()
    for choice in choices:
        if choice in seen:
            raise ValueError(f"over: {name} has the choice {short(_as_text(choice))} twice")
        seen.add(choice)
    return Dimension(name, tuple(choices), None, whole)


def _plain(choice: Any, name: str) -> Any:
    """A choice that settings can have: a number, a text, a truth value, None, or such in a list, which becomes a
    tuple."""
    if isinstance(choice, np.generic):
        choice = choice.item()
    if isinstance(choice, list | tuple):
        return tuple(_plain(part, name) for part in choice)
    if not (choice is None or isinstance(choice, bool | int | float | str)):
        raise ValueError(f"over: {name}: {shown(choice)} is not a number, a text, a truth value, None or a list")
    if isinstance(choice, int) and math.isnan(as_float(choice)):
        raise ValueError(f"over: {name}: a number has too many digits")
    return choice


def _known(name: Any) -> tuple[Any, str]:
    """What a setting usually is, and of what kind; one that is not there is refused with the one that was meant."""
    usual = Settings()
    known: dict[str, tuple[Any, str]] = {}
    for field in dataclasses.fields(Settings):
        value = getattr(usual, field.name)
        if isinstance(value, Algorithm):
            parts = dataclasses.fields(value)
            known |= {f"{field.name}.{part.name}": (getattr(value, part.name), str(part.type)) for part in parts}
        elif field.name not in FIXED:
            known[field.name] = value, str(field.type)
    if name not in known:
        near = nearest(name, known)
        hint = f"did you mean {near!r}? " if near else ""
        raise ValueError(f"over: there is no setting {shown(name)} to sweep; {hint}There are {', '.join(known)}")
    value, kind = known[name]
    return value, kind.removesuffix(" | None")


_RANGE = re.compile(r"(\S+?)\.\.(\S+)((?:\s+log)?)(?:\s+in\s+(\d{1,7}))?")


def _read(name: str, said: str, text: bool) -> Range | list[Any]:
    """What is said of a setting: a range, or choices, which are `text` if the setting is."""
    found = _RANGE.fullmatch(said)
    if found and not text:
        low, high, log, points = found.groups()
        try:
            ends = float(low), float(high)
        except ValueError:
            raise ValueError(f"over: {name}={short(said)}: the ends of a range must be numbers") from None
        try:
            return Range(*ends, bool(log), None if points is None else int(points))
        except ValueError as error:
            raise ValueError(f"over: {name}={short(said)}: {error}") from None
    parts = split(said)
    return parts if text else [_value(name, part) for part in parts]


def _value(name: str, part: str) -> Any:
    words = {"true": True, "false": False, "none": None}
    if part.lower() in words:
        return words[part.lower()]
    try:
        found = ast.literal_eval(syntax(part))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        found = part
    if isinstance(found, str) and (found.lower() in words or not re.fullmatch(r"[^\W\d][\w-]*", found)):
        raise ValueError(f"over: {name}: {short(part)!r} is not a number, a word, true, false or a list")
    return found


def _as_text(choice: Any) -> str:
    if isinstance(choice, tuple):
        return f"({','.join(map(_as_text, choice))}{',' if len(choice) == 1 else ''})"
    return choice if isinstance(choice, str) else written(choice)
