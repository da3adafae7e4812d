"""What skills are good for, as a table for terminals and as a page."""

from __future__ import annotations

import base64
import html
import io
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from vendirl._files import write_bytes_atomically
from vendirl._text import counted, drawn, percent, verbatim
from vendirl.transfer.result import NOTHING, Row, Transfer

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;margin:1rem 0}td,th{padding:.25rem .75rem;border-bottom:1px solid #ddd}"
    "div{overflow-x:auto}td{text-align:right}td:first-child,.ways td:nth-child(2),th{text-align:left}"
    "td,.ways th{white-space:nowrap}img{width:60rem;min-width:36rem;max-width:100%}code{background:#f4f4f4}"
    "p{overflow-wrap:anywhere}"
)


def cells_of(row: Row) -> list[str]:
    """What the table says of a row, beside its name."""
    ends = "" if row.interval is None else f" [{rounded(row.interval[0])}, {rounded(row.interval[1])}]"
    half = "never" if row.to_half is None else f"{row.to_half:,}"
    last = f"{row.returns[-1].mean():.3g}"
    score, mean, under = map(rounded, (row.score, row.mean, row.area))
    return [f"{score}{ends}", mean, under, half, f"{int(row.steps[-1]):,}", last]


def rounded(x: float) -> str:
    """Two decimals, and no sign of a zero."""
    return f"{round(x, 2) + 0.0:.2f}"


COLUMNS = ("score", "mean", "area", "to half", "steps", "return")


def said(found: Transfer) -> str:
    """What the numbers are, in a few sentences."""
    several = "scores are interquartile means over seeds and tasks"
    sure = f", {percent(found.confidence)} intervals over seeds"
    several += sure if found.seeds > 1 else "; one seed, so no intervals"
    left = f" Left out, since random actions earn as much as the oracle: {', '.join(found.left_out)}." * bool(
        found.left_out
    )
    return (
        f"0 is what random actions earn, 1 what the oracle earns; {several}. Area: under the curve up to "
        f"{found.budget:,.0f} steps of each task. To half: the steps after which the mean was half or more. Steps "
        f"count those of choosing skills, not those of pretraining.{left}"
    )


def table_of(found: Transfer) -> Table:
    """A table with a row for each set of skills and way of using them."""
    tasks, seeds = counted(len(found.tasks), "task"), counted(found.seeds, "seed")
    title = f"{found.env}: {tasks}, {found.budget:,.0f} steps each, {seeds}"
    table = _plain_table(verbatim(title, style="table.title"), verbatim(said(found)))
    table.add_column("skills", overflow="fold")
    table.add_column("way", overflow="fold")
    for name in COLUMNS:
        table.add_column(name, justify="right", no_wrap=True)
    for row in sorted(found.rows, key=lambda row: row.skills != NOTHING):
        table.add_row(verbatim(row.skills), verbatim(row.way), *map(verbatim, cells_of(row)))
    return table


def _plain_table(title: Text | str, caption: Text | None = None) -> Table:
    """A table that takes little room beside its words: with intervals it just fits a terminal."""
    return Table(title=title, title_justify="left", caption=caption, box=box.SIMPLE_HEAD, padding=0)


def table_of_runs(found: Transfer) -> Table:
    """How diverse each set of skills is, and how many of its skills are useful."""
    table = _plain_table("The skills")
    table.add_column("skills", overflow="fold")
    senses = list(dict.fromkeys(k for of in found.diversity.values() for k in of))
    for name in (*senses, "useful skills"):
        table.add_column(verbatim(name), justify="right")
    for run, of in found.diversity.items():
        scores = [f"{of[k][0]:.2f} of {of[k][1]:.3g}" if k in of else "" for k in senses]
        table.add_row(verbatim(run), *scores, f"{found.useful[run]:.2f}")
    return table


def write_page(found: Transfer, out: str | Path, command: str = "", more: str = "") -> Path:
    """Write a page with the tables and the curves, which needs no network and runs no script; returns its path.

    Args:
        command: what made it.
        more: HTML to be put below, such as that of a utility map.
    """
    senses = list(dict.fromkeys(k for of in found.diversity.values() for k in of))
    rows = [[row.skills, row.way, *cells_of(row)] for row in found.rows]
    runs = [
        [run, *(f"{of[k][0]:.2f} of {of[k][1]:.3g}" if k in of else "" for k in senses), f"{found.useful[run]:.2f}"]
        for run, of in found.diversity.items()
    ]
    picture = base64.b64encode(curves(found)).decode()
    parts = [
        f"<h1>What the skills are good for: {html.escape(found.env)}</h1>",
        f"<p>{html.escape(said(found))}</p>",
        _html_table(("skills", "way", *COLUMNS), rows, "ways"),
        f'<div><img alt="Curves of all ways" src="data:image/png;base64,{picture}"></div>',
        "<h2>The skills</h2>",
        _html_table(("skills", *senses, "useful skills"), runs),
        more,
        f"<p>Tasks: {', '.join(f'<code>{html.escape(task)}</code>' for task in found.tasks)}</p>",
        f"<p><code>{html.escape(command)}</code></p>" if command else "",
    ]
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    page = (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Transfer</title><meta name="viewport" '
        f'content="width=device-width, initial-scale=1"><meta '
        f'http-equiv="Content-Security-Policy" content="{policy}"><style>{_STYLE}</style></head><body>'
        f"{''.join(parts)}</body></html>\n"
    )
    out = Path(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_bytes_atomically(out, page.encode("utf-8", "replace"))
    return out


def curves(found: Transfer) -> bytes:
    """A picture of what was earned after so many steps, as PNG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    ax = figure.add_subplot()
    for row in found.rows:
        mean = row.z.mean((1, 2))
        label = drawn(row.way if row.skills == NOTHING else f"{row.skills}: {row.way}")
        if len(mean) == 1:
            style: dict[str, Any] = {"linestyle": "--" if row.skills == NOTHING else "-", "linewidth": 1}
            ax.plot([row.steps[0], max(found.budget, row.steps[0])], [mean[0]] * 2, label=label, **style)
        else:
            ax.plot(row.steps, mean, marker=".", label=label)
    ax.set(xlabel="steps of each task", ylabel="normalised return", ylim=(-0.1, 1.1))
    ax.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=120)
    return picture.getvalue()


def _html_table(head: tuple[str, ...], rows: list[list[str]], kind: str = "") -> str:
    top = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="{kind}"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
