"""The tables of the race: what benchmarks/race.json says, put into docs/methods.md and the README."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

from marks import ROOT, write
from timing import table
from vendirl.boards import Suite
from vendirl.evaluation.comparison import interquartile_mean, interval

EARLIER = "earlier"
"""The form of rows that a version before the record made, of which means and intervals alone were kept."""


def write_tables(record: dict[str, Any], planned: list[dict[str, str]], senses: list[str], suite: Suite) -> None:
    """Make the tables of both documents again."""
    rows = rows_of(record, senses)
    worlds = [world for world in suite.worlds if any(row["world"] == world for row in rows)]
    write(ROOT / "README.md", "race", "\n".join([status(record, planned), _summaries(rows, worlds, senses)]))
    parts = [status(record, planned), _summaries(rows, worlds, senses)]
    parts += [_every_method(rows, world, senses, suite) for world in worlds]
    if tuning := [trial for trial in record["trials"] if trial["form"] == "tuning"]:
        parts.append(_tuning(tuning, senses, suite))
    write(ROOT / "docs" / "methods.md", "race", "\n".join(parts))


def status(record: dict[str, Any], planned: list[dict[str, str]]) -> str:
    """How much of the race has been run, in words."""
    names = ("world", "method", "form", "setting", "learner")
    there = {tuple(trial[name] for name in names) for trial in record["trials"]}
    done = {form: [0, 0] for form in ("untuned", "tuning", "tuned", "published")}
    for trial in planned:
        done[trial["form"]][0] += tuple(trial[name] for name in names) in there
        done[trial["form"]][1] += 1
    methods = len({trial["method"] for trial in planned if trial["form"] == "untuned"})
    done["tuned"][1] = methods * len({trial["world"] for trial in planned})
    said = ", ".join(f"{found} of {wanted} {form}" for form, (found, wanted) in done.items())
    hours = sum(trial["wall_seconds"] for trial in record["trials"]) / 3600
    text = f"Trials in the record: {said}; {hours:.1f} hours of training, on two cores with other work on them."
    return textwrap.fill(text, 119) + "\n"


def rows_of(record: dict[str, Any], senses: list[str]) -> list[dict[str, Any]]:
    """A row for each set of skills: world, method, form, and by sense the mean over seeds with its ends. VendiRL has
    one for each sense that it was trained by, in the order of the senses. Of methods with an untuned row, what an
    earlier version made is left out."""
    rows = []
    for trial in record["trials"]:
        if trial["form"] == "tuning":
            continue
        for by, scores in enumerate((trial.get("all") or {None: trial["scores"]}).values()):
            trained_by = senses[by] if "all" in trial else None
            name = f"vendirl, by {trained_by}" if trained_by else trial["method"]
            cells = {sense: (float(interquartile_mean(x)), *interval(x)) for sense, x in scores.items()}
            rows.append({**_named(trial), "name": name, "trained_by": trained_by, "cells": cells})
    there = {(row["world"], row["name"]) for row in rows if row["form"] == "untuned"}
    for world, methods in record["earlier"].items():
        for name, cells in methods.items():
            if (world, name) not in there:
                by = name.removeprefix("vendirl, by ") if name.startswith("vendirl") else None
                rows.append({"world": world, "form": EARLIER, "name": name, "trained_by": by, "cells": cells})
    return rows


def _named(trial: dict[str, Any]) -> dict[str, Any]:
    return {name: trial[name] for name in ("world", "form", "setting", "learner")}


def _form_of_comparison(rows: list[dict[str, Any]]) -> tuple[str, ...]:
    """Which rows are compared: tuned ones where VendiRL and somebody else have them, else those with defaults."""
    tuned = {row["trained_by"] is None for row in rows if row["form"] == "tuned"}
    return ("tuned",) if tuned == {True, False} else ("untuned", EARLIER)


def _summaries(rows: list[dict[str, Any]], worlds: list[str], senses: list[str]) -> str:
    """In each world and sense, VendiRL trained by it, and the best of the others."""
    lines = []
    for world in worlds:
        chosen = _form_of_comparison([row for row in rows if row["world"] == world])
        here = [row for row in rows if row["world"] == world and row["form"] in chosen]
        for sense in senses:
            mine = next((row for row in here if row["trained_by"] == sense), None)
            others = [row for row in here if row["trained_by"] is None]
            if mine is None or not others:
                continue
            best = max(others, key=lambda row: row["cells"][sense][0])
            clearly = mine["cells"][sense][1] > max(row["cells"][sense][2] for row in others)
            first = mine["cells"][sense][0] > best["cells"][sense][0]
            shown = [f"{_cell(mine, sense, first)}{_mark(mine)}"]
            shown += [f"{_cell(best, sense, not first)} `{best['name']}`{_mark(best)}", "yes" if clearly else "no"]
            lines.append([world, sense, chosen[0], *shown])
    head = ["world", "sense", "settings", "VendiRL, trained by it", "best of the others", "clearly first"]
    return table("VendiRL in the sense that it was trained in, and the best of the others in that sense", head, lines)


def _every_method(rows: list[dict[str, Any]], world: str, senses: list[str], suite: Suite) -> str:
    here = [row for row in rows if row["world"] == world]
    best = {sense: max(row["cells"][sense][0] for row in here) for sense in senses}
    lines = []

    def fraction(row: dict[str, Any]) -> float:
        return float(np.mean([row["cells"][sense][0] / suite.attainable[world][sense] for sense in senses]))

    for row in sorted(here, key=fraction, reverse=True):
        cells = [_cell(row, sense, row["cells"][sense][0] == best[sense]) for sense in senses]
        form = "untuned" if row["form"] == EARLIER else row["form"]
        how = _setting(row) if row["form"] == "tuned" else ""
        lines.append([f"`{row['name']}`{_mark(row)}", f"{form}{how}", *cells, f"{fraction(row):.1%}"])
    head = ["method", "settings", *senses, "mean of attainable"]
    return table(f"{world}: all methods; interquartile mean and 95 % interval over seeds", head, lines)


def _tuning(trials: list[dict[str, Any]], senses: list[str], suite: Suite) -> str:
    lines = []
    for trial in trials:
        attainable = suite.attainable[trial["world"]]
        cells = [np.mean(trial["scores"][sense]) / attainable[sense] for sense in senses]
        shown = [f"{cell:.1%}" for cell in (*cells, np.mean(cells))]
        lines.append([trial["world"], f"`{trial['method']}`", _setting(trial).strip(" ()") or "defaults", *shown])
    head = ["world", "method", "setting", *senses, "mean"]
    return table("Tuning: fractions of the attainable score, means of the tuning seeds", head, lines)


def _setting(row: dict[str, Any]) -> str:
    said = [row["setting"]] if row["setting"] else []
    said += [row["learner"]] if row["learner"] != "ppo" else []
    return f" (`{', '.join(said)}`)" if said else ""


def _mark(row: dict[str, Any]) -> str:
    return "°" if row["form"] == EARLIER else ""


def _cell(row: dict[str, Any], sense: str, bold: bool) -> str:
    mean, low, high = row["cells"][sense]
    text = f"{mean:.3f} ({low:.3f} to {high:.3f})"
    return f"**{text}**" if bold else text
