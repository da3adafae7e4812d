"""Skill data in npz files, which any method can write with one line of NumPy:

    np.savez("skills.npz", observations=x, skill=z)        x: (episodes, T, D), z: (episodes,)

    observations      (episodes, T, D), or (steps, D) with lengths; whole or real numbers
    skill             (episodes,) whole numbers or names
    lengths           (episodes,) steps of each episode, if they differ; with (episodes, T, D) the rest is padding
    feature_names     (D,) names, optional
    actions, rewards  laid out like the observations, optional
    first_observations, terminated    (episodes, D) and (episodes,), optional; see `Trajectories`

A file is data: it is never unpickled, and what its headers claim is compared with what is there before any memory is
asked for. Large arrays that are not compressed stay on disk until they are used, if they are of float32 or float64, in
C order and without padding.
"""

from __future__ import annotations

import contextlib
import math
import os
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from jaxtyping import Int, UInt8
from numpy.lib import format as npy

from vendirl._files import atomically, open_regular
from vendirl.data.layout import feature_names
from vendirl.data.trajectories import Trajectories
from vendirl.similarity.features import feature_indices

ON_DISK = 64 * 2**20
"""Arrays of more bytes are mapped from disk rather than read, if they are not compressed."""
INFLATED = 256 * 2**20
"""Arrays of more bytes are refused if they are compressed to almost nothing, as no observations are."""

_KNOWN = ("observations", "skill", "lengths", "feature_names", "actions", "rewards", "first_observations", "terminated")
_CHUNK = 8 * 2**20
_UNREADABLE = (ValueError, TypeError, SyntaxError, tokenize.TokenError, MemoryError, OverflowError, RecursionError)
"""What NumPy raises on headers that are none."""


def read_npz(
    path: str | os.PathLike[str],
    features: Sequence[int | str] | Any | None = None,
    *,
    within: str | os.PathLike[str] | None = None,
) -> Trajectories:
    """Trajectories from an npz file.

    Args:
        path: of the file.
        features: names or numbers of the features to read; all if None. The others are not kept in memory.
        within: the folder that the file came in, if it was not chosen itself: links below it are not followed.

    Raises:
        ValueError: with what is wrong in the file.
    """
    path = Path(path)
    with _opened(path, within) as file:
        headers = _headers(path, file)
        arrays = {name: _values(path, file, header) for name, header in headers.items() if name != "observations"}
        text = arrays.pop("feature_names", None)
        if text is not None and (text.dtype.kind != "U" or text.ndim != 1):
            raise ValueError(
                f"{path}: feature_names must be text, one for each feature, but has type {text.dtype}, shape "
                f"{text.shape}"
            )
        shape = headers["observations"].shape
        known = feature_names(text, shape[-1] if len(shape) > 1 else 1, str(path))
        chosen = None if features is None else feature_indices(features, known, len(known), str(path), distinct=True)
        first = arrays.get("first_observations")
        if chosen is not None and first is not None and len(shape) > 1:
            if first.ndim != 2 or first.shape[1] != len(known):
                raise ValueError(f"{path}: first_observations have shape {first.shape}, not (episodes, {len(known)})")
            arrays["first_observations"] = first[:, chosen]
        observations = _values(path, file, headers["observations"], chosen if len(shape) > 1 else None)
    return Trajectories.of(
        observations,
        features=known if chosen is None else [known[c] for c in chosen],
        source=str(path),
        **arrays,
    )


