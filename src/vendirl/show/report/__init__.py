"""The report: one HTML file that shows a set of skills, or several side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vendirl._files import write_bytes_atomically
from vendirl.evaluation.evaluate import Evaluation
from vendirl.show.report.page import render
from vendirl.show.report.payload import payload, payload_of_methods

__all__ = ["payload", "payload_of_methods", "render", "write_comparison", "write_report"]


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
    out = _file(Path(out))
    return _write(render(payload(sources, similarities, **settings)), out)


def write_comparison(
    methods: Mapping[str, Sequence[Evaluation]], out: str | Path, title: str, command: str = ""
) -> Path:
    """Write the page about methods that were evaluated before, with all their seeds; returns its path.

    Args:
        methods: by name the evaluations of its seeds.
    """
    return _write(render(payload_of_methods(methods, title, command)), _file(Path(out)))


def _file(out: Path) -> Path:
    if out.is_dir():
        raise ValueError(f"{out} is a folder; name a file such as {out / 'report.html'}")
    return out


def _write(html: str, out: Path) -> Path:
    out.parent.mkdir(parents=True, exist_ok=True)
    write_bytes_atomically(out, html.encode("utf-8", "replace"))  # names of files need not be text
    return out
