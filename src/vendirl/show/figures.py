"""Figures in the paper's manner, with matplotlib: trajectories by skill, kernel matrix, spectrum, learning curve."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib
import numpy as np
from jaxtyping import Array, Real, Shaped
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vendirl._text import drawn
from vendirl.show.skill_map import MANY, in_order

AnyArray = Array | np.ndarray
Colour = str | tuple[float, float, float, float]
Episode = Real[AnyArray, "_ D"]
INK = "#333333"


def colours(n: int) -> Sequence[Colour]:
    """n colours that differ for most eyes: Okabe and Ito's eight, then evenly spaced ones of a perceptual map."""
    okabe_ito = ["#E69F00", "#56B4E9", "#009E73", "#D6C800", "#0072B2", "#D55E00", "#CC79A7", "#000000"]
    return okabe_ito[:n] if n <= 8 else [matplotlib.colormaps["turbo"](x) for x in np.linspace(0.03, 0.97, n)]


def draw_trajectories(
    ax: Axes,
    trajectories: Real[AnyArray, "n *N T D"] | Sequence[Episode | Sequence[Episode]],
    walls: Real[AnyArray, "m 4"] | None = None,
    bounds: Sequence[float] | Real[AnyArray, " 4"] | None = None,
    start: Sequence[float] | Real[AnyArray, " D"] | None = None,
    axes: tuple[int, int] = (0, 1),
    names: tuple[str, str] | None = None,
) -> None:
    """Trajectories coloured by skill, each ending in a dot; of many skills by the direction in which they end.

    Args:
        trajectories: (n, T, D), (n, N, T, D) or a list per skill of (T_i, D) arrays.
        walls: (m, 4) segments x0, y0, x1, y1.
        bounds: (x0, y0, x1, y1) of a frame.
        start: (D,) where the trajectories begin, joined to their first observation.
        axes: which two features to draw.
        names: of these two, written at the axes, which then need not have the same scale.
    """
    i, j = axes
    many = len(trajectories) > MANY
    width, size = (0.5, 1.5) if many else (1.4, 4)
    shades = colours(len(trajectories))
    for colour, skill in zip(by_direction(trajectories, axes, shades) if many else shades, trajectories, strict=True):
        episodes = [skill] if np.ndim(skill[0]) == 1 else skill
        for episode in episodes:
            points = np.asarray(episode)
            if start is not None:
                points = np.concatenate([np.asarray(start)[None], points])
            faint = 0.35 if many else 0.9 if len(episodes) == 1 else 0.55
            ax.plot(points[:, i], points[:, j], color=colour, lw=width, alpha=faint, solid_capstyle="round")
            ax.plot(points[-1, i], points[-1, j], "o", color=colour, ms=size, mec="white", mew=0 if many else 0.5)
    for x0, y0, x1, y1 in () if walls is None else np.asarray(walls):
        ax.plot([x0, x1], [y0, y1], color=INK, lw=2)
    if bounds is not None:
        x0, y0, x1, y1 = bounds
        margin = 0.03 * max(x1 - x0, y1 - y0)
        ax.set(xlim=(x0 - margin, x1 + margin), ylim=(y0 - margin, y1 + margin))
        ax.plot([x0, x1, x1, x0, x0], [y0, y0, y1, y1, y0], color="#AAAAAA", lw=1, zorder=0)
    if names is None or set(names) == {"x", "y"}:
        ax.set_aspect("equal", adjustable="datalim" if bounds is None else "box")
    if names is not None:
        ax.set(xlabel=drawn(names[0]), ylabel=drawn(names[1]))
    _plain(ax, frame=names is not None)


def by_direction(
    trajectories: Real[AnyArray, "n *N T D"] | Sequence[Episode | Sequence[Episode]],
    axes: tuple[int, int],
    shades: Sequence[Colour],
) -> list[Colour]:
    """A colour for each skill, by where it ends as seen from the middle of where all end."""
    ends = np.array(
        [np.asarray(skill if np.ndim(skill[0]) == 1 else skill[0])[-1][list(axes)] for skill in trajectories]
    )
    x, y = (ends - ends.mean(0)).T
    rank = np.argsort(np.argsort(np.arctan2(y, x), kind="stable"), kind="stable")
    return [shades[r] for r in rank]


