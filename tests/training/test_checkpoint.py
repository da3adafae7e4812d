"""Checkpoints are whole or refused."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

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
