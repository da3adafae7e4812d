"""Minari data sets of a stranger: no other file is read, nothing is made, nothing hangs, and memory is bounded."""

from __future__ import annotations

import json
import os
import struct

import numpy as np
import pytest

pytest.importorskip("minari", reason="minari is not installed: pip install 'vendirl[minari]'")
pytest.importorskip("h5py", reason="h5py is not installed: pip install 'vendirl[minari]'")

import h5py

from tests.data.test_minari import BOX, INFOS, buffers, data_set
from vendirl.data import minari_files, read_minari


@pytest.fixture
def folder(tmp_path):
    data_set(tmp_path / "mine", buffers(infos=INFOS))
    assert read_minari(tmp_path / "mine").n == 2
    return tmp_path / "mine" / "data"


def refused(folder, reason):
    with pytest.raises(ValueError, match=f"minari:.* cannot be read: .*{reason}"):
        read_minari(folder)


def changed(folder, **metadata):
    path = folder / "metadata.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **metadata}))


def in_place_of(folder, name, **arguments):
    """Put another array in place of one in the HDF5 file."""
    with h5py.File(folder / "main_data.hdf5", "a") as file:
        del file[name]
        if arguments:
            file.create_dataset(name, **arguments)


@pytest.mark.parametrize("link", ["external", "soft"])
def test_links_of_hdf5_are_not_followed(folder, link, tmp_path):
    with h5py.File(tmp_path / "secret.hdf5", "w") as other:
        other["x"] = np.zeros((5, 3), np.float32)
    in_place_of(folder, "episode_0/observations")
    with h5py.File(folder / "main_data.hdf5", "a") as file:
        to = (
            h5py.ExternalLink(str(tmp_path / "secret.hdf5"), "x") if link == "external" else h5py.SoftLink("/episode_1")
        )
        file["episode_0/observations"] = to
    refused(folder, "episode_0/observations in it is a link")


def test_arrays_in_other_files_are_not_read(folder, tmp_path):
    (tmp_path / "secret").write_bytes(bytes(60))
    external = [(str(tmp_path / "secret"), 0, 60)]
    in_place_of(folder, "episode_0/observations", shape=(5, 3), dtype=np.float32, external=external)
    refused(folder, "episode_0/observations in it lies in other files")


def test_virtual_arrays_are_not_read(folder, tmp_path):
    with h5py.File(tmp_path / "secret.hdf5", "w") as other:
        other["x"] = np.zeros((5, 3), np.float32)
    in_place_of(folder, "episode_0/observations")
    with h5py.File(folder / "main_data.hdf5", "a") as file:
        layout = h5py.VirtualLayout((5, 3), np.float32)
        layout[:] = h5py.VirtualSource(tmp_path / "secret.hdf5", "x", shape=(5, 3))
        file.create_virtual_dataset("episode_0/observations", layout)
    refused(folder, "episode_0/observations in it lies in other files")


def test_few_bytes_cannot_claim_much_memory(folder):
    in_place_of(folder, "episode_0/observations", shape=(10**9, 3), dtype=np.float32)  # none of which is written
    refused(folder, "its arrays take 24000.* bytes in memory up to /episode_0/observations, but its files have only")


def test_little_that_inflates_to_much_is_refused(folder, monkeypatch):
    monkeypatch.setattr(minari_files, "HELD", 10**7)
    much = np.zeros((10**6, 3), np.int8)
    in_place_of(folder, "episode_0/infos/other", data=much, chunks=(10**6, 3), compression="gzip")
    refused(folder, "its arrays take 24.* bytes in memory")


def test_chunks_larger_than_arrays_count(folder):
    in_place_of(
        folder, "episode_0/rewards", shape=(4,), maxshape=(None,), chunks=(2**28,), dtype=np.float64, compression="gzip"
    )
    refused(folder, "its arrays take 2147.* bytes in memory")


def test_texts_that_are_the_same_bytes_again_and_again_count(folder, monkeypatch):
    monkeypatch.setattr(minari_files, "HELD", 10**6)
    texts = ["x" * 20_000, *[""] * 2999]
    in_place_of(folder, "episode_0/infos/other", data=texts, dtype=h5py.string_dtype())
    assert read_minari(folder).n == 2
    with h5py.File(folder / "main_data.hdf5") as file:
        place = file["episode_0/infos/other"].id.get_offset()
    content = bytearray((folder / "main_data.hdf5").read_bytes())
    content[place : place + 3000 * 16] = bytes(content[place : place + 16]) * 3000  # all of them are the first
    (folder / "main_data.hdf5").write_bytes(content)
    refused(folder, "bytes in memory up to /episode_0/infos/other")


