"""Entries from outside: skills that others trained, with whatever code, in a world of a suite."""

from __future__ import annotations

from pathlib import Path

from vendirl._checks import finite_number, seed_number
from vendirl.boards.board import WRITTEN, Board, board_in, write_board
from vendirl.boards.checking import check_skills
from vendirl.boards.entry import Entry, digest_of, scores_of
from vendirl.boards.suite import Suite, suite_named
from vendirl.data import read_npz
from vendirl.training.owner import owning


def add_skills(
    skills: str | Path,
    method: str,
    world: str,
    out: str | Path,
    *,
    seed: int = 0,
    suite: Suite | str | None = None,
    steps: float | None = None,
    seconds: float | None = None,
    settings: str = "",
    versions: str = "",
) -> Board:
    """Add skills that somebody else trained to the board in a folder, and write it; returns the board.

    The file is data: its episodes are checked to be what the suite asks for and possible in the world, and scored. What
    is said about their training (all that follows) is written down as it stands.

    Args:
        skills: an npz file, as `vendirl score` reads it, of the episodes of all skills.
        method: what the method is to be called.
        world: the world of the suite in which the skills act.
        out: the folder of the board. A new one is begun if a suite is named.
        seed: the seed of the training, by which several sets of skills are told apart.
        suite: the suite of the board; by default that of the board that is there.
        steps: how many steps of the environment were learned from.
        seconds: how long the training took.
        settings, versions: the settings of the method, and the versions of its software.
    """
    folder, path = Path(out), Path(skills)
    chosen = board_in(folder, None if suite is None else suite_named(suite)).suite
    seed_number(seed)
    if steps is not None:
        finite_number(steps, "steps", least=0)
        if steps > chosen.steps:
            raise ValueError(f"steps={steps:g} is more than the {chosen.steps:g} that {chosen.name} allows each seed")
    data = read_npz(path)
    check_skills(data, chosen, world)
    entry = Entry(
        method=method,
        world=world,
        seed=seed,
        scores=scores_of(data, chosen),
        digest=digest_of(path),
        outside=True,
        steps=steps,
        seconds=seconds,
        settings=settings,
        versions=versions,
    )
    folder.mkdir(parents=True, exist_ok=True)
    with owning(folder, *WRITTEN):
        board = board_in(folder, chosen).adding(entry)
        write_board(board, folder)
    return board
