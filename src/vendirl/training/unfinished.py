"""Runs that were interrupted, or are in training: what can be scored of them before they have results.

Their skills act for it, as they are at the newest checkpoint, and nothing is written in their folder.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from vendirl.data import Trajectories
from vendirl.training.beginning import load
from vendirl.training.run import KEPT


def acted_out(source: str | os.PathLike[str], trust: bool = False) -> dict[str, Trajectories]:
    """Episodes of the skills of an unfinished run, as many as a finished one keeps, by the names that its seeds will
    have. Its environment is made, as `load` makes it.

    Args:
        source: the folder of the run.
        trust: see `load`.
    """
    run = load(Path(source), trust=trust)
    warnings.warn(
        f"{source} is not finished: what is scored are its skills at epoch {run.done} of {run.epochs}, which act now",
        stacklevel=3,
    )
    found = {}
    for seed in range(run.settings.seeds):
        name = str(source) if run.settings.seeds == 1 else str(Path(source) / f"seed-{run.settings.seed + seed}")
        found[name] = run.episodes(seed=seed, episodes=KEPT, deterministic=False)
    return found
