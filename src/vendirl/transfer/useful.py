"""The effective number of useful skills: the Vendi Score under the return-profile kernel.

Two skills are alike if they earn alike over the tasks. With p_im the return of skill i in task m, 0 that of random
actions and 1 that of the oracle,

    K_ij = exp(-s mean_m (p_im - p_jm)²),          VS(K) = exp(H(K/n))

It is at least 1 and at most n. Skills that earn nothing anywhere count as one, however diverse they are otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from vendirl._checks import finite, finite_number, real_numbers
from vendirl.score import vendi_score

SCALE = 20.0
"""s. Two skills that each master a tenth of the tasks, and not the same, are then alike by exp(-4)."""


def useful_skills(profile: Float[np.ndarray, "n tasks"] | Any, scale: float = SCALE) -> float:
    """The effective number of useful skills.

    Args:
        profile: (n, tasks) what each skill earns in each task, 0 for random actions and 1 for the oracle.
        scale: the scale s of the kernel.

    >>> round(useful_skills([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]), 2)
    1.89
    """
    return float(vendi_score(profile_kernel(profile, scale)))


def profile_kernel(profile: Float[np.ndarray, "n tasks"] | Any, scale: float = SCALE) -> Float[np.ndarray, "n n"]:
    """K: how alike two skills are in what they earn."""
    p = np.asarray(real_numbers(profile, "profile"), np.float64)
    if p.ndim != 2 or not p.size:
        raise ValueError(f"profile must have a row for each skill and a column for each task, but has shape {p.shape}")
    finite(p, "profile")
    finite_number(scale, "scale", above=0)
    return np.exp(-scale * ((p[:, None] - p[None]) ** 2).mean(-1))
