"""`vendirl benchmark`: a named suite of worlds and senses, and a leaderboard to which others add their rows."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from vendirl._text import verbatim
from vendirl.cli.command import Command
from vendirl.training.progress import progress_bar

if TYPE_CHECKING:
    from vendirl.boards import Board


@dataclasses.dataclass(frozen=True, kw_only=True)
class Benchmark(Command):
    """Run methods on a named suite and write a leaderboard, or add a row to it from skills that others trained.

    vendirl benchmark --methods diayn,metra,vendirl --out board/

    vendirl benchmark --add skills.npz --as their-method --world maze --seed 0 --out board/

    Attributes:
        out: The folder of the board: index.html, board.json and board.csv, and the runs. What is there is kept.
        suite: The suite: plane-maze-rooms-v1, or plane-maze-rooms-mini-v1 to try it out. A board that exists already
            keeps the one it has.
        methods: The methods to train, separated by commas; by default random,diayn,metra,vendirl. One that
            rewards by a similarity, such as vendirl, is trained once for each sense.
        worlds: Which of the suite's worlds to use, separated by commas; all of them by default.
        learner: The algorithm of choice, with its settings if wanted, such as "ppo(learning_rate=1e-3)"; by default
            ppo, or that of a published form.
        scenes: How many copies of the world are stepped in parallel, if not the usual number. With
            fewer, the skills are updated more often.
        seeds: How many seeds of each method to train, if not as many as the suite says.
        seed: The first of these seeds, or the seed of the skills that are added.
        add: An npz file of skills to add rather than to train: observations (episodes, T, D) and skill (episodes,).
        name: What to call the method on the board; needed with --add.
        world: The world of the suite in which the added skills act.
        steps: How many environment steps the added skills were trained for, if the board should say so.
        seconds: How long their training took, if the board should say so.
        settings: The settings that they were trained with, in your own words.
        versions: The software that they were trained with, in your own words.
    """

    out: Path
    suite: str | None = None
    methods: str | None = None
    worlds: str | None = None
    learner: str | None = None
    scenes: int | None = None
    seeds: int | None = None
    seed: int = 0
    add: Path | None = None
    name: Annotated[str | None, tyro.conf.arg(name="as")] = None
    world: str | None = None
    steps: float | None = None
    seconds: float | None = None
    settings: str = ""
    versions: str = ""

    def run(self) -> None:
        board = self._trained() if self.add is None else self._added(self.add)
        console = Console()
        for world in dict.fromkeys(row.world for row in board.rows):
            console.print(table_of(board, world))
        line = f"wrote {self.out / 'index.html'}, board.json and board.csv"
        console.print(verbatim(line), soft_wrap=True)

    def _added(self, path: Path) -> Board:
        from vendirl.boards import add_skills

        for flag, value in (
            ("methods", self.methods),
            ("worlds", self.worlds),
            ("learner", self.learner),
            ("scenes", self.scenes),
            ("seeds", self.seeds),
        ):
            if value is not None:
                raise ValueError(f"--{flag} is for training, and --add trains nothing; leave one of them out")
        if self.name is None or self.world is None:
            missing = "--as, the name of the method" if self.name is None else "--world, where the skills act"
            raise ValueError(f"--add needs {missing}")
        return add_skills(
            path,
            self.name,
            self.world,
            self.out,
            seed=self.seed,
            suite=self.suite,
            steps=self.steps,
            seconds=self.seconds,
            settings=self.settings,
            versions=self.versions,
        )

    def _trained(self) -> Board:
        from vendirl.boards import benchmark, read_board
        from vendirl.boards.running import DEFAULT
        from vendirl.clusters.comparing import split

        for flag in ("world", "steps", "seconds", "settings", "versions"):
            if getattr(self, flag):
                raise ValueError(f"--{flag} says something of skills that are added, so it needs --add")
        there = (self.out / "board.json").exists()
        suite = self.suite or (read_board(self.out).suite.name if there else DEFAULT)
        asked: dict[str, Any] = {"learner": self.learner, "scenes": self.scenes, "seeds": self.seeds}
        bars: list[progress_bar] = []
        said: set[str] = set()
        errors = Console(stderr=True)

        def progress(entrant):
            while bars:
                bars.pop().__exit__()
            for note in (entrant.note or "").split("\n"):
                if note and note not in said:
                    said.add(note)
                    errors.print(verbatim(note), soft_wrap=True)
            bars.append(progress_bar(entrant.name))
            return bars[-1].__enter__().__call__

        try:
            return benchmark(
                self.methods or "random,diayn,metra,vendirl",
                suite,
                self.out,
                worlds=None if self.worlds is None else split(self.worlds),
                name=self.name,
                progress=progress,
                seed=self.seed,
                **{name: value for name, value in asked.items() if value is not None},
            )
        finally:
            while bars:
                bars.pop().__exit__()


def table_of(board: Board, world: str) -> Table:
    """Methods by senses in a world, as a table for terminals."""
    rows = [row for row in board.rows if row.world == world]
    table = Table(title=verbatim(f"{board.suite.name}: {world}", style="table.title"), title_justify="left", box=SIMPLE)
    table.add_column("method", overflow="fold")
    for sense in board.suite.senses:
        table.add_column(verbatim(sense), justify="right")
    best = {sense: max(row.fraction for row in rows if row.sense == sense) for sense in board.suite.senses}
    for method in dict.fromkeys(row.method for row in rows):
        mine = [row for row in rows if row.method == method]
        cells = [
            verbatim(f"{row.fraction:.1%}" + "*" * row.trained_by_it, "bold" if row.fraction == best[row.sense] else "")
            for row in mine
        ]
        table.add_row(verbatim(method + (" (from outside)" if mine[0].outside else "")), *cells)
    table.caption = "of the attainable Vendi Score; bold: best; *: trained by it; intervals are on the page"
    return table
