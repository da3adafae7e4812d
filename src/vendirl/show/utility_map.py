"""The utility map, as tables for terminals and for a page."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np
from rich.table import Table

from vendirl._text import verbatim
from vendirl.transfer.mapping import UtilityMap

SHOWN = 8
"""Tasks that have columns of their own in a terminal; the page has all."""


def tables_of_map(found: UtilityMap) -> list[Table]:
    """The tasks by number, what each set of skills earns in them, and how that goes with its score in each sense."""
    shown = range(len(found.tasks) if len(found.tasks) <= SHOWN else 0)
    tasks = _table("Tasks: columns of what follows" if shown else f"{len(found.tasks)} tasks: see the page", ())
    for task in shown:
        tasks.add_row(verbatim(f"{task + 1}  {found.tasks[task]}"))
    numbers = [str(task + 1) for task in shown]
    earned = _table(f"What sets of skills earn by {found.way}", (*numbers, "mean"))
    for i in np.argsort(-found.utility.mean(1)):
        row = (*found.utility[i, list(shown)], found.utility[i].mean())
        earned.add_row(verbatim(found.sets[i]), *(f"{x:.2f}" for x in row))
    told = _table("Rank correlation of the Vendi Score with what is earned", (*numbers, "mean", "by task"), said())
    for k, name in enumerate(found.senses):
        cells = [cell(found.correlation[k, task], found.p_values[k, task]) for task in shown]
        cells.append(cell(found.overall[k], found.overall_p[k]))
        told.add_row(verbatim(name), *cells, f"p {found.by_task_p[k]:.3f}")
    return [tasks, earned, told]


def _table(title: str, columns: Sequence[str], caption: str | None = None) -> Table:
    """A table as narrow as it can be, with a first column of names."""
    table = Table(title=verbatim(title), title_justify="left", caption=caption, box=None, padding=(0, 1, 0, 0))
    table.add_column("", overflow="fold")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def cell(ρ: float, p: float) -> str:
    """A correlation, with a star if fewer than one in twenty deals of sets have one as large."""
    return f"{ρ:+.2f}{'*' if p <= 0.05 else ''}"


def said() -> str:
    """What the stars are."""
    return (
        "*: sets of skills dealt at random have a correlation as large in at most 5 % of deals, each cell by itself. "
        "By task: the share of shuffles of tasks in which correlations differ as much"
    )


def html_of_map(found: UtilityMap) -> str:
    """The same as HTML, cells coloured by their correlation."""
    parts = []
    for title, rows, head, values in (
        (f"What sets of skills earn by {found.way}", found.sets, found.tasks, found.utility),
        ("Rank correlation of the Vendi Score with what is earned", found.senses, found.tasks, found.correlation),
    ):
        top = "".join(f"<th>{html.escape(name)}</th>" for name in ("", *head))
        body = ""
        for name, row in zip(rows, values, strict=True):
            cells = "".join(f'<td style="background:{_colour(float(x))}">{x:.2f}</td>' for x in row)
            body += f"<tr><td>{html.escape(name)}</td>{cells}</tr>"
        parts.append(f"<h2>{html.escape(title)}</h2><table><tr>{top}</tr>{body}</table>")
    return "".join([*parts, f"<p>{html.escape(said())}</p>"])


def _colour(x: float) -> str:
    """Blue for what is positive, orange for what is negative, as strong as it is large."""
    hue = 210 if x >= 0 else 30
    return f"hsl({hue} 80% {100 - 45 * min(abs(x), 1.0):.0f}%)"
