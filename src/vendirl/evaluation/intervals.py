"""The two intervals of a score: for what a repetition would give, and for what infinitely many episodes would.

    repetition:  g(S) ± t e        for E S of as many episodes, which S estimates without bias
    limit:       see `limits`      for S of infinitely many

with g the scale, e the standard error of g(S), and t Student's quantile (`variation`). Where they would not hold what
they say they are refused with the reason. The numbers in these rules were chosen by simulation, the first and the one
about few skills after cells of `benchmarks/coverage_of_intervals.py` had failed; that benchmark measures what they
come to, and is no independent test of them:

- A skill has fewer than 8 episodes (20 if the similarity needs covariances), or all have fewer than 40: the error
  itself is not known well enough.
- The score is within 0.1 % of its ceiling, or in the upper half with an error above ½ on the scale: what is missing to
  the ceiling is a matter of rare episodes.
- The similarity squares deviations, and the middle episode has less than 0.3 (covariances) or 0.38 (quantiles) of the
  average effect on its skill: tails are so long that nobody knows the variance of squares. The middle is much the same
  whether or not rare episodes are seen, so that the sets refused are not just those with high scores.
- For the repetition, the variance is due to fewer than 1.1 of the episodes left out, or the two ways of finding it
  differ more than thirtyfold. Both are rare, as they should be: what is seen of tails goes with the score, so that
  refusing more sets for it leaves those whose score is too low. `variation` makes the interval wider instead.
- For the repetition, there are fewer than 5 skills, so that noise does not average out, and two of them are less than
  4 times as unlike as two halves of one; similarities without a limit have no such measure, and then there is none.
- For the limit, the similarity is not known to have one (`has_limit`), or none that can be simulated.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from vendirl.evaluation.limits import Limit
from vendirl.evaluation.variation import SKILLS, Variation, quantile
from vendirl.similarity import Similarity

Interval = tuple[float, float]

IN_ALL = 40
"""Fewer of all skills allow none."""
DECIDING = 1.1
DISAGREEMENT = 30.0
APART = 4.0
ROUNDING = 1e-9


@dataclasses.dataclass(frozen=True)
class Intervals:
    """Two intervals, each with why it is not there, or None; and what would make them narrower.

    Attributes:
        bias: the score minus the middle of the limit; 0 where there is no limit.
        narrower: what halves them, or None.
        variation: what they were made from, or None where the repetition is refused.
    """

    repetition: Interval | None = None
    repetition_note: str | None = None
    limit: Interval | None = None
    limit_note: str | None = None
    bias: float = 0.0
    narrower: str | None = None
    variation: Variation | None = None


def too_few(k: Similarity, labels: Sequence[str], sizes: Sequence[int], shortest: int) -> str | None:
    """Why no interval can be made of so few episodes, or None.

    Args:
        sizes: how many episodes each skill has.
        shortest: how many observations the shortest has.
    """
    if len(sizes) < 2:
        return "a single skill scores 1, whatever it does"
    fewest, least = int(np.argmin(sizes)), k.least_episodes
    if sizes[fewest] < least or sum(sizes) < IN_ALL:
        found = f"skill {labels[fewest]} has {sizes[fewest]}" if sizes[fewest] < least else f"there are {sum(sizes)}"
        return (
            f"it takes at least {least} episodes of each skill and {IN_ALL} in all, but {found}; "
            f"{max(least, -(-IN_ALL // len(sizes)))} of each would do"
        )
    if shortest * (sizes[fewest] // 2) < k.least_observations:
        return f"half the episodes are too short for {k}, which needs {k.least_observations} observations of a skill"
    return None


def intervals(
    found: Variation,
    score: float,
    k: Similarity,
    labels: Sequence[str],
    episodes: int,
    confidence: float,
    limit_of: Callable[[], Limit | None],
) -> Intervals:
    """Both intervals of a score that varies as `found`.

    Args:
        limit_of: finds the limit, which is not done where it is refused.
        episodes: how many there are of the skill that has the fewest.
    """
    scale = found.scale
    g, wide = float(scale.of(score)), quantile(confidence, found.freedom) * found.error
    i, j, apart = found.closest
    together = (
        f"skills {labels[i]} and {labels[j]} are not told apart by these episodes (only {apart:.2g} times as unlike as "
        f"two halves of one of them, and it takes {APART:g})"
    )
    both = _unsure(found, score, k)
    repetition_note = both
    if both is None and len(labels) < SKILLS and not (k.has_limit and apart >= APART):
        why = together if k.has_limit else f"halves of one skill need not be alike under {k}"
        repetition_note = f"{why}, and fewer than {SKILLS} skills do not average that out"
    limit_note: str | None
    if not k.has_limit:
        limit_note = (
            f"{k} is not known to have a limit: as episodes are added neighbours come nearer and scores go on changing"
            if k.least_observations > 1
            else f"{k} is not known to have a limit"
        )
    else:
        limit_note = _at_an_end(found, score, k)
    limit = limit_of() if limit_note is None else None
    if limit_note is None and limit is None:
        limit_note = f"what few episodes do to {k} cannot be simulated without the limit itself"
    repetition = None if repetition_note else (scale.back(g - wide), scale.back(g + wide))
    return Intervals(
        repetition,
        repetition_note,
        None if limit is None else limit.interval,
        limit_note,
        bias=0.0 if limit is None else score - limit.middle,
        narrower=None if not (repetition or limit) else f"{4 * episodes} episodes of each skill would halve it",
        variation=None if repetition is None else found,
    )


def _at_an_end(found: Variation, score: float, k: Similarity) -> str | None:
    """Why nothing can be told from a score where it is, of these episodes, or None."""
    ceiling = found.scale.ceiling
    if found.even < k.least_evenness:
        return (
            f"the tails of the episodes are too long for {k} (the middle one has {found.even:.2f} of the average "
            f"effect, and it takes {k.least_evenness:g})"
        )
    if ceiling - score < (ceiling - 1) / 1000:
        return "the score is at its ceiling, and what little is missing is due to rare episodes"
    if found.error < ROUNDING:
        return "every part of the episodes has the same score, which does not tell how it varies"
    if score > (1 + ceiling) / 2 and found.error > 0.5:
        return "the score is too near its ceiling for the noise that there is"
    return None


def _unsure(found: Variation, score: float, k: Similarity) -> str | None:
    """Why the error of a score is not to be trusted, or None."""
    if why := _at_an_end(found, score, k):
        return why
    if found.deciding < DECIDING:
        return f"the score hangs on about {found.deciding:.1f} of the episodes, and should on more"
    if found.disagreement > DISAGREEMENT:
        return "leaving out one episode and leaving out half of them disagree about how the score varies"
    return None
