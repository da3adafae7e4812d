"""Files that others made: only regular ones of a sane size are read, and no link leads out of their folder."""

from __future__ import annotations

import os
import socket

import pytest

from vendirl._files import add_line, drop_leftovers, open_regular, read_regular, write_atomically


def test_a_regular_file_is_read_whole(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    assert read_regular(tmp_path / "a", 3) == b"abc"
    assert read_regular(str(tmp_path / "a"), 10, within=tmp_path) == b"abc"
    with open_regular(tmp_path / "a") as file:
        assert file.read() == b"abc"


def test_a_file_that_is_too_large_is_refused_with_the_limit(tmp_path):
    (tmp_path / "a").write_bytes(b"abcd")
    with pytest.raises(ValueError, match="larger than 3 bytes"):
        read_regular(tmp_path / "a", 3)


def test_a_missing_file_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "a", 3)


def test_what_is_no_regular_file_is_named_and_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as listening:
        at = os.getcwd()
        os.chdir(tmp_path)  # names of sockets are short
        listening.bind("socket")
        os.chdir(at)
        for name, kind in (("pipe", "a pipe"), ("zero", "a device"), (".", "a folder"), ("socket", "a socket")):
            with pytest.raises(ValueError, match=f"is {kind}, not a regular file"):
                read_regular(tmp_path / name, 3)


def test_links_within_a_folder_are_not_followed(tmp_path):
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("secret")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "file").symlink_to(tmp_path / "secret" / "key")
    (folder / "inner").symlink_to(tmp_path / "secret")
    for path in (folder / "file", folder / "inner" / "key"):
        assert read_regular(path, 10) == b"secret"
        with pytest.raises(ValueError, match="is a link, and links in a folder are not followed"):
            read_regular(path, 10, within=folder)
    with pytest.raises(ValueError, match="does not lie in"):
        read_regular(folder / ".." / "secret" / "key", 10, within=folder)
    (tmp_path / "way").symlink_to(tmp_path / "secret")  # a link to the folder itself is the reader's own
    assert read_regular(tmp_path / "way" / "key", 10, within=tmp_path / "way") == b"secret"


def test_what_is_written_goes_through_no_link(tmp_path):
    secret, folder = tmp_path / "secret", tmp_path / "folder"
    secret.write_text("secret")
    folder.mkdir()
    for name in ("board.json", f".board.json.{os.getpid()}"):  # the file itself, and what is written before it
        (folder / name).symlink_to(secret)
    write_atomically(folder / "board.json", "new")
    assert secret.read_text() == "secret"
    assert not (folder / "board.json").is_symlink()
    assert [(path.name, path.read_text()) for path in folder.iterdir()] == [("board.json", "new")]


def test_only_leftovers_of_what_is_written_are_removed(tmp_path):
    kept = (".lock", ".mine.123", "sweep.json.12", ".sweep.json", ".bashrc")
    for name in (".sweep.json.12", ".b.json.9", ".a.npz.7.npz", *kept):
        (tmp_path / name).write_text("")
    drop_leftovers(tmp_path, "sweep.json", "b.*", "*.npz")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(kept)


def test_lines_are_added_to_regular_files_only_and_through_no_link(tmp_path):
    for _ in range(2):
        add_line(tmp_path / "rows", "a")
    assert (tmp_path / "rows").read_text() == "a\na\n"
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "rows")
    (tmp_path / "nowhere").symlink_to(tmp_path / "new")
    for name, kind in (("pipe", "a pipe, not a regular file, so it is not written"), ("link", "a link"),
                       ("nowhere", "a link")):  # fmt: skip
        with pytest.raises(ValueError, match=f"is {kind}"):
            add_line(tmp_path / name, "b")
    assert (tmp_path / "rows").read_text() == "a\na\n"
    assert not (tmp_path / "new").exists()
