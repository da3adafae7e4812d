"""The kernel matrix K of a set of skills."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
from jaxtyping import Float

from vendirl._checks import AnyArray
from vendirl.similarity.observations import HasSkills, SkillSet
from vendirl.similarity.parsing import as_similarity
from vendirl.similarity.similarity import Similarity, compiled_matrix


def kernel_matrix(
    similarity: Similarity | str | Any, trajectories: Any, names: Sequence[str] | None = None
) -> Float[AnyArray, "n n"]:
    """K_ij = k(skill i, skill j), (n, n), symmetric with ones on the diagonal.

    Args:
        similarity: k, or its text.
        trajectories: `Trajectories`, or (n, T, D), (n, N, T, D), or for unequal lengths a list with an entry per
            skill, each a (T, D) array or a list of them. Several trajectories of a skill are pooled, as in Appendix A.
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
    similarity = as_similarity(similarity)
    if isinstance(trajectories, HasSkills):
        names = trajectories.features if names is None else names
    skills = SkillSet.of(trajectories)
    if names is not None and len(names) != skills.features:
        raise ValueError(f"names has {len(names)} entries, but the observations have {skills.features} features")
    similarity = similarity.resolve(names, skills.features)
    check_sizes(similarity, skills)
    if isinstance(skills.points, jax.Array):
        return compiled_matrix(similarity, skills)
    return similarity.host_matrix(skills)


def check_sizes(similarity: Similarity, skills: SkillSet) -> None:
    """Refuse skills with fewer observations than the similarity needs."""
    counts = skills.counts
    if counts.min() < similarity.least_observations:
        i = int(counts.argmin())
        raise ValueError(
            f"{similarity} needs at least {similarity.least_observations} observations of each skill, but skill {i} "
            f"has {counts[i]}; give longer or more trajectories, or fewer neighbours"
        )
