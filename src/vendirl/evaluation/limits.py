"""The score that infinitely many episodes would have, by asking which worlds the score that was seen is likely in.

A skill is known by its place z_i, such as the mean of its observations (`Regrouping.places`), and the score of the true
places is the limit. Noise ε moves places, and where skills lie close together it holds them apart, so that the score S
is too high by what does not fall as 1/N: at places that coincide k = exp(-‖z_i - z_j‖) loses of the order of 1/√N, and
-λ log λ of the score has no slope at the eigenvalue 0. No correction of S at one place is right there. But what noise
does to the score of a *known* set of places can be simulated:

1. Noise: skills' episodes are drawn again with replacement, which moves their places by ε, times sqrt(N/(N - 1)).
2. Worlds: the places as they were found, then ever more drawn together where noise could have parted them, then near
   that place which is most like the others (their mean would not do: that of opposite directions has none), and at
   last all in it. Together is a step of a mean shift, repeated: z_i <- Σ_j w_ij z_j / Σ_j w_ij with
   w_ij = exp(-½ (u_ij / h r_ij)²), where u = -log k is how unlike two skills are, r how unlike noise alone would make
   them, and h tells one world from the next. Skills that are the same come to lie in one place long before those that
   are not. And the other way round: worlds in which skills that noise could have drawn together are pushed apart,
   z_i <- z_i + γ (z_i - Σ_j w_ij z_j / Σ_j w_ij), since skills that are evenly apart lie less evenly as they are found.
3. In each world the limit v is known, and scores of places + ε show the bias b(v) and the error s(v) of S. Between
   worlds both are interpolated. The interval holds all v with

       |g(S) - v - b(v)| <= t s(v),        everything on the scale g of `variation`, t Student's quantile.

4. Noise has moved the places of the first world v_1 once. Moved again they vary more than they did, up to twice as
   much as the score, whose error there is that of a repetition (`variation`). By how much they differ errors are
   mended, by ever less from the first world to the last, in which places are moved only once.
   Errors of fewer than `SKILLS` skills, which go with the score, are left as they are.
5. Places that are evenly apart score less when noise moves them: b < 0 in the world v_m of the highest limit. They may
   lie even more evenly than that, where noise does more harm. From v_m + |b| on the bias is therefore taken to be
   `AGAIN` times as large, and the variance to be greater by (b `DOUBT`)².

All alike is the least there can be, and is decided by tests: 1 is in the interval unless the same episodes dealt at
random (`chance`, which is exact) score as much as S with a probability of no more than 1 - confidence; or in the last
world a fifth of that, for where skills differ in what k does not look at, dealing episodes at random is no world of
skills that are alike to k.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Float

from vendirl.evaluation.chance import Chance
from vendirl.evaluation.resampling import OfSkill, drawn_deals
from vendirl.evaluation.variation import SKILLS, Scale, Variation, quantile
from vendirl.score.score import vendi_score
from vendirl.similarity.deals import Regrouping

WIDTHS = (0.7, 1.2, 2.0)
"""h, of the worlds after the first. Chosen by simulation: worlds spaced by the error of the score, which
are finer, covered half-distinct skills too rarely."""
NEARLY = 0.3
"""How far places are from being one, in the last world but one, as a part of how far they are in the one before."""
STEPS = 4
"""How often places are drawn together, or pushed apart."""
PUSHED = (1.0, 3.0)
"""γ, of the worlds in which skills are pushed apart, with the widest h."""
UNMOVED = 1e-3
"""Pushing that makes skills less alike by no more than that, in all, is none: they were apart, or ended as what no
skill can be, such as a covariance with a negative determinant, which counts as 0."""
AGAIN, DOUBT = 1.25, 0.4
"""Both were chosen by simulation, as was `PUSHED`: without such worlds, intervals of skills that are evenly near ended
too low too often, most of all under `angle`."""


@dataclasses.dataclass(frozen=True)
class Limit:
    """What infinitely many episodes would score.

    Attributes:
        interval: its ends.
        middle: the limit of the world in which the score would be neither high nor low.
    """

    interval: tuple[float, float]
    middle: float


def limit(
    dealer: Regrouping,
    of_skill: OfSkill,
    score: float,
    q: float,
    found: Variation,
    null: Chance,
    confidence: float,
    draws: int,
    generator: np.random.Generator,
) -> Limit | None:
    """The interval of the limit, or None if skills have no places under this similarity.

    Args:
        score: of all episodes, found by the same dealer.
        found: how it varies.
        null: what chance scores.
        draws: how many scores are simulated in each world.
    """
    first = dealer.places([of_skill])
    if first is None:
        return None
    noise = drawn_noise(dealer, of_skill, first[0], draws, generator)
    places = worlds(dealer, first[0], noise)
    K = np.concatenate([dealer.of_places(places), *(dealer.of_places(world + noise) for world in places)])
    g = found.scale.of(vendi_score(K, q))
    v, simulated = g[: len(places)], g[len(places) :].reshape(len(places), draws)
    bias, error = simulated.mean(1) - v, np.maximum(simulated.std(1, ddof=1), 1e-9)
    if places.shape[1] >= SKILLS:
        share = np.clip((v - v[-1]) / max(v[0] - v[-1], 1e-9), 0, 1)
        error *= (max(found.error, 1e-9) / error[0]) ** share
    return inverted(float(found.scale.of(score)), v, bias, error, found.scale, found.freedom, null, confidence)


def worlds(
    dealer: Regrouping, places: Float[np.ndarray, "n F"], noise: Float[np.ndarray, "draws n F"]
) -> Float[np.ndarray, "worlds n F"]:
    """The places as they are, pushed apart, ever more drawn together, near the one that is most like the others, and
    all in it. Where pushing does not make them less alike, there are no such worlds."""
    apart = by_noise(dealer, places, noise)
    width = np.sqrt((apart[:, None] ** 2 + apart**2) / 2)

    def pulled(sets, h):
        near = np.exp(-0.5 * (_unlike(dealer.of_places(sets)) / (h * width)) ** 2)
        return near @ sets / near.sum(-1, keepdims=True)

    together = np.repeat(places[None], len(WIDTHS), 0)
    pushed = np.repeat(places[None], len(PUSHED), 0)
    for _ in range(STEPS):
        together = pulled(together, np.array(WIDTHS)[:, None, None])
        pushed = pushed + np.array(PUSHED)[:, None, None] / STEPS * (pushed - pulled(pushed, max(WIDTHS)))
    as_found = dealer.of_places(places[None])
    pushed = pushed[(as_found - dealer.of_places(pushed)).sum((1, 2)) > UNMOVED]
    amid = places[int(as_found[0].sum(1).argmax())]
    near_one, one = amid + NEARLY * (together[-1:] - amid), amid + 0 * places[None]
    return np.concatenate([places[None], pushed, together, near_one, one])


def by_noise(
    dealer: Regrouping, places: Float[np.ndarray, "n F"], noise: Float[np.ndarray, "draws n F"]
) -> Float[np.ndarray, " n"]:
    """How unlike noise alone makes two skills that are both at the place of one of them."""
    n, draws = len(places), len(noise)
    rounds = max(1, draws // n)
    which = np.arange(rounds * n).reshape(rounds, n) % draws
    copies = places[:, None, None] + np.moveaxis(noise, 1, 0)[:, which]  # (n, rounds, n, F): n copies of each skill
    unlike = _unlike(dealer.of_places(copies.reshape(-1, *places.shape))).reshape(n, rounds, n, n)
    different = which[:, :, None] != which[:, None, :]
    return np.maximum((unlike * different).sum((1, 2, 3)) / different.sum(), 1e-12)


def drawn_noise(
    dealer: Regrouping,
    of_skill: OfSkill,
    places: Float[np.ndarray, "n F"],
    draws: int,
    generator: np.random.Generator,
) -> Float[np.ndarray, "draws n F"]:
    """By how much other episodes might have moved the places."""
    drawn = dealer.places(drawn_deals(of_skill, draws, generator))
    assert drawn is not None
    sizes = np.array([len(mine) for mine in of_skill])
    return (drawn - places) * np.sqrt(sizes / (sizes - 1))[:, None]


def _unlike(K: Float[np.ndarray, "sets n n"]) -> Float[np.ndarray, "sets n n"]:
    """-log k; as much as for k = 10⁻⁶ where that is smaller, or negative."""
    return -np.log(np.clip(K, 1e-6, 1))


def inverted(
    g: float,
    v: Float[np.ndarray, " worlds"],
    bias: Float[np.ndarray, " worlds"],
    error: Float[np.ndarray, " worlds"],
    scale: Scale,
    freedom: float,
    null: Chance,
    confidence: float,
) -> Limit:
    """All limits that the score is likely with.

    Args:
        g: of the score.
        v, bias, error: g of the limits of the worlds, and how scores in them lie about it.
        freedom: with which the error is known.
    """
    level = 1 - confidence
    two, one, sure = (quantile(1 - tails, freedom) for tails in (level, 2 * level, 2 * level / 5))
    top = int(v.argmax())
    if bias[top] < 0:
        v, error = np.append(v, v[top] - bias[top]), np.append(error, np.hypot(error[top], DOUBT * bias[top]))
        bias = np.append(bias, AGAIN * bias[top])
    order = np.argsort(v)
    v, bias, error = v[order], bias[order], error[order]
    least, most = float(scale.of(1.0)), max(g - bias[-1], v[-1]) + (two + 2) * error[-1]
    # 1 itself is the test's to decide, so candidates begin just above
    tried = np.linspace(least + 1e-3, max(most, least + 1), 2000)
    far = (g - tried - np.interp(tried, v, bias)) / np.interp(tried, v, error)
    tested = null.least_p <= level
    alike = (g - least - bias[0]) / error[0] <= (sure if tested else one) and not (tested and null.p_value <= level)
    held = tried[np.abs(far) <= two]
    if not held.size:
        held = tried[[np.abs(far).argmin()]]
    low, high = held[0], held[-1]
    if not alike and low == tried[0]:  # close to the least there can be, all doubt is about one end
        held = tried[np.abs(far) <= one]
        low = held[0] if held.size else low
    middle = scale.back(float(tried[np.abs(far).argmin()]))
    return Limit((1.0 if alike else scale.back(float(low)), scale.back(float(high))), middle)