def view(
    trajectories: Real[AnyArray, "n N T D"], names: Sequence[str]
) -> tuple[Real[np.ndarray, "n N T _"], tuple[int, int], tuple[str, str] | None]:
    """What to draw of (n, N, T, D) trajectories: from above if there are x and y; else x, or the one feature, by
    time."""
    points, D = np.asarray(trajectories), len(names)
    if D == 2:
        return points, (0, 1), None
    if "x" in names and "y" in names:
        return points, (list(names).index("x"), list(names).index("y")), ("x", "y")
    if "x" in names or D == 1:
        shown = list(names).index("x") if "x" in names else 0
        step = np.broadcast_to(np.arange(1, points.shape[-2] + 1)[:, None], (*points.shape[:-1], 1))
        return np.concatenate([points, step], -1), (D, shown), ("step", names[shown])
    return points, (0, 1), (names[0], names[1])


def draw_kernel(ax: Axes, K: Real[AnyArray, "n n"]) -> None:
    """The kernel matrix; one blue for similarity 0 to 1, and red below 0 where a similarity has such values. Of many
    skills the alike ones follow each other."""
    K = np.asarray(K)
    many = len(K) > MANY
    if many:
        order = in_order(K)
        K = K[order][:, order]
    signed = K.min() < -1e-6
    image = ax.imshow(K, cmap="RdBu" if signed else "Blues", vmin=-1 if signed else 0, vmax=1)
    ax.figure.colorbar(image, ax=ax, fraction=0.046, pad=0.04)
    if many:
        ax.set(xlabel=f"{len(K):,} skills, alike ones together", xticks=[], yticks=[])
        return
    ax.set(xlabel="skill", ylabel="skill")
    ticks = np.arange(0, len(K), max(1, len(K) // 8))
    ax.set_xticks(ticks)
    ax.set_yticks(ticks)


def draw_spectrum(ax: Axes, spectrum: Real[AnyArray, " n"]) -> None:
    """The eigenvalues of K/n, largest first, beside the flat line of skills that have nothing in common."""
    spectrum = np.asarray(spectrum)
    if len(spectrum) > MANY:
        ax.fill_between(np.arange(1, len(spectrum) + 1), spectrum, step="mid", color="#0072B2", linewidth=0)
        ax.set_xscale("log")
    else:
        ax.bar(np.arange(1, len(spectrum) + 1), spectrum, color="#0072B2")
    ax.axhline(1 / len(spectrum), color=INK, lw=1, ls="--")
    ax.text(len(spectrum) + 0.4, 1 / len(spectrum), "1/n", va="bottom", ha="right", fontsize=8, color=INK)
    ax.set(xlabel="eigenvalue", ylabel="of K/n")
    _plain(ax, frame=True)


def draw_learning_curve(
    ax: Axes,
    steps: Sequence[float],
    scores: Real[AnyArray, " blocks *seeds"],
    ceiling: float | None = None,
    word: str = "attainable",
) -> None:
    """Vendi Score by environment steps, (blocks,) or (blocks, seeds), against its ceiling, of which `word` says what
    it is."""
    scores = np.asarray(scores)
    scores = scores[:, None] if scores.ndim == 1 else scores
    for seed in scores.T:
        width = 1.5 if scores.shape[1] == 1 else 0.8
        ax.plot(steps, seed, "o" if len(scores) == 1 else "-", color="#0072B2", lw=width, alpha=0.8)
    if ceiling is not None:
        ax.axhline(ceiling, color="#D55E00", lw=1.2, ls="--")
        ax.text(0, ceiling, f" {word} {ceiling:.3g}", va="bottom", fontsize=8, color="#D55E00")
    ax.set(xlabel="environment steps", ylabel="Vendi Score")
    ax.ticklabel_format(axis="x", style="sci", scilimits=(0, 0))
    ax.set_ylim(bottom=min(1.0, float(scores.min())))
    ax.margins(y=0.12)
    ax.set_xlim(left=0)
    _plain(ax, frame=True)


def new(columns: int, rows: int = 1, size: float = 3.4) -> tuple[Figure, Shaped[np.ndarray, "{rows} {columns}"]]:
    """A figure with a grid of axes, that belongs to no window."""
    figure = Figure(figsize=(size * columns, size * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def _plain(ax: Axes, frame: bool = False) -> None:
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    if not frame:
        for side in ("left", "bottom"):
            ax.spines[side].set_visible(False)
        ax.tick_params(length=0, labelsize=7, colors="#777777")
