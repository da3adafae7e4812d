"""VendiRL: skills that are diverse in the sense you ask for, and a measure of any set of skills in any sense."""

from typing import TYPE_CHECKING

from vendirl import similarity
from vendirl.border import Border
from vendirl.evaluation import effective_number
from vendirl.memory import FadingMemory, Queue, SkillMemory
from vendirl.reward import Following, borders, relabel
from vendirl.score import Vendi, vendi, vendi_score, vendi_score_features
from vendirl.similarity import Similarity, kernel_matrix

if TYPE_CHECKING:
    from vendirl import environments
    from vendirl.training.attainable import Attainable, attainable
    from vendirl.training.run import Run, load, train
    from vendirl.training.settings import Settings

__version__ = "0.1.0"

# Measuring and rewarding need no environment, network or trainer; these are imported when first asked for.
_LATER = {
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
    "FadingMemory",
    "Following",
    "Queue",
    "Run",
    "Settings",
    "Similarity",
    "SkillMemory",
    "Vendi",
    "attainable",
    "borders",
    "effective_number",
    "environments",
    "kernel_matrix",
    "load",
    "relabel",
    "similarity",
    "train",
    "vendi",
    "vendi_score",
    "vendi_score_features",
]


def __getattr__(name: str):
    import importlib

    if name == "environments":
        return importlib.import_module("vendirl.environments")
    if name not in _LATER:
        raise AttributeError(f"module 'vendirl' has no attribute {name!r}")
    return getattr(importlib.import_module(_LATER[name]), name)
