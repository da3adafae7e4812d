"""VendiRL: skills that are diverse in the sense you ask for, and a measure of any set of skills in any sense."""

from vendirl import similarity
from vendirl.border import Border
from vendirl.evaluation import effective_number
from vendirl.memory import FadingMemory, Queue, SkillMemory
from vendirl.reward import Following, borders, relabel
from vendirl.score import Vendi, vendi, vendi_score, vendi_score_features
from vendirl.similarity import Similarity, kernel_matrix

__version__ = "0.1.0"

__all__ = [
    "Border",
    "FadingMemory",
    "Following",
    "Queue",
    "Similarity",
    "SkillMemory",
    "Vendi",
    "borders",
    "effective_number",
    "kernel_matrix",
    "relabel",
    "similarity",
    "vendi",
    "vendi_score",
    "vendi_score_features",
]
