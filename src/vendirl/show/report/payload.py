"""What a report shows, as plain data: skill sets with their scores, measures, learning curves and settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vendirl._text import percent
from vendirl.data import Trajectories, is_unfinished, read, sources_in
from vendirl.evaluation.comparison import Comparison, compare
from vendirl.evaluation.difference import differences
from vendirl.evaluation.diversity import Diversity
from vendirl.evaluation.evaluate import Evaluation, evaluate
from vendirl.show.report import of_run
from vendirl.show.report.of_run import RunFolder, run_of, same_sense

POINTS = 130_000
"""At most so many observations of a set are drawn; more would make the page slow, not clearer."""
ENOUGH_SEEDS = 10
FEW_SEEDS = "With fewer than ten seeds bootstrap intervals are narrower than they say."
"""Of three normal seeds they hold the mean about three times in four, of five nine times in ten, by simulation."""
SETS = 4
"""Sets that may have as many; of more sets fewer of each are drawn."""


def payload(
    sources: str | Path | Sequence[str | Path],
    similarities: str | Sequence[str] = (),
    title: str = "Skills report",
    command: str = "",
    progress: Callable[[str], None] | None = None,
    trust: bool = False,
    **settings: Any,
) -> dict[str, Any]:
    """Evaluate runs and files for `render`.

    Args:
        sources: run folders, npz files, Minari data sets; one of them, or several. All seeds of a run are shown.
        similarities: to measure all of them by; if none, those that the runs were trained with, and `overlap`.
        progress: called with the name of each set before it is evaluated.
        trust: of runs that are not finished, whose skills have to act: see `vr.load`.
        settings: of `evaluate`.
    """
    sources = [sources] if isinstance(sources, str | Path) else sources
    similarities = [similarities] if isinstance(similarities, str) else similarities
    acted = {}
    for source in filter(is_unfinished, sources):
        from vendirl.training.unfinished import acted_out  # which loads the trainer

        acted[str(source)] = acted_out(source, trust)
    paths = [path for source in sources for path in acted.get(str(source), sources_in(source))]
    episodes = {name: data for names in acted.values() for name, data in names.items()}
    senses = list(similarities) or senses_of(paths)
    groups: dict[str, list[Evaluation]] = {}
    names: dict[str, list[str]] = {}
    for path in paths:
        if progress is not None:
            progress(path)
        data = episodes[path] if path in episodes else read(path)
        run = run_of(path)
        key = path if run is None else run.kind
        groups.setdefault(key, []).append(evaluate(data, senses, **settings))
        names.setdefault(key, []).append(path)
    return _page({_name(key, names[key]): found for key, found in groups.items()}, list(names.values()), title, command)


def payload_of_methods(methods: Mapping[str, Sequence[Evaluation]], title: str, command: str = "") -> dict[str, Any]:
    """The same of methods that were evaluated before.

    Args:
        methods: by name the evaluations of its seeds, all under the same similarities.
    """
    places = [[_place(evaluation.data.source) for evaluation in found] for found in methods.values()]
    return _page(methods, places, title, command)


def senses_of(paths: Sequence[str]) -> list[str]:
    """The similarities that the runs among these were trained with, and `overlap`."""
    trained = [run.similarity for path in paths if (run := run_of(path)) is not None]
    return list(dict.fromkeys([*trained, "overlap"]))


def _place(source: str) -> str:
    """The folder of a run or of one of its seeds, in place of the file in it."""
    return str(Path(source).parent) if Path(source).name == "trajectories.npz" else source


def _name(key: str, paths: Sequence[str]) -> str:
    run = run_of(paths[0])
    return paths[0] if run is None or len(paths) == 1 else run.name


def _page(
    groups: Mapping[str, Sequence[Evaluation]], paths: Sequence[Sequence[str]], title: str, command: str
) -> dict[str, Any]:
    """The page of groups of evaluations, each of the seeds of the same settings, and where they were read."""
    sets: list[dict[str, Any]] = []
    shown: list[dict[str, Any]] = []
    count = sum(map(len, groups.values()))
    for (name, evaluations), places in zip(groups.items(), paths, strict=True):
        runs = [run_of(path) for path in places]
        untrained = [_untrained(run, e, len(evaluations)) for run, e in zip(runs, evaluations, strict=True)]
        shown.append(
            _group(name, evaluations, untrained, runs[0]) | {"sets": [*range(len(sets), len(sets) + len(runs))]}
        )
        for path, run, evaluation, before in zip(places, runs, evaluations, untrained, strict=True):
            sets.append(_set(path, evaluation, run, before, POINTS * SETS // max(SETS, count)))
    return {
        "title": title,
        "sets": sets,
        "groups": shown,
        "comparison": _comparison(groups) if count > 1 else None,
        "versions": evaluations[0].to_json()["versions"],
        "command": command,
    }


def _untrained(run: RunFolder | None, evaluation: Evaluation, seeds: int) -> Evaluation | None:
    """What the skills scored before training, in the same senses. How the difference varies is known from several
    seeds; of one seed it is asked from its episodes, in the sense that the skills were trained in."""
    data = of_run.untrained_of(run, evaluation.data)
    if run is None or data is None:
        return None
    results: list[Diversity] = []
    for r in evaluation.results:
        resamples = r.resamples if seeds == 1 and same_sense(r.similarity, run.similarity) else 0
        settings = {"q": r.q, "confidence": r.confidence, "seed": r.seed, "resamples": resamples, "shuffles": 1}
        try:
            results += evaluate(data, r.similarity, measures=False, **settings).results
        except ValueError:  # untrained skills may end too early to be compared
            return None
    return Evaluation(data, tuple(results), ())


def _group(
    name: str, evaluations: Sequence[Evaluation], untrained: Sequence[Evaluation | None], run: RunFolder | None
) -> dict[str, Any]:
    """A method, or a set by itself: whether it learned anything, in one sentence and in each sense."""
    known = [before for before in untrained if before is not None]
    found = differences(evaluations, known) if len(known) == len(evaluations) else ()
    final = run is not None and run.final
    return {
        "name": name,
        "learned": of_run.sentence_of(run, evaluations[0].data.n),
        "similarity": None if run is None else run.similarity,
        "differences": {d.similarity: d.to_json() for d in found},
        "untrained_note": "this run did not keep what its skills did before training" if final and not found else None,
    }


def _set(
    path: str, evaluation: Evaluation, run: RunFolder | None, untrained: Evaluation | None, points: int
) -> dict[str, Any]:
    data = evaluation.data
    episodes, thinned = _drawn(data, points)
    ceiling, noise_free = (find(run, data.n) for find in (of_run.ceiling_of, of_run.noise_free_of))

    def result(r: Diversity) -> dict[str, Any]:
        own = run is not None and same_sense(r.similarity, run.similarity)
        same = own and run is not None and r.q == run.settings.get("order", 1.0)
        before = untrained[r.similarity].vendi_score if untrained is not None else None
        return _result(r, ceiling if own else None) | {"untrained": before, "noise_free": noise_free if same else None}

    return {
        "name": path,
        "labels": list(data.labels),
        "features": list(data.features),
        "episodes": episodes,
        "thinned": thinned,
        "acted": None if run is None else "acting with noise",
        "counts": [len(mine) for mine in data.of_skill],
        "world": of_run.world_of(run),
        "results": [result(r) for r in evaluation.results],
        "measures": [dataclasses.asdict(measure) for measure in evaluation.measures],
        "curve": of_run.curve_of(run, ceiling, data),
        "settings": run.settings if run else None,
        "videos": of_run.videos(Path(path)),
    }


def _result(result: Diversity, attainable: float | None) -> dict[str, Any]:
    plain = result.to_json()
    profile = plain["profile"]
    return {
        **plain,
        "null": {"mean": result.null, "interval": list(result.null_interval)},
        "attainable": attainable,
        "profile": {"q": [q if q == "inf" else float(q) for q in profile], "score": list(profile.values())},
    }


def _drawn(data: Trajectories, points: int) -> tuple[list[dict[str, Any]], str | None]:
    """The episodes to draw: all of them, or fewer of each skill and then fewer steps if there are too many."""
    D, total = len(data.features), int(data.lengths.sum())
    if total * max(D, 1) <= points * 4 and total <= points:
        keep, stride = max(len(mine) for mine in data.of_skill), 1
    else:
        keep = max(1, min(20, int(points // max(1, data.n * float(np.median(data.lengths))))))
        stride = max(1, int(np.ceil(data.n * keep * float(np.median(data.lengths)) * max(1, D / 4) / points)))
    episodes = list(data)
    drawn = [
        {"skill": i, "points": np.asarray(episodes[e][::stride], np.float32).round(5).tolist()}
        for i, mine in enumerate(data.of_skill)
        for e in mine[:keep]
    ]
    if len(drawn) == len(data) and stride == 1:
        return drawn, None
    return drawn, f"drawn: {len(drawn)} of {len(data)} episodes" + (f", every {stride}th step" if stride > 1 else "")


def _comparison(groups: Mapping[str, Sequence[Evaluation]]) -> dict[str, Any]:
    table = compare(groups)
    names = list(groups)
    gaps = differences(*groups.values()) if len(names) == 2 else ()
    return {
        "methods": list(table.methods),
        "similarities": list(table.similarities),
        "iqm": table.iqm.tolist(),
        "intervals": [[table.interval_of(m, k) for k in table.similarities] for m in table.methods],
        "scores": [[table.scores[m][k].tolist() for k in table.similarities] for m in table.methods],
        "confidence": table.confidence,
        "note": _note(table),
        "differences": [f"{names[0]} minus {names[1]}, {gap}" for gap in gaps],
    }


def _note(table: Comparison) -> str:
    """What the numbers of a comparison are."""
    seeds = {len(scores) for row in table.scores.values() for scores in row.values()}
    if seeds == {1}:
        return "One set of skills each. How scores vary from seed to seed is not known, so there are no intervals."
    many = f"{min(seeds)} to {max(seeds)}" if len(seeds) > 1 else f"{max(seeds)}"
    alone = "; where there is one seed there is no interval" if 1 in seeds else ""
    return (
        f"Interquartile means over {many} seeds each; {percent(table.confidence)} bootstrap intervals over "
        f"seeds{alone}. "
        f"Every dot is a seed.{f' {FEW_SEEDS}' if min(seeds) < ENOUGH_SEEDS else ''}"
    )
