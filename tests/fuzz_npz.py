"""Files of npz that nobody means to give, each made by chance from data that are right."""

from __future__ import annotations

import functools
import io
import os
import pickle
import struct
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np


class Trap:
    """Pickles to something that makes a folder when it is unpickled."""

    def __init__(self, path: Path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


def pick(rng: np.random.Generator, things: Sequence[Any]) -> Any:
    """One of them, as it is."""
    return things[rng.integers(len(things))]


class Member(NamedTuple):
    """A file in an archive, with all that its entry claims; None: the truth."""

    name: bytes
    content: bytes
    method: int = zipfile.ZIP_STORED
    size: int | None = None
    packed: int | None = None
    crc: int | None = None
    flags: int = 0
    offset: int | None = None


def archive(members: list[Member]) -> bytes:
    """A zip archive, written by hand because its entries may lie."""
    body, directory = bytearray(), bytearray()
    for m in members:
        size = len(m.content) if m.size is None else m.size
        packed = len(m.content) if m.packed is None else m.packed
        crc = zlib.crc32(m.content) if m.crc is None else m.crc
        large = max(size, packed) >= 2**32
        extra = struct.pack("<2H2Q", 1, 16, size, packed) if large else b""
        sizes = (2**32 - 1, 2**32 - 1) if large else (packed, size)
        common = (45, m.flags, m.method, 0, 33, crc, *sizes, len(m.name), len(extra))
        offset = len(body) if m.offset is None else m.offset
        body += struct.pack("<4s5H3I2H", b"PK\3\4", *common) + m.name + extra + m.content
        directory += struct.pack("<4s6H3I5H2I", b"PK\1\2", 45, *common, 0, 0, 0, 0, offset) + m.name + extra
    count = len(members)
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, count, count, len(directory), len(body), 0)
    return bytes(body + directory + end)


def npy(x: np.ndarray, version: bytes = b"\1\0", **claims: Any) -> bytes:
    """An array as NumPy writes it, except for what the header claims."""
    fortran = x.ndim > 1 and x.flags.f_contiguous and not x.flags.c_contiguous
    header = {"descr": x.dtype.str, "fortran_order": fortran, "shape": x.shape} | claims
    text = (claims.get("text") or repr(header) + " " * 20 + "\n").encode()
    return b"\x93NUMPY" + version + struct.pack("<H", len(text) % 2**16) + text + x.tobytes("A")


