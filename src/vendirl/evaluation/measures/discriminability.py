"""Discriminability: how well skills can be told from single observations."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from vendirl.data.trajectories import Trajectories
from vendirl.evaluation.measures.measure import Measure
from vendirl.evaluation.measures.observed import Features, columns_of, names_of, sampled, scaling


def discriminability(
    data: Trajectories,
    features: Features = None,
    neighbours: int = 5,
    folds: int = 5,
    limit: int = 5_000,
    seed: int = 0,
) -> Measure:
    """Accuracy with which nearest neighbours from other trajectories name the skill of an observation.

    Trajectories, not steps, are held out: steps of one trajectory resemble each other, and would make any two skills
    look separable. Each skill's trajectories are dealt into folds in turn, and an observation is labelled by the
    majority of its nearest neighbours in the other folds, in features scaled to unit variance there. Skills with
    equally many votes share the point. The value is the mean over skills of the share of their observations that are
    labelled right: 1 if no skill is mistaken for another, chance = 1/n if none can be told apart. None if a skill has
    only one trajectory.

    Args:
        data: skill data.
        features: names or numbers; all if None.
        neighbours: how many vote; no more than the fewest observations that a skill has to be learned from.
        folds: at most as many as the fewest trajectories of a skill.
        limit: of more observations a sample of so many is used, equally many of each skill.
        seed: of the sample.

    Example:
        >>> import numpy as np
        >>> from vendirl.data import Trajectories
        >>> x = np.random.default_rng(0).uniform(size=(2, 4, 25, 2))
        >>> same, apart = Trajectories.of(x), Trajectories.of(x + [[[[0, 0]]], [[[2, 0]]]])
        >>> 0.4 < discriminability(same).value < 0.6, discriminability(apart).value
        (True, 1.0)
    """
    if neighbours < 1 or folds < 2:
        raise ValueError(f"neighbours={neighbours} must be at least 1, and folds={folds} at least 2")
    columns = columns_of(data, features)
    fewest = min(map(len, data.of_skill))
    settings = {
        "classifier": "nearest neighbours",
        "features": names_of(data, columns),
        "neighbours": neighbours,
        "folds": folds,
        "chance": 1 / data.n,
        "skills": data.n,
        "trajectories": len(data),
        "steps": len(data.observations),
        "limit": limit,
        "seed": seed,
    }

    def result(value: float | None, note: str | None = None) -> Measure:
        return Measure("discriminability", value, settings, "", "higher", note)

    if data.n < 2:
        return result(None, "there is one skill, so nothing to be told apart")
    if fewest < 2:
        alone = data.labels[int(np.argmin([len(mine) for mine in data.of_skill]))]
        return result(None, f"skill {alone} has a single trajectory, so none can be held out; give two or more of each")
    settings["folds"] = folds = min(folds, fewest)
    x, skill, rows = sampled(data, columns, limit, seed)
    fold = np.repeat(dealt_in_turn(data, folds), data.lengths)[rows]
    learned = np.array([np.bincount(skill[fold != f], minlength=data.n).min() for f in range(folds)])
    if learned.min() < 1:
        return result(None, f"limit={limit} leaves a skill without observations to learn from; raise it")
    settings["neighbours"] = k = int(min(neighbours, learned.min()))
    settings["observations"] = len(rows)
    from scipy.spatial import cKDTree  # takes long to import, and most who import vendirl do without

    right = np.zeros(len(rows))
    for f in range(folds):
        train, test = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
        centre, width = scaling(x[train])
        nearest = cKDTree((x[train] - centre) / width).query((x[test] - centre) / width, k)[1].reshape(len(test), k)
        right[test] = _share_right(skill[train][nearest], skill[test])
    seen = np.bincount(skill, minlength=data.n)
    return result(float(np.mean(np.bincount(skill, right, data.n) / seen)))


def dealt_in_turn(data: Trajectories, folds: int) -> Int[np.ndarray, " episodes"]:
    """(episodes,) the fold of each, every skill's trajectories dealt out in turn.

    Not at random: the j-th trajectories of all skills may have begun alike. If skills are copies of one another, these
    are the same, and apart from its copies one would be named after them, which is below chance rather than at it.
    """
    fold = np.zeros(len(data), int)
    for mine in data.of_skill:
        fold[mine] = np.arange(len(mine)) % folds
    return fold


def _share_right(labels: Int[np.ndarray, "m k"], own: Int[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
    """(m,) the chance that a majority of the (m, k) labels, ties broken at random, names the (m,) own one."""
    votes = np.sum(labels[:, :, None] == labels[:, None, :], -1)  # of the label of each neighbour
    most = votes.max(1, keepdims=True)
    winners = np.sum(votes == most, 1) / most[:, 0]  # a label with `most` votes is counted that many times
    return np.any((labels == own[:, None]) & (votes == most), 1) / winners
