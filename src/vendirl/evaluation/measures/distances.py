"""How far skills are from one another: the mean Wasserstein distance between their observations."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from vendirl.data.trajectories import Trajectories
from vendirl.evaluation.measures.measure import Measure
from vendirl.evaluation.measures.observed import Features, columns_of, names_of, sampled, scaling

Method = Literal["auto", "exact", "sliced"]
_POINTS, _PAIRS = 256, 500  # an assignment of 256 points takes milliseconds


def pairwise_wasserstein(
    data: Trajectories,
    features: Features = None,
    order: Literal[1, 2] | Any = 1,
    method: Method | Any = "auto",
    standardise: bool = False,
    directions: int = 64,
    quantiles: int = 128,
    limit: int = 100_000,
    seed: int = 0,
) -> Measure:
    """The mean over pairs of skills of the Wasserstein distance of order p between their pooled observations.

        W_p(a, b)^p = min over couplings of E ‖x_a - x_b‖^p

    "exact" solves the assignment between equally many observations of each skill, at most 256, a sample if there are
    more; of one feature all are used, by its quantiles. "sliced" averages W_p^p over projections on random unit
    vectors, compared at fixed quantiles. It is smaller than the exact distance, for a shift and p = 2 by 1/sqrt(D).
    "auto" is exact for one feature, and up to 256 observations a skill and 500 pairs; else sliced.
    Finite samples of the same distribution have a distance above 0.

    Args:
        data: skill data.
        features: names or numbers; all if None.
        order: p, 1 or 2.
        method: "auto", "exact" or "sliced"; the one that was used is in the settings.
        standardise: scale features to unit variance over all data, for features in different units.
        directions, quantiles: of the sliced distance.
        limit: of more observations a sample of so many is used, equally many of each skill.
        seed: of the samples and directions.

    Example:
        >>> import numpy as np
        >>> from vendirl.data import Trajectories
        >>> x = np.random.default_rng(0).normal(size=(1, 30, 2))
        >>> shifted = Trajectories.of(np.concatenate([x, x + [3.0, 4.0]]))
        >>> round(pairwise_wasserstein(shifted).value, 6)
        5.0
    """
    if order not in (1, 2):
        raise ValueError(f"order must be 1 or 2, but is {order!r}")
    if method not in get_args(Method):
        raise ValueError(f"method must be one of {', '.join(get_args(Method))}, but is {method!r}")
    if directions < 1 or quantiles < 1:
        raise ValueError(f"directions={directions} and quantiles={quantiles} must be at least 1")
    columns = columns_of(data, features)
    settings = {
        "features": names_of(data, columns),
        "order": order,
        "method": method,
        "standardise": standardise,
        "skills": data.n,
        "trajectories": len(data),
        "steps": len(data.observations),
    }
    if data.n < 2:
        note = "there is one skill, so no pair of them"
        return Measure("pairwise Wasserstein distance", None, settings, "", "higher", note)
    x, skill, _ = sampled(data, columns, limit, seed)
    if standardise:
        centre, width = scaling(x)
        x = (x - centre) / width
    groups = [x[skill == g] for g in range(data.n)]
    most, pairs = max(map(len, groups)), data.n * (data.n - 1) // 2
    if method == "auto":
        method = "exact" if len(columns) == 1 or (most <= _POINTS and pairs <= _PAIRS) else "sliced"
    settings |= {"method": method, "limit": limit, "observations": len(x)}
    if method == "sliced":
        settings |= {"directions": directions, "quantiles": quantiles, "seed": seed}
        distances = sliced_distances(groups, order, directions, quantiles, seed)
    else:
        if len(columns) > 1:
            points = min(_POINTS, *map(len, groups))
            settings |= {"points": points, "seed": seed}
            rng = np.random.default_rng(seed)
            groups = [group[np.sort(rng.permutation(len(group))[:points])] for group in groups]
        distances = exact_distances(groups, order)
    unit = "standard deviations" if standardise else "units of the features"
    return Measure("pairwise Wasserstein distance", distances.mean(), settings, unit, "higher")


def exact_distances(groups: Sequence[Float[np.ndarray, "_ D"]], order: int = 1) -> Float[np.ndarray, " pairs"]:
    """(pairs,) W_p between groups of (M, D) points: M alike for all, or D = 1."""
    return np.array([_exact(a, b, order) for a, b in itertools.combinations(groups, 2)])


def sliced_distances(
    groups: Sequence[Float[np.ndarray, "_ D"]],
    order: int = 1,
    directions: int = 64,
    quantiles: int = 128,
    seed: int = 0,
) -> Float[np.ndarray, " pairs"]:
    """(pairs,) sliced W_p between groups of (M_i, D) points, by quantiles (i + ½)/quantiles of their projections."""
    from scipy.spatial.distance import pdist  # takes long to import, and most who import vendirl do without

    drawn = np.random.default_rng(seed).normal(size=(groups[0].shape[1], directions))
    unit = drawn / np.linalg.norm(drawn, axis=0)
    levels = (np.arange(quantiles) + 0.5) / quantiles
    found = np.stack([np.quantile(group @ unit, levels, axis=0, method="hazen").ravel() for group in groups])
    if order == 1:
        return pdist(found, "cityblock") / found.shape[1]
    return pdist(found, "euclidean") / np.sqrt(found.shape[1])


def _exact(a: Float[np.ndarray, "M D"], b: Float[np.ndarray, "L D"], order: int) -> float:
    if a.shape[1] == 1:
        return _on_a_line(a[:, 0], b[:, 0], order)
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    cost = cdist(a, b) ** order
    return float(cost[linear_sum_assignment(cost)].mean() ** (1 / order))


def _on_a_line(a: Float[np.ndarray, " M"], b: Float[np.ndarray, " L"], order: int) -> float:
    """W_p of two samples on a line: the integral over levels of |difference of quantile functions|^p."""
    a, b = np.sort(a), np.sort(b)
    levels = np.unique(np.concatenate([np.arange(1, len(x) + 1) / len(x) for x in (a, b)]))  # where either steps
    middle = levels - np.diff(levels, prepend=0) / 2
    gap = np.abs(a[(middle * len(a)).astype(int)] - b[(middle * len(b)).astype(int)])
    return float(np.sum(np.diff(levels, prepend=0) * gap**order) ** (1 / order))
