"""Files that are either the old one or the new one, whole, whatever happens; and files of others, read with care."""

from __future__ import annotations

import contextlib
import fnmatch
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


def write_atomically(path: Path, text: str) -> None:
    """Write a text file so that it is either the old one or the new one, whole."""
    write_bytes_atomically(path, text.encode())


def write_bytes_atomically(path: Path, content: bytes) -> None:
    """Write a file so that it is either the old one or the new one, whole, also if the machine loses its power."""
    with atomically(path) as temporary:
        temporary.write_bytes(content)


@contextlib.contextmanager
def atomically(path: Path, ending: str = "") -> Iterator[Path]:
    """The name of a file to write, which then takes the place of another, whole, also if the machine loses its power.

    It lies beside the other and is hidden; `ending` is for those who insist on one.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}{ending}")
    temporary.unlink(missing_ok=True)  # in a folder of others it may be a link, which would be written through
    try:
        yield temporary
        sync(temporary)
        temporary.replace(path)
    finally:
        with contextlib.suppress(OSError):  # what went wrong before is what should be said
            temporary.unlink(missing_ok=True)
    sync_folder(path.parent)


def add_line(path: Path, line: str) -> None:
    """Add a line to a file that grows. No link is followed, and what is no regular file is refused in words."""
    if os.path.lexists(path):
        refuse_links(path, path.parent)
        _refuse_irregular(path, os.lstat(path).st_mode, "written")
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | _flag("O_NONBLOCK") | _flag("O_NOCTTY") | _flag("O_NOFOLLOW")
    with open(os.open(path, flags, 0o666), "a") as file:
        file.write(line + "\n")


def drop_leftovers(folder: Path, *names: str) -> None:
    """Remove what was being written to files of these names when a process died: only for who owns the folder.

    Names may be patterns, such as `*.json`.
    """
    for path in folder.glob(".*"):
        found = _UNFINISHED.fullmatch(path.name)
        if found and any(fnmatch.fnmatchcase(found[1], name) for name in names):
            path.unlink(missing_ok=True)


_UNFINISHED = re.compile(r"\.(.+?)\.\d+(\.[a-z0-9]+)?")


def sync(file: Path) -> None:
    """Wait until what is in a file is on the disk."""
    with open(file, "rb+") as opened:
        os.fsync(opened.fileno())


def sync_tree(folder: Path) -> None:
    """The same of all files below a folder, and of their names."""
    for place, _, files in os.walk(folder):
        for name in files:
            sync(Path(place, name))
        sync_folder(Path(place))


def sync_folder(folder: Path) -> None:
    """Make sure that what was renamed in a folder stays so; where folders cannot be opened, nothing can be done."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def open_regular(path: str | os.PathLike[str], within: str | os.PathLike[str] | None = None) -> BinaryIO:
    """Open a file that others may have made, to read it: only a regular one, so that opening and reading it end.

    Pipes, devices, sockets and folders are refused in words; a missing file raises `FileNotFoundError`, as ever.

    Args:
        path: the file.
        within: a folder that holds it, if it came in one: no link below that folder is followed, so that what is read
            is what came, and not what a link in it points to.
    """
    path = Path(path)
    if within is not None:
        refuse_links(path, within)
    _refuse_irregular(path, os.stat(path).st_mode)  # before it is opened, since opening alone can do things to devices
    flags = os.O_RDONLY | _flag("O_NONBLOCK") | _flag("O_NOCTTY") | _flag("O_BINARY")
    descriptor = os.open(path, flags | (_flag("O_NOFOLLOW") if within is not None else 0))
    try:
        _refuse_irregular(path, os.fstat(descriptor).st_mode)  # again, in case that it was replaced in between
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(path: str | os.PathLike[str], most_bytes: int, within: str | os.PathLike[str] | None = None) -> bytes:
    """The content of a file that others may have made: a regular one (see `open_regular`) of at most so many bytes."""
    with open_regular(path, within) as file:
        claimed = os.fstat(file.fileno()).st_size
        content = file.read(min(claimed, most_bytes) + 1)  # memory is taken for as much as is asked for
        if claimed < len(content) <= most_bytes:  # whatever size it claims to have
            content += file.read(most_bytes + 1 - len(content))
    if len(content) > most_bytes:
        raise ValueError(f"{path} is larger than {most_bytes:,} bytes, which is more than such a file can need")
    return content


def refuse_links(path: str | os.PathLike[str], within: str | os.PathLike[str]) -> None:
    """Refuse a path if anything on the way to it, from a folder that it lies in, is a link."""
    steps = Path(path).relative_to(within).parts
    if ".." in steps:
        raise ValueError(f"{path} does not lie in {within}")
    for i in range(len(steps)):
        way = Path(within).joinpath(*steps[: i + 1])
        if way.is_symlink():
            raise ValueError(
                f"{way} is a link, and links in a folder are not followed, since they could lead to any file; put a "
                "copy of what it stands for in its place"
            )


def _refuse_irregular(path: Path, mode: int, done: str = "read") -> None:
    if stat.S_ISREG(mode):
        return
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    kind = kinds.get(stat.S_IFMT(mode), "a device")
    raise ValueError(f"{path} is {kind}, not a regular file, so it is not {done}")


def _flag(name: str) -> int:
    """A flag of `os.open`, where the system has it."""
    return getattr(os, name, 0)
