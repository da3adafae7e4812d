"""Skill data: episodes of observations, each by a skill, from any method."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

MOST_FEATURES = 2**22
"""More than the pixels of any observation; each feature has a name, which takes more room than a number."""


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
    """

    observations: np.ndarray
    lengths: np.ndarray
    skill: np.ndarray
    labels: tuple[str, ...]
    features: tuple[str, ...]
    actions: np.ndarray | None = None
    rewards: np.ndarray | None = None
    source: str = "trajectories"

    @classmethod
    def of(
        cls,
        observations: Any,
        skill: Any = None,
        *,
        lengths: Any = None,
        features: Sequence[str] | None = None,
        actions: Any = None,
        rewards: Any = None,
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
            source: where the data are from.

        Example:
            >>> import numpy as np, vendirl as vr
            >>> data = vr.Trajectories.of(np.zeros((6, 50, 2)), skill=[0, 0, 1, 1, 2, 2], features=["x", "y"])
            >>> data.n, len(data), data.features
            (3, 6, ('x', 'y'))
        """
        observations = _listed(observations)
        if skill is None:
            if lengths is not None or actions is not None or rewards is not None:
                raise ValueError(f"{source}: lengths, actions and rewards need `skill`, the label of each episode")
            observations, skill = _episodes_of_skills(observations, source)
        points, layout = _steps(observations, lengths, source)
        if points.ndim == 1:
            points = points[:, None]
        if points.ndim != 2:
            raise ValueError(
                f"{source}: observations must have shape (episodes, T, D), or (steps, D) with lengths, but a step has "
                f"shape {points.shape[1:]}; flatten each observation first"
            )
        if points.shape[1] == 0:
            raise ValueError(f"{source}: observations have no features")
        who, labels = _labels(skill, len(layout.lengths), source)
        steps = len(points)
        if actions is not None:
            actions = _alongside(actions, layout, "actions", source)
            if not actions.size:
                raise ValueError(f"{source}: actions have shape {actions.shape}: they are empty; leave them out")
            actions = actions.reshape(steps, -1)
        if rewards is not None:
            rewards = _alongside(rewards, layout, "rewards", source)
            if rewards.size != steps:
                raise ValueError(f"{source}: rewards must be one number per step, but have shape {rewards.shape}")
            rewards = rewards.reshape(steps)
        names = feature_names(features, points.shape[1], source)
        return cls(points, layout.lengths, who, labels, names, actions, rewards, source)

    @property
    def n(self) -> int:
        """How many skills there are."""
        return len(self.labels)

    def __len__(self) -> int:
        """How many episodes there are."""
        return len(self.lengths)

    def __iter__(self) -> Iterator[np.ndarray]:
        """The observations of each episode, (T_i, D)."""
        return iter(self._split(self.observations))

    def __repr__(self) -> str:
        least, most = self.lengths.min(), self.lengths.max()
        steps = f"{most}" if least == most else f"{least} to {most}"
        return (
            f"Trajectories({self.n} skills, {len(self)} episodes of {steps} steps, "
            f"{len(self.features)} features, from {self.source})"
        )

    @property
    def of_skill(self) -> list[np.ndarray]:
        """For each skill the numbers of its episodes."""
        return [np.flatnonzero(self.skill == i) for i in range(self.n)]

    @property
    def by_skill(self) -> list[list[np.ndarray]]:
        """For each skill a list of its (T_i, D) episodes: what `kernel_matrix` takes."""
        episodes = list(self)
        return [[episodes[e] for e in mine] for mine in self.of_skill]

    def take(self, episodes: Any) -> Trajectories:
        """Chosen episodes, by their numbers or a mask; skills that are left with none go."""
        chosen = np.atleast_1d(_array(episodes, f"{self.source}: episodes"))
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

        def rows(x):
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
        )

    def on(self, *features: int | str) -> Trajectories:
        """Chosen features, by name or number, in the order in which they are named."""
        chosen = columns(features, self.features, self.source)
        return dataclasses.replace(
            self, observations=self.observations[:, chosen], features=tuple(self.features[c] for c in chosen)
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

    def _split(self, x: np.ndarray) -> list[np.ndarray]:
        ends = np.cumsum(self.lengths)
        return [x[end - length : end] for end, length in zip(ends, self.lengths, strict=True)]


class _Layout(NamedTuple):
    """How the steps of the observations lie, which is how those of actions and rewards must.

    Attributes:
        lengths: (episodes,) steps of each.
        rows: T, if there is a row of T steps for each episode, else None.
    """

    lengths: np.ndarray
    rows: int | None


def _listed(x: Any) -> Any:
    """Arrays of arrays, which NumPy makes of unequal lengths, as lists."""
    return list(x) if isinstance(x, np.ndarray) and x.dtype == object and x.ndim else x


def _is_list(x: Any) -> bool:
    return x.ndim == 1 if isinstance(x, np.ndarray) else isinstance(x, Sequence) and not isinstance(x, str | bytes)


def _depth(x: Any) -> int:
    """How many dimensions nested lists and arrays have, by their first entries."""
    depth = 0
    while isinstance(x, list | tuple) and len(x) and depth < 8:
        x, depth = x[0], depth + 1
    return depth + (x.ndim if isinstance(x, np.ndarray | jax.Array) else 0)


def _episodes_of_skills(observations: Any, source: str) -> tuple[Any, np.ndarray]:
    """Episodes and their skills, from one entry per skill."""
    if not isinstance(observations, list | tuple):
        observations = numbers(observations, f"{source}: observations")
        if observations.ndim == 3:
            return observations, np.arange(len(observations))
        if observations.ndim == 4:
            n, N = observations.shape[:2]
            return observations.reshape(n * N, *observations.shape[2:]), np.repeat(np.arange(n), N)
        raise ValueError(
            f"{source}: without `skill`, observations must have shape (skills, T, D) or (skills, N, T, D), but have "
            f"shape {observations.shape}"
        )
    episodes: list[Any] = []
    skill = []
    for i, mine in enumerate(map(_listed, observations)):
        several = list(mine) if _depth(mine) >= 3 else [mine]
        episodes += several
        skill += [i] * len(several)
    return episodes, np.array(skill, int)


def _steps(x: Any, lengths: Any, source: str) -> tuple[np.ndarray, _Layout]:
    """All observations one after the other, and how they lay."""
    if isinstance(x, list | tuple) and lengths is None:
        parts = _parts(x, "observations", source)
        counts = np.array([len(part) for part in parts])
        return np.concatenate(parts), _Layout(counts, int(counts[0]) if (counts == counts[0]).all() else None)
    x = numbers(x, f"{source}: observations")
    if lengths is None:
        if x.ndim < 3:
            raise ValueError(
                f"{source}: observations have shape {x.shape}; give (episodes, T, D), or (steps, D) with `lengths`"
            )
        if not x.shape[0] or not x.shape[1]:
            raise ValueError(f"{source}: observations have shape {x.shape}: there are no steps")
        counts = np.full(x.shape[0], x.shape[1])
    else:
        counts = _checked_lengths(lengths, source)
    layout = _Layout(counts, x.shape[1] if x.ndim >= 3 and len(x) == len(counts) else None)
    return _laid_out(x, layout, "observations", source), layout


def _alongside(x: Any, layout: _Layout, name: str, source: str) -> np.ndarray:
    """Actions or rewards, laid out like the observations: (steps, ...)."""
    x = _listed(x)
    if isinstance(x, list | tuple) and _depth(x) >= 2:
        parts = _parts(x, name, source)
        found = [len(part) for part in parts]
        if found == layout.lengths.tolist():
            return np.concatenate(parts)
        if len(found) == len(layout.lengths) and layout.rows is None:
            i = int(np.flatnonzero(np.array(found) != layout.lengths)[0])
            raise ValueError(f"{source}: episode {i} has {layout.lengths[i]} observations, but {found[i]} {name}")
    return _laid_out(numbers(x, f"{source}: {name}"), layout, name, source)


def _laid_out(x: np.ndarray, layout: _Layout, name: str, source: str) -> np.ndarray:
    """(steps, ...) of an array with a row for each episode, perhaps with padding, or of one that has no rows."""
    lengths, rows = layout
    if rows is None:
        if x.ndim == 0 or len(x) != lengths.sum():
            raise ValueError(f"{source}: lengths add up to {lengths.sum()} steps, but {name} have shape {x.shape}")
        return x
    if x.shape[:2] != (len(lengths), rows):
        raise ValueError(
            f"{source}: {name} have shape {x.shape}, which does not fit {len(lengths)} episodes of {rows} observations"
        )
    if lengths.max() > rows:
        raise ValueError(
            f"{source}: lengths has {lengths.max()} for episode {int(lengths.argmax())}, but {name} hold only {rows} "
            "steps of each"
        )
    if lengths.min() == rows:
        return x.reshape(len(lengths) * rows, *x.shape[2:])  # stays on disk, if it is there
    return x[np.arange(rows) < lengths[:, None]]


def _parts(x: Any, name: str, source: str) -> list[np.ndarray]:
    """An array for each episode, with steps of one shape."""
    parts = [numbers(part, f"{source}: {name}[{i}]") for i, part in enumerate(x)]
    if not parts:
        raise ValueError(f"{source}: {name} is an empty list: there are no episodes")
    for i, part in enumerate(parts):
        if part.ndim == 0 or not len(part):
            raise ValueError(f"{source}: episode {i} of {name} has no steps")
        if part.shape[1:] != parts[0].shape[1:]:
            raise ValueError(
                f"{source}: {name} of different episodes have steps of different shapes: {parts[0].shape[1:]} in "
                f"episode 0, {part.shape[1:]} in episode {i}"
            )
    return parts


def _checked_lengths(lengths: Any, source: str) -> np.ndarray:
    counts = _array(lengths, f"{source}: lengths")
    if counts.ndim != 1 or not len(counts) or counts.dtype.kind not in "iu":
        raise ValueError(
            f"{source}: lengths must be whole numbers, one for each episode, but have type {counts.dtype} and shape "
            f"{counts.shape}"
        )
    if counts.min() < 1:
        raise ValueError(
            f"{source}: lengths has {counts.min()} for episode {int(counts.argmin())}; leave empty episodes out"
        )
    if counts.max() > 2**40:
        raise ValueError(f"{source}: lengths has {counts.max()} steps for an episode, which cannot be right")
    return counts.astype(np.int64)


def _labels(skill: Any, episodes: int, source: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """The number of each episode's skill, and what the skills are called."""
    who = _array(skill, f"{source}: skill")
    if who.dtype.kind == "f":
        real = numbers(who, f"{source}: skill").astype(np.float64)
        if (np.abs(real) < 2**53).all() and (real == np.round(real)).all():
            who = real.astype(np.int64)
    if who.ndim == 2 and who.dtype.kind in "iufb" and who.shape[0] == episodes:
        raise ValueError(
            f"{source}: skill must be one label per episode, but has shape {who.shape}; for one-hot skills give argmax"
        )
    if who.ndim != 1 or who.dtype.kind not in "iubU":
        raise ValueError(
            f"{source}: skill must be whole numbers or names, one for each episode, but has type {who.dtype} and shape "
            f"{who.shape}"
        )
    if len(who) != episodes:
        raise ValueError(f"{source}: skill labels {len(who)} episodes, but the observations have {episodes}")
    labels, index = np.unique(who, return_inverse=True)
    return index, tuple(str(label) for label in labels)


def feature_names(names: Sequence[str] | None, D: int, source: str) -> tuple[str, ...]:
    """The names of D features, all different; numbered ones if None were given."""
    if D > MOST_FEATURES:
        raise ValueError(f"{source}: observations of {D} features cannot be right; their shape is (episodes, T, D)")
    if names is None:
        return tuple(f"feature {i}" for i in range(D))
    if not _is_list(names):
        raise TypeError(f"{source}: features must be a list of names, but is {type(names).__name__}")
    known = tuple(str(name) for name in names)
    if len(known) != D:
        raise ValueError(f"{source}: there are {len(known)} feature names, but {D} features")
    if len(set(known)) != D:
        twice = next(name for name in known if known.count(name) > 1)
        raise ValueError(f"{source}: two features are called {twice!r}")
    return known


def columns(features: Sequence[int | str], names: Sequence[str], source: str) -> list[int]:
    """The numbers of chosen features, which are given by name or number."""
    if not _is_list(features):
        raise TypeError(f"{source}: features must be a list of names or numbers, but is {features!r}")
    chosen = [_column(feature, names, source) for feature in features]
    if not chosen:
        raise ValueError(f"{source}: no features were chosen; there are {_some(names)}")
    if len(set(chosen)) < len(chosen):
        twice = next(c for c in chosen if chosen.count(c) > 1)
        raise ValueError(f"{source}: the feature {names[twice]!r} is chosen twice")
    return chosen


def _column(feature: int | str, names: Sequence[str], source: str) -> int:
    if isinstance(feature, str):
        if feature in names:
            return list(names).index(feature)
        if feature.isascii() and feature.isdecimal() and len(feature) < 10:  # as typed in a terminal
            return _column(int(feature), names, source)
        near = difflib.get_close_matches(feature, names, 1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; there are {_some(names)}"
        raise ValueError(f"{source}: no feature is called {feature!r}{hint}")
    if isinstance(feature, bool | np.bool_) or not isinstance(feature, int | np.integer):
        raise TypeError(f"{source}: a feature is chosen by name or number, not by {feature!r}")
    D = len(names)
    if not -D <= feature < D:
        raise ValueError(f"{source}: feature {feature} is out of range: there are {D}, numbered from 0")
    return int(feature) % D


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")


def _array(x: Any, name: str) -> np.ndarray:
    """Anything as an array, of any type; one that is there already is not copied."""
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise ValueError(f"{name} must not have masked entries; leave them out, and give lengths")
    try:
        array = x if type(x) in (np.ndarray, np.memmap) else np.asarray(x)
    except (ValueError, RecursionError):
        raise ValueError(f"{name} must be a rectangular array, but its rows differ in length") from None
    return array.astype(np.float32) if array.dtype == jnp.bfloat16.dtype else array  # NumPy has no such type


def numbers(x: Any, name: str) -> np.ndarray:
    """An array of float32 or float64, never of objects.

    Such arrays are taken as they are, on disk or not. Others are converted, which reads them: half precision to
    float32, since squares of it overflow; whole numbers and long floats to float64; and foreign byte orders.
    """
    array = _array(x, name)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must be an array of real numbers, but has type {array.dtype}")
    if array.dtype in (np.float32, np.float64):  # of this machine's byte order
        return array
    with np.errstate(over="ignore", invalid="ignore"):  # what float64 cannot hold is not finite in it, and found later
        return array.astype(np.float32 if array.dtype.kind == "f" and array.dtype.itemsize <= 4 else np.float64)
