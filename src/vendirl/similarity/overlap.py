"""Similarity as overlap of skill manifolds, by nearest neighbours (Appendix A)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from vendirl._checks import Number, checked_by, positive, whole_number
from vendirl.similarity.deals import Deal, Episodes, Regrouping
from vendirl.similarity.kinds import TrajectorySimilarity
from vendirl.similarity.manifolds import Known, Pool, Ratio, check_ratio, overlap_kernel, precision_matrix
from vendirl.similarity.observations import Observations, SkillSet

Balls = tuple[Float[Array, "_ D"], Bool[Array, " _"], Float[Array, " _"]]
"""Observations, (M, D), which of them are real, (M,), and the squared radii of their balls, (M,), -1 for no ball."""


class overlap(TrajectorySimilarity):  # noqa: N801
    """Overlap of two skills in the feature space: F1 of the k-nearest-neighbour precision and recall.

    The manifold of a skill is the union of balls around its pooled observations X, each reaching to that
    observation's k-th nearest neighbour in X (itself not counted). With f(x, X) = 1 if x lies in the manifold of X,
    boundary included, else 0:

        precision(a, b) = mean over x in X_b of f(x, X_a),     recall(a, b) = mean over x in X_a of f(x, X_b)
        k(a, b) = F1^scale,     F1 = 2 precision recall / (precision + recall),     0 if both are 0

    NOT positive semidefinite: scores clip the negative eigenvalues and report their mass. Ceiling n, reached by skills
    that do not overlap at all. It needs more than k observations per skill; when fewer are there (inside `jit`,
    where that cannot be refused), the ball reaches to the farthest one.

    `kernel_matrix` of NumPy input computes it on the host, where observations too far apart to matter are not compared
    (see `manifolds`); inside `jit` all are compared with all.

    Args:
        neighbours: k, 3 as in the paper.
        measure: "f1", or "precision" or "recall" averaged over the two directions so that k is symmetric (they are
            each other's mirror image, so that both give the same matrix).
        scale: exponent; above 1 it makes partial overlap count less.
    """

    neighbours: int = eqx.field(static=True, default=3, converter=checked_by(whole_number, "overlap: neighbours"))
    measure: Ratio = eqx.field(static=True, default="f1", converter=checked_by(check_ratio, "overlap: measure"))
    scale: Number = eqx.field(default=1.0, converter=checked_by(positive, "overlap: scale"))

    name: ClassVar[str] = "overlap"

    @property
    def psd(self) -> bool:
        return False

    @property
    def differentiable(self) -> bool:
        return False  # a fraction of points inside is piecewise constant

    @property
    def least_observations(self) -> int:
        return self.neighbours + 1

    @property
    def tails_matter(self) -> bool:
        return False  # an observation is within a ball or not, however far from it

    @property
    def has_limit(self) -> bool:
        return False  # the balls shrink as observations are added, and how much they cover goes on changing

    @property
    def on_host(self) -> bool:
        return True  # blocks far apart need no comparison, which compiled code of fixed shapes cannot make use of

    def host_matrix(self, skills: SkillSet) -> Float[np.ndarray, "n n"]:
        points = np.asarray(skills.points)
        if skills.lengths is None:
            pooled = list(points.reshape(len(points), -1, points.shape[-1]))
        else:
            real = np.arange(points.shape[2]) < np.asarray(skills.lengths)[..., None]
            pooled = [x[kept] for x, kept in zip(points, real, strict=True)]
        return self.of_precision(precision_matrix(pooled, self.neighbours))

    def regroup(self, episodes: Episodes) -> Regrouping:
        return OfPool(self, episodes)

    def of_precision(self, precision: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
        """K from the precision of each skill with respect to each other one."""
        return overlap_kernel(precision, self.measure, float(self.scale))

    def summary(self, skill: Observations) -> Balls:
        """The pooled observations, which of them are real, and the squared radii of their balls (-1: no ball)."""
        x = skill.pooled
        real = jnp.ones(x.shape[0], bool) if skill.mask is None else skill.mask
        square = jnp.where(real[None, :], squared_distances(x, x), jnp.inf)
        k = min(self.neighbours, x.shape[0] - 1)
        ordered = _smallest(jnp.where(jnp.eye(x.shape[0], dtype=bool), 0, square), k + 1)
        farthest = jnp.max(jnp.where(jnp.isfinite(ordered), ordered, 0), axis=1)
        return x, real, jnp.where(real, farthest, -1)

    def compare(self, a: Balls, b: Balls) -> Float[Array, ""]:
        precision, recall = self.precision_recall(a, b)
        total = precision + recall
        if self.measure != "f1":
            return (total / 2) ** self.scale
        return (2 * precision * recall / jnp.where(total > 0, total, 1)) ** self.scale

    def precision_recall(self, a: Balls, b: Balls) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """precision(a, b) and recall(a, b) of two summaries."""
        (x, real_x, radius_x), (y, real_y, radius_y) = a, b
        square = squared_distances(x, y)
        precision = _fraction(jnp.any(square <= radius_x[:, None], axis=0), real_y, x.dtype)
        return precision, _fraction(jnp.any(square <= radius_y[None, :], axis=1), real_x, x.dtype)


class OfPool(Regrouping):
    """The kernel matrices of `overlap`, by distances between observations that are computed once."""

    def __init__(self, similarity: overlap, episodes: Episodes):
        self.similarity, self.pool = similarity, Pool(episodes, similarity.neighbours)

    def matrices(self, deals: Sequence[Deal]) -> Float[np.ndarray, "deals n n"]:
        known: Known = {}  # where one episode is left out all skills but one are as they were
        return np.stack([self.similarity.of_precision(self.pool.precision(deal, known)) for deal in deals])


def squared_distances(x: Float[Array, "M D"], y: Float[Array, "L D"]) -> Float[Array, "M L"]:
    """‖x_i - y_j‖² from differences, not from ‖x‖² + ‖y‖² - 2 x·y, which loses ties and small radii to rounding."""
    return jnp.sum((x[:, None] - y[None, :]) ** 2, -1)


def _smallest(x: Float[Array, "M L"], count: int) -> Float[Array, "M {count}"]:
    """The smallest entries of each row, repeated ones as often as they occur. A few are taken out one after the other,
    which is an order of magnitude faster than sorting."""
    if count > 8:
        return jnp.sort(x, axis=1)[:, :count]
    places, found = jnp.arange(x.shape[1]), []
    for _ in range(count):
        found.append(jnp.min(x, axis=1))
        x = jnp.where(places == jnp.argmin(x, axis=1)[:, None], jnp.inf, x)
    return jnp.stack(found, axis=1)


def _fraction(inside: Bool[Array, " M"], real: Bool[Array, " M"], dtype: np.dtype) -> Float[Array, ""]:
    return jnp.sum(inside & real).astype(dtype) / jnp.maximum(jnp.sum(real), 1).astype(dtype)
