"""The paper's Figure 2: eight random skills and eight trained ones, their manifolds, and their scores under overlap."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.collections import EllipseCollection
from rich.console import Console

from vendirl._text import verbatim
from vendirl.evaluation.evaluate import evaluate
from vendirl.show import figures
from vendirl.training.beginning import begin
from vendirl.training.driver import run
from vendirl.training.progress import progress_bar
from vendirl.training.run import Run
from vendirl.training.settings import Settings

EPISODES = 5
NEIGHBOURS = 3
SETTINGS = Settings(similarity="mmd(scale=4)", skills=8, steps=1.3e6)


def figure2(out: Path, seed: int = 0) -> dict[str, float]:
    """Draw random and trained skills side by side, with their Vendi Scores under `overlap`; returns the scores."""
    settings = dataclasses.replace(SETTINGS, seed=seed)
    with progress_bar("training") as report:
        sets = {"random skills": begin(settings), "trained skills": run(settings, progress=report)}
    figure, axes = figures.new(2, size=4.2)
    console, scores = Console(), {}
    for axis, (name, skills) in zip(axes[0], sets.items(), strict=True):
        points = skills.rollout(episodes=EPISODES, deterministic=False, draw=seed)
        result = evaluate(points, f"overlap(neighbours={NEIGHBOURS})", measures=False, seed=seed)[0]
        draw_manifolds(axis, points, NEIGHBOURS)
        _draw(axis, skills, points)
        axis.set_title(f"{name}\nVendi Score {result.vendi_score:.3f} of {result.ceiling:g}", fontsize=11)
        scores[name] = result.vendi_score
        console.print(verbatim(f"{name}: {result}"))
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=150)
    console.print(verbatim(f"The picture is {out}."), soft_wrap=True)
    return scores


def draw_manifolds(ax: Axes, points: Float[np.ndarray, "n N T 2"], neighbours: int) -> None:
    """The discs around each observation that reach to its k-th nearest neighbour of the same skill."""
    for colour, skill in zip(figures.colours(len(points)), points, strict=True):
        x = np.asarray(skill, np.float64).reshape(-1, points.shape[-1])
        distance = np.sqrt(((x[:, None] - x[None]) ** 2).sum(-1))
        radius = np.sort(distance, axis=1)[:, min(neighbours, len(x) - 1)]
        discs = EllipseCollection(
            2 * radius, 2 * radius, np.zeros(len(x)), units="xy", offsets=x[:, :2], offset_transform=ax.transData
        )
        discs.set(facecolor=colour, edgecolor="none", alpha=0.12, zorder=1)
        ax.add_collection(discs)


def _draw(ax: Axes, skills: Run, points: Float[np.ndarray, "n N T D"]) -> None:
    walls, bounds, start = (getattr(skills.environment, name, None) for name in ("walls", "bounds", "start"))
    figures.draw_trajectories(ax, points, walls=walls, bounds=bounds, start=start)
