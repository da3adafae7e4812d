"""Checkpoints are whole or refused, and one that is damaged does not stand in the way of the one before."""

import errno
import hashlib
import json
import os
import sys
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests import fuzz_judging
from vendirl.training import checkpoint

TREE = {"a": jnp.arange(6.0).reshape(2, 3), "key": jax.random.key(7), "count": jnp.array(3)}


def test_what_is_saved_is_loaded(tmp_path):
    checkpoint.save(tmp_path, 10, TREE, "mine")
    loaded = checkpoint.load(tmp_path, 10, TREE, "mine")
    np.testing.assert_array_equal(loaded["a"], TREE["a"])
    assert int(loaded["count"]) == 3
    assert jax.random.normal(loaded["key"]) == jax.random.normal(TREE["key"])


def test_only_the_newest_are_kept(tmp_path):
    for epoch in (10, 20, 30):
        checkpoint.save(tmp_path, epoch, TREE, "mine", keep=2)
    assert checkpoint.epochs(tmp_path) == [20, 30]
    assert not (tmp_path / "10").exists()


def test_a_checkpoint_that_was_being_written_does_not_exist(tmp_path):
    checkpoint.save(tmp_path, 10, TREE, "mine")
    (tmp_path / "20").mkdir()
    (tmp_path / "20" / "half").write_bytes(b"x")
    assert checkpoint.epochs(tmp_path) == [10]
    checkpoint.save(tmp_path, 20, TREE, "mine")  # and does not stand in the way of the next
    assert checkpoint.epochs(tmp_path) == [10, 20]


