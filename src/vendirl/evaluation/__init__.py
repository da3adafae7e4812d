"""Measuring sets of skills."""

from vendirl.evaluation.comparison import (
    Comparison,
    compare,
    correlations,
    interquartile_mean,
    probability_of_improvement,
)
from vendirl.evaluation.difference import Difference, differences
from vendirl.evaluation.diversity import Diversity
from vendirl.evaluation.effective_number import effective_number
from vendirl.evaluation.evaluate import Evaluation, evaluate
from vendirl.evaluation.measures import measures
from vendirl.evaluation.measures.measure import Measure

__all__ = [
    "Comparison",
    "Difference",
    "Diversity",
    "Evaluation",
    "Measure",
    "compare",
    "correlations",
    "differences",
    "effective_number",
    "evaluate",
    "interquartile_mean",
    "measures",
    "probability_of_improvement",
]
