"""A map of skills, for sets with more curves than anybody could tell apart: skills that are alike lie near each other.

The places are classical scaling of the kernel matrix: with J = I - 11'/n and JKJ = Σ λ_i e_i e_i', the skill i lies at
(√λ_1 e_1i, √λ_2 e_2i). No two numbers for each skill give the kernel back better than these.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Array, Float, Int, Real
from matplotlib.axes import Axes

AnyArray = Array | np.ndarray
MANY = 64
"""Of more skills than this there is a map, and neither a colour nor a row for each."""


def places(K: Real[AnyArray, "n n"]) -> Float[np.ndarray, "n 2"]:
    """Where each skill lies. The sign of an axis does not matter, so its largest entry is made positive."""
    import scipy.linalg  # late, as it takes a fifth of a second

    K = np.asarray(K, np.float64)
    n = len(K)
    if n == 1:
        return np.zeros((1, 2))
    J = np.eye(n) - 1 / n
    values, vectors = scipy.linalg.eigh(J @ K @ J, subset_by_index=[n - 2, n - 1])
    vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(0), [0, 1]])
    return (vectors * np.sqrt(np.maximum(values, 0)))[:, ::-1]


def in_order(K: Real[AnyArray, "n n"]) -> Int[np.ndarray, " n"]:
    """The skills in the order in which they lie around the middle of the map: similar ones follow each other."""
    x, y = places(K).T
    return np.argsort(np.arctan2(y, x), kind="stable")


def draw_map(ax: Axes, K: Real[AnyArray, "n n"], contributions: Real[AnyArray, " n"]) -> None:
    """Each skill a dot, coloured by what it adds to the score."""
    x, y = places(K).T
    shown = ax.scatter(x, y, c=np.asarray(contributions), s=max(3.0, 2000 / len(x)), cmap="viridis", linewidths=0)
    ax.figure.colorbar(shown, ax=ax, fraction=0.046, pad=0.04)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set(xticks=[], yticks=[])
    for side in ax.spines.values():
        side.set_visible(False)
