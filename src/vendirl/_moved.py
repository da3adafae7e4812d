"""What has moved: importing a module by its old name says where it is now, and a name that left a module is still
found there, or says what to use."""

from __future__ import annotations

import importlib
import importlib.abc
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

Class = TypeVar("Class", bound=type)

MOVED = {
    "spectrum": "score.eigenvalues",
    "border": "score.border",
    "reward": "memory.reward",
    "expressions": "_text",
    "devices": "training.devices",
    "skill_spaces": "skills.spaces",
    "networks": "skills.networks",
    "policies": "skills.policy",
    "normalisation": "skills.statistics",
    "rollout": "skills.rollout",
    "host_rollout": "skills.host_rollout",
    "figures": "show.figures",
    "figure2": "show.figure2",
    "figure6": "show.figure6",
    "demo": "show.demo",
    "video": "show.films",
    "report": "show.report",
    "similarity.algebra": "similarity",
    "evaluation.large": "score.large",
    "environments.in_graph": "environments.suites.simulation",
    "cli.progress": "training.progress",
    "cli.cache": "_host",
    "training.algorithm": "training.loop",
    "training.comparing": "clusters.comparing",
    "training.programs": "_programs",
}
MOVED_TOGETHER = {
    "evaluation": (
        "evaluation.measures",
        ("archive", "cells", "conditional", "coverage", "discriminability", "distances", "information", "leinster"),
        ("measure", "neural_diversity", "observed", "selection"),
    ),
    "environments": (
        "environments.suites",
        ("brax", "playground", "gymnasium", "envpool", "processes", "worker", "flat", "bodies", "drawing"),
    ),
}

LEFT = {
    "cli": {"Demo": "cli.demo:Demo", "Figure2": "cli.figure2:Figure2", "Figure6": "cli.figure6:Figure6"},
    "data": {"each": "data:sources_in"},
    "data.trajectories": {"MOST_FEATURES": "data.layout:MOST_FEATURES", "numbers": "data.layout:numbers"},
    "environments.environment": {"checked_length": "environments.lengths:checked_length"},
    "evaluation.measures.neural_diversity": {"neural_diversity": "skills.neural_diversity:neural_diversity"},
    "methods.method": {
        "Combined": "methods.combined:Combined",
        "Fit": "methods.fitted:Fit",
        "Fitted": "methods.fitted:Fitted",
        "every": "methods.fitted:every",
        "firsts": "methods.fitted:firsts",
        "network": "methods.fitted:network",
        "terms": "methods.combined:terms",
    },
    "score": {"Order": "score.inputs:Order", "PSD": "score.inputs:PSD"},
    "similarity": {
        "Features": "similarity.similarity:Features",
        "Named": "similarity.kinds:Named",
        "Span": "similarity.features:Span",
        "compiled_matrix": "similarity.similarity:compiled_matrix",
    },
    "similarity.observations": {"Moments": "similarity.moments:Moments"},
    "training.run": {
        "CHECKPOINT_SECONDS": "training.driver:CHECKPOINT_SECONDS",
        "Interrupted": "training.stopping:Interrupted",
        "NonFiniteRewardError": "training.driver:NonFiniteRewardError",
        "Progress": "training.driver:Progress",
        "begin": "training.beginning:begin",
        "load": "training.beginning:load",
        "run": "training.driver:run",
        "train": "training.driver:train",
    },
    "training.settings": {"BLOCK": "training.budget:BLOCK"},
}
"""Modules that names have left for other ones, in which they are what they were."""

