"""Files that are either the old one or the new one, whole, whatever happens."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


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
    try:
        yield temporary
        sync(temporary)
        temporary.replace(path)
    finally:
        with contextlib.suppress(OSError):  # what went wrong before is what should be said
            temporary.unlink(missing_ok=True)
    sync_folder(path.parent)


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
