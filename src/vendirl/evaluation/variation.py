"""How a score would vary if as many episodes were collected again, from the episodes that there are.

The score S lies between 1 and its ceiling c, and its noise shrinks towards both, so all is done on the scale

    g(S) = log((S - 1 + ε) / (c - S + ε)),      ε = (c - 1) / 1000.

A skill's episodes are independent, so the variance of g falls into parts σ_k², of which part k is due to k episodes
acting together (Hoeffding). Two ways of resampling see them differently:

- Halves of M of a skill's N episodes. Two that share no episode differ by V = ½ E(g_A - g_B)² = σ_1² + σ_2² + ...,
  which is the variance of g with M episodes; two drawn apart share half, and differ by W = ½σ_1² + ¾σ_2² + ....
  So φ = 4W/V - 2 is the part of the variance that is not of single episodes: 0 where skills are well apart, 1 where
  noise alone holds them apart. With N episodes the first part is M/N as large; the other is as large as before, since
  noise scales all distances alike.
- Leaving out one episode at a time: J = Σ (N-1)/N (g_-e - mean)² = σ_1² + 2σ_2² + ... with N episodes, too much by
  1 + φ.

    by halves:  V ((1 - φ) M/N + φ)         by one:  J / (1 + φ)

The second needs no step from M to N, and near the ceiling, where half of the episodes are much noisier than all, the
first is up to three times the variance. But the second is less sure, since few episodes decide it. So the variance is
what leaving out one shows, times ρ^`HALVES` where halves vary more by a factor of ρ.

How well it is known follows from how uneven the effects d of the episodes left out are, as if there were 2/(kurtosis -
1) for each. But few episodes seldom show the tails of what they were drawn from, so that each adds no more than
`UNSEEN` degrees of freedom, where tails matter: 1/ν = 1/ν_seen + 1/(UNSEEN · episodes). Refusing the sets in which a
rare episode was seen would be worse: those that are left are the ones that lack such episodes, whose scores and errors
are both too low.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Float

from vendirl._checks import AnyArray
from vendirl.evaluation.resampling import OfSkill, deals_without_one, split_deals
from vendirl.score.score import vendi_score
from vendirl.similarity.deals import Regrouping

UNSEEN = 0.3
HALVES = 0.45
"""Both were chosen by simulation."""
SKILLS = 5
"""Noise does not average out over fewer."""
MOST_LEFT_OUT = 50
"""Of each skill, to see how long tails are."""


@dataclasses.dataclass(frozen=True)
class Scale:
    """g, from scores between 1 and a ceiling c > 1 to numbers without ends."""

    ceiling: float

    @property
    def _end(self) -> float:
        return (self.ceiling - 1) / 1000

    def of(self, score: Float[AnyArray, "*shape"] | float) -> Float[np.ndarray, "*shape"]:
        """g(S)."""
        inside = np.clip(np.asarray(score), 1, self.ceiling)
        return np.asarray(np.log((inside - 1 + self._end) / (self.ceiling - inside + self._end)))

    def back(self, g: float) -> float:
        """S with g(S) = g, or the end beyond which that lies."""
        share = 1 / (1 + np.exp(-g))
        return float(np.clip(1 - self._end + share * (self.ceiling - 1 + 2 * self._end), 1, self.ceiling))


@dataclasses.dataclass(frozen=True)
class Variation:
    """How a score varies, on its scale.

    Attributes:
        scale: g.
        error: the standard error of g(S).
        freedom: the degrees of freedom with which the error is known.
        deciding: how many episodes the variance is due to, (Σd²)² / Σd⁴ over those left out (80 at most, as a rule): a
            third of them if their effects d are normal, 1 if one episode is all that matters.
        disagreement: ρ, the ratio of the two variances, the greater over the smaller.
        closest: the two skills that are least apart, and how many times less alike they are than halves of one of them.
        even: how unlike a skill is to itself without its middle episode, (log k)², as a part of the mean over its
            episodes: 0.4 to 0.5 for covariances of normal noise, less if there are long tails, and much the same
            whether or not the rarest episodes were seen; 1 if it was not asked for.
    """

    scale: Scale
    error: float
    freedom: float
    deciding: float
    disagreement: float
    closest: tuple[int, int, float]
    even: float


def variation(
    dealer: Regrouping,
    of_skill: OfSkill,
    q: float,
    ceiling: float,
    resamples: int,
    generator: np.random.Generator,
    tails: bool = False,
    unseen: float = UNSEEN,
) -> Variation:
    """How the score of these episodes varies; each skill needs two of them at least, and there must be two skills.

    Args:
        resamples: how many sets of skills are scored; two fifths of them are halves, two fifths leave one out.
        tails: whether to ask how even effects of episodes are.
        unseen: the degrees of freedom that an episode adds at most; infinitely many where tails do not matter.
    """
    n, sizes, scale = len(of_skill), np.array([len(mine) for mine in of_skill]), Scale(ceiling)
    K = dealer.matrices(split_deals(of_skill, max(2, resamples // 5), generator))
    g = scale.of(np.stack([vendi_score(K[:, :n, :n], q), vendi_score(K[:, n:, n:], q)], 1))
    without = scale.of(
        vendi_score(dealer.matrices(deals_without_one(of_skill, max(2, 2 * resamples // 5), generator)), q)
    )
    V, share = _of_disjoint(g), float(np.mean((sizes // 2) / sizes))
    φ = 4 * _of_others(g) / V - 2 if V > 0 else 0.0
    φ = float(np.clip(φ, 0, 2))
    d = without - without.mean()
    total = (d**2).sum()
    kept = float(np.mean(1 - 1 / sizes))
    by_one = kept * sizes.sum() / len(d) * total / (1 + φ)
    by_half = V * ((1 - min(φ, 1)) * share + min(φ, 1))
    smaller, greater = sorted([by_one, by_half])
    deciding = float(total**2 / (d**4).sum()) if total > 0 else 0.0
    seen = 2 * kept / max(1 / deciding - 1 / len(d), 1e-9) if deciding else 1.0
    disagreement = float(greater / smaller) if smaller > 0 else np.inf
    variance = by_one ** (1 - HALVES) * greater**HALVES
    return Variation(
        scale=scale,
        error=float(variance) ** 0.5,
        freedom=max(1.0, 1 / (1 / min(seen, float((sizes - 1).sum())) + 1 / (unseen * sizes.sum()))),
        deciding=deciding,
        disagreement=disagreement,
        closest=_closest(1 - K[:, :n, n:]),
        even=_even(dealer, of_skill, generator) if tails else 1.0,
    )


def quantile(confidence: float, freedom: float) -> float:
    """t, of which ± t holds so much of Student's distribution."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + confidence) / 2))


