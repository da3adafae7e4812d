"""Data sets in Minari's format that nobody means to give: HDF5 and JSON, made by chance from one that is right.

HDF5 is changed in its bytes, and through h5py in its attributes, arrays and links.
"""

from __future__ import annotations

import functools
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from tests.fuzz_npz import pick

Change = Callable[[np.random.Generator, Path], None]
LENGTHS, FEATURES = (4, 2, 3), 3


@functools.cache
def right() -> tuple[bytes, bytes]:
    """metadata.json and main_data.hdf5 of a data set as Minari itself writes it."""
    import minari
    from gymnasium import spaces
    from minari.data_collector import EpisodeBuffer
    from minari.dataset.minari_storage import MinariStorage

    rng, box = np.random.default_rng(0), spaces.Box(-np.inf, np.inf, (FEATURES,), np.float32)
    episodes = [
        EpisodeBuffer(
            observations=rng.normal(size=(T + 1, FEATURES)).astype(np.float32),
            actions=rng.normal(size=(T, FEATURES)).astype(np.float32),
            rewards=list(np.arange(T) + 10.0 * i),
            terminations=[False] * T,
            truncations=[False] * (T - 1) + [True],
            infos={"skill": [i % 2] * (T + 1), "name": ["walk"] * (T + 1)},
        )
        for i, T in enumerate(LENGTHS)
    ]
    with tempfile.TemporaryDirectory() as place:
        storage = MinariStorage.new(place, box, box, data_format="hdf5")
        storage.update_metadata({"dataset_id": "mine-v0", "minari_version": minari.__version__})
        storage.update_episodes(episodes)
        return Path(place, "metadata.json").read_bytes(), Path(place, "main_data.hdf5").read_bytes()


def write(folder: Path, change: Change, rng: np.random.Generator) -> None:
    """Write a data set to a new folder, and change it."""
    (folder / "data").mkdir(parents=True)
    for name, content in zip(("metadata.json", "main_data.hdf5"), right(), strict=True):
        (folder / "data" / name).write_bytes(content)
    change(rng, folder / "data")


# ---- bytes ---------------------------------------------------------------------------------------------------------


def truncated(rng: np.random.Generator, folder: Path) -> None:
    path = folder / "main_data.hdf5"
    content = path.read_bytes()
    path.write_bytes(content[: rng.integers(len(content))])


def flipped(rng: np.random.Generator, folder: Path) -> None:
    path = folder / "main_data.hdf5"
    content = bytearray(path.read_bytes())
    used = np.flatnonzero(np.frombuffer(content, np.uint8))  # most of such a file is empty
    for place in rng.choice(used, rng.integers(1, 20)):
        content[place] ^= 1 << rng.integers(8)
    path.write_bytes(content)


def overwritten(rng: np.random.Generator, folder: Path) -> None:
    path = folder / "main_data.hdf5"
    content = bytearray(path.read_bytes())
    start = int(rng.choice(np.flatnonzero(np.frombuffer(content, np.uint8))))
    count = int(rng.integers(1, 40))
    other = int(rng.integers(len(content)))
    runs = [bytes(count), b"\xff" * count, rng.bytes(count), bytes(content[other : other + count])]
    run = pick(rng, runs)
    content[start : start + len(run)] = run
    path.write_bytes(content)


# ---- what h5py can write -------------------------------------------------------------------------------------------

ODD: list[Any] = [0, -1, 1, 5, 2**31, 2**63 - 1, 1.5, np.nan, np.inf, True, "", "x", "4", b"\xff\xfe", "\ud7ff"]
ODD += [np.zeros(0), np.arange(3), np.zeros((2, 2)), [b"a", b"bc"], h5py.Empty("f4"), np.float16(3), 1j]
ODD += [np.array([(1, 2.0)], [("a", "i4"), ("b", "f8")]), np.array([2**63], np.uint64), np.int8(4)]


def places(file: h5py.File) -> list[str]:
    """The names of all groups and arrays."""
    found: list[str] = []
    file.visit(found.append)
    return found


def attributes(rng: np.random.Generator, folder: Path) -> None:
    with h5py.File(folder / "main_data.hdf5", "a") as file:
        for _ in range(rng.integers(1, 4)):
            item = file[pick(rng, [*[name for name in places(file) if name.count("/") == 0], *places(file), "/"])]
            names = [*item.attrs, "total_steps", "skill", "options", "options/skill", "seed", "id", "shape", "x" * 300]
            name = pick(rng, names)
            if name in item.attrs and rng.random() < 0.3:
                del item.attrs[name]
            else:
                item.attrs[name] = pick(rng, ODD)


