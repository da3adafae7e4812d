"""The folder of a run: whose it is, and what was written in it so far."""

from __future__ import annotations

import importlib.metadata
import json
import platform
from pathlib import Path
from typing import Any

from vendirl import __version__
from vendirl.training import checkpoint
from vendirl.training.attainable import Attainable
from vendirl.training.settings import Settings


def claim(folder: Path, settings: Settings, resume: bool) -> None:
    """Make the folder this run's, or refuse one that holds something else."""
    path = folder / "settings.json"
    if path.exists():
        if not resume:
            raise FileExistsError(
                f"{folder} holds another run; choose another --out, or add --resume to go on with that one"
            )
        theirs = read_settings(folder)
        if theirs != settings:
            mine, old = settings.to_json(), theirs.to_json()
            changed = ", ".join(f"{key}={old[key]!r} (not {mine[key]!r})" for key in mine if mine[key] != old.get(key))
            raise ValueError(f"{folder} holds a run with other settings: {changed}; resume it with its own settings")
        return
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty and holds no run; choose another --out, or empty it first")
    if resume:
        raise FileNotFoundError(f"{folder} holds no run to resume: there is no settings.json")
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"settings": settings.to_json(), "versions": versions()}, indent=2)
    checkpoint.write_atomically(path, text + "\n")


def read_settings(folder: Path) -> Settings:
    path = folder / "settings.json"
    try:
        return Settings.from_json(json.loads(path.read_text())["settings"])
    except FileNotFoundError:
        raise FileNotFoundError(f"{folder} holds no run: there is no settings.json") from None
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None


def known_ceiling(folder: Path | None) -> Attainable | None:
    if folder is None or not (folder / "attainable.json").exists():
        return None
    try:
        found = json.loads((folder / "attainable.json").read_text())
        return Attainable(float(found["score"]), None, str(found["method"]))
    except (ValueError, KeyError, TypeError):
        return None  # it can be computed again


def log(folder: Path | None, row: dict[str, Any]) -> None:
    """Add a line of metrics."""
    if folder is not None:
        with open(folder / "metrics.jsonl", "a") as file:
            file.write(json.dumps(row) + "\n")


def read_history(folder: Path, done: int) -> list[dict[str, Any]]:
    """The metrics up to an epoch; what came after the checkpoint will come again, and is taken out of the file."""
    path = folder / "metrics.jsonl"
    rows = []
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            row = json.loads(line)
        except ValueError:
            continue  # a line that was being written when the process died
        if row.get("epoch", done + 1) <= done:
            rows.append(row)
    checkpoint.write_atomically(path, "".join(json.dumps(row) + "\n" for row in rows))
    return rows


def versions() -> dict[str, str]:
    """Of everything that may change a result."""
    packages = ("jax", "jaxlib", "equinox", "optax", "numpy")
    others = {name: importlib.metadata.version(name) for name in packages}
    return {"vendirl": __version__, "python": platform.python_version(), **others}
