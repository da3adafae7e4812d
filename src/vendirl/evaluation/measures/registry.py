"""The measures that need nothing but data, by name: what each is asked, and how one is added.

@register("mean reward")
def _(asked):
    return Measure("mean reward", float(asked.data.rewards.mean()))
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

from vendirl.data.trajectories import Trajectories
from vendirl.evaluation.measures.cells import Bin
from vendirl.evaluation.measures.measure import Measure
from vendirl.similarity import Similarity


@dataclasses.dataclass(frozen=True)
class Question:
    """What a measure may look at.

    Attributes:
        data: skill data.
        features: the names of the features that cells and archives are made of.
        chosen: the same if they were asked for, None if all features are meant.
        bin: the width of cells; None to choose it from the data.
        K: (n, n) similarities of the skills, or None.
        similarity: what "alike" means, or None.
        seed: of all samples.
    """

    data: Trajectories
    features: list[str]
    chosen: list[str] | None = None
    bin: Bin = None
    K: Float[np.ndarray, "n n"] | None = None
    similarity: Similarity | None = None
    seed: int = 0


Answer = Callable[[Question], Measure | Sequence[Measure]]

_answers: dict[tuple[str, ...], Answer] = {}


def register(*names: str) -> Callable[[Answer], Answer]:
    """Make a measure known by the names of the values that it finds. One that raises ValueError has no value for these
    data, and the message is its note."""

    def remember(answer: Answer) -> Answer:
        _answers[names] = answer
        return answer

    return remember


def known() -> dict[tuple[str, ...], Answer]:
    """All measures, by the names of what they find, in the order in which they were made known."""
    return dict(_answers)


def ask_all(asked: Question) -> list[Measure]:
    """What all measures find; where one finds nothing, a note says why."""
    found: list[Measure] = []
    for names, answer in _answers.items():
        try:
            values = answer(asked)
            found += [values] if isinstance(values, Measure) else list(values)
        except ValueError as error:
            found += [Measure(name, None, note=str(error)) for name in names]
    return found
