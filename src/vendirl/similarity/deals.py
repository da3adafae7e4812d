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

    def places(self, deals: Sequence[Deal]) -> Float[np.ndarray, "deals n F"] | None:
        """The place of each skill of each deal, in a space where places may be moved and averaged, and k is a function
        of two of them: for similarities of means these. An episode that is named twice counts twice. None if a skill
        has no such place."""
        return None

    def of_places(self, places: Float[np.ndarray, "sets n F"]) -> Float[np.ndarray, "sets n n"]:
        """One kernel matrix for each set of n places."""
        raise TypeError("these skills have no places")
