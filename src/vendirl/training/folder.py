"""The folder of a run: whose it is, and what was written in it so far."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import importlib.metadata
import io
import json
import platform
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from vendirl import __version__
from vendirl._files import add_line, refuse_links, sync, write_atomically, write_bytes_atomically
from vendirl.training.attainable import Attainable
from vendirl.training.owner import LOCK, owning
from vendirl.training.reading import known_ceiling, read_history, read_run, read_settings, read_versions
from vendirl.training.settings import Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "as_begun",
    "check_versions",
    "claimed",
    "fingerprint",
    "fingerprints",
    "known_ceiling",
    "lengthen",
    "log",
    "name_for",
    "put_results_aside",
    "read_history",
    "read_settings",
    "truncate_history",
    "versions",
    "write_ceiling",
    "write_figure",
]


def as_begun(settings: Settings, folder: Path) -> Settings:
    """The settings with steps rounded as in the run in a folder, if there is one: a run goes on as it was begun."""
    if not (folder / "settings.json").exists():
        return settings
    return dataclasses.replace(settings, rounding=read_settings(folder).rounding)


def lengthen(folder: Path, settings: Settings) -> None:
    """Write down that the run in a folder has more steps from now on. What it was before is kept in settings.json, so
    that the checkpoints of then stay valid."""
    written, theirs = read_run(folder), read_settings(folder)
    known = {"steps": theirs.steps, "until_epoch": settings.extended, "fingerprints": sorted(_own(written, theirs))}
    written |= {"settings": settings.to_json(), "earlier": [*_earlier(written), known]}
    write_atomically(folder / "settings.json", json.dumps(written, indent=2) + "\n")


def put_results_aside(folder: Path, epoch: int) -> None:
    """Move the results of a run that goes on, which are no longer those of its skills, to until-<epoch>/."""
    aside = folder / f"until-{epoch}"
    for place in (folder, *sorted(folder.glob("seed-*"))):
        for path in sorted(path for path in place.iterdir() if path.name in _RESULTS):
            target = aside / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            refuse_links(target.parent, folder)
            path.replace(target)


_RESULTS = ("trajectories.npz", "untrained.npz", "figure.png", "summary.json")


@contextlib.contextmanager
def claimed(
    folder: Path, settings: Settings, resume: bool | Literal["auto"] = False, longer: bool = False
) -> Iterator[bool]:
    """Make the folder this run's as long as it is written in, or refuse one that holds something else, or that someone
    else is writing in: whether there was a run to go on with. If `longer`, the settings may have more steps."""
    _check_claim(folder, settings, resume, longer)  # first without touching anything
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except NotADirectoryError as error:
        raise NotADirectoryError(f"{folder} cannot be made: {error.filename} is not a folder") from None
    with owning(folder):
        there = _check_claim(folder, settings, resume, longer)
        for path in filter(lambda path: _PLACE.fullmatch(path.name), folder.iterdir()):
            refuse_links(path, folder)  # what is written and removed there would be somewhere else
        _drop_leftovers(folder)
        if not there:
            text = json.dumps({"settings": settings.to_json(), "versions": versions()}, indent=2)
            write_atomically(folder / "settings.json", text + "\n")
        yield there


def _check_claim(folder: Path, settings: Settings, resume: bool | Literal["auto"], longer: bool) -> bool:
    """Whether the folder holds this run already; refused if it holds something else."""
    if (folder / "settings.json").exists():
        if not resume:
            raise FileExistsError(
                f"{folder} holds another run; choose another --out, or add --resume to go on with that one"
            )
        theirs = read_settings(folder)
        if longer:  # all else must be the same
            kept = {name: getattr(theirs, name) for name in ("steps", "extended", "rounding")}
            settings = dataclasses.replace(settings, **kept)
        if theirs != settings:
            mine, old = settings.to_json(), theirs.to_json()
            changed = ", ".join(f"{key}={old[key]!r} (not {mine[key]!r})" for key in mine if mine[key] != old.get(key))
            raise ValueError(f"{folder} holds a run with other settings: {changed}; resume it with its own settings")
        return True
    if folder.exists() and any(path.name != LOCK and not _LEFTOVER.fullmatch(path.name) for path in folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty and holds no run; choose another --out, or empty it first")
    if resume is True:
        raise FileNotFoundError(f"{folder} holds no run to resume: there is no settings.json")
    return False


def _drop_leftovers(folder: Path) -> None:
    """Remove files that were being written when a process died, from the folder and those of its seeds."""
    for path in (*folder.glob(".*"), *folder.glob("seed-*/.*")):
        if _LEFTOVER.fullmatch(path.name):
            path.unlink(missing_ok=True)


_PLACE = re.compile(r"checkpoints|init|(seed|until)-\d+")
"""Folders in that of a run."""
_WRITTEN = r"(settings|summary|attainable)\.json|metrics\.jsonl|figure\.png|(trajectories|untrained)\.npz"
_LEFTOVER = re.compile(rf"\.({_WRITTEN})\.\d+(\.npz)?")


def write_ceiling(folder: Path, ceiling: Attainable) -> None:
    """Keep the attainable score, which takes long to find."""
    write_atomically(folder / "attainable.json", json.dumps({"score": ceiling.score, "method": ceiling.method}) + "\n")


def write_figure(figure: Figure, path: Path) -> None:
    """Write a picture so that the file is either the old one or the new one, whole."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=150)
    write_bytes_atomically(path, picture.getvalue())


