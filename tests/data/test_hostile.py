"""Skill data from a stranger: nothing outside of the folder is read, nothing hangs, and memory is bounded."""

from __future__ import annotations

import os

import numpy as np
import pytest

from vendirl.data import npz, read, sources_in


def skills(path, **arrays):
    np.savez(path, **{"observations": np.zeros((2, 4, 1)), "skill": [0, 1], **arrays})
    return path


def test_a_damaged_array_that_stays_on_disk_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(npz, "ON_DISK", 1000)
    path = skills(tmp_path / "a.npz", observations=np.full((2, 1000, 1), 0.5))
    assert isinstance(read(path).observations.base, np.memmap)
    content = bytearray(path.read_bytes())
    place = content.index(np.full(100, 0.5).tobytes()) + 400
    content[place : place + 8] = np.array(0.25).tobytes()  # a number as good as any
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.npz is not an npz file, or is damaged \(Bad CRC-32"):
        read(path)


def test_several_arrays_cannot_inflate_to_more_than_one_may(tmp_path, monkeypatch):
    monkeypatch.setattr(npz, "INFLATED", 10**6)
    many = {"observations": np.zeros((2, 20_000, 1), np.int8), "actions": np.zeros((2, 20_000, 4), np.int8)}
    np.savez_compressed(tmp_path / "a.npz", skill=[0, 1], **many)  # 200 kB of bytes become 1.6 MB of float64
    with pytest.raises(ValueError, match="its arrays take 1600016 bytes in memory, but are compressed to"):
        read(tmp_path / "a.npz")
    monkeypatch.setattr(npz, "INFLATED", 2 * 10**6)
    assert read(tmp_path / "a.npz").actions.shape == (40_000, 4)


def test_links_in_a_run_folder_are_not_followed_but_chosen_ones_are(tmp_path):
    other = skills(tmp_path / "other.npz")
    run = tmp_path / "run"
    run.mkdir()
    (run / "trajectories.npz").symlink_to(other)
    with pytest.raises(ValueError, match=r"trajectories\.npz is a link"):
        read(run)
    assert read(run / "trajectories.npz").n == 2  # whoever names a file has chosen it
    (tmp_path / "way").symlink_to(tmp_path / "good")
    (tmp_path / "good").mkdir()
    skills(tmp_path / "good" / "trajectories.npz")
    assert read(tmp_path / "way").n == 2
    several = tmp_path / "several"
    several.mkdir()
    (several / "seed-0").symlink_to(tmp_path / "good")
    with pytest.raises(ValueError, match="seed-0 is a link"):
        sources_in(several)


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "nothing"])
def test_trajectories_that_are_no_file_are_refused_at_once(tmp_path, kind):
    path = tmp_path / "trajectories.npz"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero" if kind == "device" else tmp_path / "absent")
    with pytest.raises(ValueError, match=r"not a regular file|is a link"):
        read(tmp_path)
