"""What a set of skills scores in one sense, with what is needed to judge the number."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from vendirl._text import percent, printable
from vendirl.evaluation.chance import verdict
from vendirl.evaluation.variation import Variation


@dataclasses.dataclass(frozen=True, eq=False)
class Diversity:
    """The diversity of a set of skills in the sense of one similarity.

    Attributes:
        similarity: k, as text: as it was given, if as text.
        q: the order of the score.
        vendi_score: the effective number of unique skills, all episodes of a skill pooled.
        ceiling: no set of as many skills can score more.
        repetition: a confidence interval of the score to be expected of as many episodes of each skill, or None.
        repetition_note: why there is none, or None.
        limit: a confidence interval of the score that infinitely many episodes would have, or None.
        limit_note: why there is none, or None.
        interval: the one that is printed: `repetition`.
        interval_note: why there is no interval, or how it was made if not from all observations, or None.
        narrower: what would make the intervals half as wide, or None.
        bias: by how much the score is inflated (or deflated) by having few episodes, as estimated; 0 if not known.
        null: the mean score when episodes are dealt to skills at random; `null_interval` is where such scores lie.
        excess: the score minus the null.
        p_value: how often chance alone scores at least as much.
        least_p: the least p-value that so few episodes (or shuffles) could have.
        deals: in how many different ways the episodes can be dealt to the skills, 10**300 if in more.
        negative_mass: minus the sum of the negative eigenvalues of K/n, which are clipped.
        profile: the score by order q.
        spectrum: the eigenvalues of K/n, largest first.
        contributions: for each skill VS - VS without it.
        twins: for each skill the one most like it, and how alike they are.
        kernel: K.
        confidence, resamples, shuffles, seed: how intervals and null were made.
        variation: what the repetition was made from, or None.
    """

    similarity: str
    q: float
    vendi_score: float
    ceiling: float
    repetition: tuple[float, float] | None
    repetition_note: str | None
    limit: tuple[float, float] | None
    limit_note: str | None
    interval_note: str | None
    narrower: str | None
    bias: float
    null: float
    null_interval: tuple[float, float]
    excess: float
    p_value: float
    least_p: float
    deals: int
    negative_mass: float
    profile: dict[float, float]
    spectrum: Float[np.ndarray, " n"]
    contributions: Float[np.ndarray, " n"]
    twins: list[tuple[int, float]]
    kernel: Float[np.ndarray, "n n"]
    confidence: float
    resamples: int
    shuffles: int
    seed: int
    variation: Variation | None = None
    method: str = "exact"

    @property
    def interval(self) -> tuple[float, float] | None:
        return self.repetition

    @property
    def verdict(self) -> str:
        """Whether the skills are more diverse than chance, in words."""
        return verdict(self.p_value, self.least_p, self.deals)

    def sentences(self, tabled: bool = False) -> list[str]:
        """Which interval is which, why one is not there, what would make them narrower, and the verdict.

        Args:
            tabled: whether the intervals that are there stand in a table already.
        """
        sure, found = f"{percent(self.confidence)} interval", []
        if self.repetition and not tabled:
            found.append(f"{sure} of the score that as many episodes would have again: {between(self.repetition)}")
        if self.limit and not tabled:
            found.append(f"{sure} of the score that infinitely many episodes would have: {between(self.limit)}")
        if self.limit and (why := self._outside()):
            found.append(f"the score lies outside of the limit's interval: {why}")
        missing: dict[str | None, list[str]] = {}
        for interval, note, name in (
            (self.repetition, self.repetition_note, "a repetition"),
            (self.limit, self.limit_note, "the limit"),
        ):
            if interval is None:
                missing.setdefault(note, []).append(name)
        found += [f"no interval of {' or of '.join(names)}: {note}" for note, names in missing.items()]
        found += [self.narrower] if self.narrower else []
        found += [self.interval_note] if self.interval_note and self.interval_note != self.repetition_note else []
        return [*found, self.verdict]

    def _outside(self) -> str:
        """Why the score is not in the limit's interval, in five words."""
        if self.limit is None or self.limit[0] <= self.vendi_score <= self.limit[1]:
            return ""
        return f"few episodes {'inflate' if self.vendi_score > self.limit[1] else 'deflate'} the score"

    def to_json(self) -> dict[str, Any]:
        """Plain data; infinite orders are written "inf"."""
        plain = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        plain.pop("variation")
        return {
            **plain,
            "q": order_text(self.q),
            "repetition": None if self.repetition is None else list(self.repetition),
            "limit": None if self.limit is None else list(self.limit),
            "interval": None if self.interval is None else list(self.interval),
            "verdict": self.verdict,
            "null_interval": list(self.null_interval),
            "profile": {str(order_text(q)): score for q, score in self.profile.items()},
            "spectrum": self.spectrum.tolist(),
            "contributions": self.contributions.tolist(),
            "twins": [{"skill": i, "twin": j, "similarity": s} for i, (j, s) in enumerate(self.twins)],
            "kernel": self.kernel.tolist(),
        }

    def __str__(self) -> str:
        lines = [
            f"{self.similarity}: Vendi Score {self.vendi_score:.3f} of at most {self.ceiling:g}, "
            f"null {self.null:.3f} {bracketed(self.null_interval)}, p {self.p_value:.3f}",
            *self.sentences(),
        ]
        return "\n  ".join(map(printable, lines))  # labels of skills come from files


def order_text(q: float) -> float | str:
    """An order that JSON can hold."""
    return "inf" if math.isinf(q) else q


def bracketed(interval: Sequence[float]) -> str:
    """[low, high], with three decimals."""
    return f"[{interval[0]:.3f}, {interval[1]:.3f}]"


def columns_said(confidence: float) -> str:
    """What the columns of a table that are called "a repetition" and "the limit" hold."""
    return (
        f"a repetition: {percent(confidence)} interval of the score that as many episodes would have again; the limit: "
        "that of infinitely many"
    )


def between(interval: Sequence[float] | None) -> str:
    """low to high, with three decimals; a dash for none."""
    return "-" if interval is None else f"{interval[0]:.3f} to {interval[1]:.3f}"
