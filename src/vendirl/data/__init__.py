"""Skill data from anywhere: npz files, run folders, Minari data sets."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vendirl._files import refuse_links
from vendirl.data.minari import is_minari, read_minari
from vendirl.data.npz import read_npz, write_npz
from vendirl.data.trajectories import Trajectories

__all__ = [
    "Trajectories",
    "is_unfinished",
    "read",
    "read_minari",
    "read_npz",
    "read_untrained",
    "sources_in",
    "write_npz",
]


def read(source: str | os.PathLike[str] | Any, features: Sequence[int | str] | Any | None = None) -> Trajectories:
    """Trajectories from an npz file, a run folder (its trajectories.npz), or a Minari data set.

    Args:
        source: a path, or "minari:NAME", where NAME is the name of a local data set or the path of its folder. In a
            Minari data set the label of an episode is `skill` in its infos or metadata, or `options["skill"]`.
        features: names or numbers of the features to read; all if None.
    """
    if not isinstance(source, str | os.PathLike):
        raise TypeError(f"source must be a path or 'minari:NAME', but is {type(source).__name__}")
    if str(source).startswith("minari:"):
        return read_minari(str(source).removeprefix("minari:"), features)
    path = Path(source)
    if path.is_dir():
        inside = path / "trajectories.npz"
        if os.path.lexists(inside):
            return read_npz(inside, features, within=path)
        seeds = sorted(child.name for child in path.glob("seed-*") if (child / "trajectories.npz").exists())
        if seeds:
            raise ValueError(f"{path} holds several seeds; give one of {', '.join(str(path / seed) for seed in seeds)}")
        if is_minari(path):
            return read_minari(path, features)
        if (path / "settings.json").exists():
            raise ValueError(
                f"{path} holds a run that has no trajectories yet; finish it with: vendirl train --resume --out "
                f"{path}, or score it as it is: vendirl score {path}, or vr.load(folder).evaluate()"
            )
        raise ValueError(f"{path} is a folder without trajectories.npz: neither a run nor skill data")
    return read_npz(path, features)


def read_untrained(
    source: str | os.PathLike[str], features: Sequence[int | str] | Any | None = None
) -> Trajectories | None:
    """What the skills of a run, or of one of its seeds, did before training; None if the source says nothing of it.

    Like `read` of the same folder these are episodes with noise, of as many of each skill, from the same beginnings.
    """
    inside = Path(source) / "untrained.npz"
    return read_npz(inside, features, within=Path(source)) if os.path.lexists(inside) else None


def sources_in(source: str | os.PathLike[str]) -> list[str]:
    """What `read` can read of a source: the seeds of a run with several, else the source itself."""
    path = Path(source)
    if path.is_dir() and not (path / "trajectories.npz").exists():
        seeds = [child for child in path.glob("seed-*") if (child / "trajectories.npz").exists()]
        for seed in seeds:
            refuse_links(seed, within=path)
        return [str(seed) for seed in sorted(seeds, key=_number)] or [str(source)]
    return [str(source)]


def is_unfinished(source: str | os.PathLike[str]) -> bool:
    """Whether a source is the folder of a run that has no trajectories yet; `training.unfinished` lets it act."""
    path = Path(source)
    there = path.is_dir() and (path / "settings.json").exists()
    return there and not os.path.lexists(path / "trajectories.npz") and sources_in(path) == [str(path)]


def _number(seed: Path) -> tuple[int, str]:
    digits = seed.name.removeprefix("seed-")
    return (int(digits) if digits.isdecimal() else 0, seed.name)
