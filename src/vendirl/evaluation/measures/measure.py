"""The result of a measure: a number together with the settings without which it cannot be compared with another."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Literal

import numpy as np


@dataclasses.dataclass(frozen=True)
class Measure:
    """A measured number and how it was measured.

    Attributes:
        name: what was measured.
        value: the number, or None if it cannot be computed; `note` then says why.
        settings: everything that was chosen and that the value depends on, as plain Python that JSON can hold.
        unit: of the value.
        better: which direction is usually wanted; None where neither is.
        note: what a reader of the value should know.

    Example:
        >>> print(Measure("state coverage", 37, {"bin": np.array([0.1, 0.1])}, unit="cells", better="higher"))
        state coverage: 37 cells (bin=[0.1, 0.1])
    """

    name: str
    value: float | None
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    unit: str = ""
    better: Literal["higher", "lower"] | None = None
    note: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", {str(key): _plain(value) for key, value in self.settings.items()})
        if self.value is None:
            if not self.note:
                raise ValueError(f"{self.name}: a measure without a value needs a note that says why")
            return
        value = float(self.value)
        if not math.isfinite(value):
            raise ValueError(f"{self.name} came out as {value}: the data are too large or too small for float64")
        object.__setattr__(self, "value", value)

    def __str__(self) -> str:
        number = "not computed" if self.value is None else f"{self.value:.6g} {self.unit}".rstrip()
        settings = ", ".join(f"{key}={value}" for key, value in self.settings.items())
        return (
            f"{self.name}: {number}" + (f" ({settings})" if settings else "") + (f"; {self.note}" if self.note else "")
        )

    def as_dict(self) -> dict[str, Any]:
        """All of it as a dictionary that JSON can hold."""
        return dataclasses.asdict(self)


def _plain(x: Any) -> Any:
    """NumPy's numbers and arrays, and tuples, as Python's numbers and lists."""
    if isinstance(x, np.ndarray | np.generic):
        return x.tolist()
    if isinstance(x, list | tuple):
        return [_plain(item) for item in x]
    return x
