"""Limits: noise and worlds as they should be, intervals that follow from them, and coverage."""

import numpy as np
import pytest

import vendirl as vr
from vendirl.evaluation.chance import Chance
from vendirl.evaluation.intervals import intervals
from vendirl.evaluation.limits import WIDTHS, by_noise, drawn_noise, inverted, limit, worlds
from vendirl.evaluation.variation import Scale, Variation, quantile

OF_SKILL = [np.arange(0, 5), np.arange(5, 10), np.arange(10, 15)]


def episodes(seed=0, places=(0.0, 0.0, 50.0), N=5):
    """N episodes of each skill, all of one observation, on a line."""
    noise = np.random.default_rng(seed).normal(size=(len(places), N, 1, 1))
    return list((np.array(places)[:, None, None, None] + noise).reshape(-1, 1, 1))


def test_noise_is_that_of_a_mean():
    """E ε = 0 and E ε² = s²/N, s² being the unbiased variance of the episodes."""
    x = episodes()
    dealer = vr.similarity.mmd().regroup(x)
    (place,) = dealer.places([OF_SKILL])
    noise = drawn_noise(dealer, OF_SKILL, place, 4000, np.random.default_rng(0))
    values = np.array(x).reshape(3, 5)
    np.testing.assert_allclose(place[:, 0], values.mean(1))
    np.testing.assert_allclose((noise**2).mean(0)[:, 0], values.var(1, ddof=1) / 5, rtol=0.1)
    assert np.abs(noise.mean(0)).max() < 0.05


def test_how_unlike_noise_makes_a_skill_and_itself_is_the_mean_over_pairs_of_what_it_might_have_been():
    dealer = vr.similarity.mmd(scale=2.0).regroup(episodes())
    (place,) = dealer.places([OF_SKILL])
    noise = np.random.default_rng(0).normal(size=(9, 3, 1)) * [[1.0], [2.0], [3.0]]
    apart = [np.abs(noise[a, i] - noise[b, i]) for i in range(3) for g in range(3) for a, b in _pairs(3 * g)]
    np.testing.assert_allclose(by_noise(dealer, place, noise), 2 * np.reshape(apart, (3, 9)).mean(1))


def _pairs(start):
    return [(start, start + 1), (start, start + 2), (start + 1, start + 2)]


def test_worlds_push_apart_and_draw_together_what_noise_could_have_parted_and_nothing_else_until_the_last():
    dealer = vr.similarity.mmd().regroup(episodes())
    (place,) = dealer.places([OF_SKILL])
    noise = drawn_noise(dealer, OF_SKILL, place, 40, np.random.default_rng(0))
    found = worlds(dealer, place, noise)[..., 0]
    near = np.abs(found[:, 0] - found[:, 1])
    np.testing.assert_array_equal(found[0], place[:, 0])
    assert near[0] > 0.05
    assert near[0] * 1.1 < near[1] < near[2] / 1.1
    assert near[4:].max() < 1e-3
    assert np.abs(found[:-2, 2] - found[:-2, 1]).min() > 45
    np.testing.assert_array_equal(found[-1], np.full(3, place[0, 0]))
    np.testing.assert_allclose(found[-2] - place[0, 0], 0.3 * (found[-3] - place[0, 0]))


def test_skills_that_noise_could_not_have_drawn_together_are_not_pushed_apart():
    dealer = vr.similarity.mmd().regroup(episodes(places=(-50.0, 0.0, 50.0)))
    (place,) = dealer.places([OF_SKILL])
    noise = drawn_noise(dealer, OF_SKILL, place, 40, np.random.default_rng(0))
    assert len(worlds(dealer, place, noise)) == len(WIDTHS) + 3


def test_no_world_is_one_in_which_pushing_apart_makes_skills_alike():
    """Determinants of covariances that are pushed below 0 count as 0, all of them."""
    generator = np.random.default_rng(3)
    x = list(0.5 * generator.normal(size=(60, 1, 2)) + 0.25 * generator.normal(size=(60, 4, 2)))
    of_skill = list(np.arange(60).reshape(3, 20))
    dealer = vr.similarity.covariance(scale=2.0).resolve(None, 2).regroup(x)
    (place,) = dealer.places([of_skill])
    noise = drawn_noise(dealer, of_skill, place, 40, np.random.default_rng(0))
    found = dealer.of_places(worlds(dealer, place, noise))
    pushed = found[1 : -len(WIDTHS) - 2]
    assert (pushed.sum((1, 2)) < found[0].sum()).all()
    assert len(pushed) < 2, "with this seed one is pushed too far"


def test_a_score_is_more_likely_in_a_world_of_a_higher_limit_where_noise_does_more_harm():
    """Noise does nothing in the first world, at 0, and takes 0.5 from another one, at 0.5: both are likely."""
    low, high, _ = _limit(0.0, np.array([0.0, -0.5, 0.0]), 0.1, 0.001, v=(0.0, 0.5, -4.0))
    assert low < 0
    assert high > 0.7
    assert _limit(0.0, 0.0, 0.1, 0.001, v=(0.0, 0.5, -4.0))[1] < 0.3


def _limit(g, bias, error, p_value, least_p=0.01, v=(-4.0, -1.0, 0.0), scale=None):
    """The interval on the scale, if bias and error are the same in all worlds."""
    scale, v, same = scale or Scale(8.0), np.array(v), np.ones(len(v))
    found = inverted(g, v, bias * same, error * same, scale, 1e9, Chance(np.ones(1), p_value, least_p, 100), 0.95)
    return [float(scale.of(end)) for end in (*found.interval, found.middle)]


