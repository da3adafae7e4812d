"""A comparison of methods, as a table for terminals."""

from __future__ import annotations

from rich.table import Table

from vendirl._text import percent, verbatim
from vendirl.evaluation.comparison import Comparison


def table_of(comparison: Comparison, title: str) -> Table:
    """A row for each method, a column for each similarity; what is first in a column is bold."""
    table = Table(title=verbatim(title, style="table.title"), title_justify="left")
    table.add_column("method", overflow="fold")
    for similarity in comparison.similarities:
        table.add_column(verbatim(similarity), justify="right")
    first = {k: comparison.first(k) for k in comparison.similarities}
    for i, method in enumerate(comparison.methods):
        cells = []
        for j, k in enumerate(comparison.similarities):
            ends = comparison.interval_of(method, k)
            text = f"{comparison.iqm[i, j]:.2f}" + (f" [{ends[0]:.2f}, {ends[1]:.2f}]" if ends else "")
            best, clear = first[k]
            cells.append(verbatim(text + "*" * clear, style="bold") if method == best else verbatim(text))
        table.add_row(verbatim(method), *cells)
    several = any(len(scores) > 1 for row in comparison.scores.values() for scores in row.values())
    sure = f"{percent(comparison.confidence)} intervals over seeds"
    over = f"interquartile means, {sure}; bold: first; *: above all others"
    table.caption = over if several else "one seed each, which does not tell how seeds vary; bold: first"
    return table
