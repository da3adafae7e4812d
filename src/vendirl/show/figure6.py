"""The paper's Figure 6: what a discriminator rewards. DIAYN's skills, its decision boundary, and both when it is
smooth."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from rich.console import Console

from vendirl._text import verbatim
from vendirl.methods import terms
from vendirl.methods.diayn import DIAYN
from vendirl.show import figures
from vendirl.skills.rollout import Transition
from vendirl.training.driver import run
from vendirl.training.progress import progress_bar
from vendirl.training.run import Run
from vendirl.training.settings import Settings

METHODS = {"DIAYN": "diayn", "DIAYN, spectral normalisation": "diayn-sn"}


def figure6(out: Path, seed: int = 0, steps: float = 1e6) -> None:
    """Draw the skills of DIAYN with and without spectral normalisation over what their discriminators believe."""
    figure, axes = figures.new(len(METHODS) + 1, size=4.0)
    for column, (name, method) in enumerate(METHODS.items()):
        settings = Settings(method=method, similarity="overlap", skills=8, steps=steps, seed=seed)
        with progress_bar(name) as report:
            skills = run(settings, progress=report)
        axis = axes[0, column + (column > 0)]
        if column == 0:
            skills.draw(axis)
            axis.set_title(f"{name}\nVendi Score (overlap) {float(skills.score().score):.3f}", fontsize=10)
            axis = axes[0, 1]
        draw_boundary(axis, skills)
        skills.draw(axis)
        suffix = f"\nVendi Score (overlap) {float(skills.score().score):.3f}" if column else "\ndecision boundary"
        axis.set_title(name + suffix, fontsize=10)
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=150)
    Console().print(verbatim(f"The picture is {out}."), soft_wrap=True)


def draw_boundary(ax: Axes, skills: Run, points: int = 200) -> None:
    """The most probable skill at each place, coloured by skill, the stronger the surer; for worlds of two features."""
    bounds = getattr(skills.environment, "bounds", None)
    if bounds is None or skills.environment.observation_size != 2:
        raise ValueError("a decision boundary is drawn in bounded worlds of two features")
    x0, y0, x1, y1 = np.asarray(bounds, float)
    x, y = np.meshgrid(np.linspace(x0, x1, points), np.linspace(y0, y1, points))
    q = posterior(skills, np.stack([x, y], -1).reshape(-1, 2))
    colours = np.array([to_rgba(colour)[:3] for colour in figures.colours(q.shape[-1])])
    best, sure = q.argmax(-1), q.max(-1)
    image = np.concatenate([colours[best], (0.1 + 0.4 * sure)[:, None]], -1).reshape(points, points, 4)
    ax.imshow(image, origin="lower", extent=(x0, x1, y0, y1), zorder=0)


def posterior(skills: Run, states: Float[np.ndarray, "m D"]) -> Float[np.ndarray, "m n"]:
    """q(g | s) by the discriminator of a run of DIAYN or a variant of it."""
    ((_, method),) = terms(skills.loop.method)
    if not isinstance(method, DIAYN):
        raise ValueError(f"{skills.settings.method} has no discriminator of states")
    s = jnp.asarray(states, jnp.float32)[None]
    nothing, number = jnp.zeros(s.shape[:2]), jnp.zeros(1, jnp.int32)
    batch = Transition(s, nothing, s, nothing, s, nothing, nothing > 0, nothing > 0, nothing, number)
    fit = skills.training.method
    return np.asarray(jax.nn.softmax(method.log_q(fit.model, method.as_seen(fit, batch))[0]))
