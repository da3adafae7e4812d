"""The paper's Figures 1 and 3: skills that are diverse in four senses, learned, scored and drawn."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from rich.console import Console
from rich.table import Table

from vendirl._text import verbatim
from vendirl.show import figures
from vendirl.training.driver import run
from vendirl.training.progress import progress_bar
from vendirl.training.settings import Settings

# Directions are taken about the centre of the square, where every episode starts. Scaled, so that they fan out all
# around it: to the plain cosine opposite directions are one line, and half a circle is as diverse as the whole.
SENSES = {
    "direction": Settings(similarity="cosine(center=0.5, scaled=True)", skills=8, steps=1.3e6),
    "distance": Settings(similarity="mmd(scale=4)", skills=8, steps=1.3e6),
    "extent": Settings(similarity="covariance(scale=200)", skills=8),
    "direction and extent": Settings(similarity="0.5*cosine(center=0.5) + 0.5*covariance(scale=200)", skills=16),
}


def demo(out: Path, steps: float | None = None) -> None:
    """Learn the four skill sets, print their scores against what is attainable, and draw them side by side."""
    console = Console()
    table = Table(title="Skills learned in the paper's plane", title_justify="left")
    table.add_column("diverse in", overflow="fold")
    for column in ("skills", "score", "attainable", "fraction", "seconds"):
        table.add_column(column, justify="right", no_wrap=True)
    figure, axes = figures.new(len(SENSES))
    for axis, (sense, settings) in zip(axes[0], SENSES.items(), strict=True):
        settings = settings if steps is None else dataclasses.replace(settings, steps=steps)
        folder = _fresh(out / sense.replace(" ", "-"))
        with progress_bar(sense) as report:
            result = run(settings, folder, progress=report)
        summary = result.summary()
        result.draw(axis)
        score, ceiling = summary["vendi_score"], summary["attainable"]
        axis.set_title(f"{sense}\nVendi Score {score:.2f} of {ceiling:.2f}", fontsize=10)
        table.add_row(
            f"{sense}\n[dim]{settings.similarity}[/]",
            str(settings.skills),
            f"{summary['vendi_score']:.3f}",
            f"{summary['attainable']:.3f}",
            f"{summary['fraction_of_attainable']:.1%}",
            f"{summary['wall_seconds']:.0f}",
        )
        figure.savefig(out / "skills.png", dpi=150)
    console.print(table)
    console.print(verbatim(f"The picture is {out / 'skills.png'}; each run is in a folder beside it."), soft_wrap=True)


def _fresh(folder: Path) -> Path:
    """A folder that does not exist yet: earlier demos are kept."""
    if not folder.exists():
        return folder
    number = 2
    while (again := folder.with_name(f"{folder.name}-{number}")).exists():
        number += 1
    return again
