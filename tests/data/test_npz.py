"""npz files: what is written is read, large arrays stay on disk, and a file is never more than data."""

import os
import pickle
import tracemalloc
import zipfile

import numpy as np
import pytest

from tests.fuzz_npz import Member, archive, packed
from vendirl.data import Trajectories, npz, read, read_npz, sources_in, write_npz

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 4, 3))
WHO = np.array([0, 0, 1, 1, 2, 2])
LENGTHS = np.array([2, 4, 1, 3, 4, 2])


def same(a: Trajectories, b: Trajectories) -> None:
    assert (a.labels, a.features) == (b.labels, b.features)
    for name in ("observations", "lengths", "skill", "actions", "rewards"):
        x, y = getattr(a, name), getattr(b, name)
        assert (x is None) == (y is None)
        if x is not None:
            np.testing.assert_array_equal(x, y)
            assert x.dtype == y.dtype


@pytest.mark.parametrize("compress", [True, False])
@pytest.mark.parametrize("lengths", [None, LENGTHS])
@pytest.mark.parametrize("skill", [WHO, WHO * 10 - 3, np.array(["b", "b", "a", "c", "a", "-0"])])
def test_what_is_written_is_read(tmp_path, compress, lengths, skill):
    extras = {"actions": X[..., :2].astype(np.float32), "rewards": X[..., 0]}
    for more in ({}, extras):
        data = Trajectories.of(X, skill, lengths=lengths, features=["x", "y", "z"], **more)
        path = write_npz(tmp_path / "skills.npz", data, compress=compress)
        same(read_npz(path), data)
        same(read(str(path), features=["z", 0]), data.on("z", "x"))
        assert os.listdir(tmp_path) == ["skills.npz"]


def test_labels_that_are_almost_numbers_stay_as_they_are(tmp_path):
    for labels in (["1", "01"], ["1", "1_0"], [str(2**70), "1"], ["", "٣"]):
        path = write_npz(tmp_path / "a.npz", Trajectories.of(X[:2], labels))
        assert read_npz(path).labels == tuple(sorted(labels))


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = write_npz(tmp_path / "a.npz", Trajectories.of(X, WHO))

    def full(*_, **__):
        raise OSError("no space left")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(OSError, match="no space"):
        write_npz(path, Trajectories.of(X[:2], WHO[:2]))
    assert len(read_npz(path)) == 6
    assert os.listdir(tmp_path) == ["a.npz"]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("layout", ["even", "padded", "flat"])
def test_layouts_that_numpy_writes(tmp_path, save, layout):
    cut = [x[:T] for x, T in zip(X, LENGTHS, strict=True)]
    arrays, expected = {
        "even": ({"observations": X}, list(X)),
        "padded": ({"observations": X, "lengths": LENGTHS}, cut),
        "flat": ({"observations": np.concatenate(cut), "lengths": LENGTHS.astype(np.uint8)}, cut),
    }[layout]
    save(tmp_path / "a.npz", skill=WHO, other=np.ones(3), **arrays)
    assert [x.tolist() for x in read_npz(tmp_path / "a.npz")] == [x.tolist() for x in expected]


