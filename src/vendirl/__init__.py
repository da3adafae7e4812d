"""VendiRL: skills that are diverse in the sense you ask for, and a measure of any set of skills in any sense."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vendirl import devices, environments, methods, similarity, wrappers
    from vendirl.border import Border
    from vendirl.data import Trajectories, read
    from vendirl.evaluation import Comparison, Diversity, Evaluation, Measure, compare, effective_number, evaluate
    from vendirl.evaluation.large import LargeScore, vendi_score_of_items
    from vendirl.memory import FadingMemory, Queue, SkillMemory
    from vendirl.report import write_report
    from vendirl.reward import Following, relabel
    from vendirl.score import Vendi, vendi, vendi_score, vendi_score_features
    from vendirl.similarity import Similarity, kernel_matrix
    from vendirl.training.attainable import Attainable, attainable
    from vendirl.training.run import Run, load, train
    from vendirl.training.settings import Settings

__version__ = "0.1.0"

# Where names are; they are imported when first asked for. Measuring and rewarding thus load no environment, network or
# trainer, and the command line can speak to JAX before it is there.
_PLACES = {
    "border": ["Border"],
    "data": ["Trajectories", "read"],
    "evaluation": ["Comparison", "Diversity", "Evaluation", "Measure", "compare", "effective_number", "evaluate"],
    "evaluation.large": ["LargeScore", "vendi_score_of_items"],
    "memory": ["FadingMemory", "Queue", "SkillMemory"],
    "report": ["write_report"],
    "reward": ["Following", "relabel"],
    "score": ["Vendi", "vendi", "vendi_score", "vendi_score_features"],
    "similarity": ["Similarity", "kernel_matrix"],
    "training.attainable": ["Attainable", "attainable"],
    "training.run": ["Run", "load", "train"],
    "training.settings": ["Settings"],
}
_MODULES = ("devices", "environments", "methods", "similarity", "wrappers")
_PLACE = {name: f"vendirl.{place}" for place, names in _PLACES.items() for name in names}

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
    if name in _MODULES:
        return importlib.import_module(f"vendirl.{name}")
    if name not in _PLACE:
        raise AttributeError(f"module 'vendirl' has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(_PLACE[name]), name)
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
