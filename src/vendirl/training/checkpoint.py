"""Checkpoints: the arrays of a run, written atomically by Orbax, with a list of what was written.

A checkpoint is a folder `checkpoints/<epoch>` of array data (Orbax, nothing that could run) and, written last and
renamed into place, `checkpoints/<epoch>.json` with the size and SHA-256 of each file in it, the names, shapes and types
of the arrays, and the fingerprint of the run. Without that list a checkpoint does not exist: one that was being written
when the process died is ignored. One that differs from its list, or whose arrays do, is damaged: the one before it is
used, and whoever goes on with the run puts the damaged one aside, as `damaged-<epoch>`.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import logging
import os
import re
import shutil
import stat
import sys
import warnings
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from vendirl._files import read_regular, refuse_links, sync_folder, sync_tree, write_atomically
from vendirl.training import migrations
from vendirl.training.reading import parse_table

MOST_OF_A_LIST = 2**26
"""Bytes of the list of a checkpoint."""


class DamagedError(ValueError):
    """A checkpoint is not what was written."""


def save(folder: Path, epoch: int, tree: PyTree[Array], fingerprint: str, keep: int = 2) -> None:
    """Write the arrays of a pytree as the checkpoint of an epoch, and drop all but the newest `keep`."""
    refuse_links(folder, folder.parent)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder.resolve() / str(epoch)
    arrays = {name: np.asarray(leaf) for name, leaf in _named(tree).items()}
    manifest = folder / f"{epoch}.json"
    manifest.unlink(missing_ok=True)
    _drop_unfinished(folder)
    try:
        with _silence(), _checkpointer() as checkpointer:
            checkpointer.save(path, arrays)
        sync_tree(path)
    except Exception as error:
        _drop_unfinished(folder)  # it may be what fills the disk
        raise _unwritten(error) from None
    listing = {
        "fingerprint": fingerprint,
        "arrays": {name: [list(array.shape), str(array.dtype)] for name, array in arrays.items()},
        "files": {name: list(_digest(path / name)) for name in _files(path)},
    }
    write_atomically(manifest, json.dumps(listing, indent=1))
    for old in epochs(folder)[:-keep]:
        (folder / f"{old}.json").unlink()
        shutil.rmtree(folder / str(old), ignore_errors=True)


def epochs(folder: Path) -> list[int]:
    """The epochs of the complete checkpoints, oldest first."""
    return sorted(int(path.stem) for path in folder.glob("*.json") if re.fullmatch("0|[1-9][0-9]{0,17}", path.stem))


def newest(
    folder: Path,
    like: PyTree[Array | jax.ShapeDtypeStruct],
    fingerprints: Collection[str],
    check: Callable[[int, PyTree[Array]], str | None] = lambda epoch, tree: None,
    put_aside: bool = False,
) -> PyTree[Array] | None:
    """The pytree of the newest checkpoint that is whole, or None if there never was one.

    Args:
        like, fingerprints: see `load`.
        check: what is wrong with the arrays of an epoch, if anything is.
        put_aside: rename those that are damaged, which only the owner of the folder may do.
    """
    refuse_links(folder, folder.parent)
    found = epochs(folder)
    said = []
    for epoch in reversed(found):
        try:
            tree = load(folder, epoch, like, fingerprints)
            if wrong := check(epoch, tree):
                raise DamagedError(f"the checkpoint {folder / str(epoch)} is damaged: {wrong}")
        except DamagedError as error:
            said.append((epoch, str(error)))
            continue
        for damaged, why in said:
            aside = f", and it is kept aside as damaged-{damaged}" if put_aside else ""
            warnings.warn(f"{why}; the one of epoch {epoch} is used instead{aside}", stacklevel=4)
            if put_aside:
                _put_aside(folder, damaged)
        return tree
    if said:
        others = "" if len(said) == 1 else f", and so are all {len(said) - 1} before it"
        raise DamagedError(f"{said[0][1]}{others}; begin the run again in another folder")
    return None


def load(
    folder: Path, epoch: int, like: PyTree[Array | jax.ShapeDtypeStruct], fingerprints: Collection[str]
) -> PyTree[Array]:
    """The pytree of a checkpoint, with the structure, shapes and types of `like`, which may be abstract. Its
    fingerprint must be one of those given."""
    path = folder.resolve() / str(epoch)
    damaged = f"the checkpoint {path} is damaged"
    try:
        listing = parse_table(read_regular(folder / f"{epoch}.json", MOST_OF_A_LIST, folder))
        files, listed, theirs = dict(listing["files"]), dict(listing["arrays"]), str(listing["fingerprint"])
        files = {str(name): [int(size), str(digest)] for name, (size, digest) in files.items()}
        listed = {str(name): [[int(size) for size in shape], str(dtype)] for name, (shape, dtype) in listed.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise DamagedError(f"{damaged}: its list {epoch}.json cannot be read ({error})") from None
    if theirs not in fingerprints:
        raise ValueError(
            f"the checkpoint {path} belongs to another run: it was made with other settings or another version; "
            "resume with the settings in settings.json, or choose another folder"
        )
    if path.is_symlink():
        raise DamagedError(f"{damaged}: it is a link, which could lead anywhere")
    found = _files(path)
    for name in sorted(files.keys() | found.keys()):
        if found.get(name, 0) < 0:
            raise DamagedError(f"{damaged}: {name} is a link, a pipe or a device")
        if name not in found:
            raise DamagedError(f"{damaged}: {name} is missing")
        if name not in files:
            raise DamagedError(f"{damaged}: {name} was not written by this run")
        if [found[name]] != files[name][:1] or list(_digest(path / name)) != files[name]:
            raise DamagedError(f"{damaged}: {name} differs")
    expected = {name: [list(leaf.shape), str(leaf.dtype)] for name, leaf in _named(like).items()}
    where = migrations.places(listed, expected)
    if not migrations.fits(listed, expected, where):
        raise ValueError(f"the checkpoint {path} belongs to another run: its arrays have other names or shapes")
    try:
        with _silence(), _checkpointer() as checkpointer:
            arrays = checkpointer.restore(path, {name: np.zeros(*listed[name]) for name in listed})
        # Orbax gives what is there, whatever was asked for.
        there = {name: [list(np.shape(array)), str(array.dtype)] for name, array in arrays.items()}
    except Exception as error:
        raise DamagedError(f"{damaged}: its arrays cannot be read ({_first_line(error)})") from None
    if there != listed:
        wrong = min(name for name in there.keys() | listed.keys() if there.get(name) != listed.get(name))
        raise DamagedError(f"{damaged}: {wrong} is not of the shape and type that its list {epoch}.json says")
    leaves, structure = jax.tree.flatten(like)
    values = [arrays[where[name]][tuple(map(slice, expected[name][0]))] for name in expected]
    return jax.tree.unflatten(structure, [_restored(leaf, value) for leaf, value in zip(leaves, values, strict=True)])


def _checkpointer() -> Any:
    """Orbax's, of this process alone: those of a run over several would wait for each other, but one of them writes."""
    import orbax.checkpoint as ocp  # three seconds that a run need not wait for before its first update

    me = jax.process_index()
    alone = ocp.options.MultiprocessingOptions(primary_host=me, active_processes={me}, barrier_sync_key_prefix=str(me))
    handler = ocp.StandardCheckpointHandler(multiprocessing_options=alone)
    return ocp.Checkpointer(handler, multiprocessing_options=alone)


