"""Errors that name the argument, what is wrong with it and what to do."""

from __future__ import annotations

import difflib
from typing import Any

import numpy as np
from jaxtyping import Float

from vendirl._checks import an_array, as_float, shown


def checked_items(items: Any) -> Float[np.ndarray, "N D"]:
    X = an_array(items, "items")
    if X.dtype.kind not in "fiub":
        raise TypeError(f"items must be an array of real numbers, but has type {X.dtype}")
    if X.ndim != 2:
        hint = "; use items[:, None] for items of one feature" if X.ndim == 1 else ""
        raise ValueError(f"items must be an (N, D) array, one item in each row, but has shape {X.shape}{hint}")
    if 0 in X.shape:
        raise ValueError(f"items has shape {X.shape}: there is nothing to score")
    X = X.astype(np.float64)
    if not np.isfinite(X).all():
        i, j = np.argwhere(~np.isfinite(X))[0]
        raise ValueError(f"items must be finite, but items[{i}, {j}] is {X[i, j]}")
    return X


def checked_order(q: Any) -> float:
    sound = isinstance(q, int | float | np.number) and as_float(q) >= 0
    check(sound, "q", "be a number in [0, inf] that a float can hold", q)
    return float(q)


def check(sound: bool | np.bool_, name: str, must: str, value: Any) -> None:
    if not sound:
        raise ValueError(f"{name} must {must}, but is {shown(value)}")


def refuse_unknown(name: Any, known: tuple[str, ...], what: str) -> None:
    if name not in known:
        near = difflib.get_close_matches(str(name), known, 1, cutoff=0.0)[0]
        raise ValueError(f"{what} must be one of {', '.join(known)}, but is {name!r}; did you mean {near!r}?")
