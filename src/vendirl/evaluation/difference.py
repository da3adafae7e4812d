"""How much more diverse one set of skills is than another: the difference of two scores, with interval and p-value.

Without seeds, of two sets of episodes. With l, u the ends of each set's repetition interval about its score S,

    Δ = S_a - S_b,      [Δ - √((S_a - l_a)² + (u_b - S_b)²),  Δ + √((u_a - S_a)² + (S_b - l_b)²)]

(Zou and Donner, "Construction of confidence limits about effect measures", 2008), which holds what the two intervals
know of their skewness. The p-value is 1 minus the confidence at which an end of that interval is 0.

With seeds, of two methods. Seeds vary in more than their episodes, so the scores of the seeds are what is compared:
Student's t of the differences seed by seed if there are as many of both, else of the two means (Welch).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from vendirl._checks import some_of
from vendirl._text import percent
from vendirl.evaluation.diversity import Diversity, bracketed
from vendirl.evaluation.variation import quantile

if TYPE_CHECKING:
    from vendirl.evaluation.evaluate import Evaluation


@dataclasses.dataclass(frozen=True)
class Difference:
    """The score of one set minus that of another, in the sense of one similarity.

    Attributes:
        similarity: as text.
        scores: of both, means over seeds if there are several.
        difference: the first score minus the second.
        interval: a confidence interval of the difference to be expected of a repetition, or None.
        p_value: of the hypothesis that there is none, or None.
        note: what was compared, or why there is no interval.
        confidence: of the interval.
    """

    similarity: str
    scores: tuple[float, float]
    difference: float
    interval: tuple[float, float] | None
    p_value: float | None
    note: str
    confidence: float

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        if self.interval is None or self.p_value is None:
            return f"{self.similarity}: {self.difference:+.3f}, no interval: {self.note}"
        ends = f"{percent(self.confidence)} interval {bracketed(self.interval)}"
        return f"{self.similarity}: {self.difference:+.3f}, {ends}, p {self.p_value:.3g}; {self.note}"


def differences(a: Sequence[Evaluation], b: Sequence[Evaluation]) -> tuple[Difference, ...]:
    """The differences in all senses that both were evaluated in, of two sets or of the seeds of two methods.

    Args:
        a, b: the evaluations of a method's seeds, or of one set each.
    """
    if not a or not b:
        raise ValueError("there is nothing to compare: give at least one evaluation of both")
    shared = [r.similarity for r in a[0].results if all(r.similarity in e for e in [*a, *b])]
    if not shared:
        raise ValueError("the two were not evaluated under the same similarity; evaluate both under one")
    found = []
    seen = {tuple(e.data.features) for e in [*a, *b]}
    for name in shared:
        xs, ys = [e[name] for e in a], [e[name] for e in b]
        if any(r.q != xs[0].q for r in [*xs, *ys]):
            raise ValueError("the two were scored with different orders q; evaluate both with one")
        if len(xs) == len(ys) == 1:
            found.append(_of_sets(xs[0], ys[0], _unlike(a[0], b[0])))
        else:
            found.append(_of_seeds(xs, ys))
    if len(seen) > 1:
        lists = " and of ".join(some_of(list(names)) for names in sorted(seen)[:2])
        warning = f"; careful, the data are of different features, of {lists}"
        found = [dataclasses.replace(one, note=one.note + warning) for one in found]
    return tuple(found)


def _unlike(a: Evaluation, b: Evaluation) -> str:
    """What besides the skills themselves makes the scores of two sets differ."""
    found, counts = "", {len(mine) for e in (a, b) for mine in e.data.of_skill}
    if a.data.n != b.data.n:
        found += f", which are of {a.data.n} and {b.data.n} skills, so that one could score more than the other"
    if len(counts) > 1:
        found += f"{'; the episodes' if found else ', which'} are not equally many, and that alone changes scores"
    return found


def _of_sets(x: Diversity, y: Diversity, unlike: str) -> Difference:
    scores, difference = (x.vendi_score, y.vendi_score), x.vendi_score - y.vendi_score
    without = next((r for r in (x, y) if r.variation is None), None)
    if without is not None:
        note = without.repetition_note or "the number of skills is one"
        return Difference(x.similarity, scores, difference, None, None, note, x.confidence)
    note = f"from the episodes of two sets{unlike}"
    low, high = 0.0, 1.0  # by bisection: the confidence at which the interval just reaches 0
    for _ in range(50):
        middle = (low + high) / 2
        ends = _ends(x, y, middle)
        low, high = (middle, high) if ends[0] > 0 or ends[1] < 0 else (low, middle)
    return Difference(x.similarity, scores, difference, _ends(x, y, x.confidence), 1 - low, note, x.confidence)


def _ends(x: Diversity, y: Diversity, confidence: float) -> tuple[float, float]:
    (below_x, above_x), (below_y, above_y) = _reach(x, confidence), _reach(y, confidence)
    difference = x.vendi_score - y.vendi_score
    return difference - math.hypot(below_x, above_y), difference + math.hypot(above_x, below_y)


def _reach(r: Diversity, confidence: float) -> tuple[float, float]:
    """How far the interval of a score reaches below and above it."""
    assert r.variation is not None
    scale, wide = r.variation.scale, quantile(confidence, r.variation.freedom) * r.variation.error
    g = float(scale.of(r.vendi_score))
    return r.vendi_score - scale.back(g - wide), scale.back(g + wide) - r.vendi_score


def _of_seeds(xs: Sequence[Diversity], ys: Sequence[Diversity]) -> Difference:
    from scipy.special import stdtr

    x, y = (np.array([r.vendi_score for r in rs]) for rs in (xs, ys))
    scores, difference = (float(x.mean()), float(y.mean())), float(x.mean() - y.mean())
    name, confidence = xs[0].similarity, xs[0].confidence
    if min(len(x), len(y)) < 2:
        note = "one of the two has a single seed, which does not tell how seeds vary"
        return Difference(name, scores, difference, None, None, note, confidence)
    if len(x) == len(y):
        square, freedom = float((x - y).var(ddof=1)) / len(x), len(x) - 1.0
        note = f"paired over {len(x)} seeds"
    else:
        parts = np.array([x.var(ddof=1) / len(x), y.var(ddof=1) / len(y)])
        square = float(parts.sum())
        degrees = np.array([len(x) - 1, len(y) - 1])
        freedom = square**2 / float((parts**2 / degrees).sum()) if square else float(degrees.min())
        note = f"over {len(x)} and {len(y)} seeds"
    if square == 0:
        note = "all seeds differ by the same, which does not tell how seeds vary"
        return Difference(name, scores, difference, None, None, note, confidence)
    error = math.sqrt(square)
    wide = quantile(confidence, freedom) * error
    p_value = float(2 * stdtr(freedom, -abs(difference) / error))
    return Difference(name, scores, difference, (difference - wide, difference + wide), p_value, note, confidence)
