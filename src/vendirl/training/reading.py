"""What a run's folder says, read with care: files may be half-written, damaged, or made by somebody else.

Each is a regular file of bounded size, in UTF-8, and what it says is checked before anything is made of it. What
cannot be read is refused in words, or left out with a word where it can be had again.
"""

from __future__ import annotations

import io
import json
import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vendirl._checks import shown
from vendirl._files import read_regular
from vendirl.training.attainable import Attainable
from vendirl.training.settings import Settings

MOST_OF_A_TABLE = 2**22
"""Bytes of a JSON file, of which those of a run are a few thousand."""
MOST_OF_METRICS = 2**28
"""Bytes of metrics.jsonl."""


MOST_VALUES = 2**22
"""In a JSON text; each of them may take seventy bytes of memory for three of its own."""
MOST_NESTED = 20
"""Tables and lists within each other. Much deeper ones could be read, and then neither compared nor written."""


def parse_table(content: bytes) -> dict[str, Any]:
    """The table of names and values that JSON says; anything else is refused with a `ValueError`."""
    if sum(map(content.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise ValueError(f"it has more than {MOST_VALUES:,} values, which is more than such a file can need")
    try:
        found = json.loads(content.decode("utf-8"), object_pairs_hook=_table)
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not text in UTF-8 (byte {error.start})") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {error}") from None
    except ValueError as error:  # a number of too many digits, a name twice
        raise ValueError(str(error).partition(";")[0]) from None
    if not isinstance(found, dict):
        raise ValueError("it is not a table of names and values")
    if not _shallow(found, MOST_NESTED):
        raise ValueError("it is nested too deeply")
    return found


def _shallow(data: Any, depth: int) -> bool:
    """Whether there are at most so many tables and lists within each other."""
    if not isinstance(data, dict | list):
        return True
    return depth > 0 and all(_shallow(item, depth - 1) for item in (data.values() if isinstance(data, dict) else data))


def _table(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ValueError(f"{shown(name)} is in one table twice")
            seen.add(name)
    return found


def read_table(path: Path, most: int = MOST_OF_A_TABLE, within: Path | None = None) -> dict[str, Any]:
    """The table of names and values in a JSON file. What is no such file is refused in words that name it.

    Args:
        path: of the file.
        most: bytes of it that are read; more are refused.
        within: the folder that it came in, in which no link is followed; see `_files.open_regular`.
    """
    try:
        return parse_table(read_regular(path, most, within))
    except ValueError as error:
        raise ValueError(f"{path} cannot be read: {error}") from None


def read_run(folder: Path) -> dict[str, Any]:
    """All that settings.json says."""
    try:
        return read_table(folder / "settings.json", within=folder)
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(f"{folder} holds no run: there is no settings.json") from None


def read_settings(folder: Path) -> Settings:
    """The settings of the run in a folder."""
    written = read_run(folder)
    try:
        if "settings" not in written:
            raise ValueError("it has no settings")
        return Settings.from_json(written["settings"])
    except (ValueError, TypeError) as error:
        raise ValueError(f"{folder / 'settings.json'} cannot be read: {error}") from None


def read_versions(folder: Path) -> dict[str, str]:
    """The versions that a run was begun with, so far as settings.json says."""
    found = read_run(folder).get("versions")
    return {name: value for name, value in found.items() if isinstance(value, str)} if isinstance(found, dict) else {}


def known_ceiling(folder: Path | None, skills: int | None = None) -> Attainable | None:
    """The attainable score that was written down, or None; one that cannot be is left out with a warning.

    Args:
        folder: of the run, if it has one.
        skills: how many there are, which no score exceeds; None if that is not known.
    """
    if folder is None or not (folder / "attainable.json").exists():
        return None
    path = folder / "attainable.json"
    try:
        found = read_table(path, within=folder)
        score: Any = found.get("score")
        method: Any = found.get("method")
        most = math.inf if skills is None else skills * (1 + 1e-3)
        if not _is_number(score) or not 1 - 1e-3 <= score <= most:
            raise ValueError(f"{path} cannot be read: score must be a number from 1 to the number of skills")
        if method not in ("ascent", "rank"):
            raise ValueError(f"{path} cannot be read: method must be ascent or rank, but is {shown(method)}")
    except (OSError, ValueError) as error:
        warnings.warn(f"{error}; the attainable score will be computed again", stacklevel=2)
        return None
    return Attainable(float(score), None, method)


def read_history(folder: Path, done: int) -> list[dict[str, Any]]:
    """The metrics up to an epoch. What came after the checkpoint will come again, if the run goes on.

    A line that was being written when the process died is left out; what else is no row of metrics, with a warning.
    """
    path = folder / "metrics.jsonl"
    if not path.exists():
        return []
    rows, first, amiss = [], 0, 0
    for number, line in enumerate(io.BytesIO(read_regular(path, MOST_OF_METRICS, folder)), 1):
        row = parse_row(line) if line.strip() else None
        if row is not None and row["epoch"] <= done:
            rows.append(row)
        elif row is None and line.endswith(b"\n") and line.strip():  # what ends a file and no line is being written
            first, amiss = first or number, amiss + 1
    if amiss:
        which = f"line {first}" + (f" and {amiss - 1} more" if amiss > 1 else "")
        warnings.warn(f"{path}: {which} cannot be read as metrics, and is left out", stacklevel=2)
    return rows


def parse_row(line: bytes) -> dict[str, Any] | None:
    """A row of metrics.jsonl; None if it is not one. Every row has an epoch, steps, seconds and scores."""
    try:
        row = parse_table(line)
    except ValueError:
        return None
    counts, seconds, scores = (row.get("epoch"), row.get("env_steps")), row.get("wall_seconds"), row.get("vendi_score")
    scores = scores if isinstance(scores, list) else [scores]
    sound = all(isinstance(count, int) and _is_number(count) and count >= 0 for count in counts)
    sound = sound and _is_number(seconds) and bool(scores) and all(map(_is_number, scores))
    return row if sound else None


def _is_number(value: Any) -> bool:
    """Whether a value of JSON is a finite number that a float can hold."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**63
