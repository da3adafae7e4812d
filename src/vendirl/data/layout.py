"""How skill data may lie in arrays and lists, and how they are laid out in one: all steps of all episodes in a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Float, Int

from vendirl._checks import an_array

MOST_FEATURES = 2**22
"""More than the pixels of any observation; each feature has a name, which takes more room than a number."""


class Layout(NamedTuple):
    """How the steps of the observations lie, which is how those of actions and rewards must.

    Attributes:
        lengths: (episodes,) steps of each.
        rows: T, if there is a row of T steps for each episode, else None.
    """

    lengths: Int[np.ndarray, " episodes"]
    rows: int | None


def listed(x: Any) -> Any:
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


def episodes_of_skills(
    observations: Any, source: str
) -> tuple[list[Any] | Float[np.ndarray, "episodes T *shape"], Int[np.ndarray, " episodes"]]:
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
    for i, mine in enumerate(map(listed, observations)):
        several = list(mine) if _depth(mine) >= 3 else [mine]
        episodes += several
        skill += [i] * len(several)
    return episodes, np.array(skill, int)


def steps_of(x: Any, lengths: Any, source: str) -> tuple[Float[np.ndarray, " steps *shape"], Layout]:
    """All observations one after the other, and how they lay."""
    if isinstance(x, list | tuple) and lengths is None:
        parts = _parts(x, "observations", source)
        counts = np.array([len(part) for part in parts])
        return np.concatenate(parts), Layout(counts, int(counts[0]) if (counts == counts[0]).all() else None)
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
    layout = Layout(counts, x.shape[1] if x.ndim >= 3 and len(x) == len(counts) else None)
    return _laid_out(x, layout, "observations", source), layout


def alongside(x: Any, layout: Layout, name: str, source: str) -> Float[np.ndarray, " steps *shape"]:
    """Actions or rewards, laid out like the observations: (steps, ...)."""
    x = listed(x)
    if isinstance(x, list | tuple) and _depth(x) >= 2:
        parts = _parts(x, name, source)
        found = [len(part) for part in parts]
        if found == layout.lengths.tolist():
            return np.concatenate(parts)
        if len(found) == len(layout.lengths) and layout.rows is None:
            i = int(np.flatnonzero(np.array(found) != layout.lengths)[0])
            raise ValueError(f"{source}: episode {i} has {layout.lengths[i]} observations, but {found[i]} {name}")
    return _laid_out(numbers(x, f"{source}: {name}"), layout, name, source)


def beginnings(
    first: Any, terminated: Any, episodes: int, features: int, source: str
) -> tuple[Float[np.ndarray, "{episodes} {features}"] | None, Bool[np.ndarray, " {episodes}"] | None]:
    """What was observed before the first step of each episode, and whether it ended for good, where that is known."""
    if first is not None:
        first = numbers(first, f"{source}: first_observations")
        first = first[:, None] if first.ndim == 1 and features == 1 else first
        if first.shape != (episodes, features):
            raise ValueError(
                f"{source}: first_observations must have shape ({episodes}, {features}), one for each episode, but "
                f"have shape {first.shape}"
            )
    if terminated is not None:
        found = numbers(terminated, f"{source}: terminated")
        if found.shape != (episodes,) or not np.isin(found, (0, 1)).all():
            raise ValueError(
                f"{source}: terminated must be true or false for each of the {episodes} episodes, but has shape "
                f"{found.shape} and type {found.dtype}"
            )
        terminated = found.astype(bool)
    return first, terminated


def _laid_out(
    x: Float[np.ndarray, " ..."], layout: Layout, name: str, source: str
) -> Float[np.ndarray, " steps *shape"]:
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


def _parts(x: Sequence[Any], name: str, source: str) -> list[Float[np.ndarray, " _ *shape"]]:
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


def _checked_lengths(lengths: Any, source: str) -> Int[np.ndarray, " episodes"]:
    counts = an_array(lengths, f"{source}: lengths")
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


def labels_of(skill: Any, episodes: int, source: str) -> tuple[Int[np.ndarray, " {episodes}"], tuple[str, ...]]:
    """The number of each episode's skill, and what the skills are called."""
    who = an_array(skill, f"{source}: skill")
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


def feature_names(names: Sequence[str] | Any | None, D: int, source: str) -> tuple[str, ...]:
    """The names of D features, all different; numbered ones if None were given."""
    if D > MOST_FEATURES:
        raise ValueError(f"{source}: observations of {D} features cannot be right; their shape is (episodes, T, D)")
    if names is None:
        return tuple(f"feature {i}" for i in range(D))
    if not _is_list(names):
        raise TypeError(f"{source}: features must be a list of names, but is {type(names).__name__}")
    if len(names) != D:
        raise ValueError(f"{source}: there are {len(names)} feature names, but {D} features")
    known = tuple(str(name) for name in names)
    if len(set(known)) != D:
        twice = next(name for name in known if known.count(name) > 1)
        raise ValueError(f"{source}: two features are called {twice!r}")
    return known


def numbers(x: Any, name: str) -> Float[np.ndarray, " ..."]:
    """An array of float32 or float64, never of objects.

    Such arrays are taken as they are, on disk or not. Others are converted, which reads them: half precision to
    float32, since squares of it overflow; whole numbers and long floats to float64; and foreign byte orders.
    """
    array = an_array(x, name)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must be an array of real numbers, but has type {array.dtype}")
    if array.dtype in (np.float32, np.float64):  # of this machine's byte order
        return array
    with np.errstate(over="ignore", invalid="ignore"):  # what float64 cannot hold is not finite in it, and found later
        return array.astype(np.float32 if array.dtype.kind == "f" and array.dtype.itemsize <= 4 else np.float64)