@pytest.mark.parametrize("dtype", ["f2", "f4", ">f8", "i1", "u4", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_types_and_orders(tmp_path, dtype, order, save):
    x = np.asarray(RNG.integers(0, 2, (6, 4, 3)).astype(dtype), order=order)
    save(tmp_path / "a.npz", observations=x, skill=WHO)
    same(read_npz(tmp_path / "a.npz"), Trajectories.of(x, WHO))
    same(read_npz(tmp_path / "a.npz", [2, 0]), Trajectories.of(x, WHO).on(2, 0))


def on_disk(x) -> bool:
    return isinstance(x, np.memmap) and x._mmap is not None  # a copy in memory is of that class too, but maps nothing


@pytest.mark.parametrize("order", ["C", "F"])
def test_large_arrays_stay_on_disk(tmp_path, monkeypatch, order):
    path = tmp_path / "a.npz"
    np.savez(path, skill=WHO, observations=np.asarray(X, order=order), actions=X[..., :1], rewards=X[..., 0])
    read_whole = read_npz(path)
    monkeypatch.setattr(npz, "ON_DISK", 100)
    mapped = read_npz(path)
    same(mapped, read_whole)
    assert on_disk(mapped.actions)
    assert on_disk(mapped.observations) == (order == "C")
    assert all(on_disk(x) for x in mapped) == (order == "C")
    assert not on_disk(read_whole.observations)
    same(read_npz(path, [1]), read_whole.on(1))
    with open(path, "r+b") as file:  # an array that would reach over the end of the file
        file.truncate(path.stat().st_size - 10)
    with pytest.raises(ValueError, match=r"a\.npz"):
        read_npz(path)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_features_that_were_not_chosen_take_no_memory(tmp_path, monkeypatch, save):
    x = RNG.integers(0, 4, size=(20, 100, 500)).astype(np.float32)  # 4 MB
    save(tmp_path / "a.npz", observations=x, skill=np.arange(20))
    monkeypatch.setattr(npz, "_CHUNK", 2**18)
    monitor = {}
    for chosen in (None, [3, 499]):
        tracemalloc.start()
        data = read_npz(tmp_path / "a.npz", chosen)
        monitor[chosen is None] = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    held, most = monitor[False]
    assert held < 1e6
    assert most < 0.8 * x.nbytes < monitor[True][0]
    np.testing.assert_array_equal(data.observations, x.reshape(-1, 500)[:, [3, 499]])


class Trap:
    """Pickles to something that makes a folder when it is unpickled."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("name", ["observations", "skill", "lengths", "feature_names", "actions", "rewards"])
def test_nothing_is_unpickled(tmp_path, name):
    trap = tmp_path / "trap"
    objects = np.empty((6, 4, 3), object)
    objects[:] = Trap(trap)
    np.savez(tmp_path / "a.npz", allow_pickle=True, **{"observations": X, "skill": WHO, name: objects})
    with pytest.raises(ValueError, match=rf"a\.npz: the array '{name}' holds Python objects"):
        read(tmp_path / "a.npz")
    (tmp_path / "b.npz").write_bytes(pickle.dumps(Trap(trap)))
    with zipfile.ZipFile(tmp_path / "c.npz", "w") as file:
        file.writestr("skill.npy", pickle.dumps(Trap(trap)))
        file.writestr("observations.npy", pickle.dumps(Trap(trap)))
    for file in ("b.npz", "c.npz"):
        with pytest.raises(ValueError, match=file):
            read(tmp_path / file)
    assert not trap.exists()
    pickle.loads((tmp_path / "b.npz").read_bytes())
    assert trap.exists(), "the trap works"


def npy(x, shape=None, descr=None, version=b"\x01\x00") -> bytes:
    """An array as a file, with a header that may lie."""
    header = {"descr": descr or x.dtype.str, "fortran_order": False, "shape": shape or x.shape}
    text = f"{header}\n".encode()
    return b"\x93NUMPY" + version + len(text).to_bytes(2, "little") + text + x.tobytes()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (npy(X, shape=(6, 4, 30)), r"claims shape \(6, 4, 30\) of float64, 5760 bytes, but 576 are there"),
        (npy(X, shape=(2**50, 4, 3)), "which no array of use has"),
        (npy(X, shape=(-6, -4, 3)), "which no array of use has"),
        (npy(X[:0], shape=(0, 10**30, 3)), "which no array of use has"),
        (npy(X, shape=(10**2000, 10**2000, 10**2000)), "which no array of use has"),
        (npy(X, shape=(1,) * 70), "which no array of use has"),
        (npy(X, descr="|O"), "holds Python objects"),
        (npy(X, descr=[("a", "<f8")]), "holds values of type"),
        (npy(X, descr="<c8", shape=(6, 4, 3)), "holds values of type complex64"),
        (npy(X, descr="<M8[s]"), "holds values of type datetime64"),
        (npy(X, descr="S8"), "holds values of type"),
        (npy(X, descr="<U2"), "must be an array of real numbers, but has type <U2"),
        (npy(X, descr="rubbish"), "has no readable header"),
        (npy(X, version=b"\x03\x00"), r"version \(3, 0\) of the format"),
        (npy(X)[3:], "has no readable header"),
        (b"", "has no readable header"),
        (b"\x93NUMPY\x01\x00\x00\x10" + b"{" * 4096, "has no readable header"),
        (npy(X)[:9], "has no readable header"),
    ],
)
def test_headers_that_lie_are_refused(tmp_path, content, reason):
    for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(tmp_path / "a.npz", "w", compression) as file:
            file.writestr("skill.npy", npy(WHO))
            file.writestr("observations.npy", content)
        with pytest.raises(ValueError, match=rf"a\.npz: .*{reason}"):
            read_npz(tmp_path / "a.npz")


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "a.npz"
    for content, reason in ((b"", "is empty"), (b"PK", "is not an npz file"), (npy(X), "is not an npz file")):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=rf"a\.npz {reason}"):
            read_npz(path)
    for arrays, reason in (
        ({"skill": WHO}, "there is no array 'observations' in it, only 'skill'"),
        ({"observations": X}, "there is no array 'skill' in it, only 'observations'"),
        ({"observations": X, "skill": WHO, "feature_names": np.arange(3)}, "feature_names must be text.*int64"),
        ({"observations": X, "skill": WHO, "feature_names": ["x"]}, "there are 1 feature names, but 3 features"),
        ({"observations": X, "skill": WHO, "lengths": WHO}, "lengths has 0 for episode 0"),
        ({"observations": 1.0, "skill": WHO}, r"observations have shape \(\)"),
    ):
        np.savez(path, **arrays)
        with pytest.raises(ValueError, match=rf"a\.npz: .*{reason}"):
            read_npz(path)
    for algorithm in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        with zipfile.ZipFile(path, "w", algorithm) as file:
            file.writestr("observations", npy(X))
            file.writestr("skill", npy(WHO))
        with pytest.raises(ValueError, match="compressed in a way that NumPy does not write"):
            read_npz(path)
    np.savez_compressed(path, observations=X, skill=WHO)
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("observations", npy(X))
    with pytest.raises(ValueError, match="the array 'observations' is in it twice"):
        read_npz(path)


@pytest.mark.parametrize("deflate", [True, False])
@pytest.mark.parametrize("features", [None, [0]])
def test_a_wrong_checksum_is_found(tmp_path, deflate, features):
    path = tmp_path / "a.npz"
    skill, observations = packed({"skill": npy(WHO), "observations": npy(X)}, deflate)
    path.write_bytes(archive([skill, observations]))
    assert len(read_npz(path, features)) == 6
    path.write_bytes(archive([skill, observations._replace(crc=observations.crc ^ 1)]))
    with pytest.raises(ValueError, match=r"a\.npz is not an npz file, or is damaged \(Bad CRC-32"):
        read_npz(path, features)


def test_arrays_that_reach_over_the_end_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    for more, reason in ((10**12, r"but the whole file has \d+"), (2, "the array 'observations' ends early")):
        content = npy(X, shape=(6 + more, 4, 3))
        claim = len(content) + more * X[0].nbytes
        path.write_bytes(
            archive(
                [
                    *packed({"skill": npy(WHO), "other": npy(X)}, False),
                    Member(b"observations", content, size=claim, packed=claim),
                ]
            )
        )
        monkeypatch.setattr(npz, "ON_DISK", 100)
        with pytest.raises(ValueError, match=rf"a\.npz: .*{reason}"):
            read_npz(path)


def test_little_that_inflates_to_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(npz, "INFLATED", 10**5)
    data = Trajectories.of(np.zeros((2, 10_000, 1)))
    np.savez_compressed(tmp_path / "a.npz", observations=np.zeros((2, 10_000, 1)), skill=[0, 1])
    with pytest.raises(ValueError, match=r"take 160016 bytes in memory, but are compressed to \d+;.* with np.savez"):
        read_npz(tmp_path / "a.npz")
    same(read_npz(write_npz(tmp_path / "b.npz", data)), data)  # what is written can be read
    skill, much = packed({"skill": npy(WHO[:2]), "observations": npy(np.zeros((2, 10_000, 1)))}, True)
    (tmp_path / "c.npz").write_bytes(archive([skill, much._replace(packed=10**6)]))  # a lie about the little
    with pytest.raises(ValueError, match=r"c\.npz: .* but are compressed to \d{3};"):
        read_npz(tmp_path / "c.npz")


def test_what_is_not_a_file_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"a\.npz does not exist"):
        read(tmp_path / "a.npz")
    os.mkfifo(tmp_path / "pipe")  # opening it would wait for ever
    for path, kind in ((tmp_path / "pipe", "pipe"), ("/dev/zero", "device")):
        with pytest.raises(ValueError, match=f"is a {kind}, not a regular file"):
            read(path)
    with pytest.raises(ValueError, match="is a folder, not a regular file"):
        read_npz(tmp_path)
    with pytest.raises(ValueError, match="is not a path"):
        read("a\0b")
    for wrong in (None, 3, b"a.npz"):
        with pytest.raises(TypeError, match="source must be a path"):
            read(wrong)


def test_folders_of_runs(tmp_path):
    data = Trajectories.of(X, WHO)
    with pytest.raises(ValueError, match="neither a run nor skill data"):
        read(tmp_path)
    (tmp_path / "settings.json").write_text("{}")
    with pytest.raises(ValueError, match="a run that has no trajectories yet"):
        read(tmp_path)
    for seed in ("seed-10", "seed-9"):
        (tmp_path / seed).mkdir()
        write_npz(tmp_path / seed / "trajectories.npz", data)
    with pytest.raises(ValueError, match=r"holds several seeds; give one of .*seed-10"):
        read(tmp_path)
    assert sources_in(tmp_path) == [str(tmp_path / "seed-9"), str(tmp_path / "seed-10")]
    same(read(tmp_path / "seed-9", ["feature 1"]), data.on(1))
    assert sources_in(tmp_path / "seed-9") == [str(tmp_path / "seed-9")]
