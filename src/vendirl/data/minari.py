"""Skill data in Minari's format, the field's own for data sets of episodes (`pip install "vendirl[minari]"`).

Minari holds T + 1 observations of an episode of T steps, the first from before any action. Here observation t is what
action t brought, so that first one is left out. Nothing is ever downloaded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from vendirl.data.layout import feature_names, numbers
from vendirl.data.minari_files import check_files
from vendirl.data.trajectories import Trajectories
from vendirl.similarity.features import feature_indices


def is_minari(path: str | os.PathLike[str]) -> bool:
    """Whether a folder looks like a Minari data set."""
    return _data_folder(Path(path)) is not None


def read_minari(
    name_or_path: str | os.PathLike[str], features: Sequence[int | str] | Any | None = None
) -> Trajectories:
    """Trajectories from a Minari data set, read one episode at a time.

    The skill of an episode is `skill` in its infos, the same at all steps, or in its metadata, or in the options of its
    reset. Box observations are flattened, discrete ones are one number. Of a Dict the parts follow each other in the
    order of their names, with features named "part/0", "part/1", ...; other observations are refused, and so are
    pictures coded as JPEG. No link is followed, in the folder or in its files.

    Args:
        name_or_path: of a data set among the local ones, or of a data set's folder.
        features: names or numbers of the features to keep; all if None.

    Raises:
        ImportError: if Minari is not installed.
        ValueError: with what is wrong in the data set.
    """
    source = f"minari:{name_or_path}"
    local = Path(os.environ.get("MINARI_DATASETS_PATH") or Path.home() / ".minari" / "datasets")
    folder = _data_folder(Path(name_or_path)) or _data_folder(local / name_or_path)
    if folder is None:
        raise FileNotFoundError(
            f"{source} is not on this machine; download it first with: minari download {name_or_path}"
        )
    try:
        from minari.dataset.minari_storage import MinariStorage
    except ImportError as error:
        raise ImportError(f'Minari data sets need minari ({error}): pip install "vendirl[minari]"') from None
    try:
        check_files(folder)
        storage = MinariStorage.read(folder)
        _refuse_pictures(storage)
        names = _names(storage.observation_space)
        known = feature_names(names, len(names), source)
    except ImportError as error:
        raise ImportError(f"{source}: {error}") from None
    except _DAMAGE as error:
        raise ValueError(f"{source} cannot be read: {error}") from None
    chosen = None if features is None else feature_indices(features, known, len(known), source, distinct=True)
    parts: dict[str, list[Any]] = {"observations": [], "actions": [], "rewards": [], "skill": []}
    try:
        for episode in _episodes(storage):
            points = _flat(episode["observations"], "observations")[1:]
            parts["observations"].append(points if chosen is None else points[:, chosen])
            parts["actions"].append(_flat(episode["actions"], "actions"))
            parts["rewards"].append(numbers(episode["rewards"], "rewards"))
            parts["skill"].append(_skill(episode))
    except _DAMAGE as error:
        raise ValueError(f"{source}: episode {len(parts['skill'])}: {error}") from None
    return Trajectories.of(**parts, features=known if chosen is None else [known[c] for c in chosen], source=source)


def _refuse_pictures(storage: Any) -> None:
    """Refuse pictures that are coded as JPEG, a few bytes of which may stand for any number of pixels."""
    from gymnasium import spaces
    from minari.dataset.minari_storage import is_image_space

    def pictured(space: Any) -> bool:
        parts = space.values() if isinstance(space, spaces.Dict) else space if isinstance(space, spaces.Tuple) else ()
        return any(map(pictured, parts)) or is_image_space(space)

    if getattr(storage, "_jpeg_encoding", True) and any(
        map(pictured, (storage.observation_space, storage.action_space))
    ):
        raise ValueError("it holds pictures coded as JPEG, which are not read; save it with jpeg_encoding=False")


_DAMAGE = (
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    AssertionError,
    OverflowError,
    RuntimeError,
    OSError,
)
"""What Minari raises on metadata or files that are not what they should be, such as numbers that no float holds."""


def _data_folder(path: Path) -> Path | None:
    """The folder with the data of a data set, which is `data` in it, or it itself."""
    for folder in (path / "data", path):
        try:
            if (folder / "metadata.json").is_file():
                return folder
        except (OSError, ValueError):  # a name that is no path
            return None
    return None


def _episodes(storage: Any) -> Iterator[dict[str, Any]]:
    """Each episode with its metadata, complete or refused."""
    for i in range(storage.total_episodes):
        (episode,) = storage.get_episodes([i])
        (metadata,) = storage.get_episode_metadata([i])
        steps = int(metadata["total_steps"])
        observed = len(_flat(episode["observations"], "observations"))
        if not steps or observed != steps + 1 or len(episode["rewards"]) != steps:
            raise ValueError(
                f"{steps} steps should have as many rewards and one more observation, but there are "
                f"{len(episode['rewards'])} rewards and {observed} observations"
            )
        yield {**episode, "metadata": metadata}


def _skill(episode: dict[str, Any]) -> Any:
    """The label of an episode: a whole number or a name."""
    metadata = episode["metadata"]
    for place in (episode["infos"] or {}, metadata, metadata.get("options") or {}):
        if "skill" in place:
            found = np.atleast_1d(np.asarray(place["skill"]))
            if found.ndim > 1 or found.size == 0 or (found != found[0]).any():
                raise ValueError(f"its skill must be one label, the same at all steps, but is {str(found)[:100]}")
            label = found[0]
            return label.decode() if isinstance(label, bytes) else label
    raise ValueError(
        "it does not say which skill acted: give `skill` in its infos, in its metadata "
        "(storage.update_episode_metadata), or in the options of its reset"
    )


def _names(space: Any, prefix: str = "") -> list[str]:
    """The names of the features of an observation space, in the order of `_flat`."""
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        return [name for key in sorted(space.spaces) for name in _names(space.spaces[key], f"{prefix}{key}/")]
    if isinstance(space, spaces.Discrete):
        return [prefix.removesuffix("/") or "observation"]
    if isinstance(space, spaces.Box | spaces.MultiBinary | spaces.MultiDiscrete):
        return [f"{prefix or 'feature '}{i}" for i in range(int(np.prod(space.shape)))]
    part = f"the part {prefix.removesuffix('/')!r} of them" if prefix else "they"
    raise ValueError(
        f"observations must be numbers (Box, Discrete, or a Dict of these), but {part} is a {type(space).__name__}"
    )


def _flat(values: Any, name: str) -> Float[np.ndarray, "steps D"]:
    """(steps, D) of the values of a space, the parts of a Dict (or Tuple, for actions) one after the other."""
    if isinstance(values, tuple):
        values = dict(enumerate(values))
    if isinstance(values, dict):
        return np.concatenate([_flat(values[key], f"{name}/{key}") for key in sorted(values)], axis=1)
    array = numbers(values, name)
    return array.reshape(len(array), -1)
