"""Modules that have moved: importing one by its old name says where it is now."""

from __future__ import annotations

import importlib.abc
import sys

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
    "training.comparing": "clusters.comparing",
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


def point_the_way() -> None:
    """Put the signpost up."""
    sys.meta_path.append(_Signpost())
