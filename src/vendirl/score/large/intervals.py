"""Scores with their intervals: exact but for rounding, from two bounds, and from independent draws."""

from __future__ import annotations

import math

import scipy.special

ROUNDING = 1e-9  # relative; of results in float64 that are exact otherwise


def about(score: float) -> tuple[float, float, float]:
    """A score that is exact but for rounding, and its interval."""
    return score, score * (1 - ROUNDING), score * (1 + ROUNDING)


def middle(lower: float, upper: float) -> tuple[float, float, float]:
    """The score that is off by the same factor at either end, and the interval."""
    return math.sqrt(lower * upper), lower, upper


def student_quantile(tail: float, size: int) -> float:
    """The quantile of Student's distribution for the mean of `size` draws."""
    return float(scipy.special.stdtrit(size - 1, 1 - tail))
