"""Checkpoints: the arrays of a run, written atomically by Orbax, with a list of what was written.

A checkpoint is a folder `checkpoints/<epoch>` of array data (Orbax, nothing that could run) and, written last and
renamed into place, `checkpoints/<epoch>.json` with the size and SHA-256 of each file in it, the names, shapes and types
of the arrays, and the fingerprint of the run. Without that list a checkpoint does not exist: one that was being written
when the process died is ignored. One that differs from its list is refused.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Collection
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from vendirl._files import write_atomically
from vendirl.training import migrations


def save(folder: Path, epoch: int, tree: PyTree[Array], fingerprint: str, keep: int = 2) -> None:
    """Write the arrays of a pytree as the checkpoint of an epoch, and drop all but the newest `keep`."""
    import orbax.checkpoint as ocp  # three seconds that a run need not wait for before its first update

    folder.mkdir(parents=True, exist_ok=True)
    path = folder.resolve() / str(epoch)
    arrays = {name: np.asarray(leaf) for name, leaf in _named(tree).items()}
    manifest = folder / f"{epoch}.json"
    manifest.unlink(missing_ok=True)
    shutil.rmtree(path, ignore_errors=True)
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(path, arrays)
        checkpointer.wait_until_finished()
    listing = {
        "fingerprint": fingerprint,
        "arrays": {name: [list(array.shape), str(array.dtype)] for name, array in arrays.items()},
        "files": {name: [size, digest] for name, size, digest in _digests(path)},
    }
    write_atomically(manifest, json.dumps(listing, indent=1))
    for old in epochs(folder)[:-keep]:
        (folder / f"{old}.json").unlink()
        shutil.rmtree(folder / str(old), ignore_errors=True)


def epochs(folder: Path) -> list[int]:
    """The epochs of the complete checkpoints, oldest first."""
    return sorted(int(path.stem) for path in folder.glob("*.json") if path.stem.isdigit())


def load(
    folder: Path, epoch: int, like: PyTree[Array | jax.ShapeDtypeStruct], fingerprints: Collection[str]
) -> PyTree[Array]:
    """The pytree of a checkpoint, with the structure, shapes and types of `like`, which may be abstract. Its
    fingerprint must be one of those given."""
    import orbax.checkpoint as ocp

    path = folder.resolve() / str(epoch)
    try:
        listing = json.loads((folder / f"{epoch}.json").read_text())
        files, listed, theirs = dict(listing["files"]), dict(listing["arrays"]), str(listing["fingerprint"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"the checkpoint {path} is damaged: its list {epoch}.json cannot be read ({error})") from None
    if theirs not in fingerprints:
        raise ValueError(
            f"the checkpoint {path} belongs to another run: it was made with other settings or another version; "
            "resume with the settings in settings.json, or choose another folder"
        )
    found = {name: [size, digest] for name, size, digest in _digests(path)}
    for name in sorted(files.keys() | found.keys()):
        if files.get(name) != found.get(name):
            what = (
                "is missing" if name not in found else "was not written by this run" if name not in files else "differs"
            )
            raise ValueError(
                f"the checkpoint {path} is damaged: {name} {what}; delete {epoch}.json to resume from an earlier one"
            )
    expected = {name: [list(leaf.shape), str(leaf.dtype)] for name, leaf in _named(like).items()}
    where = migrations.places(listed, expected)
    if not migrations.fits(listed, expected, where):
        raise ValueError(f"the checkpoint {path} belongs to another run: its arrays have other names or shapes")
    target = {name: np.zeros(shape, dtype) for name, (shape, dtype) in listed.items()}
    with ocp.StandardCheckpointer() as checkpointer:
        arrays = checkpointer.restore(path, target)
    leaves, structure = jax.tree.flatten(like)
    values = [arrays[where[name]][tuple(map(slice, expected[name][0]))] for name in expected]
    return jax.tree.unflatten(structure, [_restored(leaf, value) for leaf, value in zip(leaves, values, strict=True)])


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


def _digests(folder: Path) -> list[tuple[str, int, str]]:
    """(relative name, size, SHA-256) of all files below a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [(str(f.relative_to(folder)), f.stat().st_size, hashlib.sha256(f.read_bytes()).hexdigest()) for f in files]