def test_where_bias_and_error_are_the_same_everywhere_the_interval_is_the_usual_one():
    t = quantile(0.95, 1e9)
    assert t == pytest.approx(1.96, abs=1e-3)
    expected = [0.5 - 0.3 - t * 0.2, 0.5 - 0.3 + t * 0.2, 0.5 - 0.3]
    np.testing.assert_allclose(_limit(0.5, 0.3, 0.2, p_value=0.01), expected, atol=0.01)


def test_where_noise_deflates_a_score_it_took_a_quarter_as_much_again_and_is_less_well_known():
    """Noise takes 0.4 from the first world, at 1, so that scores of 1 are those of 1 + 1.25 * 0.4, give or take t times
    the root of 0.1² + (0.4 * 0.4)²; the other world is far off."""
    t, scale, null = quantile(0.95, 1e9), Scale(8.0), Chance(np.ones(1), 0.01, 0.01, 100)
    found = inverted(1.0, np.array([1.0, -3.0]), np.array([-0.4, 0.0]), np.full(2, 0.1), scale, 1e9, null, 0.95)
    assert float(scale.of(found.middle)) == pytest.approx(1.5, abs=0.01)
    assert float(scale.of(found.interval[1])) == pytest.approx(1.5 + t * np.hypot(0.1, 0.16), abs=0.01)


def test_whether_all_are_alike_is_decided_by_dealing_at_random_or_if_that_cannot_tell_by_the_last_world():
    least = float(Scale(8.0).of(1.0))
    assert _limit(-4.0, 2.0, 1.0, p_value=0.06)[0] == least
    assert _limit(-4.0, 2.0, 1.0, p_value=0.05)[0] > least
    assert _limit(-4.0, 2.0, 1.0, p_value=0.5, least_p=0.5)[0] == least  # in the last world -4 is 0.9 errors too high
    assert _limit(-4.0, 1.0, 1.0, p_value=0.5, least_p=0.5)[0] > least  # 1.9
    assert _limit(-4.0, 1.0, 1.0, p_value=0.06)[0] == least  # 1.9 is not enough against an exact test
    assert _limit(0.5, 0.3, 0.2, p_value=1.0)[0] > least  # but this is


@pytest.mark.parametrize(("n", "mended"), [(6, True), (3, False)])
def test_well_apart_the_error_is_that_of_a_repetition_but_of_few_skills_that_is_not_believed(n, mended):
    """Moved by noise a second time places vary more than they do."""
    of_skill, x = list(np.arange(5 * n).reshape(n, 5)), episodes(places=np.arange(float(n)) * 40)
    dealer, null, ends = vr.similarity.mmd(scale=0.02).regroup(x), Chance(np.ones(1), 0.01, 0.01, 100), []
    score = float(vr.vendi_score(dealer.matrices([of_skill])[0]))
    for error in (0.001, 0.01):
        known = Variation(Scale(float(n)), error, 1e9, 20.0, 1.0, (0, 1, 9.0), 1.0)
        found = limit(dealer, of_skill, score, 1.0, known, null, 0.95, 40, np.random.default_rng(0))
        ends.append(np.diff(known.scale.of(np.array(found.interval)))[0])
    assert (ends[1] > 3 * ends[0]) == mended
    assert ends[0] < ends[1] or not mended
    assert ends[0] == ends[1] or mended


@pytest.mark.parametrize("similarity", ["angle(scale=3)", "cosine(scale=0.5)"])
def test_limits_of_directions_that_are_apart_are_narrow(similarity):
    """What was wrong: the mean of opposite directions has none, so that noise alone seemed to score as much as skills
    that are apart, and the interval began at 1."""
    turn = 2 * np.pi * np.arange(6) / 6
    place = 1.2 * np.stack([np.cos(turn), np.sin(turn)], -1)[:, None, None]
    noise = np.random.default_rng(0).normal(size=(10, 6, 10, 1, 2)) / 4
    true = float(vr.effective_number(place, similarity))
    found = [vr.evaluate(place + each, similarity, measures=False, shuffles=19)[0].limit for each in noise]
    assert max(high - low for low, high in found) < 0.6
    assert sum(low <= true <= high for low, high in found) >= 8


def test_limits_of_half_distinct_skills_cover():
    """40 experiments of ten episodes of six skills, of which three are the same; 38 should cover."""
    turn = 2 * np.pi * np.minimum(np.arange(6), 3) / 6
    place = 1.5 * np.stack([np.cos(turn), np.sin(turn)], -1)[:, None, None]
    true = float(vr.effective_number(place, "mmd"))
    noise = np.random.default_rng(0).laplace(size=(40, 6, 10, 1, 2)) / 3
    found = [vr.evaluate(place + each, "mmd", measures=False, shuffles=1)[0].limit for each in noise]
    assert np.mean([low <= true <= high for low, high in found]) >= 0.87
    assert np.mean([high - low for low, high in found]) < 3


def test_what_has_no_place_has_no_limit_and_says_so():
    k = vr.similarity.alignment()
    known = Variation(Scale(5.0), 0.2, 20.0, 20.0, 1.0, (0, 1, 9.0), 1.0)
    null, generator = Chance(np.ones(1), 0.01, 0.01, 100), np.random.default_rng(0)
    nothing = limit(k.regroup(episodes()), OF_SKILL, 2.0, 1.0, known, null, 0.95, 40, generator)
    found = intervals(known, 2.0, k, "abcde", 8, 0.95, lambda: nothing)
    assert found.repetition is not None
    assert found.limit is None
    assert found.limit_note == "what few episodes do to alignment cannot be simulated without the limit itself"
