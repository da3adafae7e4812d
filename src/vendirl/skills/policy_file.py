"""The file of a policy: arrays in an npz file that is not compressed, and what they are as JSON in `about`.

A file is data: it is never unpickled, what its headers claim is compared with what is there, and whatever is no policy
is refused in a line. Nothing here needs JAX.
"""

from __future__ import annotations

import io
import json
import math
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from vendirl._files import read_regular, write_bytes_atomically
from vendirl.skills.portable import OPTIONAL, Policy

FORMAT, VERSION = "vendirl policy", 1
MOST_BYTES = 2**28
"""Of a file; that of a network of (64, 64) has some 30,000."""
MOST_LAYERS = 100
MOST_ABOUT = 2**24
"""Bytes of what a file says of itself, most of which are names of features."""

_TEXTS, _NUMBERS = ("kind", "activation", "env", "skill"), ("episode_length", "first")
_ABOUT = (*_TEXTS, *_NUMBERS, "timed", "features", "shape")


def write(policy: Policy, path: Path) -> None:
    """Write a policy for `load_policy`, all at once or not at all. A file that is there and is no policy is kept."""
    if path.exists():
        try:
            load_policy(path)
        except ValueError:
            raise FileExistsError(f"{path} is there and holds no policy; choose another name, or remove it") from None
    arrays = {"mean": policy.mean, "scale": policy.scale}
    for i, (W, b) in enumerate(policy.layers):
        arrays |= {f"weight_{i}": W, f"bias_{i}": b}
    arrays |= {name: x for name in OPTIONAL if (x := getattr(policy, name)) is not None}
    about = {name: getattr(policy, name) for name in _ABOUT} | {"layers": len(policy.layers)}
    text = json.dumps({"format": FORMAT, "version": VERSION, **about})
    file = io.BytesIO()
    kept: dict[str, Any] = {name: np.ascontiguousarray(x) for name, x in arrays.items()}
    np.savez(file, about=np.frombuffer(text.encode(), np.uint8), **kept)
    write_bytes_atomically(path, file.getvalue())


def load_policy(path: str | os.PathLike[str]) -> Policy:
    """The policy in a file that `Policy.save` wrote. The file is data: whatever is wrong with it is refused."""
    path = Path(path)
    try:
        content = read_regular(path, MOST_BYTES)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return _policy_in(archive)
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} does not exist") from None
    except (
        *(ValueError, TypeError, KeyError, SyntaxError, EOFError, OverflowError, RecursionError, MemoryError),
        *(zipfile.BadZipFile, NotImplementedError, RuntimeError),
    ) as error:
        why = (" ".join(str(error).split()) or type(error).__name__)[:300]
        raise ValueError(f"{path} holds no policy, or is damaged: {why}") from None


def _policy_in(archive: zipfile.ZipFile) -> Policy:
    names = [member.filename.removesuffix(".npy") for member in archive.infolist()]
    if "about" not in names:
        raise ValueError("there is no array 'about' in it; Policy.save writes one")
    if archive.getinfo("about.npy").file_size > MOST_ABOUT:
        raise ValueError(f"it says more than {MOST_ABOUT:,} bytes of itself")
    about = json.loads(_array(archive, "about", np.uint8).tobytes())
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ValueError(f"it does not say that its format is {FORMAT!r}")
    if about.get("version") != VERSION:
        raise ValueError(f"it is of version {str(about.get('version'))[:40]} of the format, and this reads {VERSION}")
    number: Any = about.get("layers")
    if not _is_whole(number) or not 1 <= number <= MOST_LAYERS:
        raise ValueError(f"layers must be a whole number from 1 to {MOST_LAYERS}")
    said = _said(about)
    layers = [f"{kind}_{i}" for i in range(number) for kind in ("weight", "bias")]
    optional = [name for name in OPTIONAL if name in names]
    wanted = ["about", "mean", "scale", *optional, *layers]
    if sorted(names) != sorted(wanted):
        raise ValueError(f"its arrays must be {', '.join(sorted(wanted))}, but are {', '.join(sorted(names)[:20])}")
    types = {"low": np.float64, "high": np.float64}
    arrays: dict[str, Any] = {name: _array(archive, name, types.get(name, np.float32)) for name in wanted[1:]}
    weights = [(arrays.pop(W), arrays.pop(b)) for W, b in zip(layers[::2], layers[1::2], strict=True)]
    return Policy(layers=tuple(weights), **arrays, **said)


def _said(about: dict[str, Any]) -> dict[str, Any]:
    """What the file says of its arrays, if each is of the right kind; `Policy` sees whether it makes sense."""
    said: dict[str, Any] = {name: about.get(name) for name in _ABOUT}
    features, shape = said["features"], said["shape"]
    sound = {
        **{name: isinstance(said[name], str) for name in _TEXTS},
        **{name: _is_whole(said[name]) for name in _NUMBERS},
        "timed": isinstance(said["timed"], bool),
        "features": isinstance(features, list) and all(isinstance(name, str) for name in features),
        "shape": shape is None or (isinstance(shape, list) and len(shape) <= 32 and all(map(_is_whole, shape))),
    }
    if wrong := [name for name in _ABOUT if not sound[name]]:
        raise ValueError(f"{wrong[0]} is missing, or not of the kind that it should be")
    return said | {"features": tuple(features), "shape": None if shape is None else tuple(shape)}


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53


def _array(archive: zipfile.ZipFile, name: str, dtype: type) -> np.ndarray:
    """An array, if it is what its header claims. It must not be compressed, so that it is no larger than the file."""
    member = archive.getinfo(f"{name}.npy")
    if member.compress_type != zipfile.ZIP_STORED or member.file_size > MOST_BYTES:
        raise ValueError(f"the array {name!r} is compressed, which those of a policy are not")
    content = archive.read(member)  # which compares its checksum
    file = io.BytesIO(content)
    if npy.read_magic(file) != (1, 0):
        raise ValueError(f"the array {name!r} has a header of another version")
    shape, fortran, found = npy.read_array_header_1_0(file)
    start = file.tell()
    if found != np.dtype(dtype) or fortran or len(shape) > 2:
        raise ValueError(f"the array {name!r} holds {str(found)[:80]} in {len(shape)} dimensions")
    if math.prod(shape) * found.itemsize != len(content) - start:
        raise ValueError(f"the array {name!r} claims shape {str(shape)[:80]}, but has {len(content) - start} bytes")
    return np.frombuffer(content, found, offset=start).reshape(shape)
