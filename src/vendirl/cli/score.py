"""`vendirl score`: measure skills from anywhere."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import tyro
from rich.console import Console
from rich.table import Table

from vendirl._text import verbatim
from vendirl.cli.command import Command

if TYPE_CHECKING:
    from vendirl.evaluation.measures.measure import Measure


@dataclasses.dataclass(frozen=True, kw_only=True)
class Score(Command):
    """Measure sets of skills, from any method: Vendi Score with its interval, null and ceiling.

    vendirl score skills.npz runs/mmd --similarity overlap --similarity "mmd(scale=4)"

    Attributes:
        files: npz files that hold observations (episodes, T, D) and skill (episodes,), run folders, or minari:NAME.
        similarity: What "alike" means. It may be given several times; `vendirl list` has them all. By default it is
            overlap.
        order: The order q of the Vendi Score.
        confidence: The confidence of the intervals.
        resamples: From how many halves of the episodes an interval is made.
        shuffles: From how many shuffles of the labels the null is made.
        seed: The seed of resamples and shuffles.
        measures: Print the other measures too, such as coverage, mutual information and returns, with notes.
        json: Print JSON, which has vendi_score, interval, null, ceiling, negative_mass and profile for each file
            and similarity.
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

    def run(self) -> None:
        from vendirl.data import sources_in
        from vendirl.evaluation.evaluate import evaluate

        if not self.files:
            raise ValueError("give at least one npz file, run folder or minari:NAME to score")
        found = {}
        for path in (path for file in self.files for path in sources_in(file)):
            found[path] = evaluate(
                path,
                self.similarity or ("overlap",),
                q=self.order,
                confidence=self.confidence,
                resamples=self.resamples,
                shuffles=self.shuffles,
                seed=self.seed,
                measures=self.measures,
            )
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
            data = evaluation.data
            table = Table()
            table.add_column("similarity", overflow="fold")
            for column in ("Vendi Score", "of at most", f"{self.confidence:.0%} interval", "null", "p"):
                table.add_column(column, justify="right", no_wrap=True)
            notes = []
            for r in evaluation.results:
                interval = "-" if r.interval is None else f"{r.interval[0]:.3f} to {r.interval[1]:.3f}"
                null = f"{r.null:.3f}"
                table.add_row(
                    verbatim(r.similarity), f"{r.vendi_score:.3f}", f"{r.ceiling:g}", interval, null, f"{r.p_value:.3f}"
                )
                notes += [r.interval_note] if r.interval_note else []
                if r.negative_mass > 1e-6:
                    notes.append(f"{r.similarity}: negative eigenvalues of mass {r.negative_mass:.3g} were clipped")
                if r.p_value > 0.05:
                    notes.append(f"{r.similarity}: no more diverse than the same episodes dealt to skills at random")
            title = f"{path}: {data.n} skills, {len(data)} episodes"
            console.print(verbatim(title, style="italic"), soft_wrap=True)
            console.print(table)
            for note in dict.fromkeys(notes):
                console.print(verbatim(f"  {note}", style="dim"))
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