def arrays(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Skill data that are right, in some layout and type."""
    episodes, T, D = 6, 8, 3
    x = rng.normal(size=(episodes, T, D)) * 3
    kind = pick(rng, ["<f4", "<f8", "<f2", ">f8", "i1", "<i8", "u1"])
    x = (np.abs(x) if kind == "u1" else x).astype(kind)
    lengths = rng.integers(4, T + 1, episodes)
    layout = rng.integers(3)
    mask = np.arange(T) < lengths[:, None]
    names = np.array(["walk", "run", "hop"]) if rng.random() < 0.5 else np.array([3, 1, 40])

    def laid(y):
        return y[mask] if layout == 2 else np.asarray(y, order=rng.choice(["C", "F"]))

    found = {"observations": laid(x), "skill": names[np.repeat(np.arange(3), 2)]}
    if layout:
        found["lengths"] = lengths
    if rng.random() < 0.5:
        found["feature_names"] = np.array(["x", "y", "speed"])
    if rng.random() < 0.5:
        found |= {"actions": laid(x[..., :2]), "rewards": laid(x[..., 0])}
    return found


def packed(content: dict[str, bytes], deflate: bool) -> list[Member]:
    members = []
    for name, data in content.items():
        small = zlib.compress(data, wbits=-15) if deflate else data
        method = zipfile.ZIP_DEFLATED if deflate else zipfile.ZIP_STORED
        members.append(Member(f"{name}.npy".encode(), small, method, len(data), crc=zlib.crc32(data)))
    return members


def good(rng: np.random.Generator) -> bytes:
    return archive(packed({name: npy(x) for name, x in arrays(rng).items()}, rng.random() < 0.5))


def truncated(rng, _) -> bytes:
    content = good(rng)
    return content[: rng.integers(len(content))] if rng.random() < 0.7 else content[rng.integers(1, len(content)) :]


def flipped(rng, _) -> bytes:
    content = bytearray(good(rng))
    for place in rng.integers(len(content), size=rng.integers(1, 30)):
        content[place] ^= 1 << rng.integers(8)
    return bytes(content)


def overwritten(rng, _) -> bytes:
    content = bytearray(good(rng))
    start, count = rng.integers(len(content)), rng.integers(1, 60)
    with_what = rng.choice([0, 1, 2])
    run = bytes(count) if with_what == 0 else b"\xff" * count if with_what == 1 else rng.bytes(count)
    content[start : start + count] = run
    return bytes(content)


SIZES = [-1, 0, 1, 2, 3, 7, 2**31, 2**63, 10**30, 10**2000, True, 1.5, "3", None, (2,)]
TYPES: list[Any] = ["|O", "O8", "|S4", "<U1", "<U0", "<U99", "U-1", "<f4", "<f8", ">f2", "<f16", "<f3", "f999", "<c16"]
TYPES += ["<M8[s]", "<m8", "|V8", "|V0", "<i4", "|b1", "?", "x", "0", "(2,3)f4", ("<f4", (2,)), 5, None, []]
TYPES += [[("a", "<f4"), ("b", "<f4")], [("a", "|O")], [("a", "<f4", (2,) * 40)]]
HEADERS = ["{}", "", "1", "[]", "{" * 5000, "(" * 9000, "{'descr': '<f8'}", "\0" * 50, "{'a': 1L}"]
HEADERS += ["__import__('os').mkdir('trap')"]


def lying_header(rng, _) -> bytes:
    given = arrays(rng)
    content = {}
    name_to_break = rng.choice(list(given))
    for name, x in given.items():
        claims: dict[str, Any] = {}
        if name == name_to_break:
            what = rng.integers(4)
            if what == 0:
                shape = list(x.shape)
                shape[rng.integers(len(shape))] = pick(rng, SIZES)
                claims["shape"] = tuple(shape) if rng.random() < 0.7 else tuple(shape * int(rng.integers(0, 30)))
            elif what == 1:
                claims["descr"] = pick(rng, TYPES)
            elif what == 2:
                claims["fortran_order"] = pick(rng, [True, False, 1, None, "yes"])
            else:
                claims["text"] = pick(rng, HEADERS)
        content[name] = npy(x, **claims)
    return archive(packed(content, rng.random() < 0.5))


def wrong_version(rng, _) -> bytes:
    version = rng.bytes(2) if rng.random() < 0.5 else bytes([int(rng.integers(5)), 0])
    return archive(packed({name: npy(x, version) for name, x in arrays(rng).items()}, rng.random() < 0.5))


NAMES = [b"observations.npy", b"skill.npy", b"skill", b"lengths.npy", b"../../etc/skill.npy", b"/observations.npy", b""]
NAMES += [
    b"observations.npy.npy",
    b"a/observations.npy",
    b"observations/",
    b"\xff\xfe.npy",
    b"skill\0.npy",
    b"a" * 60000,
]


def random_members(rng, trap: Path) -> bytes:
    contents = [npy(x) for x in arrays(rng).values()]
    contents += [b"", rng.bytes(200), good(rng), pickle.dumps(Trap(trap)), b"\x93NUMPY"]
    count, flags = rng.integers(8), int(rng.choice([0, 2048]))
    return archive([Member(pick(rng, NAMES), pick(rng, contents), flags=flags) for _ in range(count)])


def twice(rng, _) -> bytes:
    members = packed({name: npy(x) for name, x in arrays(rng).items()}, rng.random() < 0.5)
    again = pick(rng, members)
    name = again.name.removesuffix(b".npy") if rng.random() < 0.5 else again.name
    return archive([*members, again._replace(name=name)])


def lying_directory(rng, _) -> bytes:
    """Entries whose sizes, methods, flags, checksums or places are not what they say."""
    members = packed({name: npy(x) for name, x in arrays(rng).items()}, rng.random() < 0.5)
    which = rng.integers(len(members))
    number = pick(rng, [0, 1, 10, 500, 2**16, 2**31, 2**32 - 1, 2**40, 2**63 - 1])
    field = rng.choice(["size", "packed", "method", "flags", "crc", "offset"])
    most = {"method": 99, "flags": 2**16 - 1, "crc": 2**32 - 1, "offset": 2**32 - 1}.get(field, 2**63)
    value = int(rng.choice([0, 1, 8, 12, 14, 93])) if field == "method" else min(number, most)
    members[which] = members[which]._replace(**{str(field): value})
    return archive(members)


def wrong_kind(rng, trap: Path) -> bytes:
    """One array is of another kind altogether, saved by NumPy itself, pickles included."""
    given: dict[str, Any] = arrays(rng)
    name = rng.choice(list(given))
    objects = np.empty(given[name].shape, object)
    objects[:] = Trap(trap)
    n = len(given[name])
    kinds: list[Any] = [
        objects,
        np.array(Trap(trap), object),
        np.array([None] * n, object),
        np.zeros(n, [("a", "f4"), ("b", "O")]),
        np.zeros(n, [("a", "f4"), ("b", "i2")]),
        np.array(["2020-01-01"] * n, "M8[D]"),
        np.arange(n, dtype="m8[s]"),
        np.ones(given[name].shape, complex),
        np.array([b"bytes"] * n),
        np.zeros(n, "V5"),
        np.array("text"),
        np.array(3),
        np.zeros((0,)),
        np.zeros((0, 3, 2)),
        np.zeros((2, 2, 2, 2, 2)),
        np.zeros((n, n)),
        np.array(["", "a" * 1000] * n),
        np.array(["\ud800"] * n, "U1"),
        np.array([2**63 + 1] * n, np.uint64),
        np.array([-(2**63)] * n),
        np.ones(given[name].shape, bool),
        np.ones(given[name].shape, np.longdouble) * np.longdouble("1e4000"),
    ]
    given[name] = pick(rng, kinds)
    file = io.BytesIO()
    (np.savez if rng.random() < 0.5 else np.savez_compressed)(file, **given)
    return file.getvalue()


def wrong_values(rng, _) -> bytes:
    given = arrays(rng)
    for name in rng.choice(list(given), rng.integers(1, 3), replace=False):
        x = given[name] = np.array(given[name], given[name].dtype if given[name].dtype.kind == "U" else float)
        bad = (
            ["", "nan", "\0", "ß" * 9]
            if x.dtype.kind == "U"
            else [np.nan, np.inf, -np.inf, 1e300, -1e308, 5e-324, -0.0, 0.5]
        )
        for _ in range(rng.integers(1, 5)):
            x[tuple(rng.integers(size) for size in x.shape)] = pick(rng, bad)
    return archive(packed({name: npy(x) for name, x in given.items()}, rng.random() < 0.5))


def wrong_shapes(rng, _) -> bytes:
    given = arrays(rng)
    for name in rng.choice(list(given), rng.integers(1, 3), replace=False):
        x = given[name]
        changed = [
            x[1:],
            x[..., :-1],
            x[None],
            x[..., None],
            np.moveaxis(x, 0, -1),
            x.reshape(-1),
            rng.integers(-2, 9, size=rng.integers(0, 9, size=rng.integers(0, 4))),
        ]
        given[name] = pick(rng, changed)
    return archive(packed({name: npy(x) for name, x in given.items()}, rng.random() < 0.5))


_ZEROS = 16 * 2**20


def flushed(content: bytes) -> bytes:
    """A part of a compressed stream, after which another may follow."""
    deflate = zlib.compressobj(9, wbits=-15)
    return deflate.compress(content) + deflate.flush(zlib.Z_FULL_FLUSH)


@functools.cache
def zeros() -> bytes:
    """16 MiB of zeros, compressed."""
    return flushed(bytes(_ZEROS))


@functools.cache
def checksum(header: bytes, count: int) -> int:
    """Of a header and so many times 16 MiB of zeros."""
    found = zlib.crc32(header)
    for _ in range(count):
        found = zlib.crc32(bytes(_ZEROS), found)
    return found


def bomb(rng, _) -> bytes:
    """A few kilobytes or megabytes that inflate to 64 MiB, or to 9 GiB."""
    count = int(rng.choice([4, 20, 300, 600]))
    dtype = pick(rng, ["<f8", "|u1", "<U1"])
    items = count * _ZEROS // np.dtype(dtype).itemsize
    shape = [(4, items // 4, 1), (1, 1, items), (items,), (items // 4, 4)][rng.integers(4)]
    header = npy(np.zeros(0), descr=dtype, shape=shape)
    start, piece = flushed(header), zeros()
    name = rng.choice(["observations", "skill", "lengths", "feature_names", "actions"])
    members = packed({key: npy(x) for key, x in arrays(rng).items() if key != name}, True)
    size = len(header) + count * _ZEROS
    claimed = None if rng.random() < 0.5 else size  # the packed size may lie as well
    content = start + piece * count + b"\x03\x00"
    crc = checksum(header, count) if count < 100 else 0  # those that are refused unread need none
    return archive(
        [*members, Member(f"{name}.npy".encode(), content, zipfile.ZIP_DEFLATED, size, packed=claimed, crc=crc)]
    )


def other(rng, trap: Path) -> bytes:
    text = io.BytesIO()
    np.save(text, rng.normal(size=(3, 4, 2)))
    empty = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 0, 0, 0, 0, 0)
    files = [
        b"",
        rng.bytes(rng.integers(1, 3000)),
        b"PK",
        b"PK\3\4" + rng.bytes(100),
        empty,
        empty[:-2] + b"\xff\xff",
        rng.bytes(50) + good(rng) + rng.bytes(rng.integers(100)),
        text.getvalue(),
        pickle.dumps(Trap(trap)),
        b"observations,skill\n1,2\n" * 20,
        b"\0" * 5000,
        zlib.compress(good(rng)),
        archive([Member(b"inner.npz", good(rng))]),
    ]
    return pick(rng, files)


FILES: dict[str, tuple[int, Callable[[np.random.Generator, Path], bytes]]] = {
    "right": (8, lambda rng, _: good(rng)),
    "truncated": (10, truncated),
    "bits flipped": (14, flipped),
    "bytes overwritten": (12, overwritten),
    "headers that lie": (12, lying_header),
    "other versions": (3, wrong_version),
    "random members": (6, random_members),
    "arrays twice": (3, twice),
    "entries that lie": (10, lying_directory),
    "other kinds of arrays": (8, wrong_kind),
    "odd values": (5, wrong_values),
    "odd shapes": (6, wrong_shapes),
    "bombs": (1, bomb),
    "other files": (4, other),
}
"""Kinds of files, how many of each hundred or so, and how they are made."""
