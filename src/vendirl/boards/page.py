"""The leaderboard as a page: one HTML file without scripts, which needs no network and holds no markup of others."""

from __future__ import annotations

import html
from collections.abc import Sequence

from vendirl._text import printable
from vendirl.boards.rows import Row, mean
from vendirl.boards.suite import Suite

_STYLE = """
:root { --paper: #faf9f6; --card: #fff; --ink: #1c2026; --soft: #59626e; --rule: #e4e1da; --bar: #cfe3f1;
  --accent: #0072b2; --warm: #b84e00; color-scheme: light dark; }
@media (prefers-color-scheme: dark) { :root { --paper: #13161b; --card: #1a1e25; --ink: #e9e7e2; --soft: #a4adba;
  --rule: #303741; --bar: #22435a; --accent: #56b4e9; --warm: #e69f00; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 24px clamp(12px, 3vw, 40px) 48px; max-width: 1500px; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
  font-variant-numeric: tabular-nums; }
h1 { font-size: 1.6rem; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 0 0 8px; }
p { margin: 0 0 8px; max-width: 85ch; }
.soft { color: var(--soft); font-size: 0.88rem; }
section { background: var(--card); border: 1px solid var(--rule); border-radius: 12px; padding: 16px 18px;
  margin: 16px 0; overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.92rem; }
th { text-align: left; font-weight: 600; color: var(--soft); vertical-align: bottom; }
th, td { padding: 6px 10px; border-bottom: 1px solid var(--rule); }
td { white-space: nowrap; }
td.method { white-space: normal; overflow-wrap: anywhere; min-width: 15ch; max-width: 36ch; }
td.number, th.number { text-align: right; }
td.best { font-weight: 700; }
.ends { display: block; color: var(--soft); font-size: 0.8rem; font-weight: 400; }
.mark { font-size: 0.78rem; font-weight: 600; border-radius: 5px; padding: 1px 6px; border: 1px solid; margin-left: 4px;
  white-space: nowrap; }
.outside { color: var(--warm); }
.own { text-decoration: underline; text-decoration-color: var(--accent); text-decoration-thickness: 2px;
  text-underline-offset: 3px; }
code { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 0.88em; overflow-wrap: anywhere; }
details { margin: 4px 0; } summary { cursor: pointer; overflow-wrap: anywhere; }
dl { margin: 4px 0 12px 18px; font-size: 0.88rem; } dt { color: var(--soft); } dd { margin: 0 0 4px;
  overflow-wrap: anywhere; }
"""


def page(suite: Suite, rows: Sequence[Row]) -> str:
    """The page about the rows of a board of a suite."""
    parts = [
        f"<h1>{_text(suite.name)}</h1>",
        f"<p>How diverse the {suite.skills} skills are that methods learn, in {len(suite.senses)} senses: percent of "
        f"the attainable Vendi Score of {suite.episodes} episodes of each skill, with the noise of its actions. "
        f"Budget: {suite.steps:,.0f} steps for each seed. Interquartile means over seeds with 95 % intervals, which "
        "are too narrow where seeds are few; a little above 100 % is noise. In each world the highest mean over the "
        "senses comes first; the best of a column is "
        '<b>bold</b>; <span class="own">underlined</span> is the sense that a method was trained by.</p>',
    ]
    for world in suite.worlds:
        there = [row for row in rows if row.world == world]
        parts.append(f"<section><h2>{_text(world)}</h2>{_table(there, suite, world)}</section>")
    parts.append(f"<section><h2>Settings, versions and costs</h2>{_details(rows)}</section>")
    parts.append(f"<section><h2>The senses</h2>{_senses(suite)}</section>")
    parts.append(_how(suite))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<link rel="icon" href="data:,">\n'
        f"<title>{_text(suite.name)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body>\n</html>\n"
    )


