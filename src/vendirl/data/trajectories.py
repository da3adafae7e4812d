"""Skill data: episodes of observations, each by a skill, from any method."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from vendirl._checks import an_array
from vendirl._text import counted, preformatted
from vendirl.data.layout import alongside, beginnings, episodes_of_skills, feature_names, labels_of, listed, steps_of
from vendirl.similarity import SkillSet
from vendirl.similarity.features import feature_indices


@dataclasses.dataclass(frozen=True, eq=False)
class Trajectories:
    """Episodes of a set of skills, of equal or unequal length.

    Attributes:
        observations: (steps, D) of all episodes, one after the other; may lie on disk.
        lengths: (episodes,) how many of those steps each episode has.
        skill: (episodes,) which skill acted, 0 to n - 1.
        labels: (n,) what the skills are called.
        features: (D,) what the features are called.
        actions: (steps, A), or None.
        rewards: (steps,), or None.
        source: where the data are from, for messages and reports.
        first_observations: (episodes, D) what was observed before the first step, or None.
        terminated: (episodes,) whether an episode ended for good rather than being cut off, or None.
    """

    observations: Float[np.ndarray, "steps D"]
    lengths: Int[np.ndarray, " episodes"]
    skill: Int[np.ndarray, " episodes"]
    labels: tuple[str, ...]
    features: tuple[str, ...]
    actions: Float[np.ndarray, "steps A"] | None = None
    rewards: Float[np.ndarray, " steps"] | None = None
    source: str = "trajectories"
    first_observations: Float[np.ndarray, "episodes D"] | None = None
    terminated: Bool[np.ndarray, " episodes"] | None = None

    @classmethod
    def of(
        cls,
        observations: Any,
        skill: Any = None,
        *,
        lengths: Any = None,
        features: Sequence[str] | Any | None = None,
        actions: Any = None,
        rewards: Any = None,
        first_observations: Any = None,
        terminated: Any = None,
        source: str = "trajectories",
    ) -> Trajectories:
        """Trajectories from arrays or lists; anything that does not fit is refused with the reason.

        Args:
            observations: without `skill`, one entry per skill: (n, T, D), (n, N, T, D), or a list with a (T_i, D) array
                or a list of them for each. With `skill`, one entry per episode: (episodes, T, D), a list of (T_i, D)
                arrays, or (steps, D) with `lengths`. Of NumPy, JAX, or nested lists.
            skill: (episodes,) who acted: whole numbers or names.
            lengths: (episodes,) steps of each episode. With (episodes, T, D), the rest of each row is padding.
            features: names of the D features.
            actions, rewards: laid out like the observations.
            first_observations: (episodes, D) what was observed before the first step.
            terminated: (episodes,) whether each episode ended for good rather than being cut off.
            source: where the data are from.

        Example:
            >>> import numpy as np, vendirl as vr
            >>> data = vr.Trajectories.of(np.zeros((6, 50, 2)), skill=[0, 0, 1, 1, 2, 2], features=["x", "y"])
            >>> data.n, len(data), data.features
            (3, 6, ('x', 'y'))
        """
        observations = listed(observations)
        if skill is None:
            if lengths is not None or actions is not None or rewards is not None:
                raise ValueError(f"{source}: lengths, actions and rewards need `skill`, the label of each episode")
            observations, skill = episodes_of_skills(observations, source)
        points, layout = steps_of(observations, lengths, source)
        if points.ndim == 1:
            points = points[:, None]
        if points.ndim != 2:
            raise ValueError(
                f"{source}: observations must have shape (episodes, T, D), or (steps, D) with lengths, but a step has "
                f"shape {points.shape[1:]}; flatten each observation first"
            )
        if points.shape[1] == 0:
            raise ValueError(f"{source}: observations have no features")
        who, labels = labels_of(skill, len(layout.lengths), source)
        steps = len(points)
        if actions is not None:
            actions = alongside(actions, layout, "actions", source)
            if not actions.size:
                raise ValueError(f"{source}: actions have shape {actions.shape}: they are empty; leave them out")
            actions = actions.reshape(steps, -1)
        if rewards is not None:
            rewards = alongside(rewards, layout, "rewards", source)
            if rewards.size != steps:
                raise ValueError(f"{source}: rewards must be one number per step, but have shape {rewards.shape}")
            rewards = rewards.reshape(steps)
        names = feature_names(features, points.shape[1], source)
        first, ended = beginnings(first_observations, terminated, len(who), points.shape[1], source)
        return cls(points, layout.lengths, who, labels, names, actions, rewards, source, first, ended)

    @property
    def n(self) -> int:
        """How many skills there are."""
        return len(self.labels)

    def __len__(self) -> int:
        """How many episodes there are."""
        return len(self.lengths)

    def __iter__(self) -> Iterator[Float[np.ndarray, "_ D"]]:
        """The observations of each episode, (T_i, D)."""
        return iter(self._split(self.observations))

    def __repr__(self) -> str:
        least, most = int(self.lengths.min()), int(self.lengths.max())
        steps = ("" if least == most else f"{least:,} to ") + counted(most, "step")
        episodes, features = counted(len(self), "episode"), counted(len(self.features), "feature")
        return f"Trajectories({counted(self.n, 'skill')}, {episodes} of {steps}, {features}, from {self.source})"

    def _repr_html_(self) -> str:
        return preformatted(repr(self))

    @property
    def of_skill(self) -> list[Int[np.ndarray, " _"]]:
        """For each skill the numbers of its episodes."""
        return [np.flatnonzero(self.skill == i) for i in range(self.n)]

    @property
    def skill_set(self) -> SkillSet:
        """The episodes by skill, as similarities take them: padded where lengths differ."""
        return SkillSet.of(self.by_skill)

    @property
    def by_skill(self) -> list[list[Float[np.ndarray, "_ D"]]]:
        """For each skill a list of its (T_i, D) episodes: what `kernel_matrix` takes."""
        episodes = list(self)
        return [[episodes[e] for e in mine] for mine in self.of_skill]

    def take(self, episodes: Any) -> Trajectories:
        """Chosen episodes, by their numbers or a mask; skills that are left with none go."""
        chosen = np.atleast_1d(an_array(episodes, f"{self.source}: episodes"))
        if chosen.dtype.kind == "b" and chosen.shape == self.lengths.shape:
            chosen = np.flatnonzero(chosen)
        if not chosen.size:
            raise ValueError(f"{self.source}: no episodes were chosen")
        if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
            raise ValueError(
                f"{self.source}: episodes must be a list of their numbers or a mask of all {len(self)}, but have "
                f"type {chosen.dtype} and shape {chosen.shape}"
            )
        if (outside := (chosen < -len(self)) | (chosen >= len(self))).any():
            raise ValueError(
                f"{self.source}: there is no episode {chosen[outside][0]}: there are {len(self)}, numbered from 0"
            )
        chosen = chosen.astype(np.int64)
        kept, skill = np.unique(self.skill[chosen], return_inverse=True)

        def rows(x: Float[np.ndarray, " steps *shape"]) -> Float[np.ndarray, " some *shape"]:
            parts = self._split(x)
            return np.concatenate([parts[e] for e in chosen])

        return dataclasses.replace(
            self,
            observations=rows(self.observations),
            lengths=self.lengths[chosen],
            skill=skill,
            labels=tuple(self.labels[i] for i in kept),
            actions=None if self.actions is None else rows(self.actions),
            rewards=None if self.rewards is None else rows(self.rewards),
            first_observations=None if self.first_observations is None else self.first_observations[chosen],
            terminated=None if self.terminated is None else self.terminated[chosen],
        )

    def on(self, *features: int | str | Any) -> Trajectories:
        """Chosen features, by name or number, in the order in which they are named."""
        chosen = feature_indices(features, self.features, len(self.features), self.source, distinct=True)
        return dataclasses.replace(
            self,
            observations=self.observations[:, chosen],
            features=tuple(self.features[c] for c in chosen),
            first_observations=None if self.first_observations is None else self.first_observations[:, chosen],
        )

    def check_finite(self) -> None:
        """Refuse observations that are not finite, a stretch at a time so that data on disk are not held in memory."""
        stretch = max(1, 4_000_000 // self.observations.shape[1])
        for first in range(0, len(self.observations), stretch):
            part = np.asarray(self.observations[first : first + stretch])
            if not np.isfinite(part).all():
                row, feature = np.argwhere(~np.isfinite(part))[0]
                episode = int(np.searchsorted(np.cumsum(self.lengths), first + row, side="right"))
                raise ValueError(
                    f"{self.source}: observations must be finite, but feature {self.features[feature]!r} at step "
                    f"{first + row - self.lengths[:episode].sum()} of episode {episode} is {part[row, feature]}"
                )

    def _split(self, x: Float[np.ndarray, " steps *shape"]) -> list[Float[np.ndarray, " _ *shape"]]:
        ends = np.cumsum(self.lengths)
        return [x[end - length : end] for end, length in zip(ends, self.lengths, strict=True)]
