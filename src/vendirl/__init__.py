"""VendiRL: skills that are diverse in the sense you ask for, and a measure of any set of skills in any sense."""

from typing import TYPE_CHECKING

from vendirl import similarity
from vendirl.border import Border
from vendirl.data import Trajectories, read
from vendirl.evaluation import Comparison, Diversity, Evaluation, Measure, compare, effective_number, evaluate
from vendirl.memory import FadingMemory, Queue, SkillMemory
from vendirl.reward import Following, relabel
from vendirl.score import Vendi, vendi, vendi_score, vendi_score_features
from vendirl.similarity import Similarity, kernel_matrix

if TYPE_CHECKING:
    from vendirl import devices, environments, methods, wrappers
    from vendirl.evaluation.large import LargeScore, vendi_score_of_items
    from vendirl.report import write_report
    from vendirl.training.attainable import Attainable, attainable
    from vendirl.training.run import Run, load, train
    from vendirl.training.settings import Settings

__version__ = "0.1.0"

# Measuring and rewarding need no environment, network or trainer; these are imported when first asked for.
_LATER = {
    "LargeScore": "vendirl.evaluation.large",
    "vendi_score_of_items": "vendirl.evaluation.large",
    "write_report": "vendirl.report",
    "Attainable": "vendirl.training.attainable",
    "attainable": "vendirl.training.attainable",
    "Run": "vendirl.training.run",
    "load": "vendirl.training.run",
    "train": "vendirl.training.run",
    "Settings": "vendirl.training.settings",
}

__all__ = [
    "Attainable",
    "Border",
    "Comparison",
    "Diversity",
    "Evaluation",
    "FadingMemory",
    "Following",
    "LargeScore",
    "Measure",
    "Queue",
    "Run",
    "Settings",
    "Similarity",
    "SkillMemory",
    "Trajectories",
    "Vendi",
    "attainable",
    "compare",
    "devices",
    "effective_number",
    "environments",
    "evaluate",
    "kernel_matrix",
    "load",
    "methods",
    "read",
    "relabel",
    "similarity",
    "train",
    "vendi",
    "vendi_score",
    "vendi_score_features",
    "vendi_score_of_items",
    "wrappers",
    "write_report",
]


def __getattr__(name: str):
    import importlib

    if name in ("devices", "environments", "methods", "wrappers"):
        return importlib.import_module(f"vendirl.{name}")
    if name not in _LATER:
        raise AttributeError(f"module 'vendirl' has no attribute {name!r}")
    return getattr(importlib.import_module(_LATER[name]), name)
