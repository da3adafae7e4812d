"""The page about a sweep: the best trial, how trials learned, and which settings matter. It needs no network, and no
script runs in it."""

from __future__ import annotations

import html
import math
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vendirl._files import write_bytes_atomically
from vendirl._text import counted, printable, written
from vendirl.clusters.space import Dimension, space_text
from vendirl.clusters.sweep import Sweep, Trial
from vendirl.show.plain_charts import Axis, Mark, bars, chart

MOST_CURVES = 60
"""Trials whose curves are drawn, the best of them."""
MOST_ROWS = 200
"""Trials in the table, the best of them."""


def write_sweep(sweep: Sweep, out: Path) -> Path:
    """Write the page; returns its path."""
    if out.is_dir():
        raise ValueError(f"{out} is a folder; name a file such as {out / 'report.html'}")
    out.parent.mkdir(parents=True, exist_ok=True)
    write_bytes_atomically(out, page(sweep).encode("utf-8", "replace"))
    return out


def page(sweep: Sweep) -> str:
    """The page as HTML."""
    done = sweep.finished
    title = f"Sweep of {', '.join(dimension.name for dimension in sweep.space)}"
    sections = [_head(sweep), *([_best(sweep), _charts(sweep, done)] if done else []), _table(sweep, done)]
    policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_text(title)}</title><style>{STYLE}</style></head><body><main>{''.join(sections)}</main></body></html>"
    )


def _head(sweep: Sweep) -> str:
    settings, failed = sweep.settings, len(sweep.trials) - len(sweep.finished)
    swept = {dimension.name for dimension in sweep.space}
    parts = {
        "skills": counted(settings.skills, "skill"),
        "method": f"of {settings.method}",
        "env": f"in {settings.env}",
        "similarity": f"alike by {settings.similarity}",
    }
    what = " ".join(said for name, said in parts.items() if name not in swept)
    seeds = f", {settings.seeds} seeds each" if settings.seeds > 1 else ""
    count = f"{counted(len(sweep.trials), 'trial')} by the sampler {sweep.sampler}{seeds}" + (
        f", {failed} failed" if failed else ""
    )
    return (
        f"<header><h1>Sweep</h1><p class=lead>{_text(what)}</p>"
        f"<p class=soft>{_text(count)}. Over <code>{_text(space_text(sweep.space))}</code></p></header>"
    )


def _best(sweep: Sweep) -> str:
    best = sweep.best
    said = "".join(f"<dt>{_text(name)}</dt><dd>{_text(_word(value))}</dd>" for name, value in best.values.items())
    second = f" The second is at {sweep.finished[1].objective:.4g}." if len(sweep.finished) > 1 else ""
    caveat = (
        f"The best of {len(sweep.finished)} trials is partly the luckiest: train it again with other seeds before you "
        f"report its {sweep.objective}.{second}"
    )
    look = f"vendirl report {shlex.quote(str(best.folder))}"
    return (
        f"<section class=best><h2>Best</h2><p class=number>{best.objective:.4g}</p>"
        f"<p class=soft>{_text(sweep.objective)}, trial {best.number}</p><dl>{said}</dl>"
        f"<p class=soft>{_text(caveat)}</p><p class=soft>Look at it: <code>{_text(look)}</code></p></section>"
    )


def _charts(sweep: Sweep, done: Sequence[Trial]) -> str:
    parts = [_section("Importance", *_importance(sweep)), _curves(done)]
    ordered = sorted(done, key=lambda trial: trial.number)
    best_so_far = [max(_number(t) for t in ordered[: i + 1]) for i in range(len(ordered))]
    numbers = [float(trial.number) for trial in ordered]
    marks = [Mark(list(zip(numbers, best_so_far, strict=True)), "best so far", "best")] if len(ordered) > 1 else []
    marks += [_dot(trial, (trial.number, _number(trial)), done[0]) for trial in ordered]
    axes = Axis.around("trial", [*numbers, 0.0]), Axis.around(sweep.objective, [_number(trial) for trial in done])
    parts.append(_section("Trials in order", "The line is the best so far.", chart(*axes, marks)))
    for dimension in sweep.space:
        parts.append(_section(dimension.name, f"{sweep.objective} by it", _slice(sweep, dimension, done)))
    return f"<div class=charts>{''.join(parts)}</div>"


def _importance(sweep: Sweep) -> tuple[str, str]:
    found = sweep.importance
    if not found:
        return "There are too few trials, or they differ too little, to tell.", ""
    rows = [(one.name, one.share, f"{one.share:.0%}, p = {one.p:.3f}") for one in found]
    caption = (
        "The share of the variance between trials that each setting explains by itself, beyond what it would explain "
        "if results were dealt to trials at random; p is how often that explains as much."
    )
    learned = sweep.sampler not in ("grid", "random")
    return caption + (" The sampler chose where to look, so this is of where it looked." if learned else ""), bars(rows)