def test_texts_whose_sizes_are_damaged_are_refused_at_once(folder):
    """HDF5's own library would go round in them for ever, out of reach of signals."""
    in_place_of(folder, "episode_0/infos/other", data=["walk"] * 5, dtype=h5py.string_dtype())
    assert read_minari(folder).n == 2
    content = bytearray((folder / "main_data.hdf5").read_bytes())
    size = content.index(b"GCOL") + 16 + 8  # of the first text
    for wrong in (b"\xff" * 8, b"\xff" * 4 + bytes(4)):
        content[size : size + 8] = wrong
        (folder / "main_data.hdf5").write_bytes(content)
        refused(folder, "the heap at byte .* of main_data.hdf5 is damaged")


@pytest.mark.parametrize("written", [{}, {"chunks": True, "maxshape": (None,)}])
@pytest.mark.parametrize("kind", [h5py.string_dtype(), h5py.vlen_dtype(np.float32)])
def test_lengths_that_no_heap_holds_are_refused_at_once(folder, written, kind):
    """HDF5's own library would ask for 890 MB, or more, before it looked whether there is such a heap."""
    in_place_of(folder, "episode_0/infos/other", shape=(5,), dtype=kind, **written)
    with h5py.File(folder / "main_data.hdf5", "a") as file:
        array = file["episode_0/infos/other"]
        for i in range(4):  # the last is empty
            array[i] = "walk" if h5py.check_string_dtype(kind) else np.arange(4.0)
    assert read_minari(folder).n == 2
    content = (folder / "main_data.hdf5").read_bytes()
    heap = content.index(b"GCOL")
    second = content.index(struct.pack("<IQI", 4, heap, 2))
    for length, place in ((0x35270147, heap), (2**32 - 1, heap), (5000, heap), (4, 2**60), (4, heap + 8)):
        damaged = bytearray(content)
        damaged[second : second + 16] = struct.pack("<IQI", length, place, 2)
        (folder / "main_data.hdf5").write_bytes(damaged)
        refused(folder, "/episode_0/infos/other in it has texts or lists that are longer than what holds them")


@pytest.mark.parametrize("given", ["walk", ["walk", "", "run"]])
@pytest.mark.parametrize("name", ["skill", "sk\N{LATIN SMALL LETTER I WITH DIAERESIS}ll"])
@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_attributes_whose_lengths_no_heap_holds_are_refused_at_once(folder, given, name, libver):
    with h5py.File(folder / "main_data.hdf5", "a", libver=libver) as file:
        for i in range(12):  # so many that the newest format keeps them elsewhere
            file["episode_0"].attrs[f"{name}{i}"] = [given, 3, "a", np.arange(3)][min(i, 3)]
    assert read_minari(folder).n == 2
    content = bytearray((folder / "main_data.hdf5").read_bytes())
    length = content.index(struct.pack("<IQ", 4, content.index(b"GCOL")))
    content[length : length + 4] = struct.pack("<I", 2**31)
    (folder / "main_data.hdf5").write_bytes(content)
    refused(folder, f"/episode_0 in it has an attribute '{name}0' of texts or lists that are longer than what holds")


@pytest.mark.parametrize(
    ("dtype", "written", "reason"),
    [
        (np.dtype([("a", "f4"), ("b", h5py.string_dtype())]), {}, "texts within something else"),
        (np.dtype((h5py.vlen_dtype(np.float32), (2,))), {}, "lists of unequal length within something else"),
        (h5py.string_dtype(), {"compression": "gzip"}, "texts or lists that are compressed"),
    ],
)
def test_texts_that_cannot_be_looked_through_are_refused(folder, dtype, written, reason):
    in_place_of(folder, "episode_0/infos/other", shape=(5,), dtype=dtype, **written)
    refused(folder, f"/episode_0/infos/other in it has {reason}")


