"""Methods side by side: train each under the same learner, environment and budget, and score all in all senses."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from vendirl._checks import whole_number
from vendirl._files import refuse_links, write_atomically
from vendirl.clusters.many import RETRIES, carry_out, refuse_unfinished
from vendirl.clusters.places import Place, opened
from vendirl.clusters.task import Task
from vendirl.data import sources_in
from vendirl.evaluation.comparison import Comparison, compare
from vendirl.evaluation.evaluate import Evaluation, evaluate
from vendirl.methods import parse_method
from vendirl.similarity import parse
from vendirl.training.driver import Progress
from vendirl.training.folder import as_begun, name_for, read_settings
from vendirl.training.notes import note_of
from vendirl.training.owner import owning
from vendirl.training.problem import build
from vendirl.training.reading import read_table
from vendirl.training.recipes import recommended
from vendirl.training.settings import Settings


@dataclasses.dataclass(frozen=True)
class Contestant:
    """A method to train: its name in the table, the settings of its run, and what is to be known of it before."""

    name: str
    settings: Settings
    note: str | None = None


def contestants(
    methods: Sequence[str], similarities: Sequence[str], settings: Settings, given: Collection[str] = ()
) -> list[Contestant]:
    """One for each method; methods with VendiRL's reward are trained once for each similarity that they are scored by.
    Settings whose names are not `given`, such as "sac.updates", are the release's of a published form, or suit the
    environment."""
    if not methods:
        raise ValueError("methods is empty: name at least one, such as vendirl")
    if not similarities:
        raise ValueError("similarities is empty: name at least one, such as mmd")
    found = []
    for text in methods:
        method = parse_method(text)
        depends = method.depends_on_similarity
        for similarity in similarities if depends else similarities[:1]:
            asked_for = {field.name: getattr(settings, field.name) for field in dataclasses.fields(settings)}
            chosen = Settings(**{**recommended(text, asked_for, given), "method": text, "similarity": similarity})
            asked, (chosen, loop) = (
                chosen.scenes,
                build(chosen),
            )  # refuses what is impossible before anything is trained
            note = note_of(chosen, asked, loop)
            found.append(Contestant(f"{text} [{similarity}]" if depends else text, chosen, note))
    names = [contestant.name for contestant in found]
    if len(set(names)) < len(names):
        raise ValueError(f"a method is named twice: {', '.join(names)}")
    return found


def train_all(
    entrants: Sequence[Contestant],
    out: Path,
    progress: Callable[[Contestant], Progress | None] | None = None,
    *,
    on: Place | str | Executor = "local",
    jobs: int = 1,
    retries: int = RETRIES,
    say: Callable[[str], None] = lambda line: None,
    imports: tuple[str, ...] = (),
) -> dict[str, Path]:
    """Train each in a folder of its own; what was finished before is kept, what was interrupted goes on.

    Args:
        progress: called with a contestant, it returns what is called after every block of epochs; only of use if runs
            are trained in this process.
        on, jobs: where, and how many at a time; see `clusters.places`.
        retries, say: see `clusters.many`.
        imports: modules that other processes import first.
    """
    by_name = {entrant.name: entrant for entrant in entrants}
    tasks = []
    for entrant in entrants:
        folder = out / name_for(entrant.name)
        refuse_links(folder, out)
        task = Task(entrant.name, as_begun(entrant.settings, folder), folder, imports=imports)
        if task.finished:
            _same(folder, task.settings)
        tasks.append(task)
    devices = max(task.settings.devices for task in tasks)
    report = None if progress is None else lambda task: progress(by_name[task.name])
    out.mkdir(parents=True, exist_ok=True)
    with owning(out, "comparison.json", "report.html"), opened(on, jobs, devices, out / "jobs") as executor:
        log = out / "attempts.jsonl"
        outcomes = carry_out(tasks, executor, retries=retries, progress=report, say=say, log=log)
    refuse_unfinished(outcomes)
    return {task.name: task.folder for task in tasks}


def steps_taken(folders: dict[str, Path]) -> dict[str, tuple[int, int]]:
    """Of each method, the environment steps that each seed learned from, and those that refilled its memories."""

    def of(path: Path) -> tuple[int, int]:
        summary = read_table(path, within=path.parent)
        learned: Any = summary.get("env_steps")
        refilled: Any = summary.get("refill_steps")
        whole_number(learned, f"{path}: env_steps", least=0)
        whole_number(refilled, f"{path}: refill_steps", least=0)
        return learned, refilled

    return {name: of(folder / "summary.json") for name, folder in folders.items()}


SHUFFLES = 20
"""The fewest that can tell a seed from chance: its p-value may be 1/21."""


def score_all(
    folders: dict[str, Path],
    similarities: Sequence[str],
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> tuple[Comparison, dict[str, list[Evaluation]]]:
    """Score every seed of every method under every similarity.

    Methods are compared by the scores of their seeds, which vary in more than their episodes, so no intervals over
    episodes are computed: they take most of the time, and nothing would be made of them.

    Args:
        progress: called with the folder of each seed before it is scored.
    """

    def scored(path: str) -> Evaluation:
        if progress is not None:
            progress(path)
        return evaluate(path, similarities, measures=True, seed=seed, resamples=0, shuffles=SHUFFLES)

    found = {name: [scored(path) for path in sources_in(folder)] for name, folder in folders.items()}
    return compare(found, seed=seed), found


def write_results(out: Path, table: Comparison, found: dict[str, list[Evaluation]]) -> Path:
    """comparison.json: the table, and for each seed of each method what was measured."""
    plain: dict[str, Any] = table.to_json()
    plain["evaluations"] = {name: [e.to_json() for e in evaluations] for name, evaluations in found.items()}
    for evaluations in plain["evaluations"].values():
        for evaluation in evaluations:
            for result in evaluation["results"].values():
                del result["kernel"]  # by far the largest part, and quickly computed again
    path = out / "comparison.json"
    write_atomically(path, json.dumps(plain, indent=1) + "\n")
    return path


def _same(folder: Path, settings: Settings) -> bool:
    theirs = read_settings(folder)
    if theirs != settings:
        raise ValueError(
            f"{folder} holds a run of the same name with other settings; choose another --out, or remove that folder"
        )
    return True


def split(text: str) -> list[str]:
    """The parts of a list with commas, but for commas within brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]


def check_similarities(similarities: Sequence[str]) -> None:
    """Refuse text that is no similarity before anything is trained."""
    for similarity in similarities:
        parse(similarity)
