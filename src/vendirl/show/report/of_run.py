"""What the folder of a run adds to a page: settings, world, learning curve, what was attainable and what was learned.

A folder may be somebody else's, half-written or old. What it does not hold, or what cannot be read, is left out; what
would make the page hold other files than the run's own is refused.
"""

from __future__ import annotations

import base64
import dataclasses
import io
import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from vendirl._files import open_regular, read_regular
from vendirl.data import Trajectories, read_untrained
from vendirl.environments import built_in
from vendirl.similarity import parse
from vendirl.training.learned import learned
from vendirl.training.reading import parse_table

VIDEO_BYTES = 40_000_000
"""A page holds no more of films than this: it is one file, and is to open at once."""
METRICS_BYTES = 100_000_000
"""More than the metrics of any run."""
JSON_BYTES = 2**22
"""More than settings and ceilings, which are a few thousand."""


@dataclasses.dataclass(frozen=True)
class RunFolder:
    """The run that some episodes are of.

    Attributes:
        folder: of the run.
        place: of the episodes: the same, or that of a seed in it.
        settings: as they were written down; `similarity` is text.
        final: whether the episodes are those of the trained skills, rather than others that lie beside them.
    """

    folder: Path
    place: Path
    settings: dict[str, Any]
    final: bool = True

    @property
    def similarity(self) -> str:
        """What the run was trained by."""
        return str(self.settings["similarity"])

    @property
    def kind(self) -> str:
        """The same for all seeds of the same settings."""
        same = {key: value for key, value in self.settings.items() if key not in ("seed", "seeds")}
        return json.dumps(same, sort_keys=True)

    @property
    def name(self) -> str:
        """Method, similarity and folder."""
        return f"{self.settings.get('method', 'vendirl')} {self.similarity} ({self.folder})"


def run_of(path: str) -> RunFolder | None:
    """The run that a path belongs to, if it belongs to one whose settings can be read."""
    inside = Path(path).is_dir()
    place = Path(path) if inside else Path(path).parent
    for folder in (place, place.parent) if place.name.startswith("seed-") else (place,):
        found = _read_json(folder, "settings.json")
        if found is not None:
            settings = found.get("settings")
            if isinstance(settings, dict) and isinstance(settings.get("similarity"), str):
                return RunFolder(folder, place, settings, inside or Path(path).name == "trajectories.npz")
            return None
    return None


def same_sense(similarity: str, other: str | None) -> bool:
    """Whether two texts mean the same similarity; one that is not known here means none."""
    try:
        return other is not None and str(parse(similarity)) == str(parse(other))
    except ValueError:
        return False


def ceiling_of(run: RunFolder | None, skills: int) -> float | None:
    """The attainable score that was found by ascent; a bound by the rank of the kernel is known without it."""
    found = _read_json(run.folder, "attainable.json") if run else None
    score = found.get("score") if found is not None and found.get("method") != "rank" else None
    return _score(score, skills)


def untrained_of(run: RunFolder | None, data: Trajectories) -> Trajectories | None:
    """What the skills did before training, if it was kept and can be compared with what they do now."""
    if run is None or not run.final:
        return None
    try:
        found = read_untrained(run.place)
        if found is not None:
            found.check_finite()
    except (OSError, ValueError) as error:
        warnings.warn(f"{error}; the page says nothing of untrained skills", stacklevel=2)
        return None
    fits = found is not None and found.n == data.n and found.features == data.features
    return found if fits else None


def noise_free_of(run: RunFolder | None, skills: int) -> float | None:
    """The score of one episode of each skill without noise that `vendirl train` printed, for the seed of these
    episodes."""
    scores = _summary(run).get("seeds")
    if run is None or not isinstance(scores, dict):
        return None
    seed = run.place.name.removeprefix("seed-") if run.place != run.folder else next(iter(scores), "")
    return _score(scores.get(seed), skills)


def sentence_of(run: RunFolder | None, skills: int) -> str | None:
    """Whether the run learned anything, in the words with which `vendirl train` ended; None if that is not known."""
    summary = _summary(run)
    score, untrained = (_score(summary.get(name), skills) for name in ("vendi_score", "untrained"))
    seeds = summary.get("seeds")
    if score is None or untrained is None or not isinstance(seeds, dict):
        return None
    return learned(score, untrained, len(seeds), bool(run and run.settings.get("init")))


