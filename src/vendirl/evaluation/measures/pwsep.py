"""PWSEP, projected separability (Yang et al. 2024): how far each skill is from what the others can do together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from vendirl.data.trajectories import Trajectories
from vendirl.evaluation.measures.measure import Measure
from vendirl.evaluation.measures.observed import Features, columns_of, names_of, sampled, skill_of_step

_SKILLS = 16  # a linear program for each


def pwsep(data: Trajectories, features: Features = None, points: int = 256, seed: int = 0) -> Measure:
    """The mean over skills of the Wasserstein distance to the nearest mixture of the other skills:

        PWSEP_i = min over λ of W_1(p_i, Σ_{j≠i} λ_j p_j),    λ_j >= 0,  Σ λ_j = 1

    It is 0 for a skill that the others can replace, whatever its distance from each of them. The minimum over couplings
    and λ is one linear program. It takes a sample of equally many observations of each skill, so that skills that
    do the same are a little apart; more `points` make that less, and take longer. More than 16 skills are refused.

    The paper's abstract (arXiv:2506.10629) says that PWSEP is an algorithm that can find all optimal initial policies.
    The equation is written from memory, and was not compared with the text that defines it, where it is an objective
    that skills are trained by one after another rather than a number that is reported.

    Args:
        data: skill data.
        features: names or numbers; all if None.
        points: observations of all skills together.
        seed: of the sample.

    Example:
        >>> import numpy as np
        >>> from vendirl.data import Trajectories
        >>> between = Trajectories.of(np.array([[[0.0], [0.0]], [[0.0], [2.0]], [[2.0], [2.0]]]))
        >>> round(pwsep(between).value, 6)        # (1 + 0 + 1) / 3: the second is a mixture of the others
        0.666667
    """
    n = data.n
    if n < 2:
        raise ValueError("there is one skill, so no others to mix")
    if n > _SKILLS:
        raise ValueError(f"there are {n} skills, and its linear programs are solved for at most {_SKILLS}")
    if points < n:
        raise ValueError(f"points must be at least one for each of the {n} skills, but is {points}")
    columns = columns_of(data, features)
    each = min(points // n, int(np.bincount(skill_of_step(data)).min()))
    x, skill, _ = sampled(data, columns, each * n, seed)
    groups = [x[skill == g] for g in range(n)]
    distances = [to_nearest_mixture(groups[i], groups[:i] + groups[i + 1 :]) for i in range(n)]
    settings = {
        "features": names_of(data, columns),
        "order": 1,
        "points": each * n,
        "seed": seed,
        "skills": n,
        "trajectories": len(data),
        "steps": len(data.observations),
    }
    nearest = int(np.argmin(distances))
    note = f"the least is that of skill {data.labels[nearest]}, {distances[nearest]:.3g}"
    return Measure("PWSEP", float(np.mean(distances)), settings, "units of the features", "higher", note)


def to_nearest_mixture(a: Float[np.ndarray, "M D"], others: Sequence[Float[np.ndarray, "_ D"]]) -> float:
    """min over λ of W_1 from the points `a` to the mixture of `others`, by a linear program over couplings and λ."""
    from scipy.optimize import linprog  # takes long to import, and most who import vendirl do without
    from scipy.sparse import csr_array, eye_array, hstack, kron, vstack
    from scipy.spatial.distance import cdist

    b = np.concatenate(others)
    M, L, owner = len(a), len(b), np.repeat(np.arange(len(others)), [len(x) for x in others])
    cost = cdist(a, b)
    size = cost.max()
    if not size:
        return 0.0
    share = 1 / np.bincount(owner)[owner]
    leaving = kron(eye_array(M), np.ones((1, L)))  # all of a's mass leaves
    arriving = kron(np.ones((1, M)), eye_array(L))  # what arrives at a point of skill j is λ_j / M_j
    mixture = csr_array((-share, (np.arange(L), owner)), (L, len(others)))
    A = vstack([hstack([leaving, csr_array((M, len(others)))]), hstack([arriving, mixture])])
    right = np.concatenate([np.full(M, 1 / M), np.zeros(L)])
    found = linprog(np.append(cost.ravel() / size, np.zeros(len(others))), A_eq=A, b_eq=right, method="highs-ds")
    if not found.success:
        raise ValueError(f"its linear program was not solved: {found.message}")
    return max(0.0, float(found.fun)) * size
