"""Distributions over task reward (Eysenbach et al. 2019, Appendix D.3): the returns that a set of skills holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from vendirl._checks import AnyArray
from vendirl.data.trajectories import Trajectories
from vendirl.evaluation.measures.measure import Measure

LEVELS = (0.1, 0.5, 0.9)
_NAMES = ("return of the worst skill", "return of the median skill", "return of the best skill")


def returns(data: Trajectories) -> Float[np.ndarray, " episodes"]:
    """The sum of the rewards of each episode, as it was."""
    if data.rewards is None:
        raise ValueError("the data have no rewards")
    rewards = np.asarray(data.rewards, np.float64)
    if not np.isfinite(rewards).all():
        raise ValueError(
            f"{data.source}: rewards must be finite, but that of step {int(np.argmin(np.isfinite(rewards)))} is not"
        )
    return np.add.reduceat(rewards, np.cumsum(data.lengths) - data.lengths)


def no_task(data: Trajectories) -> list[str]:
    """A note on measures of quality, if the rewards of these data tell nothing of it."""
    told = data.rewards is None or np.any(data.rewards)
    return [] if told else ["every reward is 0, as in a world without a task, so this tells nothing of quality"]


def return_quantiles(
    data: Trajectories, levels: Sequence[float] | Float[AnyArray, " levels"] | Any = LEVELS
) -> Float[np.ndarray, "n levels"]:
    """For each skill the quantiles of the return over its episodes.

    Example:
        >>> from vendirl.data import Trajectories
        >>> data = Trajectories.of([[[0.0]]] * 4, skill=[0, 0, 0, 1], rewards=[[1.0], [2.0], [4.0], [9.0]])
        >>> return_quantiles(data, [0, 0.5, 1]).tolist()
        [[1.0, 2.0, 4.0], [9.0, 9.0, 9.0]]
    """
    chosen = np.asarray(levels, np.float64)
    if chosen.ndim != 1 or not len(chosen) or not ((chosen >= 0) & (chosen <= 1)).all():
        raise ValueError(f"levels must be a list of numbers from 0 to 1, but is {levels}")
    found = returns(data)
    return np.stack([np.quantile(found[mine], chosen) for mine in data.of_skill])


def return_distribution(
    data: Trajectories, levels: Sequence[float] | Float[AnyArray, " levels"] | Any = LEVELS
) -> list[Measure]:
    """The mean return of the worst, the median and the best skill: what there is for a task.

    The median is that of the skills' mean returns; for an even number of skills it is that of the lower of the two in
    the middle, so that it is a skill's. Each note names the skill, and the quantiles of the return over its episodes.

    Args:
        data: skill data with rewards.
        levels: of the quantiles.

    Example:
        >>> from vendirl.data import Trajectories
        >>> data = Trajectories.of([[[0.0]]] * 3, skill=[0, 0, 1], rewards=[[1.0], [2.0], [9.0]])
        >>> [found.value for found in return_distribution(data)]
        [1.5, 1.5, 9.0]
    """
    quantiles, total = return_quantiles(data, levels), returns(data)
    mean = np.array([total[mine].mean() for mine in data.of_skill])
    order = np.argsort(mean, kind="stable")
    settings = {"levels": levels, "skills": data.n, "trajectories": len(data)}
    share = ", ".join(f"{100 * level:g} %" for level in np.asarray(levels, float))
    found = []
    for name, place in zip(_NAMES, (0, (data.n - 1) // 2, data.n - 1), strict=True):
        skill = order[place]
        note = f"skill {data.labels[skill]}, {share} of its episodes: {', '.join(f'{q:.4g}' for q in quantiles[skill])}"
        found.append(Measure(name, mean[skill], settings, "reward", "higher", "; ".join([note, *no_task(data)])))
    return found
