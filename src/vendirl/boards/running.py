"""Running a suite: methods are trained in its worlds, and what their skills score becomes entries of a board."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from vendirl._checks import finite_number, whole_number
from vendirl._files import refuse_links
from vendirl._text import settings_text
from vendirl.boards.board import WRITTEN, Board, board_in, write_board
from vendirl.boards.checking import check_skills
from vendirl.boards.entry import Entry, digest_of, scores_of
from vendirl.boards.suite import Suite, suite_named
from vendirl.clusters.comparing import Contestant, contestants, split, train_all
from vendirl.data import read, sources_in
from vendirl.methods import parse_method
from vendirl.training.driver import Progress
from vendirl.training.owner import owning
from vendirl.training.reading import read_settings, read_table, read_versions
from vendirl.training.settings import Settings

DEFAULT = "plane-maze-rooms-v1"
_OF_THE_SUITE = ("env", "similarity", "method", "skills", "steps", "episode_length", "rounding", "extended")


def benchmark(
    methods: str | Sequence[str],
    suite: Suite | str = DEFAULT,
    out: str | Path = "board",
    *,
    worlds: Sequence[str] | None = None,
    name: str | None = None,
    progress: Callable[[Contestant], Progress | None] | None = None,
    given: Collection[str] | None = None,
    **settings: Any,
) -> Board:
    """Train methods in the worlds of a suite, score their skills in all its senses, and write the board.

    A method that is rewarded by a similarity, such as vendirl, is trained once for each sense. What was finished before
    is kept, and what was interrupted goes on; rows that are there already, those of others included, stay.

    Args:
        methods: as in `vendirl compare`: a list, or a text with commas.
        suite: what is asked, or its name.
        out: the folder of the board, and of the runs, which lie in `runs/` in it.
        worlds: which of the suite's worlds to use; all if None.
        name: what to call the method on the board, if there is just one: for another learner or other settings than
            those of a row that is there.
        progress: called with each method before it is trained; it returns what is called with the newest metrics.
        given: which settings were given explicitly, if not all of them are; a published form takes those, and its
            release's otherwise.
        settings: the settings of the training, such as learner="sac"; `seeds` is the suite's unless it is given.

    Example:
        >>> import tempfile, vendirl as vr
        >>> board = vr.benchmark("random", "plane-maze-rooms-mini-v1", tempfile.mkdtemp(), worlds=["plane"], seeds=1)
        >>> [(row.method, row.sense) for row in board.rows][0]
        ('random', 'place')
    """
    chosen, folder = suite_named(suite), Path(out)
    texts = split(methods) if isinstance(methods, str) else list(methods)
    places = list(chosen.worlds) if worlds is None else list(worlds)
    for world in places:
        chosen.check_world(world)
    if fixed := [field for field in _OF_THE_SUITE if field in settings]:
        raise ValueError(f"{fixed[0]} is the suite's to say, so it cannot be given; {chosen.name} fixes it")
    if name is not None and len(texts) != 1:
        raise ValueError(f"name={name!r} is of one method, but there are {len(texts)}: {', '.join(texts)}")
    explicit = frozenset(settings) if given is None else frozenset(given)
    board = board_in(folder, chosen)
    entrants = {world: _entrants(texts, chosen, world, name, settings, explicit) for world in places}
    theirs = {entry.method for entry in board.entries if entry.outside}
    if taken := [one.name for world in places for one in entrants[world] if one.name in theirs]:
        raise ValueError(
            f"{taken[0]} is the name of a method from outside on this board; choose another name for yours"
        )
    for world in places:
        refuse_links(folder / "runs" / world, folder)
        folders = train_all(entrants[world], folder / "runs" / world, progress)
        found = [entry for run in folders for entry in _entries(run, folders[run], world, board)]
        with owning(folder, *WRITTEN):
            board = board_in(folder, chosen)
            for entry in found:
                board = board.replacing(entry)
            write_board(board, folder)
    return board


def _entrants(
    texts: Sequence[str], suite: Suite, world: str, name: str | None, settings: dict[str, Any], given: frozenset[str]
) -> list[Contestant]:
    asked = {"seeds": suite.seeds, "skills": suite.skills, "steps": suite.steps, **settings}
    usual = Settings.named({**asked, "env": suite.worlds[world]})
    found = contestants(texts, list(suite.senses.values()), usual, given | {"skills", "steps", "seeds"})
    if name is None:
        return found
    return [dataclasses.replace(entrant, name=name + entrant.name[len(texts[0]) :]) for entrant in found]


def _entries(method: str, run: Path, world: str, board: Board) -> list[Entry]:
    """An entry for each seed of a run; those whose episodes the board has scored are taken from there."""
    path = run / "summary.json"
    summary: Any = read_table(path, within=run)
    steps: Any = summary.get("env_steps")
    whole_number(steps, f"{path}: env_steps", least=0)
    seconds = finite_number(summary.get("wall_seconds"), f"{path}: wall_seconds", least=0)
    asked = read_settings(run)
    by = board.suite.sense_of(asked.similarity) if parse_method(asked.method).depends_on_similarity else None
    versions = ", ".join(f"{package} {version}" for package, version in read_versions(run).items())
    found = []
    for i, source in enumerate(sources_in(run)):
        path, seed = Path(source) / "trajectories.npz", asked.seed + i
        digest, there = digest_of(path), board.entry_at(method, world, seed)
        if there is not None and there.digest == digest:
            found.append(there)
            continue
        data = read(source)
        check_skills(data, board.suite, world)
        entry = Entry(
            method=method,
            world=world,
            seed=seed,
            scores=scores_of(data, board.suite),
            digest=digest,
            outside=False,
            steps=steps,
            seconds=seconds / asked.seeds,
            settings=settings_text("settings", asked),
            versions=versions,
            trained_by=by,
        )
        found.append(entry)
    return found
