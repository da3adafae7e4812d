"""A comparison of methods, as a table for terminals."""

from __future__ import annotations

from rich.table import Table

from vendirl._text import verbatim
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
            low, high = comparison.intervals[i, j]
            text = f"{comparison.iqm[i, j]:.2f} [{low:.2f}, {high:.2f}]"
            best, clear = first[k]
            cells.append(verbatim(text + "*" * clear, style="bold") if method == best else verbatim(text))
        table.add_row(verbatim(method), *cells)
    table.caption = "interquartile means, 95% intervals over seeds; bold: first; *: above all other intervals"
    return table