@pytest.mark.parametrize("damage", ["flip", "truncate", "remove", "add", "list"])
def test_a_damaged_checkpoint_is_refused(tmp_path, damage):
    checkpoint.save(tmp_path, 10, TREE, "mine")
    file = max((f for f in (tmp_path / "10").rglob("*") if f.is_file()), key=lambda f: f.stat().st_size)
    data = file.read_bytes()
    if damage == "flip":
        file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    elif damage == "truncate":
        file.write_bytes(data[: len(data) // 2])
    elif damage == "remove":
        file.unlink()
    elif damage == "add":
        (tmp_path / "10" / "more").write_bytes(b"x")
    else:
        (tmp_path / "10.json").write_text("{")
    with pytest.raises(ValueError, match=r"damaged"):
        checkpoint.load(tmp_path, 10, TREE, "mine")


@pytest.mark.parametrize("what", ["pipe", "endless", "elsewhere"])
def test_a_forged_list_opens_no_pipe_and_follows_no_link(tmp_path, what):
    """A list that gives such a file the size under which it is found was believed, and the file opened."""
    place = tmp_path / "checkpoints"
    (place / "10").mkdir(parents=True)
    files = {"d": [-1, "0" * 64]}
    if what == "pipe":
        os.mkfifo(place / "10" / "d")
    elif what == "endless":
        (place / "10" / "d").symlink_to("/dev/zero")
    else:
        (place / "10").rmdir()
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "d").write_bytes(b"")
        (place / "10").symlink_to(tmp_path / "other")
        files = {"d": [0, hashlib.sha256(b"").hexdigest()]}
    (place / "10.json").write_text(json.dumps({"fingerprint": "mine", "arrays": {}, "files": files}))
    with fuzz_judging.in_time(2.0), pytest.raises(checkpoint.DamagedError, match=r"is a link, (a pipe|which could)"):
        checkpoint.load(place, 10, {}, ["mine"])


def test_nothing_is_read_or_removed_through_a_link_in_place_of_the_folder(tmp_path):
    """Folders that are named like epochs were taken for what a process had left when it died, and removed."""
    elsewhere, place = tmp_path / "elsewhere", tmp_path / "run" / "checkpoints"
    (elsewhere / "2024").mkdir(parents=True)
    place.parent.mkdir()
    place.symlink_to(elsewhere)
    for do in (lambda: checkpoint.save(place, 10, TREE, "mine"), lambda: checkpoint.newest(place, TREE, {"mine"})):
        with pytest.raises(ValueError, match="checkpoints is a link, and links in a folder are not followed"):
            do()
    assert [path.name for path in elsewhere.iterdir()] == ["2024"]
    place.unlink()
    place.mkdir()
    (elsewhere / "list").write_text("{}")
    (place / "10.json").symlink_to(elsewhere / "list")
    with pytest.raises(checkpoint.DamagedError, match=r"its list 10\.json cannot be read .*is a link"):
        checkpoint.load(place, 10, TREE, {"mine"})
    (place / "20").symlink_to(elsewhere)
    checkpoint.save(place, 20, TREE, "mine")
    assert not (place / "20").is_symlink()
    assert (elsewhere / "2024").exists()


def spoil(folder):
    file = max((f for f in folder.rglob("*") if f.is_file()), key=lambda f: f.stat().st_size)
    file.write_bytes(file.read_bytes()[:-1])


def test_where_the_newest_is_damaged_the_one_before_is_used(tmp_path):
    for epoch in (10, 20):
        checkpoint.save(tmp_path, epoch, {**TREE, "count": jnp.array(epoch)}, "mine")
    spoil(tmp_path / "20")
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.warns(UserWarning, match=r"20 is damaged.*the one of epoch 10 is used"):
        assert int(checkpoint.newest(tmp_path, TREE, {"mine"})["count"]) == 10
    assert sorted(path.name for path in tmp_path.iterdir()) == before  # who only reads renames nothing
    with pytest.warns(UserWarning, match=r"kept aside as damaged-20"):
        assert int(checkpoint.newest(tmp_path, TREE, {"mine"}, put_aside=True)["count"]) == 10
    assert sorted(path.name for path in tmp_path.iterdir()) == ["10", "10.json", "damaged-20", "damaged-20.json"]
    checkpoint.save(tmp_path, 20, TREE, "mine")
    assert checkpoint.epochs(tmp_path) == [10, 20]
    spoil(tmp_path / "10")
    spoil(tmp_path / "20")
    with pytest.raises(ValueError, match=r"20 is damaged.*so are all 1 before it"):
        checkpoint.newest(tmp_path, TREE, {"mine"}, put_aside=True)
    assert checkpoint.epochs(tmp_path) == [10, 20]


def test_a_forged_list_does_not_load_other_shapes(tmp_path):
    checkpoint.save(tmp_path, 10, {**TREE, "a": jnp.zeros((5, 7))}, "mine")
    listing = json.loads((tmp_path / "10.json").read_text())
    listing["arrays"]["['a']"] = [[2, 3], "float32"]
    (tmp_path / "10.json").write_text(json.dumps(listing))
    with pytest.raises(ValueError, match=r"damaged: \['a'\] is not of the shape"):
        checkpoint.load(tmp_path, 10, TREE, {"mine"})


def test_arrays_that_are_wrong_are_refused_with_the_reason(tmp_path):
    for epoch in (10, 20):
        checkpoint.save(tmp_path, epoch, {**TREE, "count": jnp.array(10)}, "mine")

    def wrong(epoch, tree):
        return None if int(tree["count"]) == epoch else f"it is of epoch {int(tree['count'])}"

    with pytest.warns(UserWarning, match="20 is damaged: it is of epoch 10; the one of epoch 10"):
        checkpoint.newest(tmp_path, TREE, {"mine"}, wrong)


def test_names_that_are_no_epochs_are_none(tmp_path):
    for name in ("-5", "²", "007", "9" * 30, "damaged-3"):
        (tmp_path / f"{name}.json").write_text("{}")
    assert checkpoint.epochs(tmp_path) == []
    assert checkpoint.newest(tmp_path, TREE, {"mine"}) is None


def test_a_disk_that_is_full_is_one_line(tmp_path, monkeypatch, capfd):
    import orbax.checkpoint as ocp

    checkpoint.save(tmp_path, 10, TREE, "mine")

    def full(self, path, arrays):
        path.with_name(f"{path.name}.orbax-checkpoint-tmp-1").mkdir()
        raise ValueError(
            "RESOURCE_EXHAUSTED: Failed to write 9 bytes: No space left on device [os_error_code='28']\nmore"
        )

    monkeypatch.setattr(ocp.Checkpointer, "save", full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        checkpoint.save(tmp_path, 20, TREE, "mine")
    assert caught.value.errno == errno.ENOSPC
    assert capfd.readouterr().err == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["10", "10.json"]


def test_writes_that_are_abandoned_say_nothing_and_other_threads_are_heard(tmp_path, monkeypatch):
    """Writes under way when another one fails find the event loop closed, and their threads would print tracebacks."""
    heard = []
    monkeypatch.setattr("sys.unraisablehook", lambda found: heard.append(str(found.exc_value)))
    before = sys.unraisablehook
    checkpoint.save(tmp_path / "a", 1, {"w": jnp.zeros(3)}, "mark")
    assert sys.unraisablehook is before
    monkeypatch.setattr("orbax.checkpoint.Checkpointer.save", _full)
    with pytest.raises(OSError, match="No space left"):
        checkpoint.save(tmp_path / "b", 1, {"w": jnp.zeros(3)}, "mark")
    for message in ("Event loop is closed", "something else"):
        sys.unraisablehook(types.SimpleNamespace(exc_value=RuntimeError(message)))
    assert heard == ["something else"]


def _full(*given, **named):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_foreign_checkpoint_is_refused(tmp_path):
    checkpoint.save(tmp_path, 10, TREE, "theirs")
    with pytest.raises(ValueError, match="another run"):
        checkpoint.load(tmp_path, 10, TREE, "mine")
    with pytest.raises(ValueError, match="another run"):
        checkpoint.load(tmp_path, 10, {**TREE, "a": jnp.zeros(3)}, "theirs")


def test_a_list_that_is_not_one_is_refused(tmp_path):
    checkpoint.save(tmp_path, 10, TREE, "mine")
    for content in ("[]", "null", json.dumps({"files": 3, "arrays": {}, "fingerprint": "mine"})):
        (tmp_path / "10.json").write_text(content)
        with pytest.raises(ValueError, match="damaged"):
            checkpoint.load(tmp_path, 10, TREE, "mine")
