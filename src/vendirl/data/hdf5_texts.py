"""The texts and lists of unequal length of HDF5 files: how long they say that they are, before any of them is read.

An array or attribute holds a reference for each of them: its length, the place of a heap (`hdf5_heaps`) and the number
of an object in it. HDF5's own library asks for as much memory as the length says, up to 4 GB a text, before it looks at
the heap. So the references are compared with the heaps that they name, as bytes of the file.
"""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
from jaxtyping import Shaped

_REFERENCE = np.dtype([("length", "<u4"), ("heap", "<u8"), ("number", "<u4")])
_HEAP, _LENGTHS = struct.Struct("<4sB3xQ"), struct.Struct("<HHH")
"""How a heap begins; and how long the name, the type and the shape of an attribute are."""
_LISTS = 9
"""The class of texts and lists of unequal length among the types of HDF5."""


def element_size(kind: Any) -> int | None:
    """The bytes of an element of texts or lists of this type, one for texts; None if the type is neither.

    Raises:
        ValueError: if the lists are within something else, which h5py does not write by itself.
    """
    import h5py

    if isinstance(kind, h5py.h5t.TypeStringID) and kind.is_variable_str():
        return 1
    if isinstance(kind, h5py.h5t.TypeVlenID):
        _refuse_within(kind.get_super())
        return int(kind.get_super().get_size())
    _refuse_within(kind)
    return None


def _refuse_within(kind: Any) -> None:
    import h5py

    match kind:
        case h5py.h5t.TypeVlenID():
            raise ValueError("lists of unequal length within something else")
        case h5py.h5t.TypeStringID() if kind.is_variable_str():
            raise ValueError("texts within something else")
        case h5py.h5t.TypeArrayID():
            _refuse_within(kind.get_super())
        case h5py.h5t.TypeCompoundID():
            for i in range(kind.get_nmembers()):
                _refuse_within(kind.get_member_type(i))


def bytes_of_array(dataset: Any, size: int, content: Any) -> int:
    """The bytes of the texts or lists of an array, as its references say.

    Args:
        dataset: an array of texts or lists.
        size: of an element, see `element_size`.
        content: of the file, as bytes.

    Raises:
        ValueError: with what is wrong with them.
    """
    import h5py

    stored, places = dataset.id.get_create_plist(), []
    if stored.get_nfilters() or stored.get_layout() not in (h5py.h5d.CHUNKED, h5py.h5d.CONTIGUOUS):
        raise ValueError("texts or lists that are compressed, which are not read")
    if stored.get_layout() == h5py.h5d.CONTIGUOUS:
        if (start := dataset.id.get_offset()) is not None:
            places.append((start, int(dataset.size or 0) * _REFERENCE.itemsize))
    elif dataset.id.get_storage_size():
        dataset.id.chunk_iter(lambda chunk: places.append((chunk.byte_offset, chunk.size)))
    return sum(_bytes(content[start : start + count], count, size, content) for start, count in places)


def bytes_of_attribute(attribute: Any, name: str, size: int, content: Any) -> int:
    """The same of an attribute. Where it is, h5py does not tell; it is looked for by its name and its kind, and found
    more than once if others have both."""
    count, name_bytes, found = math.prod(attribute.shape or ()) * _REFERENCE.itemsize, name.encode() + b"\0", []
    place = content.find(name_bytes)
    while place >= 0 and count:
        for version, head in ((1, place - 8), (2, place - 8), (3, place - 9)):
            if head < 0 or content[head] != version:
                continue
            lengths = _LENGTHS.unpack_from(content, head + 2)
            sizes = [-(-length // 8) * 8 for length in lengths] if version == 1 else lengths
            if lengths[0] == len(name_bytes) and content[place + sizes[0]] & 15 == _LISTS:
                start = place + sum(sizes)
                found.append(_bytes(content[start : start + count], count, size, content))
        place = content.find(name_bytes, place + 1)
    if count and not found:
        raise ValueError("texts or lists that are not where h5py writes them")
    return max(found, default=0)


def _bytes(references: bytes, count: int, size: int, content: Any) -> int:
    """How many bytes so many bytes of references stand for."""
    if len(references) < count or count % _REFERENCE.itemsize:
        raise ValueError("texts or lists that are beyond its end")
    each: Shaped[np.ndarray, " texts"] = np.frombuffer(references, _REFERENCE)
    each = each[(each["length"] > 0) & (each["heap"] > 0)]  # the others are empty
    heaps, of = np.unique(each["heap"], return_inverse=True)
    lengths = each["length"].astype(np.int64) * size
    if (lengths > np.array([_heap_size(int(heap), content) for heap in heaps], np.int64)[of]).any():
        raise ValueError("texts or lists that are longer than what holds them")
    return int(lengths.sum())


def _heap_size(place: int, content: Any) -> int:
    """The bytes of the heap at a place, which `check_heaps` found to be sound; 0 if there is none."""
    if place + _HEAP.size > len(content):
        return 0
    sign, _, size = _HEAP.unpack_from(content, place)
    return min(size, len(content)) if sign == b"GCOL" else 0
