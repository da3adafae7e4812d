"""The skill memory M, and the reward that it pays (Definition 3, Appendix B)."""

from vendirl.memory.memory import FadingMemory, SkillMemory, border_of
from vendirl.memory.queue import Fading, Queue
from vendirl.memory.reward import Following, Transform, relabel, transformed

__all__ = [
    "Fading",
    "FadingMemory",
    "Following",
    "Queue",
    "SkillMemory",
    "Transform",
    "border_of",
    "relabel",
    "transformed",
]
