"""`vendirl compare`: methods side by side."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from pathlib import Path

import tyro
from rich.console import Console

from vendirl._text import counted, verbatim
from vendirl.cli.command import Command
from vendirl.cli.many import Many, bars, say
from vendirl.cli.train import asked
from vendirl.training.budget import Rounding
from vendirl.training.settings import Settings


@dataclasses.dataclass(frozen=True, kw_only=True)
class Compare(Settings, Many, Command):
    """Train several methods under the same budget, and score all of them in all senses, with intervals over seeds.

    vendirl compare --methods diayn,metra,csf,vendirl --similarities overlap,mmd,covariance --seeds 5 --out cmp/

    Attributes:
        out: The folder for the runs, the table (comparison.json) and the page (report.html). What is there already
            is kept.
        methods: The methods, separated by commas. One that rewards by a similarity, such as vendirl, is trained
            once for each. A published form, such as metra-published, has its release's learner and networks.
        similarities: What "alike" means, separated by commas.
        seeds: How many seeds of each method are trained, in one compiled program.
        steps: How many environment steps each seed is trained for at most.
    """

    out: Path
    methods: str = "random,diayn,metra,vendirl"
    similarities: str = "mmd(scale=4),overlap"
    seeds: int = 5
    steps: float = 1e6
    method: tyro.conf.Suppress[str] = "vendirl"
    similarity: tyro.conf.Suppress[str] = "mmd(scale=4)"
    rounding: tyro.conf.Suppress[Rounding] = "down"
    extended: tyro.conf.Suppress[int] = 0

    def run(self) -> None:
        from vendirl.clusters import comparing
        from vendirl.show.comparison import table_of

        methods, similarities = comparing.split(self.methods), comparing.split(self.similarities)
        comparing.check_similarities(similarities)
        entrants = comparing.contestants(methods, similarities, Settings(**asked(self)), {*self.given, "steps"})
        console = Console()
        for note in dict.fromkeys(line for entrant in entrants for line in (entrant.note or "").split("\n") if line):
            Console(stderr=True).print(verbatim(note), soft_wrap=True)
        with bars() as bar:
            folders = comparing.train_all(
                entrants,
                self.out,
                lambda entrant: bar(entrant.name),
                on=self.on,
                jobs=self.jobs,
                retries=self.retries,
                say=say,
                imports=self.imports,
            )
        scoring = (lambda path: say(f"scoring {path}")) if Console(stderr=True).is_terminal else None
        table, found = comparing.score_all(folders, similarities, self.seed, scoring)
        path = comparing.write_results(self.out, table, found)
        steps = comparing.steps_taken(folders)
        least, most = (kind(learned for learned, _ in steps.values()) for kind in (min, max))
        each = f"{most:,} steps" if least == most else f"{least:,} to {most:,} steps"
        title = f"{self.env}: {counted(self.skills, 'skill')}, {counted(self.seeds, 'seed')}, {each} each"
        console.print(table_of(table, title))
        if refilled := [f"{refills:,} for {name}" for name, (_, refills) in steps.items() if refills]:
            line = f"steps of each seed that refilled memories, beside these: {', '.join(refilled)}"
            console.print(verbatim(line), soft_wrap=True)
        written = [str(path)]
        try:
            from vendirl.show.report import write_comparison

            command = shlex.join(["vendirl", *sys.argv[1:]])
            page = write_comparison(found, self.out / "report.html", f"Methods compared: {self.env}", command)
            written.append(str(page))
        except ImportError as error:
            console.print(verbatim(f"no page was written: {error}"), soft_wrap=True)
        line = f"wrote {' and '.join(written)}; the runs are beside them"
        console.print(verbatim(line), soft_wrap=True)
