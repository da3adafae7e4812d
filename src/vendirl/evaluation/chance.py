"""Whether skills are more diverse than chance: the score when the same episodes are dealt to skills at random.

If skills were all alike, every deal of the episodes would be as likely as the one that was seen, so the share of deals
that score at least as much is a p-value, whatever the noise: p below 0.05 has a probability of at most 5 %. All deals
are tried if they are no more than `shuffles`, else that many at random, the seen one counted as well:
p = (1 + those that score at least as much) / (1 + shuffles). Few episodes have few deals. Three skills of two episodes
have 15, so that p is 1/15 at the least, and nothing they do could be told from chance.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Float

from vendirl.evaluation.resampling import OfSkill, every_deal, number_of_deals, shuffled_deals
from vendirl.score.score import vendi_score
from vendirl.similarity.deals import Regrouping

LEVEL = 0.05
"""A p-value of no more counts as more diverse than chance."""
MANY = 10**300
"""Deals beyond which they are not counted: greater numbers are no floats, and beyond 4,300 digits cannot be written."""

MORE = "more diverse than the same episodes dealt to skills at random"
NO_MORE = "no more diverse than the same episodes dealt to skills at random"
UNDECIDED = "whether it is more than chance cannot be decided with so few episodes"
FEW_SHUFFLES = "whether it is more than chance cannot be decided with so few shuffles"


@dataclasses.dataclass(frozen=True)
class Chance:
    """What chance scores.

    Attributes:
        scores: of the deals.
        p_value: how often chance alone scores at least as much.
        least_p: the least p-value that there could be.
        deals: how many different deals there are, `MANY` if they are more.
    """

    scores: Float[np.ndarray, " deals"]
    p_value: float
    least_p: float
    deals: int


def chance(
    dealer: Regrouping, of_skill: OfSkill, score: float, q: float, shuffles: int, generator: np.random.Generator
) -> Chance:
    """Deal episodes to skills at random, and compare their scores with that of the skills, found by the same dealer."""
    deals = min(number_of_deals([len(mine) for mine in of_skill]), MANY)
    every = deals <= shuffles
    dealt = list(every_deal(of_skill)) if every else shuffled_deals(of_skill, shuffles, generator)
    scores = np.asarray(vendi_score(dealer.matrices(dealt), q))
    reached = int((scores >= score * (1 - 1e-9)).sum())
    p_value = max(reached, 1) / deals if every else (1 + reached) / (1 + shuffles)
    return Chance(scores, float(p_value), 1 / deals if every else 1 / (1 + shuffles), deals)


def verdict(p_value: float, least_p: float, deals: int) -> str:
    """What a p-value says, in words."""
    if least_p >= LEVEL:
        return UNDECIDED if deals <= 1 / LEVEL else FEW_SHUFFLES
    return MORE if p_value <= LEVEL else NO_MORE