def _of_disjoint(g: Float[np.ndarray, "splits 2"]) -> float:
    """V: half the mean squared difference of the two halves of a split."""
    return float(((g[:, 0] - g[:, 1]) ** 2).mean() / 2)


def _of_others(g: Float[np.ndarray, "splits 2"]) -> float:
    """W: the same of halves of different splits."""
    every, pairs, own = g.size * (g.size - 1) / 2, g.var(ddof=1), len(g)
    return float((every * pairs - ((g[:, 0] - g[:, 1]) ** 2).sum() / 2) / (every - own))


def _even(dealer: Regrouping, of_skill: OfSkill, generator: np.random.Generator) -> float:
    """See `Variation`, by leaving out one episode of each skill at a time."""
    n, shuffled = len(of_skill), [generator.permutation(mine) for mine in of_skill]
    rounds = range(min(MOST_LEFT_OUT, *map(len, of_skill)))
    K = dealer.matrices([[*(np.delete(mine, j) for mine in shuffled), *of_skill] for j in rounds])
    moved = np.log(np.clip(K[:, np.arange(n), n + np.arange(n)], 1e-300, 1)) ** 2
    mean = moved.mean(0)
    return float(np.median(moved / np.where(mean > 0, mean, 1)))


def _closest(unlike: Float[np.ndarray, "splits n n"]) -> tuple[int, int, float]:
    """The least ratio of how unlike halves of two skills are to how unlike halves of one of them are."""
    mean = unlike.mean(0)
    mean, own = (mean + mean.T) / 2, np.maximum(np.diag(mean), 1e-12)
    ratio = mean / np.maximum(own[:, None], own)
    np.fill_diagonal(ratio, np.inf)
    i, j = np.unravel_index(ratio.argmin(), ratio.shape)
    return int(i), int(j), float(ratio[i, j])
