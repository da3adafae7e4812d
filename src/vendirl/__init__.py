"""VendiRL: skills that are diverse in the sense you ask for, and a measure of any set of skills in any sense."""

import importlib
from typing import TYPE_CHECKING

import vendirl._host  # noqa: F401  (first: it speaks to JAX before that is imported)
from vendirl._moved import point_the_way

if TYPE_CHECKING:
    from vendirl import algorithms, boards, environments, methods, similarity, wrappers
    from vendirl.boards import benchmark
    from vendirl.clusters.space import Range
    from vendirl.clusters.sweep import Sweep, sweep
    from vendirl.data import Trajectories, read
    from vendirl.evaluation import (
        Comparison,
        Difference,
        Diversity,
        Evaluation,
        Measure,
        compare,
        differences,
        effective_number,
        evaluate,
    )
    from vendirl.memory import FadingMemory, Following, Queue, SkillMemory, relabel
    from vendirl.score import Border, Vendi, vendi, vendi_score, vendi_score_features
    from vendirl.score.large import LargeScore, vendi_score_of_items
    from vendirl.show.report import write_report
    from vendirl.similarity import Similarity, kernel_matrix
    from vendirl.skills.policy_file import load_policy
    from vendirl.skills.portable import Policy
    from vendirl.training import devices
    from vendirl.training.attainable import Attainable, attainable
    from vendirl.training.beginning import load
    from vendirl.training.driver import train
    from vendirl.training.run import Run
    from vendirl.training.settings import Settings
    from vendirl.transfer.transferring import transfer

__version__ = "0.1.0"

# Where names are; they are imported when first asked for. Measuring and rewarding thus load no environment, network or
# trainer, and the command line can speak to JAX before it is there.
_PLACE = {
    "Attainable": "training.attainable",
    "Border": "score",
    "Comparison": "evaluation",
    "Difference": "evaluation",
    "Diversity": "evaluation",
    "Evaluation": "evaluation",
    "FadingMemory": "memory",
    "Following": "memory",
    "LargeScore": "score.large",
    "Measure": "evaluation",
    "Policy": "skills.portable",
    "Queue": "memory",
    "Range": "clusters.space",
    "Run": "training.run",
    "Settings": "training.settings",
    "Similarity": "similarity",
    "SkillMemory": "memory",
    "Sweep": "clusters.sweep",
    "Trajectories": "data",
    "Vendi": "score",
    "attainable": "training.attainable",
    "benchmark": "boards",
    "compare": "evaluation",
    "differences": "evaluation",
    "effective_number": "evaluation",
    "evaluate": "evaluation",
    "kernel_matrix": "similarity",
    "load": "training.beginning",
    "load_policy": "skills.policy_file",
    "read": "data",
    "relabel": "memory",
    "sweep": "clusters.sweep",
    "train": "training.driver",
    "vendi": "score",
    "vendi_score": "score",
    "vendi_score_features": "score",
    "vendi_score_of_items": "score.large",
    "write_report": "show.report",
}
_MODULES = {
    "algorithms": "algorithms",
    "boards": "boards",
    "devices": "training.devices",
    "environments": "environments",
    "methods": "methods",
    "similarity": "similarity",
    "transfer": "transfer",
    "wrappers": "wrappers",
}

__all__ = [
    "Attainable",
    "Border",
    "Comparison",
    "Difference",
    "Diversity",
    "Evaluation",
    "FadingMemory",
    "Following",
    "LargeScore",
    "Measure",
    "Policy",
    "Queue",
    "Range",
    "Run",
    "Settings",
    "Similarity",
    "SkillMemory",
    "Sweep",
    "Trajectories",
    "Vendi",
    "algorithms",
    "attainable",
    "benchmark",
    "boards",
    "compare",
    "devices",
    "differences",
    "effective_number",
    "environments",
    "evaluate",
    "kernel_matrix",
    "load",
    "load_policy",
    "methods",
    "read",
    "relabel",
    "similarity",
    "sweep",
    "train",
    "transfer",
    "vendi",
    "vendi_score",
    "vendi_score_features",
    "vendi_score_of_items",
    "wrappers",
    "write_report",
]


def __getattr__(name: str):
    if name in _MODULES:
        return importlib.import_module(f"vendirl.{_MODULES[name]}")
    if name not in _PLACE:
        raise AttributeError(f"module 'vendirl' has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(f"vendirl.{_PLACE[name]}"), name)
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


point_the_way()