def put(rng: np.random.Generator, group: h5py.Group, name: str) -> None:
    """Put an array of some other shape, type and layout there."""
    shape = tuple(int(size) for size in rng.integers(0, 6, rng.integers(0, 4)))
    values = rng.integers(-3, 9, shape)
    vlen = h5py.vlen_dtype(np.float32)
    ways: list[Callable[[], Any]] = [
        lambda: group.create_dataset(name, data=pick(rng, ODD)),
        lambda: group.create_dataset(name, data=values),
        lambda: group.create_dataset(name, data=values.astype(pick(rng, ["f2", "f4", ">f8", "i1", "u8", "?", "c8"]))),
        lambda: group.create_dataset(name, data=np.where(rng.random(shape) < 0.3, np.nan, values)),
        lambda: group.create_dataset(name, data=rng.normal(size=(pick(rng, [2, 3, 4, 5]), FEATURES))),
        lambda: group.create_dataset(name, data=["a", "", "é" * 50], dtype=h5py.string_dtype()),
        lambda: group.create_dataset(name, (3,), dtype=vlen),
        lambda: group.create_dataset(name, (pick(rng, [2, 10**6, 10**12]), 3), "f4"),
        lambda: group.create_dataset(name, (5, 3), "f4", maxshape=(None, 3), chunks=(pick(rng, [1, 2**20]), 3)),
        lambda: group.create_dataset(name, (5, 3), "f4", compression=pick(rng, ["gzip", "lzf"]), shuffle=True),
        lambda: group.create_dataset(name, (5, 3), "f4", fletcher32=True, fillvalue=np.nan),
        lambda: group.create_dataset(name, (5, 3), "f4", scaleoffset=2),
        lambda: group.create_dataset(name, (5,), h5py.enum_dtype({"A": 1, "B": 2})),
        lambda: group.create_dataset(name, (5,), h5py.ref_dtype),
        lambda: group.create_dataset(name, (5,), np.dtype(("f4", (3,)))),
        lambda: group.create_dataset(name, (5,), np.dtype([("a", "f4"), ("b", h5py.string_dtype())])),
    ]
    pick(rng, ways)()


def shapes(rng: np.random.Generator, folder: Path) -> None:
    with h5py.File(folder / "main_data.hdf5", "a") as file:
        for _ in range(rng.integers(1, 3)):
            name = pick(rng, [name for name in places(file) if isinstance(file[name], h5py.Dataset)])
            del file[name]
            if rng.random() < 0.9:
                put(rng, file, name)


def links(rng: np.random.Generator, folder: Path) -> None:
    """Names that lead elsewhere, in a circle or nowhere, and groups in place of arrays."""
    other = str(pick(rng, [folder / "main_data.hdf5", folder / "metadata.json", "/etc/hostname", "/dev/zero", "."]))
    with h5py.File(folder / "main_data.hdf5", "a") as file:
        names = places(file)
        name, to = pick(rng, names), pick(rng, names)
        target, keep = file[to], rng.random() < 0.3
        if not keep:
            del file[name]
        else:
            name += "/again" if isinstance(file[name], h5py.Group) else "-again"
        ways: list[Callable[[], Any]] = [
            lambda: file.__setitem__(name, h5py.SoftLink(pick(rng, ["/", "/" + to, "nowhere", ".", "/" + name]))),
            lambda: file.__setitem__(name, h5py.ExternalLink(other, pick(rng, ["/", to, "nowhere"]))),
            lambda: file.__setitem__(name, target),
            lambda: file.__setitem__(name, file["/"]),
            lambda: file.__setitem__(name, np.dtype("f4")),
            lambda: file.create_group(name),
            lambda: file.create_group(name).create_group("/".join(["deep"] * int(rng.integers(1, 60)))),
            lambda: file.create_dataset(name, (5, 3), "f4", external=[(other, 0, 60)]),
            lambda: virtual(file, name, other, to),
            lambda: [file.create_group(f"{name}-{i}") for i in range(50)],
        ]
        pick(rng, ways)()


def virtual(file: h5py.File, name: str, other: str, to: str) -> None:
    layout = h5py.VirtualLayout((5, 3), np.float32)
    layout[:] = h5py.VirtualSource(other, to, shape=(5, 3))
    file.create_virtual_dataset(name, layout)


# ---- metadata ------------------------------------------------------------------------------------------------------

VALUES: list[Any] = [None, True, 0, -1, 1, 2, 4, 10**9, 10**400, 1.5, float("nan"), "", "x", "hdf5", "arrow", "\ud800"]
VALUES += [[], {}, [3], ["x"], "[" * 3000, '{"type": "Text"}', '{"type": "Box"}', "{}", "1e999", "null", "nobody:X-v0"]


def changed(rng: np.random.Generator, node: Any) -> Any:
    """A copy of plain data, and of JSON within it, in which one place is something else."""
    if isinstance(node, str) and node.startswith("{") and rng.random() < 0.8:
        return json.dumps(changed(rng, json.loads(node)))
    if isinstance(node, dict) and node and rng.random() < 0.8:
        key = pick(rng, list(node))
        if rng.random() < 0.15:
            return {name: value for name, value in node.items() if name != key}
        return {**node, key: changed(rng, node[key])}
    if isinstance(node, list) and node and rng.random() < 0.6:
        i = int(rng.integers(len(node)))
        return [*node[:i], changed(rng, node[i]), *node[i + 1 :]]
    return pick(rng, VALUES)


def metadata(rng: np.random.Generator, folder: Path) -> None:
    path = folder / "metadata.json"
    data = json.loads(path.read_text())
    for _ in range(rng.integers(1, 3)):
        data = changed(rng, data)
    content = json.dumps(data).encode()
    if rng.random() < 0.2:
        place = int(rng.integers(len(content) + 1))
        content = content[:place] + pick(rng, [b"", b"\xff", b"[" * 9000, b"9" * 5000, b"\0"]) + content[place + 1 :]
    path.write_bytes(content)


DATA_SETS: dict[str, tuple[int, Change]] = {
    "Minari, right": (2, lambda rng, folder: None),
    "HDF5, truncated": (4, truncated),
    "HDF5, bits flipped": (14, flipped),
    "HDF5, bytes overwritten": (14, overwritten),
    "HDF5, attributes": (8, attributes),
    "HDF5, other arrays": (12, shapes),
    "HDF5, links": (10, links),
    "Minari, metadata": (8, metadata),
}
"""Kinds of data sets, how many of each hundred or two, and how they are made."""
