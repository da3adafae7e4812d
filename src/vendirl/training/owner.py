"""One owner for each folder of a run: whoever writes in it holds its lock, and whoever only reads needs none.

The lock belongs to the process and ends with it, however it ends (`flock`; on Windows, its kin). The file `.lock` stays
behind: a lock file that is removed can be locked by two at once. While it is locked it says by whom.
"""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import filelock

from vendirl._files import drop_leftovers, open_regular

LOCK = ".lock"
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL, errno.EIO)


class AlreadyOwnedError(BlockingIOError):
    """Another process, or another run in this one, is writing in the folder."""


class NoLocksError(OSError):
    """The file system cannot lock files."""


@contextlib.contextmanager
def owning(folder: Path, *written: str) -> Iterator[None]:
    """Be the only one who writes in a folder, or refuse and say who does.

    Args:
        written: names, or patterns of names, of files that are written there; what a process that died left of them,
            half written, is removed.
    """
    path = folder / LOCK
    if os.path.lexists(path):  # locking it empties it, and what it says is written: to nothing but itself
        with open_regular(path, folder):
            pass
    lock = filelock.FileLock(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # where there are no locks, filelock makes do with less, and warns
            lock.acquire(blocking=False)
    except filelock.Timeout:
        raise AlreadyOwnedError(
            f"{folder} is being written by {_owner(path)}; wait until it has ended, end it, or choose another --out"
        ) from None
    except (OSError, NotImplementedError, Warning) as error:
        if isinstance(error, OSError) and error.errno not in _NO_LOCKS:
            raise
        raise NoLocksError(
            f"{folder} lies on a file system that cannot lock files ({error}), so that two processes could write in it "
            "at once; choose another --out, such as on a local disk"
        ) from None
    try:
        with contextlib.suppress(OSError):  # a disk that is full: the lock holds, but says no name
            path.write_text(f"process {os.getpid()} on {platform.node()}, since {time.strftime('%Y-%m-%d %H:%M:%S')}\n")
        drop_leftovers(folder, *written)
        yield
    finally:
        with contextlib.suppress(OSError):
            path.write_text("")
        lock.release()


def _owner(path: Path) -> str:
    """Who the lock says has it."""
    try:
        with open(path) as file:
            said = file.read(200).strip()
    except (OSError, ValueError):
        said = ""
    return said if said.isprintable() and said else "another process, which has not said its name yet"