def test_lists_whose_type_is_damaged_are_refused(folder):
    """HDF5's own library would end the process."""
    in_place_of(folder, "episode_0/infos/other", shape=(5,), dtype=h5py.vlen_dtype(np.float32))
    with h5py.File(folder / "main_data.hdf5") as file:
        array = file["episode_0/infos/other"]
        start, kind = h5py.h5o.get_info(array.id).addr, array.id.get_type().encode()[2:]
    content = bytearray((folder / "main_data.hdf5").read_bytes())
    content[content.index(kind[:8], start) + 1] |= 8  # neither a list nor a text
    (folder / "main_data.hdf5").write_bytes(content)
    refused(folder, "/episode_0/infos/other in it has a damaged type")


def test_numbers_that_no_float_holds_are_refused(folder):
    space = {"type": "Box", "shape": [3], "low": [0, 0, 10**400], "high": [1, 1, 1], "dtype": "float32"}
    before = json.loads((folder / "metadata.json").read_text())["observation_space"]
    changed(folder, observation_space=json.dumps(space))
    refused(folder, "too large")
    changed(folder, observation_space=before)
    with h5py.File(folder / "main_data.hdf5", "a") as file:
        file["episode_0"].attrs["total_steps"] = np.inf
    with pytest.raises(ValueError, match="episode 0: cannot convert float infinity"):
        read_minari(folder)


def test_many_texts_that_are_not_there_are_not_read(folder):
    in_place_of(folder, "episode_0/infos/other", shape=(10**9,), dtype=h5py.string_dtype())
    refused(folder, "its arrays take 64000.* bytes in memory")


def test_attributes_that_minari_does_not_write_are_refused(folder):
    with h5py.File(folder / "main_data.hdf5", "a") as file:
        file["episode_0"].attrs["total_steps"] = 1j
    refused(folder, "/episode_0 in it has an attribute 'total_steps' that is no number or text")


def test_two_names_of_one_array_are_refused(folder):
    with h5py.File(folder / "main_data.hdf5", "a") as file:
        file["episode_0/infos/again"] = file["episode_0"]  # which holds itself, for ever
    refused(folder, "in it is there by two names")


@pytest.mark.parametrize("name", ["main_data.hdf5", "metadata.json", "other"])
@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_files_that_are_no_files_are_refused_at_once(folder, name, kind):
    path = folder / name
    content = path.read_bytes() if path.exists() else b""
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    else:
        (folder.parent / "elsewhere").write_bytes(content)
        path.symlink_to(folder.parent / "elsewhere")
    if name == "metadata.json" and kind == "pipe":
        with pytest.raises(FileNotFoundError):  # so it is no data set
            read_minari(folder)
    else:
        refused(folder, f"{name} is a {kind}")


@pytest.mark.parametrize("space", [None, 3, {"type": "Box"}])
def test_environments_are_not_made_to_ask_for_spaces(folder, space):
    changed(folder, observation_space=space, env_spec='{"id": "evil:X-v0"}')
    refused(folder, "does not say what observations and actions are")


@pytest.mark.parametrize(
    ("space", "reason"),
    [
        ({"type": "Box", "shape": [10**5, 10**5], "low": 0, "high": 1, "dtype": "float32"}, "10000000000 numbers"),
        ({"type": "MultiBinary", "n": 10**10}, "10000000000 numbers"),
        ({"type": "Dict", "subspaces": {"a": {"type": "MultiBinary", "n": [10**6, 10**6]}}}, "1000000000000 numbers"),
        ({"type": "Box", "shape": [None], "low": 0, "high": 1, "dtype": "float32"}, ""),
    ],
)
def test_spaces_cannot_claim_much_memory(folder, space, reason):
    changed(folder, observation_space=json.dumps(space))
    refused(folder, reason)
    changed(folder, observation_space="[" * 100_000)
    refused(folder, "")


def test_pictures_coded_as_jpeg_are_refused(tmp_path):
    from gymnasium import spaces

    frames = [np.zeros((len(episode.rewards) + 1, 32, 32, 3), np.uint8) for episode in buffers(infos=INFOS)]
    data_set(tmp_path, buffers(frames, infos=INFOS), spaces.Box(0, 255, (32, 32, 3), np.uint8), BOX)
    refused(tmp_path, "it holds pictures coded as JPEG")
