"""What became infinite or NaN in training, and where it came from: a feature, or a part of the similarity."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from vendirl.similarity import SkillSet, Sum
from vendirl.training.run import Run


def feature_at_fault(this: Run) -> str:
    """The first feature that is not finite when the skills act as they do now, if there is one."""
    points = this.rollout(deterministic=False)
    for feature, name in enumerate(this.environment.feature_names):
        if not np.isfinite(points[..., feature]).all():
            return f", first seen in the feature {name!r}"
    return ""


def similarity_at_fault(this: Run) -> str:
    """The part of the similarities whose kernel matrix is not finite for the current skills."""
    points = SkillSet(jnp.asarray(this.rollout(deterministic=False)))
    for similarity in this.loop.method.similarities:
        for part in similarity.terms if isinstance(similarity, Sum) else (similarity,):
            if not np.isfinite(part.matrix(part.summaries(points))).all():
                return f", from the similarity {part}"
    return ", though its similarity is finite for the skills as they are now" if this.loop.method.similarities else ""
