"""WSEP, the separability of skills by Wasserstein distance (Yang et al. 2024)."""

from __future__ import annotations

from vendirl.evaluation.measures.measure import Measure


def wsep(mean: Measure) -> Measure:
    """The sum of the Wasserstein distances between skills, over ordered pairs:

        WSEP = Σ_i Σ_{j≠i} W(p_i, p_j)

    That is n (n - 1) times the mean over pairs, and so grows with the number of skills; the mean does not.

    The paper's abstract (arXiv:2506.10629) says that Wasserstein distance takes the place of KL divergence, in an
    objective that skills are trained by. The sum over ordered pairs is written from memory, and was not compared with
    the text that defines it.

    Args:
        mean: what `pairwise_wasserstein` found, whose settings these are too.

    Example:
        >>> import numpy as np
        >>> from vendirl.data import Trajectories
        >>> from vendirl.evaluation.measures.distances import pairwise_wasserstein
        >>> wsep(pairwise_wasserstein(Trajectories.of(np.array([[[0.0]], [[1.0]], [[3.0]]])))).value
        12.0
    """
    n = mean.settings["skills"]
    value = None if mean.value is None else mean.value * n * (n - 1)
    return Measure("WSEP", value, mean.settings, mean.unit, "higher", mean.note)
