"""What a report shows, as plain data: skill sets with their scores, measures, learning curves and settings."""

from __future__ import annotations

import base64
import dataclasses
import json
import math
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vendirl._files import open_regular, read_regular
from vendirl.data import Trajectories, read, sources_in
from vendirl.environments import built_in
from vendirl.evaluation.comparison import Comparison, compare
from vendirl.evaluation.diversity import Diversity
from vendirl.evaluation.evaluate import Evaluation, evaluate
from vendirl.similarity import parse

POINTS = 120_000
"""At most so many observations of a set are drawn; more would make the page slow, not clearer."""


def payload(
    sources: str | Path | Sequence[str | Path],
    similarities: str | Sequence[str] = (),
    title: str = "Skills report",
    command: str = "",
    progress: Callable[[str], None] | None = None,
    table: Comparison | None = None,
    **settings: Any,
) -> dict[str, Any]:
    """Evaluate runs and files for `render`.

    Args:
        sources: run folders, npz files, Minari data sets; one of them, or several. A run of several seeds is shown
            seed by seed.
        similarities: to measure all of them by; if none, those that the runs were trained with, and `overlap`.
        table: a comparison to show in place of one of the sources themselves.
        progress: called with the name of each set before it is evaluated.
        settings: of `evaluate`.
    """
    sources = [sources] if isinstance(sources, str | Path) else sources
    similarities = [similarities] if isinstance(similarities, str) else similarities
    paths = [path for source in sources for path in sources_in(source)]
    senses = list(similarities) or senses_of(paths)
    sets: list[dict[str, Any]] = []
    groups: dict[str, list[Evaluation]] = {}
    for path in paths:
        if progress is not None:
            progress(path)
        data = read(path)
        evaluation = evaluate(data, senses, **settings)
        run = _run(path)
        sets.append(_set(path, evaluation, run))
        groups.setdefault(_group(path, run), []).append(evaluation)
    return {
        "title": title,
        "sets": sets,
        "comparison": _comparison(groups, table) if len(paths) > 1 else None,
        "versions": evaluation.to_json()["versions"],
        "command": command,
    }


def senses_of(paths: Sequence[str]) -> list[str]:
    """The similarities that the runs among these were trained with, and `overlap`."""
    trained = [run["settings"]["similarity"] for path in paths if (run := _run(path)) is not None]
    return list(dict.fromkeys([*trained, "overlap"]))


def _run(path: str) -> dict[str, Any] | None:
    """The folder and the settings of the run that a path belongs to, if it belongs to one that can be read."""
    for folder in (Path(path), Path(path).parent):
        found = _read_json(folder, "settings.json")
        if found is not None:
            settings = found.get("settings") if isinstance(found, dict) else None
            known = isinstance(settings, dict) and isinstance(settings.get("similarity"), str)
            return {"folder": folder, "settings": settings} if known else None
    return None


def _group(path: str, run: dict[str, Any] | None) -> str:
    """Seeds of the same settings belong together."""
    if run is None:
        return path
    same = {key: value for key, value in run["settings"].items() if key not in ("seed", "seeds")}
    return json.dumps(same, sort_keys=True)


def _set(path: str, evaluation: Evaluation, run: dict[str, Any] | None) -> dict[str, Any]:
    data = evaluation.data
    episodes, thinned = _drawn(data)
    found = _read_json(run["folder"], "attainable.json") if run else None
    own = run["settings"]["similarity"] if run else None
    # A bound by the rank of the kernel is the ceiling already; what was found by ascent says more.
    score = found.get("score") if isinstance(found, dict) and found.get("method") != "rank" else None
    ceiling = float(score) if isinstance(score, int | float) and 1 <= score <= data.n else None
    return {
        "name": path,
        "labels": list(data.labels),
        "features": list(data.features),
        "episodes": episodes,
        "thinned": thinned,
        "world": _world(run),
        "results": [_result(r, ceiling if _same(r.similarity, own) else None) for r in evaluation.results],
        "measures": [dataclasses.asdict(measure) for measure in evaluation.measures],
        "curve": _curve(run, ceiling),
        "settings": run["settings"] if run else None,
        "videos": videos(Path(path)),
    }


