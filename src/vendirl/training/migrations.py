"""Checkpoints of earlier versions: where an array is that has another name now."""

from __future__ import annotations

import re
from collections.abc import Mapping

Shapes = Mapping[str, list]
"""By the name of an array, its shape and type."""


def places(listed: Shapes, expected: Shapes) -> dict[str, str]:
    """For each array that is expected, the name under which a checkpoint lists it. Where a vector in the checkpoint is
    longer than the one that is expected, its beginning is meant.

    BeCL's model was once a pair of a network and a vector of zeros, as long as there were skills, which its optimiser
    kept track of too.
    """
    found = {name: name for name in expected}
    for name in listed:
        if name in expected or not (pair := re.fullmatch(r"(\.method(?:\[\d+\])?)\.model\[1\]", name)):
            continue
        model = f"{pair[1]}.model"
        found |= {new: f"{model}[0]{new.removeprefix(model)}" for new in expected if new.startswith(f"{model}.")}
    return found


def fits(listed: Shapes, expected: Shapes, where: Mapping[str, str]) -> bool:
    """Whether all that is expected is there, in the same shapes and types, but for vectors that were longer."""

    def fit(name: str) -> bool:
        if where[name] not in listed:
            return False
        (shape, dtype), (theirs, their_dtype) = expected[name], listed[where[name]]
        same = shape == theirs or (len(shape) == len(theirs) == 1 and theirs[0] > shape[0] and where_changed)
        return same and dtype == their_dtype

    where_changed = any(new != old for new, old in where.items())
    return all(map(fit, expected)) and (where_changed or set(listed) == set(expected))