def _table(rows: Sequence[Row], suite: Suite, world: str) -> str:
    if not rows:
        return '<p class="soft">No rows yet.</p>'
    number = '<th class="number">'
    heads = "".join(f"{number}{_text(sense)}</th>" for sense in suite.senses)
    head = f"<tr><th>method</th>{number}mean</th>{heads}{number}seeds</th>{number}steps</th></tr>"
    best = {sense: max(row.fraction for row in rows if row.sense == sense) for sense in suite.senses}
    body = []
    for method in dict.fromkeys(row.method for row in rows):
        mine = {row.sense: row for row in rows if row.method == method}
        first = next(iter(mine.values()))
        mark = '<span class="mark outside">from outside</span>' if first.outside else ""
        cells = [
            f'<td class="method">{_text(method)}{mark}</td><td class="number">{mean(list(mine.values())):.1%}</td>'
        ]
        cells += [_cell(mine[sense], best[sense]) for sense in suite.senses]
        steps = "not said" if first.steps is None else f"{first.steps:,.0f}"
        cells.append(f'<td class="number">{first.seeds}</td><td class="number">{steps}</td>')
        body.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table><thead>{head}</thead><tbody>{''.join(body)}</tbody></table>"


def _cell(row: Row, best: float) -> str:
    kind = "number best" if row.fraction == best else "number"
    width = f"{100 * min(max(row.fraction, 0.0), 1.0):.1f}%"
    bar = f"background: linear-gradient(to right, var(--bar) {width}, transparent {width})"
    number = f'<span class="own">{row.fraction:.1%}</span>' if row.trained_by_it else f"{row.fraction:.1%}"
    ends = "one seed" if row.low is None or row.high is None else f"{row.low:.1%} to {row.high:.1%}"
    title = f"Vendi Score {row.score:.3f} of {row.attainable:.3f}"
    return f'<td class="{kind}" style="{bar}" title="{title}">{number}<span class="ends">{ends}</span></td>'


def _details(rows: Sequence[Row]) -> str:
    parts = []
    for world, method in dict.fromkeys((row.world, row.method) for row in rows):
        row = next(row for row in rows if (row.world, row.method) == (world, method))
        cost = "not said" if row.seconds is None else f"{row.seconds:,.0f} s for all seeds together"
        said = "as was said by who added it" if row.outside else "as it was run"
        items = {"settings": row.settings or "not said", "versions": row.versions or "not said", "training took": cost}
        listed = "".join(f"<dt>{name}, {said}</dt><dd><code>{_text(text)}</code></dd>" for name, text in items.items())
        parts.append(f"<details><summary>{_text(method)}, {_text(world)}</summary><dl>{listed}</dl></details>")
    return "".join(parts) or '<p class="soft">No rows yet.</p>'


def _senses(suite: Suite) -> str:
    heads = "".join(f'<th class="number">{_text(world)}</th>' for world in suite.worlds)
    rows = "".join(
        f'<tr><td class="method">{_text(sense)}</td><td class="method"><code>{_text(text)}</code></td>'
        + "".join(f'<td class="number">{suite.attainable[world][sense]:.3f}</td>' for world in suite.worlds)
        + "</tr>"
        for sense, text in suite.senses.items()
    )
    return (
        "<p>Two skills are alike if the similarity says so. The attainable score is the best that gradient ascent on "
        "the actions found or, where it cannot look, the number of skills.</p>"
        f"<table><thead><tr><th>sense</th><th>similarity</th>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _how(suite: Suite) -> str:
    world = next(iter(suite.worlds))
    what = f"--add skills.npz --as their-method --world {world} --seed 0"
    command = f"vendirl benchmark --suite {suite.name} {what} --out board"
    count = suite.skills * suite.episodes
    return (
        f"<section><h2>Add a row</h2><p>From skills that any code trained: an npz file with observations "
        f"({count}, T, D), those after each step, and skill ({count},), "
        f"{suite.episodes} episodes of each of {suite.skills} skills.</p><p><code>{_text(command)}</code></p></section>"
    )


def _text(text: object) -> str:
    """Text from anywhere, as text."""
    return html.escape(printable(text))
