"""What a similarity may know of skills: the observations of one skill, and those of a set of skills.

A skill is represented by N trajectories of T observations of D features. Similarities that need only the mean and
covariance of the pooled observations get `Moments` of them, which can be updated one observation at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from vendirl._checks import AnyArray, Index, an_array, real_numbers


class Observations(eqx.Module):
    """N trajectories of one skill; for `vmap`, those of several with leading axes.

    Attributes:
        points: (N, T, D).
        lengths: (N,) how many of the T observations of each trajectory are real (0: no such trajectory), or None
            if all are.
    """

    points: Float[Array, "*batch N T D"]
    lengths: Int[Array, "*batch N"] | None = None

    @property
    def pooled(self) -> Float[Array, "M D"]:
        """(N T, D): the trajectories concatenated, as in Appendix A; see `mask` for which rows are real."""
        return self.points.reshape(-1, self.points.shape[-1])

    @property
    def mask(self) -> Bool[Array, " M"] | None:
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


class SkillSet(eqx.Module):
    """The trajectories of n skills, N of each.

    Attributes:
        points: (n, N, T, D).
        lengths: (n, N) how many of the T observations of each trajectory are real (0: no such trajectory), or None if
            all are.
    """

    points: Float[AnyArray, "n N T D"]
    lengths: Int[AnyArray, "n N"] | None = None

    @classmethod
    def of(cls, trajectories: Any) -> SkillSet:
        """Skills from any of the accepted forms.

        Args:
            trajectories: an array (n, T, D), an array (n, N, T, D), or for unequal lengths a list with an entry per
                skill, which is either one (T_i, D) array or a list of them. NumPy input and lists become NumPy
                float64, JAX input stays. Or an object that has skills, such as `Trajectories`.
        """
        if isinstance(trajectories, SkillSet):
            return trajectories
        return trajectories.skill_set if isinstance(trajectories, HasSkills) else _skill_set(trajectories)

    @property
    def arrays(self) -> tuple[Float[AnyArray, "n N T D"], Int[AnyArray, "n N"] | None]:
        """(points, lengths), for `vmap` over the skills."""
        return self.points, self.lengths

    @property
    def n(self) -> int:
        """How many skills there are."""
        return self.points.shape[0]

    @property
    def features(self) -> int:
        """D."""
        return self.points.shape[-1]

    @property
    def counts(self) -> Int[np.ndarray, " n"]:
        """(n,) how many observations of each skill are real."""
        n, N, T, _ = self.points.shape
        return np.full(n, N * T) if self.lengths is None else np.asarray(self.lengths).sum(-1)


@runtime_checkable
class Queued(Protocol):
    """The last observations of a skill, as `memory.Queue` keeps them."""

    @property
    def observations(self) -> Float[Array, "M D"]: ...

    def displaced(self, observations: Float[Array, "c D"]) -> Float[Array, "c D"]: ...

    def after(self, observations: Float[Array, "c D"], step: Index) -> Observations: ...

    def select(self, features: Callable[[Array], Array]) -> Queued: ...


@runtime_checkable
class HasSkills(Protocol):
    """Skill data that know their skills and what their features are called."""

    @property
    def skill_set(self) -> SkillSet: ...

    @property
    def features(self) -> tuple[str, ...]: ...


def _skill_set(trajectories: Any) -> SkillSet:
    """Any of the accepted forms of a skill set.

    Accepted: an array (n, T, D), an array (n, N, T, D), or for unequal lengths a list with an entry per skill, which
    is either one (T_i, D) array or a list of them. NumPy input and lists become NumPy float64, JAX input stays.
    """
    if isinstance(trajectories, jax.Array | np.ndarray) and trajectories.dtype != object:
        points = _real(trajectories, "trajectories")
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
        return SkillSet(points, None)
    if not isinstance(trajectories, list | tuple | np.ndarray):
        raise TypeError(
            "trajectories must be an array, or a list with the trajectories of each skill, but is "
            f"{type(trajectories).__name__}"
        )
    if not len(trajectories):
        raise ValueError("trajectories is empty: give an array, or a list with the trajectories of each skill")
    return _padded([_of_one_skill(skill, i) for i, skill in enumerate(trajectories)])


def _of_one_skill(skill: Any, i: int) -> list[Float[np.ndarray, "_ _"]]:
    """The (T, D) trajectories of skill i."""
    if isinstance(skill, jax.Array | np.ndarray) and skill.dtype != object:
        skill = an_array(skill, f"trajectories[{i}]")
        if skill.ndim not in (2, 3):
            raise ValueError(f"trajectories[{i}] must have shape (T, D) or (N, T, D), but has shape {skill.shape}")
        skill = [skill] if skill.ndim == 2 else list(skill)
    if not isinstance(skill, list | tuple | np.ndarray):
        raise TypeError(f"trajectories[{i}] must be an array or a list of them, but is {type(skill).__name__}")
    found = [np.asarray(_real(x, f"trajectories[{i}][{j}]"), np.float64) for j, x in enumerate(skill)]
    if found and all(trajectory.ndim == 1 for trajectory in found):  # a (T, D) trajectory given as lists
        found = [np.asarray(_real(skill, f"trajectories[{i}]"))]
    found = [trajectory for trajectory in found if trajectory.size or trajectory.ndim != 2]
    for j, trajectory in enumerate(found):
        if trajectory.ndim != 2:
            raise ValueError(f"trajectories[{i}][{j}] must have shape (T, D), but has shape {trajectory.shape}")
    if not found:
        raise ValueError(f"trajectories[{i}] is empty: every skill needs at least one observation")
    return found


def _padded(skills: list[list[Float[np.ndarray, "_ _"]]]) -> SkillSet:
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
    return SkillSet(points, None if (lengths == points.shape[2]).all() else lengths)


def _real(x: Any, name: str) -> Float[AnyArray, " ..."]:
    """Floating-point numbers: JAX's for JAX input, else NumPy float64."""
    found = real_numbers(x, name)
    return found if isinstance(found, jax.Array) else found.astype(np.float64)


def _refuse_non_finite(points: Float[AnyArray, "n N T D"]) -> None:
    if isinstance(points, jax.core.Tracer):
        return
    finite = np.isfinite(np.asarray(points))
    if not finite.all():
        skill, trajectory, step, feature = np.argwhere(~finite)[0]
        raise ValueError(
            f"trajectories must be finite, but feature {feature} of skill {skill}, trajectory {trajectory}, "
            f"step {step} is {np.asarray(points)[skill, trajectory, step, feature]}"
        )
    # Squares, and sums of them, must be numbers too: else a direction would be 0 and a score above its ceiling.
    most = float(np.sqrt(jnp.finfo(points.dtype).max / points[0].size)) / 4
    if (largest := float(np.abs(np.asarray(points)).max())) > most:
        raise ValueError(
            f"trajectories hold values up to {largest:.3g}, whose squares are too large for {points.dtype}: divide the "
            f"features by their scale, so that none is beyond {most:.2g}"
        )
