"""The report page: one HTML document that holds its data, its charts and all it needs to draw them.

`page.html`, `page.css` and the folder `js` lie beside this file and are inlined, the files of `js` as one script, with
Plotly's JavaScript from the package `plotly` and the payload as JSON. Nothing is fetched when the page is opened: a
content security policy in the page forbids it, and lets run only the two scripts that are inlined here, known by their
hashes. Strings of the payload are text: they can be neither markup nor script.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import re
from importlib import resources
from typing import Any

PARTS = ("labels", "features", "episodes", "results")  # of a set, without which there is nothing to show

# The files of `js`, in the order in which they become one script. Functions may be called before they are defined, but
# what a file reads while the script is loaded must stand in a file before it; `start` runs them all.
SCRIPTS = (
    "payload",
    "lists",
    "map",
    "elements",
    "words",
    "colours",
    "state",
    "groups",
    "sight",
    "order",
    "sections",
    "layout",
    "strip",
    "score",
    "seeds",
    "points",
    "trajectories",
    "canvas",
    "highlight",
    "multiples",
    "player",
    "visible",
    "axes",
    "kernel",
    "spectrum",
    "profile",
    "curve",
    "contributions",
    "measures",
    "comparison",
    "settings",
    "versions",
    "videos",
    "build",
    "draw",
    "start",
)


def render(payload: dict[str, Any]) -> str:
    """A self-contained HTML document that shows `payload`; write it as UTF-8.

    Args:
        payload: plain JSON values. "title", "versions" (name: version) and "command" are about the report;
            "comparison" is None or holds "methods", "similarities", "iqm" (methods x similarities), "intervals" (each
            None or its two ends), "scores" (of each seed) and "note". "groups", if there, says which "sets" (by number)
            are seeds of the same, with its "name", "learned" (None, or a sentence) and "differences" from untrained
            skills; they are the rows of the comparison. Each of "sets" has a "name", n "labels", D "features",
            "episodes" (a "skill" from 0 to n - 1 and its "points", T x D, T may differ), "thinned" (None, or what was
            left out), "world" (None, or "bounds", "walls" and "start" in the first two features), "results" (one for
            each similarity, with its n x n "kernel"), "measures", "curve", "settings" and "videos". Only "sets" and, of
            each, labels, features, episodes and results are required.

    Raises:
        ImportError: without the package plotly.
        ValueError: if the payload is not what is said above, or holds a NaN; says where.

    Example:
        >>> from vendirl.show.report import render
        >>> skills = {"name": "two", "labels": ["left", "right"], "features": ["x", "y"], "results": []}
        >>> skills["episodes"] = [{"skill": 0, "points": [[0, 0], [-1, 0]]}, {"skill": 1, "points": [[0, 0], [1, 0]]}]
        >>> render({"title": "Left & right", "sets": [skills]}).count("<title>Left &amp; right</title>")
        1
    """
    _check(payload)
    scripts = {"plotly": _plotly(), "js": _script()}
    parts = {
        "title": html.escape(str(payload.get("title") or "Skills report")),
        "policy": _policy(*scripts.values()),
        "css": _beside("page.css"),
        "payload": _json(payload),
        **scripts,
    }
    # One pass over the template, so that braces in what is put in are left alone.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], _beside("page.html"))


def _plotly() -> str:
    """Plotly's JavaScript."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise ImportError(
            "the report draws with plotly, which is not installed: pip install 'vendirl[report]'"
        ) from error
    return _lines(get_plotlyjs())


def _script() -> str:
    """The files of `js` as the body of one function, so that their names, such as `scroll`, are not the window's."""
    body = "\n".join(_beside("js", f"{name}.js") for name in SCRIPTS)
    return f'"use strict";\n(() => {{\n{body}\n}})();\n'


def _beside(*path: str) -> str:
    return _lines(resources.files("vendirl.show.report").joinpath(*path).read_text(encoding="utf-8"))


def _lines(text: str) -> str:
    """With the line ends that a browser makes of any, since the hash of a script is of what the browser reads."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _policy(*scripts: str) -> str:
    """What the page may do: run these scripts, and show pictures and videos it holds itself.

    WebGL charts are compiled by `new Function`, hence 'unsafe-eval', which only the scripts with these hashes can use.
    """
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    runs = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return (
        f"default-src 'none'; script-src {runs} 'unsafe-eval'; style-src 'unsafe-inline'; "
        "img-src data: blob:; media-src data:; base-uri 'none'; form-action 'none'"
    )


def _json(payload: dict[str, Any]) -> str:
    """JSON that can stand in a <script>: ASCII, and without <, > and &, which could end it or begin a comment."""
    text = json.dumps(payload, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


# ---- the payload, checked ------------------------------------------------------------------------------------------


def _check(payload: dict[str, Any]) -> None:
    if not isinstance(payload, dict) or not payload.get("sets"):
        raise ValueError('payload must be a dictionary whose "sets" lists at least one set of skills')
    _refuse_non_finite(payload, "payload")
    for i, skills in enumerate(payload["sets"]):
        at = f"payload['sets'][{i}]"
        if missing := [part for part in PARTS if part not in skills]:
            raise ValueError(f"{at} has no {missing[0]!r}; a set needs {', '.join(PARTS)}")
        _check_set(skills, at)
    if (groups := payload.get("groups")) is not None:
        members = [i for group in groups for i in group["sets"]]
        if sorted(members) != list(range(len(payload["sets"]))) or not all(group["sets"] for group in groups):
            raise ValueError("payload['groups'] must name the number of every set once, and each of them at least one")


def _check_set(skills: dict[str, Any], at: str) -> None:
    n, D = len(skills["labels"]), len(skills["features"])
    if n == 0 or D == 0:
        raise ValueError(f"{at} has {n} labels and {D} features; it needs at least one of each")
    for e, episode in enumerate(skills["episodes"]):
        where = f"{at}['episodes'][{e}]"
        if episode["skill"] not in range(n):
            raise ValueError(f"{where}['skill'] is {episode['skill']!r}, but the {n} skills are 0 to {n - 1}")
        if not episode["points"]:
            raise ValueError(f"{where}['points'] is empty; leave an episode without observations out")
        if widths := {len(point) for point in episode["points"]} - {D}:
            raise ValueError(f"{where}['points'] has a point of {min(widths)} numbers, but there are {D} features")
    for r, result in enumerate(skills["results"]):
        where = f"{at}['results'][{r}]"
        if missing := [part for part in ("similarity", "vendi_score", "kernel", "spectrum") if part not in result]:
            raise ValueError(f"{where} has no {missing[0]!r}")
        shape = [len(row) for row in result["kernel"]]
        if shape != [n] * n:
            raise ValueError(f"{where}['kernel'] must be {n} x {n}, one row for each label, but is {len(shape)} rows")
    if (curve := skills.get("curve")) and len(curve["steps"]) != len(curve["scores"]):
        raise ValueError(
            f"{at}['curve'] has {len(curve['steps'])} steps, but scores for {len(curve['scores'])} of them"
        )


def _refuse_non_finite(value: Any, at: str) -> None:
    """JSON knows neither NaN nor infinity, and a chart would silently leave them out."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{at} is {value}; a number must be finite (None where there is none, 'inf' as an order)")
    elif isinstance(value, dict):
        for key, item in value.items():
            _refuse_non_finite(item, f"{at}[{key!r}]")
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value):
            _refuse_non_finite(item, f"{at}[{i}]")
