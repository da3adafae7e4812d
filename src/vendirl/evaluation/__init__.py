"""Measuring sets of skills."""

from vendirl.evaluation.comparison import (
    Comparison,
    compare,
    correlations,
    interquartile_mean,
    probability_of_improvement,
)
from vendirl.evaluation.effective_number import effective_number
from vendirl.evaluation.evaluate import Diversity, Evaluation, evaluate
from vendirl.evaluation.measures import measures
from vendirl.evaluation.measures.measure import Measure

__all__ = [
    "Comparison",
    "Diversity",
    "Evaluation",
    "Measure",
    "compare",
    "correlations",
    "effective_number",
    "evaluate",
    "interquartile_mean",
    "measures",
    "probability_of_improvement",
]