def _named(tree: PyTree[Array | jax.ShapeDtypeStruct]) -> dict[str, Array | jax.ShapeDtypeStruct]:
    """The arrays of a pytree by their place in it, random keys as their data."""
    paths, _ = jax.tree.flatten_with_path(tree)
    return {jax.tree_util.keystr(path): _data(leaf) for path, leaf in paths}


def _data(leaf: Array | jax.ShapeDtypeStruct) -> Array | jax.ShapeDtypeStruct:
    if not jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return leaf
    if isinstance(leaf, jax.ShapeDtypeStruct):
        return jax.eval_shape(jax.random.key_data, leaf)
    return jax.random.key_data(leaf)


def _restored(leaf: Array | jax.ShapeDtypeStruct, value: Array | np.ndarray | np.generic) -> Array:
    array = jnp.asarray(value)
    return jax.random.wrap_key_data(array) if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else array


def _files(folder: Path) -> dict[str, int]:
    """The sizes of all files below a folder, by relative name; of what is no plain file, such as a link, -1."""
    found = {str(path.relative_to(folder)): path.lstat() for path in sorted(folder.rglob("*"))}
    plain = {name: kind for name, kind in found.items() if not stat.S_ISDIR(kind.st_mode)}
    return {name: kind.st_size if stat.S_ISREG(kind.st_mode) else -1 for name, kind in plain.items()}


def _digest(file: Path) -> tuple[int, str]:
    """Size and SHA-256 of a file."""
    with open(file, "rb") as opened:
        return os.fstat(opened.fileno()).st_size, hashlib.file_digest(opened, "sha256").hexdigest()


def _drop_unfinished(folder: Path) -> None:
    """Remove what was being written when a process died: array data without a list."""
    for path in folder.iterdir():
        name = re.fullmatch(r"(\d+)(\.orbax-checkpoint-tmp.*)?", path.name)
        if name and path.is_dir() and (name[2] or not (folder / f"{name[1]}.json").exists()):
            path.unlink() if path.is_symlink() else shutil.rmtree(path, ignore_errors=True)


def _put_aside(folder: Path, epoch: int) -> None:
    """Rename a checkpoint that is damaged. Its list comes first: without it, it does not count."""
    number = next(n for n in range(10**6) if not any(_aside(folder, epoch, n, end).exists() for end in ("", ".json")))
    for end in (".json", ""):
        with contextlib.suppress(FileNotFoundError):
            (folder / f"{epoch}{end}").rename(_aside(folder, epoch, number, end))
    sync_folder(folder)


def _aside(folder: Path, epoch: int, number: int, end: str) -> Path:
    return folder / f"damaged-{epoch}{f'-{number}' if number else ''}{end}"


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Orbax logs an error several times, with tracebacks of its threads, before it raises it. After that, writes that
    are still under way find that nobody waits for them, and say so: that is no news, and is left out for good."""
    logger, hook = logging.getLogger("absl"), sys.unraisablehook
    before, logger.disabled = logger.disabled, True

    def but_abandoned(found: Any) -> None:
        if not (isinstance(found.exc_value, RuntimeError) and str(found.exc_value) == "Event loop is closed"):
            hook(found)

    sys.unraisablehook = but_abandoned
    try:
        yield
        sys.unraisablehook = hook
    finally:
        logger.disabled = before


def _unwritten(error: Exception) -> OSError:
    """In one line why something was not written: Orbax has its own words for what the system said."""
    number = next((n for n in errno.errorcode if n > 1 and os.strerror(n) in str(error)), errno.EIO)
    if isinstance(error, OSError) and error.errno is not None:
        number = error.errno
    return OSError(number, os.strerror(number) if number != errno.EIO else _first_line(error))


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
