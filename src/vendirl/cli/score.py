"""`vendirl score`: measure skills from anywhere."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import tyro
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from vendirl._text import counted, verbatim
from vendirl.cli.command import Command

if TYPE_CHECKING:
    from vendirl.evaluation.evaluate import Evaluation
    from vendirl.evaluation.measures.measure import Measure


@dataclasses.dataclass(frozen=True, kw_only=True)
class Score(Command):
    """Measure sets of skills, from any method: Vendi Score with intervals, null and ceiling; of two, the difference.

    vendirl score skills.npz runs/mmd --similarity overlap --similarity "mmd(scale=4)"

    Attributes:
        files: npz files that hold observations (episodes, T, D) and skill (episodes,), run folders, or minari:NAME.
            With two of them the difference of their scores is shown as well, over seeds if they have several.
        similarity: What "alike" means. It may be given several times; `vendirl list` has them all. By default it is
            that of the runs, and overlap.
        order: The order q of the Vendi Score.
        confidence: The confidence of the intervals.
        resamples: How many sets of episodes are scored to see how a score varies; 0 for no intervals.
        shuffles: From how many shuffles of the labels the null is made.
        seed: The seed of resamples and shuffles.
        measures: Print the other measures too, such as coverage, mutual information and returns, with notes.
        json: Print JSON, which has vendi_score, repetition, limit, null, ceiling, negative_mass and profile for each
            file and similarity.
        trust: If a run is not finished, make its environment even if that imports a module, which runs its code. Use it
            for your own runs, and for those of people you trust.
    """

    files: tyro.conf.Positional[tuple[str, ...]]
    similarity: tyro.conf.UseAppendAction[tuple[str, ...]] = ()
    order: float = 1.0
    confidence: float = 0.95
    resamples: int = 200
    shuffles: int = 100
    seed: int = 0
    measures: bool = False
    json: bool = False
    trust: bool = False

    def run(self) -> None:
        from vendirl.data import is_unfinished, sources_in
        from vendirl.evaluation.difference import differences
        from vendirl.evaluation.diversity import columns_said
        from vendirl.evaluation.evaluate import evaluate
        from vendirl.show.report.payload import senses_of

        if not self.files:
            raise ValueError("give at least one npz file, run folder or minari:NAME to score")
        acted = {}
        for file in filter(is_unfinished, self.files):
            from vendirl.training.unfinished import acted_out  # which loads the trainer

            acted[file] = acted_out(file, self.trust)
        sources = [list(acted[file]) if file in acted else sources_in(file) for file in self.files]
        data = {name: episodes for names in acted.values() for name, episodes in names.items()}
        paths = [path for group in sources for path in group]
        senses = self.similarity or senses_of(paths)
        found: dict[str, Evaluation] = {
            path: evaluate(
                data.get(path, path),
                senses,
                q=self.order,
                confidence=self.confidence,
                resamples=self.resamples,
                shuffles=self.shuffles,
                seed=self.seed,
                measures=self.measures,
            )
            for path in paths
        }
        if self.json:
            plain = {path: e.to_json() for path, e in found.items()}
            shown = {
                path: e["results"] | ({"measures": e["measures"]} if self.measures else {}) for path, e in plain.items()
            }
            json.dump(shown, sys.stdout, indent=2, allow_nan=False)
            print()
            return
        console = Console()
        for path, evaluation in found.items():
            self._show(console, path, evaluation)
        console.print(columns_said(self.confidence), highlight=False)
        if len(sources) == 2:
            console.print(verbatim(f"{self.files[0]} minus {self.files[1]}", style="italic"), soft_wrap=True)
            for difference in differences(*([found[path] for path in group] for group in sources)):
                console.print(verbatim(f"  {difference}"), soft_wrap=True)

    def _show(self, console: Console, path: str, evaluation: Evaluation) -> None:
        from vendirl.evaluation.diversity import between

        data = evaluation.data
        table = Table(box=SIMPLE)
        table.add_column("similarity", overflow="fold", min_width=12)
        for column in ("score", "at most", "a repetition", "the limit", "null", "p"):
            table.add_column(column, justify="right", no_wrap=True)
        for r in evaluation.results:
            ends = between(r.repetition), between(r.limit)
            score, null, p = f"{r.vendi_score:.3f}", f"{r.null:.3f}", f"{r.p_value:.3f}"
            table.add_row(verbatim(r.similarity), score, f"{r.ceiling:g}", *ends, null, p)
        title = f"{path}: Vendi Score of {counted(data.n, 'skill')}, {counted(len(data), 'episode')}"
        console.print(verbatim(title, style="italic"), soft_wrap=True)
        console.print(table)
        for r in evaluation.results:
            notes = r.sentences(tabled=True)
            if r.negative_mass > 1e-6:
                notes.append(f"negative eigenvalues of mass {r.negative_mass:.3g} were clipped")
            for note in notes:
                console.print(verbatim(f"  {r.similarity}: {note}", style="dim"))
        if evaluation.measures:
            _print_measures(console, evaluation.measures)


def _print_measures(console: Console, measures: Sequence[Measure]) -> None:
    """A row for each measure that has a value; below them the notes, each once, and what has no value and why."""
    table = Table(box=None, show_header=False)
    table.add_column(overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    known: dict[str, int] = {}
    for m in measures:
        if m.value is not None:
            notes = re.split("; (?!give )", m.note) if m.note else []  # what to give belongs to what it is for
            numbers = " ".join(f"[{known.setdefault(note, len(known) + 1)}]" for note in notes)
            value = verbatim(f"{m.value:.4g} {m.unit}".strip())
            table.add_row(verbatim(m.name), value, verbatim(numbers, style="dim"))
    console.print(table)
    for note, number in known.items():
        console.print(verbatim(f"  [{number}] {note}", style="dim"))
    for reason in dict.fromkeys(m.note for m in measures if m.value is None):
        names = ", ".join(m.name for m in measures if m.value is None and m.note == reason)
        console.print(verbatim(f"  not computed: {names} ({reason})", style="dim"))
