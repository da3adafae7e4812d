"""Going on with a run in a folder: what is not asked for anew is as it was, and a larger budget trains it longer.

A run that is given more steps keeps what it has learned and all settings but these. Its learning rate and its entropy
bonus, which fall over the whole of a training, are from then on those of a run of the larger budget at the same epoch:
at the end of a finished run they had fallen to zero, and they begin again where the longer run has them. So it is not
the run that the larger budget would have made from the start, but one that rose and fell twice. The epochs so far
are kept, the rest of the budget is one by itself (see `budget`), and it is resumed bit for bit like any other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vendirl.environments import refuse_untrusted
from vendirl.training import checkpoint
from vendirl.training.bodies import same_world
from vendirl.training.problem import Objects, described
from vendirl.training.reading import read_settings
from vendirl.training.recipes import recommended
from vendirl.training.settings import Settings

TRUST = "say so with --trust on the command line, or trust=True in Python"


def as_asked(given: Mapping[str, Any], folder: Path | None, trust: bool = False) -> tuple[Settings, Objects, bool]:
    """The settings and objects that were given by name, the rest as in the run in a folder, if there is one, or else as
    usual, as the release of a published form has it, or as suits the environment; and whether that run is given more
    steps."""
    there = folder is not None and (folder / "settings.json").exists()
    theirs = read_settings(folder) if there and folder is not None else Settings()
    if there and "env" not in given and not trust:
        refuse_untrusted(theirs.env, folder, TRUST)
    if there and "env" in given:
        given = {**given, "env": same_world(theirs.env, given["env"])}
    asked: dict[str, Any] = {
        **{field.name: getattr(theirs, field.name) for field in dataclasses.fields(theirs)},
        **(given if there else recommended(given.get("method", theirs.method), given)),
    }
    parts = [asked[name] for name in ("env", "similarity", "method", "learner", "episode_length")]
    objects, texts = described(*parts)
    settings = Settings.named({**asked, **texts})
    if folder is None or not there:
        return settings, objects, False
    settings.check()
    settings, longer = lengthened(settings, folder)
    return settings, objects, longer


def lengthened(settings: Settings, folder: Path) -> tuple[Settings, bool]:
    """The settings with which the run in a folder goes on, and whether these give it more steps than it had. The rest
    of a larger budget begins where the run is now, and is never exceeded."""
    theirs = read_settings(folder)
    if settings.steps < theirs.steps:
        raise ValueError(
            f"{folder} holds a run of {theirs.steps:g} steps, which can be given more of them, but not fewer: steps="
            f"{settings.steps:g}"
        )
    if settings.steps == theirs.steps:
        return settings, False
    done = max(checkpoint.epochs(folder / "checkpoints"), default=0)
    return dataclasses.replace(settings, extended=done, rounding="down" if done else settings.rounding), True