def world_of(run: RunFolder | None) -> dict[str, Any] | None:
    """Walls, bounds and start of a world that comes with the library."""
    if run is None:
        return None
    try:
        environment = built_in(run.settings.get("env"))  # nothing else: a page is not worth running what a file names
    except (ValueError, TypeError, ArithmeticError):
        return None
    walls, bounds, start = (getattr(environment, name, None) for name in ("walls", "bounds", "start"))
    if walls is None and bounds is None and start is None:
        return None
    return {
        "walls": [] if walls is None else np.asarray(walls).tolist(),
        "bounds": None if bounds is None else np.asarray(bounds).tolist(),
        "start": None if start is None else np.asarray(start).tolist(),
    }


STITCHED = (
    "Where an episode ends early, another follows it in the same row of the curve's episodes, as it does in the "
    "training memory; all else on this page is of episodes as they were."
)


def curve_of(run: RunFolder | None, ceiling: float | None, data: Trajectories) -> dict[str, Any] | None:
    """The score by steps, and what it is the score of."""
    if run is None or not run.final:
        return None
    try:
        content = read_regular(run.folder / "metrics.jsonl", METRICS_BYTES, within=run.folder)
        steps, scores = [], []
        for line in io.BytesIO(content):  # one after the other: the first that is no row ends it
            if line.strip():
                row = parse_table(line)
                steps.append(int(row["env_steps"]))
                scores.append(np.atleast_1d(np.asarray(row["vendi_score"], float)).tolist())
        drawable = all(map(math.isfinite, steps)) and np.isfinite(np.array(scores)).all() and np.ndim(scores) == 2
    except (OSError, ValueError, KeyError, TypeError, ArithmeticError):
        return None
    if not steps or not drawable:
        return None
    ended = data.terminated is None or bool(np.any(data.terminated))
    return {
        "steps": steps,
        "scores": scores,
        "ceiling": ceiling,
        "similarity": run.similarity,
        "note": STITCHED if ended else None,
    }


def videos(path: Path) -> list[dict[str, Any]]:
    """The films of `vendirl video`, as data: skill-0.mp4, skill-1.mp4, ... beside the trajectories.

    A page may be passed on, so it holds only films that lie in the folder themselves: no link is followed.

    Raises:
        ValueError: if one of them is a link, a pipe or a device.
    """
    home = path if path.is_dir() else path.parent
    found: list[dict[str, Any]] = []
    left = VIDEO_BYTES
    for file in sorted((home / "videos").glob("skill-*.mp4"), key=lambda file: (len(file.name), file.name)):
        number = file.stem.removeprefix("skill-")
        if not number.isdecimal():
            continue
        with open_regular(file, within=home) as opened:
            content = opened.read(left + 1)
        if len(content) > left:
            warnings.warn(
                f"the page holds {len(found)} of the films in {home / 'videos'}, since all of them have more than "
                f"{VIDEO_BYTES // 10**6} MB; film fewer steps (--every), or smaller pictures (--width, --height)",
                stacklevel=2,
            )
            break
        left -= len(content)
        found.append({"skill": int(number), "src": f"data:video/mp4;base64,{base64.b64encode(content).decode()}"})
    return found


def _summary(run: RunFolder | None) -> dict[str, Any]:
    return (_read_json(run.folder, "summary.json") if run and run.final else None) or {}


def _score(value: Any, skills: int) -> float | None:
    """A value of JSON that can be the score of so many skills."""
    known = isinstance(value, int | float) and not isinstance(value, bool) and 1 - 1e-3 <= value <= skills * (1 + 1e-3)
    return float(value) if known else None


def _read_json(folder: Path, name: str) -> dict[str, Any] | None:
    """What a file of a run says; None if there is no such file, or none that can be read."""
    try:
        return parse_table(read_regular(folder / name, JSON_BYTES, within=folder))
    except (OSError, ValueError):
        return None
