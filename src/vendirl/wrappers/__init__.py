"""The VendiRL reward for other people's learners: Gymnasium, Stable-Baselines3, and Brax or MuJoCo Playground; and
skills as actions, `vr.wrappers.SkillActions`.

Nothing of theirs is imported before it is asked for: `vr.wrappers.gymnasium`, `.stable_baselines3`, `.brax`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vendirl.wrappers import brax, gymnasium, stable_baselines3
    from vendirl.wrappers.skill_actions import SkillActions

__all__ = ["SkillActions", "brax", "gymnasium", "stable_baselines3"]


def __getattr__(name: str) -> Any:
    if name == "SkillActions":
        return importlib.import_module("vendirl.wrappers.skill_actions").SkillActions
    if name not in __all__:
        raise AttributeError(f"module 'vendirl.wrappers' has no attribute {name!r}; it has {', '.join(__all__)}")
    return importlib.import_module(f"vendirl.wrappers.{name}")
