"""`vendirl transfer`: what skills are good for."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from vendirl._text import verbatim
from vendirl.cli.command import Command
from vendirl.transfer.sets import Part
from vendirl.transfer.settings import Learning


@dataclasses.dataclass(frozen=True, kw_only=True)
class Transfer(Command):
    """Use sets of skills for tasks in several ways, compared with random actions, an oracle, and learning without them.

    vendirl transfer runs/* --tasks maze-goals --adapt select,control,finetune --steps 1e5 --seeds 5 --out t/

    Attributes:
        runs: The folders of the runs, all of the same body.
        tasks: The name of a set of tasks, or tasks such as "goal(x, y, at=[0.9, 0.1], radius=0.1)", separated by
            commas. `vendirl list` has them all.
        adapt: The ways of using skills, separated by commas.
        steps: How many steps of the body each task may take, for each way and seed.
        seeds: How often each way is tried.
        seed: The first of these seeds.
        out: The folder for the table (transfer.json, transfer.csv), the page (transfer.html), and everything that they
            are made from (cells/). When the same command is given again, it goes on with what is there.
        part: Which tasks of a set to use: held-out, train or all.
        env: Where the tasks are done, if not where the skills were learned: an environment with the same body.
        similarities: Senses of diversity in which to score the runs, besides their own, separated by commas.
        learning: How tasks are learned from reward.
        map: Draw the utility map: how returns on the tasks go with the Vendi Score in each sense, over sets of skills.
            If no runs are given, they are first trained in the environment of the task set, and kept in --out.
        methods: The methods that train skills for the map, separated by commas; vendirl does so once in each sense.
        senses: The senses of diversity for the map, separated by commas.
        skills: How many skills each set of the map has.
        pretraining: How many steps each set of the map is trained for, with each of --seeds seeds.
        trust: Make the environments that the runs name even if that imports a module, which runs its code.
    """

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional] = ()
    out: Path
    tasks: str = "maze-goals"
    adapt: str = "select,control,finetune"
    steps: float = 1e5
    seeds: int = 5
    seed: int = 0
    part: Part = "held-out"
    env: str | None = None
    similarities: str = ""
    learning: Learning = dataclasses.field(default_factory=Learning)
    trust: bool = False
    map: bool = False
    methods: str = "random,diayn,metra,visr,lsd,dads,vendirl"
    senses: str = (
        "mmd(scale=4),cosine(center=0.5),angle(scale=4, center=0.5),covariance(scale=200),overlap,final_state,"
        "wasserstein,alignment,0.5*mmd(scale=4) + 0.5*covariance(scale=200),0.5*cosine(center=0.5) + 0.5*overlap"
    )
    skills: int = 8
    pretraining: float = 1e6

    def run(self) -> None:
        try:
            self._run()
        except KeyboardInterrupt as stop:
            told = str(stop) or f"stopped; {self.out} keeps what is done, and the same command goes on with it"
            raise KeyboardInterrupt(told) from None

    def _run(self) -> None:
        from vendirl.clusters.comparing import split
        from vendirl.show.transfer import table_of, table_of_runs, write_page
        from vendirl.show.utility_map import html_of_map, tables_of_map
        from vendirl.transfer.mapping import enough, map_of, write_map
        from vendirl.transfer.transferring import transfer

        runs: tuple[Path, ...] = self.runs
        if self.map and not runs:
            runs = self._trained()
        if self.map:
            enough(len(runs))
        found = transfer(
            runs,
            split(self.tasks),
            split(self.adapt),
            steps=self.steps,
            seeds=self.seeds,
            seed=self.seed,
            out=self.out,
            part=self.part,
            env=self.env,
            similarities=split(self.senses if self.map else self.similarities),
            learning=self.learning,
            trust=self.trust,
        )
        console = Console()
        console.print(table_of_runs(found))
        console.print(table_of(found))
        for note in dict.fromkeys(f"{row.way}: {note}" for row in found.rows for note in row.notes):
            console.print(verbatim(note), soft_wrap=True)
        more = ""
        if self.map:
            maps = [map_of(found, way) for way in found.ways]
            write_map(maps, self.out)
            for each in maps:
                for table in tables_of_map(each):
                    console.print(table)
            more = "".join(map(html_of_map, maps))
        page = write_page(found, self.out / "transfer.html", shlex.join(["vendirl", *sys.argv[1:]]), more)
        files = f"{self.out / 'transfer.json'}, {self.out / 'transfer.csv'} and {page}"
        console.print(verbatim(f"wrote {files}"), soft_wrap=True)

    def _trained(self) -> tuple[Path, ...]:
        """The sets of skills for the map, of which those are trained that are not there yet."""
        from vendirl.clusters import comparing
        from vendirl.training.beginning import begin
        from vendirl.training.progress import progress_bar
        from vendirl.training.settings import Settings
        from vendirl.transfer.mapping import enough
        from vendirl.transfer.sets import known_sets
        from vendirl.transfer.transferring import asked_of

        if self.tasks not in known_sets():
            raise ValueError(
                f"--map without runs needs one set of tasks, such as plane-goals, but --tasks is {self.tasks}"
            )
        settings = Settings(
            env=self.env or known_sets()[self.tasks].env,
            skills=self.skills,
            steps=self.pretraining,
            seed=self.seed,
            seeds=self.seeds,
        )
        senses = comparing.split(self.senses)
        comparing.check_similarities(senses)
        entrants = comparing.contestants(comparing.split(self.methods), senses, settings)
        enough(len(entrants))
        # What is asked is looked at before hours are spent on skills for it; ways do not depend on the similarity.
        of_methods = {entrant.settings.method: dataclasses.replace(entrant.settings, seeds=1) for entrant in entrants}
        asked_of(
            {method: begin(settings) for method, settings in of_methods.items()},
            self.tasks,
            comparing.split(self.adapt),
            steps=self.steps,
            seeds=self.seeds,
            seed=self.seed,
            part=self.part,
            env=self.env,
            learning=self.learning,
        )

        def progress(entrant):
            return progress_bar(entrant.name).__enter__().__call__

        return tuple(comparing.train_all(entrants, self.out / "runs", progress).values())
