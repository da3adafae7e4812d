"""The kernel matrix K of a set of skills."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from vendirl.data.trajectories import Trajectories
from vendirl.similarity.algebra import Similarity, compiled_matrix
from vendirl.similarity.observations import Observations, as_observations


def kernel_matrix(similarity: Similarity, trajectories: Any, names: Sequence[str] | None = None) -> Any:
    """K_ij = k(skill i, skill j), (n, n), symmetric with ones on the diagonal.

    Args:
        similarity: k.
        trajectories: `Trajectories`, or (n, T, D), (n, N, T, D), or for unequal lengths a list with an entry per
        skill, each a (T, D)
            array or a list of them. Several trajectories of a skill are pooled, as in Appendix A.
        names: of the D features, if the similarity chooses features by name.

    Returns:
        A NumPy float64 matrix for NumPy input and lists; for JAX input a JAX matrix of its type.

    Example:
        >>> import numpy as np, vendirl as vr
        >>> east_north = np.array([[[1.0, 0.0], [2.0, 0.0]], [[0.0, 1.0], [0.0, 2.0]]])
        >>> vr.kernel_matrix(vr.similarity.cosine(), east_north)
        array([[1., 0.],
               [0., 1.]])
    """
    if not isinstance(similarity, Similarity):
        raise TypeError(
            f"similarity must be a Similarity such as vr.similarity.cosine(), but is {type(similarity).__name__}; "
            "vr.similarity.parse makes one from text"
        )
    if isinstance(trajectories, Trajectories):
        names = trajectories.features if names is None else names
        trajectories = trajectories.by_skill
    skills = as_observations(trajectories)
    D = skills.points.shape[-1]
    if names is not None and len(names) != D:
        raise ValueError(f"names has {len(names)} entries, but the observations have {D} features")
    similarity = similarity.resolve(names, D)
    check_sizes(similarity, skills)
    if isinstance(skills.points, jax.Array):
        return compiled_matrix(similarity, skills)
    return similarity.host_matrix(skills)


def check_sizes(similarity: Similarity, skills: Observations) -> None:
    """Refuse skills with fewer observations than the similarity needs."""
    n, N, T, _ = skills.points.shape
    counts = np.full(n, N * T) if skills.lengths is None else np.asarray(skills.lengths).sum(-1)
    if counts.min() < similarity.least_observations:
        i = int(counts.argmin())
        raise ValueError(
            f"{similarity} needs at least {similarity.least_observations} observations of each skill, but skill {i} "
            f"has {counts[i]}; give longer or more trajectories, or fewer neighbours"
        )
