"""The utility map, as tables for terminals and for a page."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np
from rich.table import Table

from vendirl._text import verbatim
from vendirl.show.transfer import rounded
from vendirl.transfer.mapping import UtilityMap

SHOWN = 8
"""Tasks that have columns of their own in a terminal; the page has all."""
NONE = "-"
"""Where there is no correlation."""


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
        earned.add_row(verbatim(found.sets[i]), *map(rounded, row))
    told = _table("Rank correlation of the Vendi Score with what is earned", (*numbers, "mean", "by task"), said())
    for k, name in enumerate(found.senses):
        told.add_row(verbatim(name), *_told(found, k, shown))
    return [tasks, earned, told]


def _told(found: UtilityMap, k: int, tasks: Sequence[int]) -> list[str]:
    """The row of a sense: its correlation in tasks, with what is earned on average, and whether the task matters. Where
    all sets earn the same, or all score the same, there is no correlation to tell."""
    scored = np.ptp(found.scores[:, k]) > 0
    varies = scored & (np.ptp(found.utility, 0) > 0)
    cells = [cell(found.correlation[k, m], found.p_values[k, m]) if varies[m] else NONE for m in tasks]
    overall = scored and np.ptp(found.utility.mean(1)) > 0
    cells.append(cell(found.overall[k], found.overall_p[k]) if overall else NONE)
    return [*cells, f"p {found.by_task_p[k]:.3f}" if varies.any() else NONE]


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
    """What the stars mean."""
    return (
        "*: sets of skills dealt at random have a correlation as large in at most 5 % of deals, each cell by itself. "
        "By task: the share of shuffles of tasks in which correlations differ as much. "
        f"{NONE}: all sets earn the same, or score the same"
    )


def html_of_map(found: UtilityMap) -> str:
    """The same as HTML, cells coloured by what is earned and by their correlation."""
    every = range(len(found.tasks))
    means = found.utility.mean(1)
    order = np.argsort(-means)
    earned = [
        (found.sets[i], [*found.utility[i], means[i]], [*map(rounded, (*found.utility[i], means[i]))]) for i in order
    ]
    told = [
        (name, [*found.correlation[k], found.overall[k]], _told(found, k, every)) for k, name in enumerate(found.senses)
    ]
    return "".join(
        [
            _html_table(f"What sets of skills earn by {found.way}", (*found.tasks, "mean"), earned),
            _html_table(
                "Rank correlation of the Vendi Score with what is earned", (*found.tasks, "mean", "by task"), told
            ),
            f"<p>{html.escape(said())}</p>",
        ]
    )


def _html_table(title: str, columns: Sequence[str], rows: Sequence[tuple[str, Sequence[float], Sequence[str]]]) -> str:
    """A table of names, and of texts that are coloured by the numbers that belong to the first of them."""
    body = ""
    for name, numbers, texts in rows:
        shades = [f' style="background:{_colour(float(x))}"' for x in numbers]
        shades += [""] * (len(texts) - len(shades))
        cells = "".join(f"<td{shade}>{text}</td>" for shade, text in zip(shades, texts, strict=True))
        body += f"<tr><td>{html.escape(name)}</td>{cells}</tr>"
    top = "".join(f"<th>{html.escape(name)}</th>" for name in ("", *columns))
    return f"<h2>{html.escape(title)}</h2><div><table><tr>{top}</tr>{body}</table></div>"


def _colour(x: float) -> str:
    """Blue for positive values and orange for negative ones, the stronger the larger they are."""
    hue = 210 if x >= 0 else 30
    return f"hsl({hue} 80% {100 - 45 * min(abs(x), 1.0):.0f}%)"