def write_npz(path: str | os.PathLike[str], data: Trajectories, compress: bool = True) -> Path:
    """Write trajectories for `read_npz`, all at once or not at all; returns the path.

    Arrays too large to be inflated in memory (`INFLATED`) are not compressed, so that they can stay on disk.
    """
    path = Path(path)
    lengths = data.lengths
    even = lengths.min() == lengths.max()
    numbered = _numbers_of(data.labels)
    arrays: dict[str, Any] = {
        "skill": (np.array(data.labels) if numbered is None else numbered)[data.skill],
        "feature_names": np.array(data.features),
    }
    if not even:
        arrays["lengths"] = lengths
    for name, x in (("observations", data.observations), ("actions", data.actions), ("rewards", data.rewards)):
        if x is not None:
            arrays[name] = x.reshape(len(lengths), -1, *x.shape[1:]) if even else x
    for name, x in (("first_observations", data.first_observations), ("terminated", data.terminated)):
        if x is not None:
            arrays[name] = x
    small = all(x.nbytes <= INFLATED for x in arrays.values())
    with atomically(path, ".npz") as temporary:
        (np.savez_compressed if compress and small else np.savez)(temporary, **arrays)
    return path


def _numbers_of(labels: tuple[str, ...]) -> Int[np.ndarray, " n"] | None:
    """The labels as whole numbers, if that is what they are and `str` would write them the same."""
    try:
        counted = np.array([int(label) for label in labels], np.int64)
    except (ValueError, OverflowError):
        return None
    return counted if all(str(number) == label for number, label in zip(counted, labels, strict=True)) else None


class _Header(NamedTuple):
    """An array in the archive, whose header was found to be honest: `start` is where in it the values begin."""

    member: zipfile.ZipInfo
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    fortran: bool
    start: int

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def compressed(self) -> bool:
        return self.member.compress_type == zipfile.ZIP_DEFLATED

    @property
    def held(self) -> int:
        """The bytes that it takes in memory, where whole numbers become float64."""
        return math.prod(self.shape) * (8 if self.dtype.kind in "iub" else self.dtype.itemsize)


@contextlib.contextmanager
def _archive(path: Path, file: BinaryIO) -> Iterator[zipfile.ZipFile]:
    """The arrays in an opened file; whatever is found wrong with it becomes a ValueError that names it."""
    try:
        with zipfile.ZipFile(file) as archive:
            yield archive
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    except MemoryError:
        raise ValueError(f"{path} does not fit in memory; choose features, or save it with np.savez") from None
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, OverflowError, OSError) as error:
        if isinstance(error, OSError) and error.filename is not None:  # not to be opened, which is not damage
            raise
        raise ValueError(
            f"{path} is not an npz file, or is damaged ({str(error) or 'it ends too early'}); "
            "np.savez(path, observations=x, skill=z) writes one"
        ) from None


def _headers(path: Path, file: BinaryIO) -> dict[str, _Header]:
    """The headers of the arrays that are of use, by name."""
    there = os.fstat(file.fileno()).st_size
    with _archive(path, file) as archive:
        members: dict[str, zipfile.ZipInfo] = {}
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            if name in members:
                raise ValueError(f"the array {name!r} is in it twice")
            members[name] = member
        for name in ("observations", "skill"):
            if name not in members:
                found = ", ".join(map(repr, sorted(members)[:10])) or "nothing"
                raise ValueError(f"there is no array {name!r} in it, only {found}")
        headers = {name: _header(archive, members[name], name, there) for name in _KNOWN if name in members}
        inflated = sum(header.held for header in headers.values() if header.compressed)
        if inflated > INFLATED and inflated > 200 * there:
            raise ValueError(
                f"its arrays take {inflated} bytes in memory, but are compressed to {there}; if that is so, save it "
                "with np.savez, which does not compress"
            )
        return headers


def _opened(path: Path, within: str | os.PathLike[str] | None) -> BinaryIO:
    """The file, if it is one; pipes and devices, which might never end, are refused."""
    try:
        file = open_regular(path, within)
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} does not exist") from None
    except ValueError as error:
        if isinstance(error, UnicodeError) or "\0" in str(path):
            raise ValueError(f"{str(path)!r} is not a path: {error}") from None
        raise
    if not os.fstat(file.fileno()).st_size:
        file.close()
        raise ValueError(f"{path} is empty")
    return file