REPLACED = {
    "algorithms.sac": {"Learner": "vr.algorithms.Algorithm", "Relabel": "vr.algorithms.Context"},
    "data.trajectories": {"columns": "vendirl.evaluation.measures.observed.columns_of"},
    "evaluation.resampling": {
        "Dealer": "vendirl.similarity.deals",
        "half_deals": "vendirl.evaluation.resampling.split_deals",
    },
    "methods": {"Setting": "vr.methods.Problem"},
    "methods.method": {"Setting": "vr.methods.Problem", "along": "jax.numpy.broadcast_to"},
    "similarity": {
        "positive": "vendirl._checks.positive",
        "whole": "vendirl._checks.whole_number",
        "yes_or_no": "vendirl._checks.truth_value",
    },
    "show.films": {"Frames": "jaxtyping.UInt8"},
    "similarity.manifolds": {"Measure": "vendirl.similarity.manifolds.Ratio"},
    "similarity.observations": {"as_observations": "vr.similarity.SkillSet"},
    "skills.host_rollout": {"trajectories": "vendirl.skills.host_rollout.act_out, or run.rollout"},
    "skills.rollout": {"trajectories": "vendirl.skills.rollout.act_out, or run.rollout"},
    "skills.spaces": {
        "Box": "vendirl.skills.spaces.Cube",
        "Centred": "vendirl.skills.spaces.CentredOneHot",
        "Discrete": "vendirl.skills.spaces.OneHot",
    },
    "training.blocks": {"compiled_block": "vendirl.training.blocks.make_block"},
    "wrappers.worlds": {"each": "vendirl.wrappers.worlds.final_observations"},
    "training.folder": {"claim": "vendirl.training.folder.claimed"},
}
"""Names that are no more, and what to use in their place."""


def new_place(name: str) -> str | None:
    """Where the module of an old name is now, if it has moved."""
    place = name.removeprefix("vendirl.")
    if place in MOVED:
        return f"vendirl.{MOVED[place]}"
    room, _, file = place.rpartition(".")
    new, *files = MOVED_TOGETHER.get(room, ("",))
    return f"vendirl.{new}.{file}" if any(file in some for some in files) else None


class _Signpost(importlib.abc.MetaPathFinder):
    """Asked last, for modules that nobody else found."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname.startswith("vendirl.") and (place := new_place(fullname)):
            raise ModuleNotFoundError(f"{fullname} is now {place}", name=fullname)


class _Forwarding(importlib.abc.MetaPathFinder):
    """Asked first, for modules that names have left: those are looked for by `_forward` once the module is there."""

    def find_spec(self, fullname, path=None, target=None):
        left = fullname.removeprefix("vendirl.")
        if left == fullname or (left not in LEFT and left not in REPLACED):
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next((found for finder in others if (found := finder.find_spec(fullname, path, target))), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_forward(module):
                execute(module)
                module.__getattr__ = _forward(module, left, module.__dict__.get("__getattr__"))

            spec.loader.exec_module = execute_and_forward
        return spec


def _forward(module: ModuleType, left: str, own: Callable[[str], Any] | None) -> Callable[[str], Any]:
    """What a module that names have left is asked for the names that it does not have."""

    def find(name: str) -> Any:
        if name in LEFT.get(left, ()):
            place, _, there = LEFT[left][name].partition(":")
            return getattr(importlib.import_module(f"vendirl.{place}"), there)
        if name in REPLACED.get(left, ()):
            # An AttributeError would be replaced by "cannot import name" where the name is imported from the module.
            raise ImportError(f"{module.__name__}.{name} is no more; use {REPLACED[left][name]}", name=module.__name__)
        if own is not None:
            return own(name)
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    return find


def point_the_way() -> None:
    """Put the signposts up."""
    sys.meta_path.insert(0, _Forwarding())
    sys.meta_path.append(_Signpost())


def no_more(**instead: str) -> Callable[[Class], Class]:
    """Say what to use in place of members that a class had once.

    >>> @no_more(weight="mass")
    ... class Body:
    ...     mass = 1.0
    >>> Body().weight
    Traceback (most recent call last):
    AttributeError: Body.weight is no more; use mass
    """

    def decorate(kind: Class) -> Class:
        def find(self, name):
            if name in instead:
                raise AttributeError(f"{kind.__name__}.{name} is no more; use {instead[name]}", name=name, obj=None)
            return object.__getattribute__(self, name)  # which says what else is amiss

        kind.__getattr__ = find  # type: ignore[attr-defined]
        return kind

    return decorate
