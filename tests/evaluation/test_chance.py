"""Verdicts: wrong on identical skills as often as they say, and silent where nothing can be told."""

import json

import numpy as np
import pytest

import vendirl as vr
from vendirl.evaluation.chance import FEW_SHUFFLES, MORE, NO_MORE, UNDECIDED, chance
from vendirl.evaluation.resampling import shuffled_deals
from vendirl.score.score import vendi_score
from vendirl.similarity.deals import Regrouping


class Distances(Regrouping):
    """The kernel matrices of one number for each episode, by the distances of skills' means, in plain NumPy."""

    def __init__(self, x):
        self.x = x

    def matrices(self, deals):
        means = self.x[np.array(deals)].mean(-1)
        return np.exp(-np.abs(means[:, :, None] - means[:, None, :]))


@pytest.mark.parametrize(("episodes", "n"), [(2, 5), (3, 4), (20, 3)])
def test_identical_skills_are_called_more_diverse_than_chance_at_the_stated_rate(episodes, n):
    """1,000 draws of skewed noise; 3 % to 7 %, which 5 % leaves in one of 300 trials."""
    generator = np.random.default_rng(episodes)
    of_skill = np.split(np.arange(n * episodes), n)
    wrong = 0
    for _ in range(1000):
        dealer = Distances(generator.exponential(size=n * episodes))
        score = float(vendi_score(dealer.matrices([of_skill])[0]))
        wrong += chance(dealer, of_skill, score, 1.0, 40, generator).p_value <= 0.05
    assert 0.03 <= wrong / 1000 <= 0.07


def test_three_skills_of_two_episodes_cannot_be_told_from_chance_however_far_apart():
    """They have 15 deals, so that p is 1/15 at least."""
    x = np.array([0.0, 9.0, 18.0])[:, None, None, None] + np.random.default_rng(0).normal(size=(3, 2, 5, 2))
    result = vr.evaluate(x, "mmd", measures=False)[0]
    assert result.vendi_score > 2.9
    assert result.deals == 15
    assert result.p_value == pytest.approx(1 / 15)
    assert result.verdict == UNDECIDED
    assert "at random" not in str(result)


def test_all_deals_are_tried_where_there_are_few():
    """Two skills of four episodes have 35; p is the share of them, the seen one included, that reach the score."""
    dealer, of_skill = Distances(np.arange(8.0) ** 2 / 20), [np.arange(4), np.arange(4, 8)]
    score = float(vendi_score(dealer.matrices([of_skill])[0]))
    found = chance(dealer, of_skill, score, 1.0, 100, np.random.default_rng(0))
    assert (found.deals, len(found.scores), found.p_value) == (35, 35, 1 / 35)
    drawn = vendi_score(dealer.matrices(shuffled_deals(of_skill, 30, np.random.default_rng(0))))
    few = chance(dealer, of_skill, score, 1.0, 30, np.random.default_rng(0))
    assert few.p_value == pytest.approx((1 + (drawn >= score - 1e-9).sum()) / 31)


def test_the_deals_of_many_episodes_are_no_number_too_great_to_be_written():
    """Those of 80 skills of 40 episodes have 5,900 digits, more than Python writes."""
    x = np.random.default_rng(0).normal(size=(80, 40, 1, 2))
    result = vr.evaluate(x, "final_state", measures=False, resamples=0, shuffles=10)[0]
    assert result.verdict == FEW_SHUFFLES
    assert json.loads(json.dumps(result.to_json(), allow_nan=False))["deals"] == 10**300


def test_verdicts_in_words():
    noise = np.random.default_rng(1).normal(size=(4, 5, 3, 2))
    assert vr.evaluate(noise, "mmd", measures=False)[0].verdict == NO_MORE
    apart = vr.evaluate(noise + 5 * np.arange(4)[:, None, None, None], "mmd", measures=False)[0]
    assert apart.verdict == MORE
    assert vr.evaluate(noise, "mmd", measures=False, shuffles=5)[0].verdict.endswith("so few shuffles")
