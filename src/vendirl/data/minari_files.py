"""Minari data sets of others, looked through before they are read.

What a data set says about itself is compared with what is there: its files are files, in its own folder; its spaces and
arrays have sizes that such a folder can hold; and its HDF5 file is a tree of its own arrays, without links and
without arrays that lie in other files. Nothing of it is made or run.
"""

from __future__ import annotations

import json
import math
import mmap
import os
from pathlib import Path
from typing import Any

from vendirl._files import open_regular, read_regular
from vendirl.data.hdf5_heaps import check_heaps
from vendirl.data.hdf5_texts import bytes_of_array, bytes_of_attribute, element_size
from vendirl.data.layout import MOST_FEATURES

METADATA = 100_000_000
"""Bytes of metadata.json, which holds the bounds of every number in an observation."""
HELD = 256 * 2**20
"""Data sets that take more bytes of memory are refused if their files have almost none of them."""

_FILTERS = {1, 2, 3, 4, 5, 6, 32000}
"""HDF5's own ways to store arrays, and h5py's; others would be looked for in libraries on this machine."""


def check_files(folder: Path) -> None:
    """Refuse a data set whose folder holds anything but files and folders of its own, or that claims too much.

    Raises:
        ValueError: with what is wrong.
    """
    there = 0
    for place, _, files in os.walk(folder, onerror=_raised):
        for path in (Path(place) / file for file in files):
            with open_regular(path, within=folder) as file:
                there += os.fstat(file.fileno()).st_size
    metadata = json.loads(read_regular(folder / "metadata.json", METADATA, within=folder))
    for name in ("observation_space", "action_space"):
        space = metadata.get(name)
        if not isinstance(space, str):  # Minari would make the environment that the file names, to ask it
            raise ValueError("its metadata.json does not say what observations and actions are")
        numbers = _numbers(json.loads(space))
        if numbers > MOST_FEATURES:
            raise ValueError(f"its {name} has {numbers} numbers, which cannot be right")
    if metadata.get("data_format", "hdf5") == "hdf5":
        _check_hdf5(folder / "main_data.hdf5", there)


def _raised(error: OSError) -> None:
    raise error


def _numbers(space: Any) -> int:
    """How many numbers a space says that it has; what is none of Minari's is left to Minari to refuse."""
    match space:
        case {"type": "Box", "shape": list(shape)}:
            return math.prod(int(size) for size in shape)
        case {"type": "MultiBinary", "n": list(sizes)}:
            return math.prod(int(size) for size in sizes)
        case {"type": "MultiBinary", "n": size}:
            return int(size)
        case {"type": "Dict", "subspaces": dict(parts)}:
            return sum(map(_numbers, parts.values()))
        case {"type": "Tuple", "subspaces": list(parts)}:
            return sum(map(_numbers, parts))
    return 1


def _check_hdf5(path: Path, there: int) -> None:
    """Refuse an HDF5 file that is more than a tree of arrays of its own, or whose arrays claim far more than it has."""
    import h5py

    held, most, seen = 0, max(HELD, 200 * there), set()
    check_heaps(path)
    with (
        open_regular(path) as raw,
        mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ) as content,
        h5py.File(path, "r") as file,
    ):
        made = file.id.get_create_plist()
        if made.get_sizes() != (8, 8) or made.get_userblock():
            raise ValueError("its addresses or sizes are not of 8 bytes from its beginning, as h5py writes them")
        groups = [file["/"]]
        while groups:
            group = groups.pop()
            held += _attributes(group, content)
            for name in group:
                kind = type(group.get(name, getlink=True))
                if kind is not h5py.HardLink:
                    raise ValueError(f"{group.name}/{name} in it is a link, which could lead to any file")
                item = group[name]
                number = h5py.h5o.get_info(item.id).addr
                if number in seen:
                    raise ValueError(f"{item.name} in it is there by two names")
                seen.add(number)
                if isinstance(item, h5py.Group):
                    groups.append(item)
                elif isinstance(item, h5py.Dataset):
                    held += _attributes(item, content) + _array(item, most, content)
                if held > most:
                    raise ValueError(
                        f"its arrays take {held} bytes in memory up to {item.name}, but its files have only {there}; "
                        "if that is so, save it in another format, such as npz"
                    )


def _array(dataset: Any, most: int, content: mmap.mmap) -> int:
    """The bytes that an array takes in memory, if it lies in the file itself; whole numbers become float64."""
    kind = dataset.id.get_type()
    _check_type(kind, dataset.name)
    if dataset.external or dataset.is_virtual:
        raise ValueError(f"{dataset.name} in it lies in other files, which are not read")
    stored = dataset.id.get_create_plist()
    for i in range(stored.get_nfilters()):
        if stored.get_filter(i)[0] not in _FILTERS:
            raise ValueError(f"{dataset.name} in it is stored in a way that h5py does not write")
    count = int(dataset.size or 0)
    try:
        size = element_size(kind)
        if size is not None:
            return count * 64 + (bytes_of_array(dataset, size, content) if count * 64 <= most else 0)
    except ValueError as error:
        raise ValueError(f"{dataset.name} in it has {error}") from None
    return max(count * max(8, dataset.dtype.itemsize), math.prod(dataset.chunks or ()) * dataset.dtype.itemsize)


def _check_type(kind: Any, name: str) -> None:
    """Refuse a type of lists of unequal length that says neither list nor text: HDF5's own library dies of it."""
    import h5py

    if isinstance(kind, h5py.h5t.TypeVlenID) and kind.encode()[3] & 15:  # after a mark, a version and the class
        raise ValueError(f"{name} in it has a damaged type")
    if isinstance(kind, h5py.h5t.TypeVlenID | h5py.h5t.TypeArrayID):
        _check_type(kind.get_super(), name)
    elif isinstance(kind, h5py.h5t.TypeCompoundID):
        for i in range(kind.get_nmembers()):
            _check_type(kind.get_member_type(i), name)


def _attributes(item: Any, content: mmap.mmap) -> int:
    """The bytes that the attributes of a group or an array take."""
    total = 0
    for name in item.attrs:
        attribute = item.attrs.get_id(name)
        kind = attribute.get_type()
        _check_type(kind, item.name)
        if attribute.dtype.kind not in "biufSO":
            raise ValueError(f"{item.name} in it has an attribute {name!r} that is no number or text")
        try:
            size = element_size(kind)
            total += 64 * math.prod(attribute.shape or ())
            total += 0 if size is None else bytes_of_attribute(attribute, name, size, content)
        except ValueError as error:
            raise ValueError(f"{item.name} in it has an attribute {name!r} of {error}") from None
    return total