def _curves(done: Sequence[Trial]) -> str:
    shown = [(trial, trial.curve) for trial in done[:MOST_CURVES]]
    shown = [(trial, curve) for trial, curve in shown if curve]
    if not shown:
        return ""
    points = [point for _, curve in shown for point in curve]
    axes = (
        Axis.around("environment steps", [0.0, *(step for step, _ in points)]),
        Axis.around("Vendi Score", [score for _, score in points]),
    )
    marks = [
        Mark(curve, f"trial {trial.number}: {trial.said}", "best" if trial is done[0] else "faint")
        for trial, curve in reversed(shown)
    ]
    few = f" Of {len(done)} trials, the best {MOST_CURVES}." if len(done) > MOST_CURVES else ""
    caption = f"The score while skills were learned; the best trial is drawn in colour.{few}"
    return _section("Learning curves", caption, chart(*axes, marks))


def _slice(sweep: Sweep, dimension: Dimension, done: Sequence[Trial]) -> str:
    y = Axis.around(sweep.objective, [_number(trial) for trial in done])
    values: list[Any] = [trial.values[dimension.name] for trial in done]
    if dimension.range is None:
        x = Axis.of_names(dimension.name, [_word(choice) for choice in dimension.choices])
        places = [float(dimension.choices.index(value)) for value in values]
    else:
        x = Axis.around(dimension.name, [dimension.range.low, dimension.range.high], dimension.range.log)
        places = [float(value) for value in values]
    pairs = list(zip(done, places, strict=True))
    return chart(x, y, [_dot(trial, (place, _number(trial)), done[0]) for trial, place in reversed(pairs)])


def _dot(trial: Trial, point: tuple[float, float], best: Trial) -> Mark:
    said = f"trial {trial.number}: {_number(trial):.4g}, {trial.said}"
    return Mark([point], said, "best" if trial is best else "usual")


def _table(sweep: Sweep, done: Sequence[Trial]) -> str:
    names = [dimension.name for dimension in sweep.space]
    head = "".join(f"<th>{_text(name)}</th>" for name in ("trial", sweep.objective, *names))
    rows = []
    for trial in done[:MOST_ROWS]:
        cells = [str(trial.number), f"{trial.objective:.4g}", *(_word(trial.values[name]) for name in names)]
        rows.append(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in cells)}</tr>")
    failed = [trial for trial in sweep.trials if trial.objective is None]
    for trial in failed[:MOST_ROWS]:
        cells = [str(trial.number), "failed", *(_word(trial.values[name]) for name in names)]
        why = f'<tr class=why><td></td><td colspan="{1 + len(names)}">{_text(trial.why)}</td></tr>'
        rows.append(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in cells)}</tr>{why}")
    left = len(done) + len(failed) - len(done[:MOST_ROWS]) - len(failed[:MOST_ROWS])
    more = f"<p class=soft>{left} more are in sweep.json.</p>" if left else ""
    table = f"<div class=wide><table><tr>{head}</tr>{''.join(rows)}</table></div>"
    return f"<section><h2>All trials</h2>{table}{more}</section>"


def _section(title: str, caption: str, inside: str) -> str:
    return f"<section><h2>{_text(title)}</h2><p class=soft>{_text(caption)}</p>{inside}</section>"


def _word(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.4g}" if isinstance(value, float) else written(value)


def _text(text: object) -> str:
    return html.escape(printable(text))


def _number(trial: Trial) -> float:
    return math.nan if trial.objective is None else trial.objective


STYLE = """
:root { color-scheme: light dark; --paper: #fbfaf7; --card: #fff; --ink: #1d2129; --soft: #626a76; --line: #e4e2dc;
  --accent: #2458c5; --dot: #8aa4d6; }
@media (prefers-color-scheme: dark) { :root { --paper: #14161a; --card: #1c1f25; --ink: #e8e6e1; --soft: #9aa2ae;
  --line: #30343c; --accent: #7ea6ff; --dot: #51699c; } }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 28px 20px 60px; }
h1 { margin: 0 0 4px; font-size: 30px; } h2 { margin: 0 0 4px; font-size: 17px; }
.lead { margin: 0; font-size: 18px; } .soft { margin: 4px 0 8px; color: var(--soft); font-size: 14px; }
code { font: 13px ui-monospace, monospace; overflow-wrap: anywhere; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 16px 18px;
  margin-top: 16px; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(440px, 100%), 1fr)); gap: 16px; }
.charts section { margin-top: 0; } .best { margin-bottom: 16px; }
.number { margin: 0; font-size: 44px; font-weight: 650; line-height: 1.1; color: var(--accent); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 18px; margin: 10px 0; }
dt { color: var(--soft); } dd { margin: 0; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
svg { width: 100%; height: auto; } svg text { fill: var(--soft); font-size: 12px; } svg .title { fill: var(--ink); }
.grid { stroke: var(--line); } polyline { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
polyline.faint { stroke: var(--dot); opacity: .55; } polyline.best { stroke: var(--accent); stroke-width: 2.6; }
polyline:hover { stroke: var(--ink); opacity: 1; stroke-width: 3; }
circle.usual { fill: var(--dot); } circle.faint { fill: var(--dot); opacity: .55; }
circle.best { fill: var(--accent); stroke: var(--ink); stroke-width: 1.5; }
circle:hover { fill: var(--ink); } .bar { fill: var(--accent); } .under { fill: var(--line); }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 14px; }
th, td { text-align: right; padding: 5px 14px 5px 0; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 500; } .why td { color: var(--soft); text-align: left; border-bottom: 0; }
"""
