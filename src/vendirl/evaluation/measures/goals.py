"""How well skills reach goals, from episodes in which each goal was sought: Latent Goal Reaching (Choi et al. 2021, Gu
et al. 2021), zero-shot goals (Zheng et al. 2025) and per-dimension goal achievement (Warde-Farley et al. 2019).

Which skill is to reach a goal is for a method's model to say: `training.goals` makes the episodes of a run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from vendirl._checks import AnyArray, an_array
from vendirl.data.trajectories import Trajectories
from vendirl.evaluation.measures.measure import Measure
from vendirl.evaluation.measures.observed import Features, columns_of, names_of, observed

NAMES = (
    "latent goal reaching",
    "zero-shot goals hit",
    "zero-shot goals at the end",
    "zero-shot goals, share of steps",
    "zero-shot goals, final distance",
    "goal achievement",
)


def latent_goal_reaching(data: Trajectories, goals: Float[AnyArray, "G D"] | Any, features: Features = None) -> Measure:
    """How far a skill stays from the goal that it was chosen for, over the last half of the episode:

        LGR = mean over goals g, episodes and their last halves of  sqrt(mean_d (s_d - g_d)²)

    Args:
        data: episodes; that of "skill" i sought goal i.
        goals: (G, D) one for each.
        features: d, by name or number; the first two if None. The note has the absolute error of each.

    Example:
        >>> from vendirl.data import Trajectories
        >>> latent_goal_reaching(Trajectories.of([[[9.0, 9.0], [3.0, 4.0]]]), [[0.0, 3.0]], features=[1]).value
        1.0
    """
    gap, columns = _gaps(data, goals, features)
    half = _per_episode(data, np.arange(len(gap)) - np.repeat(_first(data), data.lengths) >= _each(data, 2))
    distance = np.sqrt(np.mean(gap**2, -1))
    value = np.sum(distance * half) / len(data)
    errors = (np.abs(gap) * half[:, None]).sum(0) / len(data)
    note = "off by " + _listed(data, columns, errors)
    return Measure(NAMES[0], float(value), _settings(data, columns), "units of the features", "lower", note)


def zero_shot_goals(
    data: Trajectories, goals: Float[AnyArray, "G D"] | Any, radius: float, features: Features = None
) -> list[Measure]:
    """The share of episodes that were within `radius` of their goal at some step and at the last one, the share of
    steps that were, and the mean distance at the end. Published values are for x and y, with radii of 1 and 3.

    Args:
        data, goals, features: as in `latent_goal_reaching`.
        radius: how near is there.

    Example:
        >>> from vendirl.data import Trajectories
        >>> there_and_on = Trajectories.of([[[0.0], [1.0], [2.0], [3.0]]])
        >>> [found.value for found in zero_shot_goals(there_and_on, [[1.0]], radius=0.5)]
        [1.0, 0.0, 0.25, 2.0]
    """
    if not radius > 0 or not np.isfinite(radius):
        raise ValueError(f"radius must be positive and finite, but is {radius}")
    gap, columns = _gaps(data, goals, features)
    distance = np.sqrt(np.sum(gap**2, -1))
    near, last = distance <= radius, np.cumsum(data.lengths) - 1
    settings = {**_settings(data, columns), "radius": radius}
    shares = (
        np.mean(np.logical_or.reduceat(near, _first(data))),
        np.mean(near[last]),
        np.mean(np.add.reduceat(near.astype(float), _first(data)) / data.lengths),
    )
    found = [Measure(name, float(x), settings, "", "higher") for name, x in zip(NAMES[1:4], shares, strict=True)]
    return [*found, Measure(NAMES[4], float(distance[last].mean()), settings, "units of the features", "lower")]


def goal_achievement(
    data: Trajectories,
    goals: Float[AnyArray, "G D"] | Any,
    ranges: Float[AnyArray, " k"] | Any,
    tolerance: float = 0.1,
    features: Features = None,
) -> Measure:
    """For each feature the share of goals that were achieved in it at the end, and their mean:

        achieved_d = mean over episodes of [|s_T,d - g_d| <= tolerance · range_d]

    The tolerance of a tenth of the range is written from memory of the paper (arXiv:1811.11359), of which only abstract
    and introduction were read; they do not give it.

    Args:
        data, goals, features: as in `latent_goal_reaching`.
        ranges: (k,) how wide the range of each feature is.
        tolerance: a share of that.

    Example:
        >>> from vendirl.data import Trajectories
        >>> goal_achievement(Trajectories.of([[[0.0, 5.0]]]), [[0.5, 0.0]], ranges=[10, 10]).value
        0.5
    """
    gap, columns = _gaps(data, goals, features)
    widths = np.asarray(an_array(ranges, "ranges"), np.float64)
    if widths.shape != (len(columns),) or not (np.isfinite(widths) & (widths >= 0)).all():
        raise ValueError(f"ranges must be one width for each of {len(columns)} features, but are {widths.tolist()}")
    if not 0 <= tolerance < np.inf:
        raise ValueError(f"tolerance must be a share of the range, such as 0.1, but is {tolerance}")
    achieved = np.mean(np.abs(gap[np.cumsum(data.lengths) - 1]) <= tolerance * widths, 0)
    settings = {**_settings(data, columns), "tolerance": tolerance, "ranges": widths}
    return Measure(NAMES[5], float(achieved.mean()), settings, "", "higher", _listed(data, columns, achieved))


def _gaps(data: Trajectories, goals: Any, features: Features) -> tuple[Float[np.ndarray, "steps k"], list[int]]:
    """s - g in every step."""
    columns = columns_of(data, features, default=2)
    given = np.asarray(an_array(goals, "goals"), np.float64)
    if given.shape != (data.n, len(data.features)) or not np.isfinite(given).all():
        raise ValueError(
            f"goals must be finite, one of {len(data.features)} features for each of the {data.n} that were sought, "
            f"but have shape {given.shape}"
        )
    return observed(data, columns) - np.repeat(given[data.skill], data.lengths, 0)[:, columns], columns


def _settings(data: Trajectories, columns: list[int]) -> dict[str, Any]:
    return {"features": names_of(data, columns), "goals": data.n, "trajectories": len(data)}


def _listed(data: Trajectories, columns: list[int], values: Float[np.ndarray, " k"]) -> str:
    return ", ".join(f"{value:.3g} in {name}" for name, value in zip(names_of(data, columns), values, strict=True))


def _first(data: Trajectories) -> Any:
    return np.cumsum(data.lengths) - data.lengths


def _each(data: Trajectories, parts: int) -> Any:
    return np.repeat(data.lengths // parts, data.lengths)


def _per_episode(data: Trajectories, chosen: Any) -> Float[np.ndarray, " steps"]:
    """Weights of the chosen steps that add up to 1 in each episode."""
    counts = np.add.reduceat(chosen.astype(float), _first(data))
    return chosen / np.repeat(counts, data.lengths)
