"""The heaps of HDF5 files, in which texts and lists of unequal length lie.

HDF5's own library takes the sizes in a heap as they are written, and goes round for ever, out of reach of signals, if
one of them is damaged. So they are looked through before it reads any of them.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

from vendirl._files import open_regular

_SIGN, _HEAD, _OBJECT = b"GCOL", struct.Struct("<4sB3xQ"), struct.Struct("<HHIQ")
"""How a heap begins, with its version and size; and an object in it: number, references, nothing, size."""


def check_heaps(path: Path) -> None:
    """Refuse a file in which the objects of a heap are larger than what is left of it.

    Raises:
        ValueError: with the place of the heap.
    """
    with open_regular(path) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        start = content.find(_SIGN)
        while start >= 0:
            if start + _HEAD.size <= len(content):
                _, version, size = _HEAD.unpack_from(content, start)
                if version == 1 and not _sound(content, start + _HEAD.size, start + size):
                    raise ValueError(f"the heap at byte {start} of {path.name} is damaged")
            start = content.find(_SIGN, start + len(_SIGN))


def _sound(content: mmap.mmap, place: int, end: int) -> bool:
    """Whether the objects from a place on fill a heap up to its end; what is free has the number 0, and its size counts
    its own head."""
    if end > len(content):
        return False
    while place + _OBJECT.size <= end:
        number, _, _, size = _OBJECT.unpack_from(content, place)
        taken = size if number == 0 else _OBJECT.size + -(-size // 8) * 8
        if taken < _OBJECT.size:
            return False
        place += taken
    return place <= end
