"""One owner for each folder of a run."""

import errno
import os
import platform
import subprocess
import sys

import filelock
import pytest

from vendirl.training.folder import claimed, put_results_aside
from vendirl.training.owner import LOCK, AlreadyOwnedError, NoLocksError, owning
from vendirl.training.settings import Settings

HOLD = """
import sys, time
from pathlib import Path
from vendirl.training.owner import owning
with owning(Path(sys.argv[1])):
    print("mine", flush=True)
    time.sleep(60)
"""


def test_a_folder_has_one_owner_who_is_named_until_he_dies(tmp_path):
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "mine\n"
        said = f"process {other.pid} on {platform.node()}"
        with pytest.raises(AlreadyOwnedError, match=said), owning(tmp_path):
            pass
        other.kill()
    with owning(tmp_path):  # death has released it
        with pytest.raises(AlreadyOwnedError, match=f"process {os.getpid()}"), owning(tmp_path):
            pass
        assert str(os.getpid()) in (tmp_path / LOCK).read_text()
    assert (tmp_path / LOCK).read_text() == ""


def test_a_lock_that_is_a_link_or_a_pipe_is_refused_and_nothing_is_written(tmp_path):
    secret, run = tmp_path / "secret", tmp_path / "run"
    secret.write_text("secret")
    run.mkdir()
    (run / LOCK).symlink_to(secret)
    with pytest.raises(ValueError, match=r"\.lock is a link"), owning(run):
        pass
    (run / LOCK).unlink()
    os.mkfifo(run / LOCK)
    with pytest.raises(ValueError, match="is a pipe"), owning(run):
        pass
    assert secret.read_text() == "secret"


def test_who_owns_a_folder_removes_what_was_left_half_written(tmp_path):
    for name in (".sweep.json.123", ".notes.123"):
        (tmp_path / name).write_text("half")
    with owning(tmp_path, "sweep.json"):
        assert {path.name for path in tmp_path.iterdir()} == {LOCK, ".notes.123"}


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS])
def test_where_nothing_can_be_locked_that_is_said(tmp_path, monkeypatch, number):
    def flock(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", flock)
    assert isinstance(filelock.FileLock(tmp_path / LOCK), filelock.UnixFileLock)
    with pytest.raises(NoLocksError, match="cannot lock files"), owning(tmp_path):
        pass


def test_leftovers_of_a_write_block_nothing(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    for name in (".settings.json.123", ".trajectories.npz.9.npz", ".untrained.npz.9.npz", LOCK):
        (folder / name).write_text("")
    with claimed(folder, Settings()) as there:
        assert not there
    assert sorted(path.name for path in folder.iterdir()) == [LOCK, "settings.json"]
    (folder / ".metrics.jsonl.77").write_text("half")
    for resume in (True, "auto"):
        with claimed(folder, Settings(), resume) as there:
            assert there
    assert sorted(path.name for path in folder.iterdir()) == [LOCK, "settings.json"]


@pytest.mark.parametrize("name", ["checkpoints", "init", "seed-0", "until-40"])
def test_a_run_whose_folders_are_links_is_not_gone_on_with(tmp_path, name):
    """What was about to be written and removed there was somebody else's."""
    with claimed(tmp_path / "run", Settings()):
        pass
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / ".settings.json.123").write_text("theirs")
    (tmp_path / "run" / name).symlink_to(tmp_path / "other")
    with pytest.raises(ValueError, match=f"{name} is a link"), claimed(tmp_path / "run", Settings(), True):
        pass
    assert (tmp_path / "other" / ".settings.json.123").exists()


def test_results_are_put_aside_through_no_link(tmp_path):
    run, other = tmp_path / "run", tmp_path / "other"
    for folder in (other, run / "seed-0", run / "until-40"):
        folder.mkdir(parents=True)
    (run / "seed-0" / "figure.png").write_text("mine")
    (run / "until-40" / "seed-0").symlink_to(other)
    with pytest.raises(ValueError, match="seed-0 is a link"):
        put_results_aside(run, 40)
    assert not list(other.iterdir())


def test_auto_begins_where_there_is_nothing(tmp_path):
    with claimed(tmp_path / "new", Settings(), "auto") as there:
        assert not there
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="not empty"), claimed(tmp_path, Settings(), "auto"):
        pass
    assert not (tmp_path / LOCK).exists()
