"""A budget of steps as epochs: never more than were asked for, and all of them in blocks of one length.

A block of epochs is one compiled program, and resuming bit for bit needs the same program before and after, so the
blocks of a run are equally long. Ten epochs are usual. Where blocks of ten would leave out more than half a block, they
are as long as comes nearest to the budget, but no shorter than five, lest more time be spent between blocks than in
them.
"""

from __future__ import annotations

import math
from typing import Literal

BLOCK = 10
"""Epochs in one compiled call, at most."""
LEAST_BLOCK = 5
"""Epochs in one, at least, if there is more than one."""
MOST_EPOCHS = 10**9
"""They are counted in 32 bits."""

Rounding = Literal["down", "nearest"]
"""How a budget becomes epochs: so that it is kept, or, as in runs that are older than the choice, to the nearest number
of blocks of ten, at least one."""


def epochs_within(steps: float, steps_of_an_epoch: int, rounding: Rounding = "down") -> int:
    """How many epochs a budget of steps allows for: 0 if it is less than one."""
    nearest = round(steps / (steps_of_an_epoch * BLOCK)) * BLOCK
    if rounding == "nearest":
        return max(BLOCK, nearest)
    most = math.floor(steps) // steps_of_an_epoch
    if most < BLOCK:
        return most
    return nearest if nearest <= most else max(most // length * length for length in range(LEAST_BLOCK, BLOCK + 1))


def block_of(epochs: int) -> int:
    """How many of a run's epochs are one block: as many as divide it into equal ones, ten at most."""
    return max(length for length in range(1, BLOCK + 1) if epochs % length == 0)


def told(steps: float, asked: int, scenes: int, epochs: int, steps_of_a_scene: int) -> str | None:
    """What a small budget means for a run, in one sentence; None if it is a block of epochs or more.

    Args:
        steps: that were asked for.
        asked: scenes that were asked for.
        scenes: that there are.
        epochs: that there are.
        steps_of_a_scene: in an epoch.
    """
    each = scenes * steps_of_a_scene
    trained = f"{epochs} epoch{'s' if epochs > 1 else ''} of {each:,} steps"
    if scenes < asked:
        least = asked * steps_of_a_scene
        return (
            f"{steps:,.0f} steps are less than an epoch of {asked} scenes, which has {least:,}, so there are {scenes} "
            f"scenes, and {trained}"
        )
    if epochs < BLOCK:
        return f"{steps:,.0f} steps are {trained}; fewer scenes (now {scenes}) make more epochs"
    return None