def log(folder: Path | None, row: dict[str, Any]) -> None:
    """Add a line of metrics."""
    if folder is not None:
        add_line(folder / "metrics.jsonl", json.dumps(row))


def truncate_history(folder: Path, done: int) -> None:
    """Take what came after an epoch out of the file, since it is about to come again."""
    rows = read_history(folder, done)
    write_atomically(folder / "metrics.jsonl", "".join(json.dumps(row) + "\n" for row in rows))


def sync_history(folder: Path) -> None:
    """Wait until the metrics are on the disk, so that a checkpoint never knows of more epochs than they do."""
    if (folder / "metrics.jsonl").exists():
        sync(folder / "metrics.jsonl")


def fingerprint(settings: Settings) -> str:
    """What two states of training must share for one to continue the other."""
    return _digest({"settings": settings.to_json()})


def fingerprints(folder: Path, settings: Settings) -> set[str]:
    """The fingerprints that a checkpoint of these settings in this folder may have: also those of the settings as they
    were written by a version that knew fewer of them, and that counted JAX's version among them; and those of the run
    before it was given more steps."""
    written = read_run(folder)
    before = [name for entry in _earlier(written) for name in entry["fingerprints"]]
    return {fingerprint(settings), *_own(written, read_settings(folder)), *before}


def _own(written: dict[str, Any], settings: Settings) -> set[str]:
    """The fingerprints of what settings.json says, whichever version wrote it."""
    asked, versions = written.get("settings"), written.get("versions")
    jax_version = versions.get("jax") if isinstance(versions, dict) else None
    return {fingerprint(settings), _digest({"settings": asked}), _digest({"settings": asked, "jax": jax_version})}


def _earlier(written: dict[str, Any]) -> list[dict[str, Any]]:
    """What settings.json says of a run before it was given more steps, so far as it can be understood."""
    found = written.get("earlier")
    entries = found if isinstance(found, list) else []
    named = [(entry, entry.get("fingerprints")) for entry in entries if isinstance(entry, dict)]
    return [entry for entry, names in named if isinstance(names, list) and all(isinstance(name, str) for name in names)]


def check_versions(folder: Path) -> None:
    """Say so if a run goes on with other versions than it began with: it does, but not bit for bit."""
    then, now = read_versions(folder), versions()
    changed = [f"{name} {then[name]} (now {now[name]})" for name in now if then.get(name, now[name]) != now[name]]
    if changed:
        warnings.warn(
            f"{folder} was begun with {', '.join(changed)}: it goes on, but not bit for bit as if it had never stopped",
            stacklevel=3,
        )


def _digest(data: Any) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def versions() -> dict[str, str]:
    """Of everything that may change a result."""
    packages = ("jax", "jaxlib", "equinox", "optax", "numpy")
    others = {name: importlib.metadata.version(name) for name in packages}
    return {"vendirl": __version__, "python": platform.python_version(), **others}


def name_for(name: str, most: int = 80) -> str:
    """A text as the name of a folder. Where it is too long, a digest of all of it stands for what is cut off."""
    kept = "".join(c if c.isalnum() or c in "-.=" else "_" for c in name).strip("_")
    return kept if len(kept) <= most else f"{kept[: most - 9]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
