"""What an environment accepts as an action."""

import dataclasses
import math


@dataclasses.dataclass(frozen=True)
class Discrete:
    """The integers 0, ..., n - 1."""

    n: int

    def __post_init__(self) -> None:
        if self.n < 1:
            raise ValueError(f"Discrete(n={self.n}) holds no action; n must be at least 1.")


@dataclasses.dataclass(frozen=True)
class Box:
    """Vectors of `size` numbers, each between `low` and `high`; either end may be infinite."""

    size: int
    low: float = -1.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"Box(size={self.size}) holds no action; size must be at least 1.")
        if not self.low < self.high:
            raise ValueError(f"Box(low={self.low}, high={self.high}) is empty; low must be below high.")

    @property
    def centre(self) -> float:
        return 0.5 * (self.low + self.high) if self._finite else 0.0

    @property
    def half_width(self) -> float:
        return 0.5 * (self.high - self.low) if self._finite else 1.0

    @property
    def _finite(self) -> bool:
        return math.isfinite(self.low) and math.isfinite(self.high)
