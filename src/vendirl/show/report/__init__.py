"""The report: one HTML file that shows a set of skills, or several side by side."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vendirl.show.report.page import render
from vendirl.show.report.payload import payload

__all__ = ["payload", "render", "write_report"]


def write_report(
    sources: str | Path | Sequence[str | Path],
    out: str | Path = "report.html",
    similarities: str | Sequence[str] = (),
    **settings: Any,
) -> Path:
    """Evaluate runs and skill data, and write the page about them, all at once or not at all; returns its path.

    Args:
        sources: run folders, npz files, "minari:NAME"; one of them, or several.
        out: the page.
        similarities: to measure by; if none, those that the runs were trained with, and `overlap`.
        settings: of `payload` and `evaluate`.
    """
    out = Path(out)
    if out.is_dir():
        raise ValueError(f"{out} is a folder; name a file such as {out / 'report.html'}")
    html = render(payload(sources, similarities, **settings))
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = out.with_name(f".{out.name}.{os.getpid()}")
    temporary.write_text(html, encoding="utf-8")
    temporary.replace(out)
    return out