def _header(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str, there: int) -> _Header:
    """The header of one array, if it is of numbers or text and claims what is `there`, in a file of so many bytes."""
    with archive.open(member) as file:
        try:
            shape, fortran, dtype = _read_header(file)
        except _UNREADABLE as error:
            raise ValueError(f"the array {name!r} has no readable header ({str(error)[:200]})") from None
        header = _Header(member, name, shape, dtype, fortran, file.tell())
    if dtype.kind not in "fiubU" or dtype.itemsize == 0:
        what = "Python objects, which would have to be unpickled" if dtype.hasobject else f"values of type {dtype}"
        raise ValueError(f"the array {name!r} holds {what[:200]}; save numbers, or text for names")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"the array {name!r} is compressed in a way that NumPy does not write")
    claim = f"the array {name!r} claims shape {str(shape)[:100]} of {dtype}"
    if not all(0 < size < 2**48 for size in shape) or len(shape) > 8:
        raise ValueError(f"{claim}, which no array of use has")
    if header.bytes != member.file_size - header.start:
        raise ValueError(f"{claim}, {header.bytes} bytes, but {member.file_size - header.start} are there")
    if not header.compressed and member.file_size > there:
        raise ValueError(f"{claim}, {header.bytes} bytes, but the whole file has {there}")
    return header


def _read_header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype]:
    version = npy.read_magic(file)
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"version {version} of the format; NumPy writes numbers and text in 1.0 or 2.0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of headers by Python 2, and of types that are refused below
        return readers[version](file)


def _values(path: Path, file: BinaryIO, header: _Header, chosen: Sequence[int] | None = None) -> np.ndarray:
    """The values of an array, or of chosen columns of it, which are all that is held in memory then."""
    if not header.compressed and header.bytes > ON_DISK:
        mapped = _mapped(path, file, header)
        return mapped if chosen is None else mapped[..., chosen]
    shape, dtype = header.shape, header.dtype
    with _archive(path, file) as archive, archive.open(header.member) as stored:
        stored.read(header.start)
        if chosen is None or header.fortran:
            flat = np.empty(header.bytes, np.uint8)
            _fill(stored, flat, header.name)
            values = flat.view(dtype).reshape(shape[::-1]).T if header.fortran else flat.view(dtype).reshape(shape)
            values = values if chosen is None else values[..., chosen]
        else:
            rows, row = math.prod(shape[:-1]), shape[-1] * dtype.itemsize
            values = np.empty((rows, len(chosen)), dtype)
            stretch = max(1, _CHUNK // row)
            for first in range(0, rows, stretch):
                part = np.empty(min(stretch, rows - first) * row, np.uint8)
                _fill(stored, part, header.name)
                values[first : first + stretch] = part.view(dtype).reshape(-1, shape[-1])[:, chosen]
            values = values.reshape(*shape[:-1], len(chosen))
    return values


def _fill(file: Any, flat: UInt8[np.ndarray, " bytes"], name: str) -> None:
    """Fill bytes from a file, which compares the checksum when its last ones are read."""
    view, done = flat.data, 0
    while done < len(view):
        got = file.readinto(view[done : done + _CHUNK])
        if not got:
            raise ValueError(f"the array {name!r} ends early; the file is damaged")
        done += got


def _mapped(path: Path, file: BinaryIO, header: _Header) -> np.memmap:
    """An array that is stored as it is in the file, mapped from there once it was read through for its checksum."""
    member = header.member
    with _archive(path, file) as archive:
        file.seek(member.header_offset + 26)  # the lengths of name and extra field before the array itself
        sizes = file.read(4)
        first = member.header_offset + 30 + int.from_bytes(sizes[:2], "little") + int.from_bytes(sizes[2:], "little")
        if first + member.file_size > archive.start_dir:
            raise ValueError(f"the array {header.name!r} ends early; the file is damaged")
        with archive.open(member) as stored:
            part, left = np.empty(_CHUNK, np.uint8), member.file_size
            while left:
                _fill(stored, part[: min(left, _CHUNK)], header.name)
                left -= min(left, _CHUNK)
    return np.memmap(file, header.dtype, "r", first + header.start, header.shape, "F" if header.fortran else "C")
