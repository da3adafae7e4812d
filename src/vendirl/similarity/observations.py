"""What a similarity may know of a skill: its observations, or their running moments.

A skill is represented by N trajectories of T observations of D features. Similarities that need only the mean and
covariance of the pooled observations get `Moments`, which can be updated one observation at a time; the others get
the `Observations` themselves.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int


class Observations(eqx.Module):
    """N trajectories of one skill.

    Attributes:
        points: (N, T, D).
        lengths: (N,) how many of the T observations of each trajectory are real (0: no such trajectory), or None
            if all are.
    """

    points: Float[Array, "N T D"]
    lengths: Int[Array, " N"] | None = None

    @property
    def pooled(self) -> Float[Array, "M D"]:
        """(N T, D): the trajectories concatenated, as in Appendix A; see `mask` for which rows are real."""
        return self.points.reshape(-1, self.points.shape[-1])

    @property
    def mask(self) -> Array | None:
        """(N T,) which pooled observations are real, or None if all are."""
        if self.lengths is None:
            return None
        N, T, _ = self.points.shape
        return (jnp.arange(T) < self.lengths[:, None]).reshape(N * T)

    @property
    def final(self) -> Float[Array, "N D"]:
        """(N, D): the last observation of each trajectory."""
        if self.lengths is None:
            return self.points[:, -1]
        last = jnp.maximum(self.lengths - 1, 0)
        return jnp.take_along_axis(self.points, last[:, None, None], axis=1)[:, 0]

    @property
    def present(self) -> Float[Array, " N"]:
        """(N,) 1 for a trajectory with observations, 0 for padding."""
        if self.lengths is None:
            return jnp.ones(self.points.shape[0], self.points.dtype)
        return (self.lengths > 0).astype(self.points.dtype)


class Moments(eqx.Module):
    """Count and sums of M observations about a reference point r, near their mean so that nothing cancels.

    Attributes:
        count: M.
        reference: r, (D,).
        total: Σ (x - r), (D,).
        second: Σ (x - r)(x - r)', (D, D), or None for similarities of order 1, which need only the mean.
    """

    count: Any
    reference: Float[Array, " D"]
    total: Float[Array, " D"]
    second: Float[Array, "D D"] | None

    @classmethod
    def of(cls, observations: Observations, order: int) -> Moments:
        """The moments of pooled observations up to `order` (1 or 2)."""
        x, mask = observations.pooled, observations.mask
        if mask is None:
            count = jnp.asarray(x.shape[0], x.dtype)
            reference = x.mean(0)
            centred = x - reference
        else:
            count = mask.sum().astype(x.dtype)
            reference = jnp.where(mask[:, None], x, 0).sum(0) / jnp.maximum(count, 1)
            centred = jnp.where(mask[:, None], x - reference, 0)
        return cls(count, reference, centred.sum(0), centred.T @ centred if order == 2 else None)

    def plus(self, total, second) -> Moments:
        """Moments with the given amounts added to the sums; their leading axes carry over."""
        return Moments(
            jnp.broadcast_to(self.count, total.shape[:-1]),
            jnp.broadcast_to(self.reference, total.shape),
            self.total + total,
            None if self.second is None else self.second + second,
        )

    def about(self, reference: Float[Array, " D"]) -> Moments:
        """The same moments about another reference point r', with Δ = r - r'.

        Σ (x - r') = Σ (x - r) + M Δ,   Σ (x - r')(x - r')' = Σ (x - r)(x - r)' + t Δ' + Δ t' + M Δ Δ',   t = Σ (x - r)
        """
        Δ, t = self.reference - reference, self.total
        second = self.second
        if second is not None:
            cross = t[:, None] * Δ[None, :]
            second = second + cross + cross.T + self.count * Δ[:, None] * Δ[None, :]
        return Moments(self.count, reference, t + self.count * Δ, second)

    @property
    def mean(self) -> Float[Array, " D"]:
        """μ = r + Σ (x - r) / M."""
        return self.reference + self.total / self.count

    @property
    def covariance(self) -> Float[Array, "D D"]:
        """The sample covariance Σ (x - μ)(x - μ)' / (M - 1); zero for a single observation."""
        if self.second is None:
            raise ValueError("this similarity was declared with order=1, which has no covariance; declare order=2")
        scatter = self.second - self.total[:, None] * self.total[None, :] / self.count
        return scatter / jnp.maximum(self.count - 1, 1)


def as_observations(trajectories: Any) -> Observations:
    """Any of the accepted forms of a skill set, as `Observations` with a leading axis of skills.

    Accepted: an array (n, T, D), an array (n, N, T, D), or for unequal lengths a list with an entry per skill, which
    is either one (T_i, D) array or a list of them. NumPy input and lists become NumPy float64, JAX input stays.
    """
    if isinstance(trajectories, jax.Array | np.ndarray) and trajectories.dtype != object:
        points = _numbers(trajectories, "trajectories")
        if points.ndim == 3:
            points = points[:, None]
        if points.ndim != 4:
            raise ValueError(
                f"trajectories must have shape (skills, T, D) or (skills, N, T, D), but has shape {trajectories.shape}"
            )
        for size, name in zip(points.shape, ("skills", "trajectories per skill", "steps", "features"), strict=True):
            if size == 0:
                raise ValueError(f"trajectories has shape {trajectories.shape}: there are no {name}")
        _refuse_non_finite(points)
        return Observations(points, None)
    if not isinstance(trajectories, list | tuple | np.ndarray):
        raise TypeError(
            "trajectories must be an array, or a list with the trajectories of each skill, but is "
            f"{type(trajectories).__name__}"
        )
    if not len(trajectories):
        raise ValueError("trajectories is empty: give an array, or a list with the trajectories of each skill")
    return _padded([_of_one_skill(skill, i) for i, skill in enumerate(trajectories)])


def _of_one_skill(skill: Any, i: int) -> list:
    """The (T, D) trajectories of skill i."""
    if isinstance(skill, jax.Array | np.ndarray) and skill.dtype != object:
        skill = np.asarray(skill)
        if skill.ndim not in (2, 3):
            raise ValueError(f"trajectories[{i}] must have shape (T, D) or (N, T, D), but has shape {skill.shape}")
        skill = [skill] if skill.ndim == 2 else list(skill)
    if not isinstance(skill, list | tuple | np.ndarray):
        raise TypeError(f"trajectories[{i}] must be an array or a list of them, but is {type(skill).__name__}")
    found = [np.asarray(_numbers(x, f"trajectories[{i}][{j}]"), np.float64) for j, x in enumerate(skill)]
    if found and all(trajectory.ndim == 1 for trajectory in found):  # a (T, D) trajectory given as lists
        found = [_numbers(skill, f"trajectories[{i}]")]
    found = [trajectory for trajectory in found if trajectory.size or trajectory.ndim != 2]
    for j, trajectory in enumerate(found):
        if trajectory.ndim != 2:
            raise ValueError(f"trajectories[{i}][{j}] must have shape (T, D), but has shape {trajectory.shape}")
    if not found:
        raise ValueError(f"trajectories[{i}] is empty: every skill needs at least one observation")
    return found


def _padded(skills: list[list]) -> Observations:
    sizes = {(i, j): x.shape[1] for i, skill in enumerate(skills) for j, x in enumerate(skill)}
    D = sizes[0, 0]
    for (i, j), size in sizes.items():
        if size != D:
            raise ValueError(
                f"trajectories[{i}][{j}] has {size} features, but trajectories[0][0] has {D}; all must have the same"
            )
    lengths = np.zeros((len(skills), max(map(len, skills))), np.int32)
    for i, skill in enumerate(skills):
        lengths[i, : len(skill)] = [x.shape[0] for x in skill]
    points = np.zeros((*lengths.shape, lengths.max(), D))
    for i, skill in enumerate(skills):
        for j, x in enumerate(skill):
            points[i, j, : x.shape[0]] = x
    _refuse_non_finite(points)
    return Observations(points, None if (lengths == points.shape[2]).all() else lengths)  # type: ignore[arg-type]


def _numbers(x: Any, name: str) -> Any:
    """Floating-point numbers: JAX's for JAX input, else NumPy float64."""
    if isinstance(x, jax.Array):
        if jnp.issubdtype(x.dtype, jnp.complexfloating):
            raise TypeError(f"{name} must be an array of real numbers, but has type {x.dtype}")
        return x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(float)
    try:
        array = np.asarray(x)
    except ValueError:
        raise ValueError(f"{name} must be a rectangular array of numbers, but its rows differ in length") from None
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} must be an array of real numbers, but has type {array.dtype}")
    return array.astype(np.float64)


def _refuse_non_finite(points) -> None:
    if isinstance(points, jax.core.Tracer):
        return
    finite = np.isfinite(np.asarray(points))
    if not finite.all():
        skill, trajectory, step, feature = np.argwhere(~finite)[0]
        raise ValueError(
            f"trajectories must be finite, but feature {feature} of skill {skill}, trajectory {trajectory}, "
            f"step {step} is {np.asarray(points)[skill, trajectory, step, feature]}"
        )
