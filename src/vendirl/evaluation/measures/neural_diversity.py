"""System Neural Diversity (Bettini et al. 2024): how differently policies act in the same states.

    SND = mean over pairs of skills (i, j) and states s of  W(π_i(. | s), π_j(. | s))

It needs policies, not only data: the same states for every skill.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from vendirl._checks import AnyArray, an_array
from vendirl.evaluation.measures.measure import Measure

_NAME = "System Neural Diversity"


def gaussian_neural_diversity(
    means: Float[AnyArray, "n S A"] | Any, stds: float | Float[AnyArray, "*#n_S_A"] | Any
) -> Measure:
    """SND of normal actions with independent components, by the Wasserstein-2 distance in closed form:

        W_2² = ‖μ_i - μ_j‖² + ‖σ_i - σ_j‖²

    Args:
        means: (n, S, A) of n skills in S states.
        stds: standard deviations, of a shape that broadcasts to that of the means; 0 for deterministic policies.

    Example:
        >>> import numpy as np
        >>> gaussian_neural_diversity(np.array([[[0.0, 0.0]], [[3.0, 4.0]]]), 1.0).value
        5.0
    """
    means = finite_array(means, "means")
    stds = finite_array(stds, "stds")
    if (stds < 0).any():
        raise ValueError(f"stds must not be negative, but the smallest is {stds.min():.6g}")
    try:
        stds = np.broadcast_to(stds, means.shape)
    except ValueError:
        raise ValueError(f"stds of shape {stds.shape} do not fit means of shape {means.shape}") from None

    def distances(i: int) -> Float[np.ndarray, "others S"]:  # to the skills after i
        square = np.sum((means[i + 1 :] - means[i]) ** 2, -1) + np.sum((stds[i + 1 :] - stds[i]) ** 2, -1)
        return np.sqrt(square)

    return _mean_over_pairs(distances, means.shape, "Wasserstein-2 of diagonal Gaussians", "units of the actions")


def quantile_neural_diversity(quantiles: Float[AnyArray, "n S A L"] | Any) -> Measure:
    """SND of actions with independent components of any distribution, such as SAC's squashed ones, by the Wasserstein-2
    distance: between products it adds over components, and on a line it is the distance of the quantile functions,

        W_2² = Σ_a ∫ (F_i,a⁻¹(u) - F_j,a⁻¹(u))² du,     here the mean over L levels u = (l + ½) / L

    Args:
        quantiles: (n, S, A, L) of each component of the actions of n skills in S states, at those levels.

    Example:
        >>> quantile_neural_diversity([[[[0.0, 1.0]]], [[[3.0, 4.0]]]]).value
        3.0
    """
    q = finite_array(quantiles, "quantiles")
    if (np.diff(q, axis=-1) < -1e-5 * np.abs(q).max()).any():  # but for rounding in float32
        raise ValueError("quantiles must not fall along the last axis, the levels")

    def distances(i: int) -> Float[np.ndarray, "others S"]:  # to the skills after i
        return np.sqrt(np.sum(np.mean((q[i + 1 :] - q[i]) ** 2, -1), -1))

    how = f"Wasserstein-2 of independent components, by {q.shape[-1]} quantiles"
    return _mean_over_pairs(distances, q.shape[:3], how, "units of the actions")


def discrete_neural_diversity(probabilities: Float[AnyArray, "n S A"] | Any) -> Measure:
    """SND of discrete actions, by total variation: half of Σ_a |π_i(a | s) - π_j(a | s)|.

    That is the Wasserstein-1 distance where any two different actions are 1 apart, since numbers of actions have no
    order; the Wasserstein-2 distance there would be its square root. Between 0 (alike) and 1 (no action in common).

    Args:
        probabilities: (n, S, A) of n skills in S states.

    Example:
        >>> discrete_neural_diversity([[[1.0, 0.0]], [[0.5, 0.5]]]).value
        0.5
    """
    p = finite_array(probabilities, "probabilities")
    if (p < 0).any() or np.abs(p.sum(-1) - 1).max() > 1e-4:
        raise ValueError("probabilities must not be negative and must sum to 1 over the last axis, the actions")
    return _mean_over_pairs(
        lambda i: 0.5 * np.abs(p[i + 1 :] - p[i]).sum(-1), p.shape, "total variation (Wasserstein-1, actions 1 apart)"
    )


def _mean_over_pairs(
    distances: Callable[[int], Float[np.ndarray, "others S"]], shape: tuple[int, ...], distance: str, unit: str = ""
) -> Measure:
    n, S, A = shape
    settings = {"distance": distance, "skills": n, "states": S, "actions": A}
    if n < 2:
        return Measure(_NAME, None, settings, unit, "higher", "there is one skill, so no pair of them")
    total = sum(distances(i).mean(-1).sum() for i in range(n - 1))
    return Measure(_NAME, total / (n * (n - 1) / 2), settings, unit, "higher")


def finite_array(x: Any, name: str, ndim: int | None = None) -> Float[np.ndarray, " ..."]:
    """A finite array of as many axes as its name or `ndim` says."""
    array = np.asarray(an_array(x, name), np.float64)
    wanted = {"means": 3, "probabilities": 3, "quantiles": 4}.get(name, ndim)
    if wanted is not None and (array.ndim != wanted or 0 in array.shape):
        axes = {1: "(S,)", 2: "(S, D)", 3: "(n, S, A)", 4: "(n, S, A, L)"}[wanted]
        raise ValueError(f"{name} must have shape {axes}, but has shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, but {name}{np.argwhere(~np.isfinite(array))[0].tolist()} is not")
    return array