VIDEO_BYTES = 40_000_000
"""A page holds no more of films than this: it is one file, and is to open at once."""
JSON_BYTES = 100_000_000
"""More than the metrics of any run; settings and ceilings are far smaller."""


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


def _result(result: Diversity, attainable: float | None) -> dict[str, Any]:
    plain = result.to_json()
    profile = plain["profile"]
    return {
        **plain,
        "null": {"mean": result.null, "interval": list(result.null_interval)},
        "attainable": attainable,
        "profile": {"q": [q if q == "inf" else float(q) for q in profile], "score": list(profile.values())},
    }


def _same(similarity: str, other: str | None) -> bool:
    return other is not None and str(parse(similarity)) == str(parse(other))


def _drawn(data: Trajectories) -> tuple[list[dict[str, Any]], str | None]:
    """The episodes to draw: all of them, or fewer of each skill and then fewer steps if there are too many."""
    D, total = len(data.features), int(data.lengths.sum())
    if total * max(D, 1) <= POINTS * 4 and total <= POINTS:
        keep, stride = max(len(mine) for mine in data.of_skill), 1
    else:
        keep = max(1, min(20, int(POINTS // max(1, data.n * float(np.median(data.lengths))))))
        stride = max(1, int(np.ceil(data.n * keep * float(np.median(data.lengths)) * max(1, D / 4) / POINTS)))
    episodes = list(data)
    drawn = [
        {"skill": i, "points": np.asarray(episodes[e][::stride], np.float32).round(5).tolist()}
        for i, mine in enumerate(data.of_skill)
        for e in mine[:keep]
    ]
    if len(drawn) == len(data) and stride == 1:
        return drawn, None
    return drawn, f"drawn: {len(drawn)} of {len(data)} episodes" + (f", every {stride}th step" if stride > 1 else "")


def _world(run: dict[str, Any] | None) -> dict[str, Any] | None:
    if run is None:
        return None
    try:
        environment = built_in(
            run["settings"].get("env")
        )  # nothing else: a page is not worth running what a file names
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


def _curve(run: dict[str, Any] | None, ceiling: float | None) -> dict[str, Any] | None:
    if run is None:
        return None
    try:
        text = read_regular(run["folder"] / "metrics.jsonl", JSON_BYTES, within=run["folder"]).decode()
        rows = [json.loads(line) for line in text.splitlines() if line.strip()]
        steps = [int(row["env_steps"]) for row in rows]
        scores = [np.atleast_1d(np.asarray(row["vendi_score"], float)).tolist() for row in rows]
        drawable = all(map(math.isfinite, steps)) and np.isfinite(np.array(scores)).all() and np.ndim(scores) == 2
    except (OSError, ValueError, KeyError, TypeError, ArithmeticError, RecursionError):
        return None
    return {"steps": steps, "scores": scores, "ceiling": ceiling} if rows and drawable else None


def _comparison(groups: dict[str, list[Evaluation]], table: Comparison | None) -> dict[str, Any]:
    if table is None:
        table = compare({_name(key, evaluations): evaluations for key, evaluations in groups.items()})
    seeds = {len(scores) for row in table.scores.values() for scores in row.values()}
    many = f"{min(seeds)} to {max(seeds)}" if len(seeds) > 1 else f"{seeds.pop()}"
    return {
        "methods": list(table.methods),
        "similarities": list(table.similarities),
        "iqm": table.iqm.tolist(),
        "intervals": table.intervals.tolist(),
        "note": f"Interquartile means over {many} seed(s) each; {table.confidence:.0%} bootstrap intervals over seeds.",
    }


def _name(key: str, evaluations: Sequence[Evaluation]) -> str:
    if not key.startswith("{"):
        return key
    settings = json.loads(key)
    method = settings.get("method", "vendirl")
    first = Path(evaluations[0].data.source).parent
    folder = first.parent if first.name.startswith("seed-") else first
    return f"{method} {settings['similarity']} ({folder})"


def _read_json(folder: Path, name: str) -> Any:
    """What a file of a run says; None if there is no such file, or none that can be read."""
    try:
        return json.loads(read_regular(folder / name, JSON_BYTES, within=folder))
    except (OSError, ValueError, RecursionError):
        return None
