"""The VendiRL reward for other people's learners: Gymnasium, Stable-Baselines3, and Brax or MuJoCo Playground.

Nothing of theirs is imported before it is asked for: `vr.wrappers.gymnasium`, `.stable_baselines3`, `.brax`.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vendirl.wrappers import brax, gymnasium, stable_baselines3

__all__ = ["brax", "gymnasium", "stable_baselines3"]


def __getattr__(name: str) -> ModuleType:
    if name not in __all__:
        raise AttributeError(f"module 'vendirl.wrappers' has no attribute {name!r}; it has {', '.join(__all__)}")
    return importlib.import_module(f"vendirl.wrappers.{name}")
