"""A run, drawn: the trajectories of its skills, their kernel matrix, its spectrum, and how they were learned."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vendirl.show import figures
from vendirl.show.skill_map import MANY, draw_map
from vendirl.training.run import Run


def draw_run(run: Run, ax: Axes, seed: int = 0) -> None:
    """The trajectories of one seed's skills, in the world they act in."""
    walls, bounds, start = (getattr(run.environment, name, None) for name in ("walls", "bounds", "start"))
    data = run.episodes(seed=seed)
    views = [figures.view(np.stack([episodes]), data.features) for episodes in data.by_skill]
    axes, names = views[0][1:]
    figures.draw_trajectories(ax, [list(points[0]) for points, _, _ in views], walls, bounds, start, axes, names)


def figure_of_run(run: Run, seed: int = 0) -> Figure:
    """Trajectories, kernel matrix, spectrum and learning curve of one seed; of many skills their map too."""
    result, K = run.score(seed), run.kernel(seed)
    many = len(K) > MANY
    figure, axes = figures.new(5 if many else 4)
    draw_run(run, axes[0, 0], seed)
    figures.draw_kernel(axes[0, 1], K)
    figures.draw_spectrum(axes[0, 2], result.spectrum)
    steps, word = [row["env_steps"] for row in run.history], "at most" if run.ceiling.bound else "attainable"
    if run.history:
        curve = np.array([row["vendi_score"] for row in run.history])
        figures.draw_learning_curve(axes[0, 3], steps, curve, run.ceiling.score, word)
    asked = run.settings.similarity
    axes[0, 0].set_title(asked if len(asked) < 44 else "skills", fontsize=9)
    axes[0, 1].set_title("kernel matrix", fontsize=9)
    axes[0, 2].set_title(f"Vendi Score {float(result.score):.3f} of {run.ceiling.score:.3f}", fontsize=9)
    axes[0, 3].set_title("learning", fontsize=9)
    if many:
        draw_map(axes[0, 4], K, result.contributions)
        axes[0, 4].set_title("map of skills, by what each adds", fontsize=9)
    return figure
