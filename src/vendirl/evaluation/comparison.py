"""Comparing methods over seeds: interquartile means, stratified bootstrap, probability of improvement, correlations.

The statistics are those of Agarwal et al., "Deep Reinforcement Learning at the Edge of the Statistical Precipice",
2021.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from vendirl.evaluation.evaluate import Evaluation


def interquartile_mean(scores: Float[np.ndarray, " seeds *tasks"] | Any) -> Float[np.ndarray, " *tasks"] | np.floating:
    """The mean of the middle half of scores along the first axis: a quarter is cut at each end, rounded down."""
    ordered = np.sort(np.asarray(scores, float), axis=0)
    cut = len(ordered) // 4
    return ordered[cut : len(ordered) - cut].mean(0)


def interval(
    scores: Float[np.ndarray, " seeds *tasks"] | Any,
    statistic: Callable[[Float[np.ndarray, "scores draws"]], np.ndarray | np.floating] = interquartile_mean,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> tuple[float, float]:
    """A bootstrap interval of a statistic of scores, resampled within each task (stratified).

    Args:
        scores: (seeds,), or (seeds, tasks). One seed gives an interval of no width, which says nothing.
        statistic: of all scores, flattened.
    """
    table = np.asarray(scores, float)
    table = table[:, None] if table.ndim == 1 else table
    draws = _resampled(table, resamples, np.random.default_rng(seed))
    values = statistic(draws.reshape(resamples, -1).T)
    low, high = np.percentile(values, [50 * (1 - confidence), 50 * (1 + confidence)])
    return float(low), float(high)


def probability_of_improvement(
    x: Float[np.ndarray, " seeds *tasks"] | Any,
    y: Float[np.ndarray, " seeds *tasks"] | Any,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> tuple[float, tuple[float, float]]:
    """P(X > Y) + P(X = Y) / 2 over pairs of a seed of x and a seed of y, averaged over tasks, and its interval.

    Args:
        x, y: (seeds,) or (seeds, tasks) scores of two methods; their numbers of seeds may differ.
    """
    x, y = (np.asarray(s, float).reshape(len(s), -1) for s in (x, y))
    if x.shape[1] != y.shape[1]:
        raise ValueError(f"x has {x.shape[1]} tasks, but y has {y.shape[1]}; compare the methods on the same ones")
    generator = np.random.default_rng(seed)
    draws = _wins(_resampled(x, resamples, generator), _resampled(y, resamples, generator))
    low, high = np.percentile(draws, [50 * (1 - confidence), 50 * (1 + confidence)])
    return float(_wins(x[None], y[None])[0]), (float(low), float(high))


@dataclasses.dataclass(frozen=True, eq=False)
class Comparison:
    """Methods by similarities.

    Attributes:
        methods, similarities: the rows and columns.
        scores: for each method and similarity the scores of its seeds.
        iqm: (methods, similarities) interquartile means over seeds.
        intervals: (methods, similarities, 2) of those; of one seed it has no width and says nothing (`interval_of`).
        improvement: (methods, methods, similarities) probability that the first method beats the second.
        confidence: of the intervals.
    """

    methods: tuple[str, ...]
    similarities: tuple[str, ...]
    scores: dict[str, dict[str, Float[np.ndarray, " _"]]]
    iqm: Float[np.ndarray, "methods similarities"]
    intervals: Float[np.ndarray, "methods similarities 2"]
    improvement: Float[np.ndarray, "methods methods similarities"]
    confidence: float

    def interval_of(self, method: str, similarity: str) -> tuple[float, float] | None:
        """The interval of a method's mean under a similarity; None if there is one seed, which does not tell how seeds
        vary."""
        if len(self.scores[method][similarity]) < 2:
            return None
        low, high = self.intervals[self.methods.index(method), self.similarities.index(similarity)]
        return float(low), float(high)

    def first(self, similarity: str) -> tuple[str, bool]:
        """The method with the highest mean under a similarity, and whether its interval lies above all others. With one
        seed there is no interval, and nothing is clear."""
        column = self.similarities.index(similarity)
        best = int(self.iqm[:, column].argmax())
        others = np.delete(self.intervals[:, column, 1], best)
        several = all(len(row[similarity]) > 1 for row in self.scores.values())
        return self.methods[best], several and bool((self.intervals[best, column, 0] > others).all())

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "methods": list(self.methods),
            "similarities": list(self.similarities),
            "scores": {m: {k: list(map(float, s)) for k, s in row.items()} for m, row in self.scores.items()},
            "iqm": self.iqm.tolist(),
            "intervals": [[self.interval_of(m, k) for k in self.similarities] for m in self.methods],
            "improvement": self.improvement.tolist(),
            "confidence": self.confidence,
            "first": {k: dict(zip(("method", "clearly"), self.first(k), strict=True)) for k in self.similarities},
        }


def compare(
    scores: Mapping[str, Mapping[str, Any]] | Mapping[str, Sequence[Evaluation]],
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Comparison:
    """Compare methods under several similarities.

    Args:
        scores: for each method either {similarity: scores of its seeds} or the evaluations of its seeds.

    Example:
        >>> import vendirl as vr
        >>> table = vr.compare({"ours": {"mmd": [7.6, 7.7, 7.7]}, "theirs": {"mmd": [5.1, 5.4, 4.9]}})
        >>> table.first("mmd")
        ('ours', True)
    """
    if not scores:
        raise ValueError("scores is empty: give at least one method")
    rows: dict[str, dict[str, Float[np.ndarray, " _"]]] = {}
    for method, found in scores.items():
        if not isinstance(found, Mapping):
            if not found:
                raise ValueError(f"{method} has no evaluations")
            found = {k: [e[k].vendi_score for e in found] for k in (r.similarity for r in found[0].results)}
        rows[method] = {k: np.atleast_1d(np.asarray(s, float)) for k, s in found.items()}
        for k, s in rows[method].items():
            if s.ndim != 1 or not len(s) or not np.isfinite(s).all():
                raise ValueError(f"the scores of {method} under {k} must be finite numbers, one for each seed: {s}")
    methods, similarities = tuple(rows), tuple(next(iter(rows.values())))
    for method, row in rows.items():
        if set(row) != set(similarities):
            raise ValueError(f"{method} was not scored under the same similarities: {', '.join(row)}")

    def bounds(m: str, k: str) -> tuple[float, float]:
        return interval(rows[m][k], interquartile_mean, confidence, resamples, seed)

    def wins(a: str, b: str, k: str) -> float:
        return _wins(rows[a][k][None, :, None], rows[b][k][None, :, None])[0]

    return Comparison(
        methods,
        similarities,
        rows,
        np.array([[interquartile_mean(rows[m][k]) for k in similarities] for m in methods]),
        np.array([[bounds(m, k) for k in similarities] for m in methods]),
        np.array([[[wins(a, b, k) for k in similarities] for b in methods] for a in methods]),
        confidence,
    )


def correlations(evaluations: Sequence[Evaluation]) -> tuple[list[str], Float[np.ndarray, "names names"]]:
    """Spearman's rank correlation between all scores and measures over several skill sets.

    Returns:
        The names and their (names, names) correlations; a measure that is missing or constant somewhere is left out.
    """
    if len(evaluations) < 3:
        raise ValueError(f"correlations need at least three skill sets, but there are {len(evaluations)}")
    columns: dict[str, list[float | None]] = {}
    for e in evaluations:
        row = {f"Vendi Score, {r.similarity}": r.vendi_score for r in e.results} | {m.name: m.value for m in e.measures}
        for name, value in row.items():
            columns.setdefault(name, []).append(None if value is None else float(value))
    whole = {
        name: np.array(values, float)
        for name, values in columns.items()
        if len(values) == len(evaluations) and None not in values and np.ptp(np.array(values, float)) > 0
    }
    ranks = np.array([_ranks(values) for values in whole.values()])
    return list(whole), np.atleast_2d(np.corrcoef(ranks)) if len(whole) else np.zeros((0, 0))


def _ranks(values: Float[np.ndarray, " sets"]) -> Float[np.ndarray, " sets"]:
    """How many are less, and half of how many are equal."""
    return (values[:, None] > values).sum(1) + 0.5 * (values[:, None] == values).sum(1)


def _resampled(
    scores: Float[np.ndarray, "seeds tasks"], count: int, generator: np.random.Generator
) -> Float[np.ndarray, "{count} seeds tasks"]:
    """(count, seeds, tasks): seeds drawn with repetition, for each task on its own."""
    seeds, tasks = scores.shape
    return scores[generator.integers(0, seeds, (count, seeds, tasks)), np.arange(tasks)]


def _wins(
    x: Float[np.ndarray, "draws seeds_x tasks"], y: Float[np.ndarray, "draws seeds_y tasks"]
) -> Float[np.ndarray, " draws"]:
    """(draws,) the share of pairs of seeds in which x is greater, ties counting half, over (draws, seeds, tasks)."""
    gap = x[:, :, None] - y[:, None]
    return ((gap > 0) + 0.5 * (gap == 0)).mean((1, 2, 3))
