"""Deals of the same episodes to skills, and who finds the kernel matrices of them: see `regrouping`."""

from __future__ import annotations

import abc
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

Deal = Sequence[Sequence[int] | Int[np.ndarray, " _"]]
"""For each skill the numbers of its episodes."""
Episodes = Sequence[Float[np.ndarray, "_ D"]]
"""The observations of each episode, (T_i, D)."""


class Regrouping(abc.ABC):
    """The kernel matrices of one set of episodes under one similarity, for any deals."""

    @abc.abstractmethod
    def matrices(self, deals: Sequence[Deal]) -> Float[np.ndarray, "deals n n"]:
        """One kernel matrix for each deal."""
