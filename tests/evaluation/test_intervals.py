"""The two intervals: what they are for, that they cover it, and that they are refused where they would not."""

import dataclasses

import numpy as np
import pytest

import vendirl as vr
from vendirl.evaluation.intervals import intervals
from vendirl.evaluation.variation import Scale, variation
from vendirl.similarity.deals import Regrouping


def fan(n, episodes, seed, noise=0.3, apart=1.5, T=2):
    """(n, episodes, T, 2): skills on a circle, neighbours `apart`, each episode off by a noise of its own."""
    generator, turn = np.random.default_rng(seed), 2 * np.pi * np.arange(n) / n
    place = np.stack([np.cos(turn), np.sin(turn)], -1) * apart * n / (2 * np.pi)
    return place[:, None, None] + noise * generator.normal(size=(n, episodes, 1, 2)).repeat(T, 2)


def evaluated(x, similarity="mmd", **settings):
    return vr.evaluate(x, similarity, measures=False, shuffles=settings.pop("shuffles", 1), **settings)[0]


def test_both_intervals_cover_at_the_stated_rate_where_skills_are_apart():
    """100 experiments of ten episodes for each of eight skills, at 90 %; 90 should cover."""
    limit = float(vr.effective_number(fan(8, 1, 0, noise=0), "mmd"))
    again = np.mean([vr.effective_number(fan(8, 10, 1000 + seed, noise=0.15), "mmd") for seed in range(300)])
    found = [evaluated(fan(8, 10, seed, noise=0.15), confidence=0.9) for seed in range(100)]
    for true, given in ((again, [r.repetition for r in found]), (limit, [r.limit for r in found])):
        ends = [interval for interval in given if interval is not None]
        assert len(ends) > 70
        assert 0.82 <= np.mean([low <= true <= high for low, high in ends]) <= 0.97


def test_both_intervals_of_identical_random_walks_cover_and_the_limit_begins_at_1_unless_chance_is_ruled_out():
    """What was wrong: the interval for the limit, 1, held it in 0 of 20 draws, and one was [2.58, 3.92]."""

    def walks(seed, episodes=8):
        return np.random.default_rng(seed).normal(size=(8, episodes, 20, 2)).cumsum(2) / 20

    few = evaluated(walks(0, 5), "mmd(scale=4)")
    assert (few.repetition, few.limit) == (None, None)
    assert "at least 8 episodes of each skill" in few.limit_note
    again = np.mean([vr.effective_number(walks(1000 + seed), "mmd(scale=4)") for seed in range(200)])
    found = [evaluated(walks(seed), "mmd(scale=4)", shuffles=19) for seed in range(40)]
    assert np.mean([r.limit[0] == 1 for r in found]) >= 0.85
    assert all(r.limit[0] > 1 for r in found if r.p_value <= 0.05)
    assert all(r.limit[0] < r.limit[1] for r in found)
    outside = [r for r in found if r.vendi_score > r.limit[1]]
    assert outside
    assert all("few episodes inflate the score" in str(r) for r in outside)
    assert not any("few episodes inflate" in str(r) for r in found if r.vendi_score <= r.limit[1])
    given = [r.repetition for r in found if r.repetition is not None]
    assert len(given) > 25
    assert np.mean([low <= again <= high for low, high in given]) >= 0.88


def test_overlap_is_not_corrected_and_has_no_limit():
    """What was wrong: a score of 5.94 had the interval [6.14, 6.44], and 60 episodes scored 5.53."""
    found = evaluated(np.random.default_rng(0).normal(size=(8, 8, 12, 2)).cumsum(2), "overlap")
    assert found.repetition[0] < found.vendi_score < found.repetition[1]
    assert found.limit is None
    assert found.limit_note.startswith("overlap is not known to have a limit")
    for text in ("0.5*overlap + 0.5*mmd", "overlap.on(0)"):
        assert not vr.similarity.parse(text).has_limit


def test_a_score_is_always_in_its_repetition_and_if_not_in_its_limit_five_words_say_why():
    sets = [fan(8, 8, seed, noise=noise) for seed in range(5) for noise in (0.1, 0.3, 1)]
    for found in map(evaluated, sets):
        if found.repetition is not None:
            assert found.repetition[0] < found.vendi_score < found.repetition[1]
            assert found.interval == found.repetition
    found = evaluated(sets[0])
    assert "32 episodes of each skill would halve it" in str(found)
    outside = dataclasses.replace(found, limit=(found.vendi_score - 0.2, found.vendi_score - 0.1))
    assert "few episodes inflate the score" in str(outside)
    outside = dataclasses.replace(found, limit=(found.vendi_score + 0.1, found.vendi_score + 0.2))
    assert "few episodes deflate the score" in str(outside)
    assert "few episodes" not in str(dataclasses.replace(found, limit=(1.0, 8.0)))


@pytest.mark.parametrize(
    ("trajectories", "similarity", "reason"),
    [
        (fan(8, 4, 0), "mmd", "skill 0 has 4; 8 of each would do"),
        (fan(3, 9, 0), "mmd", "there are 27; 14 of each would do"),
        (fan(8, 10, 0), "covariance", "at least 20 episodes of each skill"),
        (fan(8, 10, 0)[:1], "mmd", "a single skill scores 1"),
        (fan(8, 10, 0, apart=40), "mmd", "at its ceiling"),
        (fan(8, 10, 0, noise=0), "mmd", "has the same score"),
        (fan(8, 8, 0, T=1), "overlap(neighbours=5)", "too short for overlap"),
        (np.random.default_rng(0).normal(size=(3, 15, 4, 2)), "overlap", "need not be alike under overlap"),
    ],
)
def test_intervals_that_would_not_hold_are_refused_with_the_reason(trajectories, similarity, reason):
    found = evaluated(trajectories, similarity)
    assert found.repetition is None
    assert reason in found.repetition_note
    assert found.repetition_note in str(found)
    assert found.limit is None
    assert found.limit_note


def test_a_repetition_may_be_refused_where_a_limit_is_given():
    found = evaluated(fan(3, 20, 0, apart=0.1))
    assert found.repetition is None
    assert "fewer than 5 skills do not average that out" in found.repetition_note
    assert f"no interval of a repetition: {found.repetition_note}" in str(found)
    assert 1 <= found.limit[0] < found.limit[1] <= found.ceiling
    assert "of the score that infinitely many episodes would have" in str(found)


def test_where_one_episode_matters_most_a_repetition_is_wide_and_where_only_it_does_there_is_none():
    x = fan(8, 10, 0, apart=0.5)
    usual, odd = evaluated(x), evaluated(np.where(np.arange(80).reshape(8, 10, 1, 1) == 3, 20, 1) * x)
    assert odd.variation.freedom < 3 < 8 < usual.variation.freedom
    assert np.diff(odd.repetition) > 2 * np.diff(usual.repetition)
    for fault, reason in (
        ({"deciding": 1.05}, "hangs on about 1.1 of"),
        ({"disagreement": 31.0}, "half of them disag"),
    ):
        found = dataclasses.replace(usual.variation, **fault)
        given = intervals(found, 2.0, vr.similarity.mmd(), "abcdefgh", 10, 0.95, lambda: None)
        assert given.repetition is None
        assert reason in given.repetition_note


def test_of_tails_too_long_for_covariances_nothing_is_given_and_of_others_both_are():
    """What was wrong: under covariances the repetition of such skills was too narrow, whatever tails had been seen."""
    generator = np.random.default_rng(0)
    for draw, given in (
        (lambda size: generator.normal(size=size), 6),
        (lambda size: generator.uniform(-1, 1, size=size), 6),
        (lambda size: generator.standard_t(2, size), 0),
        (lambda size: generator.lognormal(size=size), 0),
    ):
        sets = [evaluated(draw((6, 40, 1, 2)).repeat(3, 2), "covariance") for _ in range(6)]
        assert sum(found.repetition is not None for found in sets) == given
        assert sum(found.limit is not None for found in sets) == given
        assert given or all("tails of the episodes are too long" in found.limit_note for found in sets)
    tails = generator.lognormal(0, 2, size=(6, 40, 1, 2)) / 40
    assert evaluated(tails, "mmd").limit is not None
    for text in ("wasserstein", "0.5*mmd + 0.5*wasserstein", "wasserstein.on([0])"):
        assert "too long for " + text in evaluated(tails, text).limit_note


class Drawn(Regrouping):
    """Kernel matrices of two skills that are 0.5 alike, give or take so much in halves, and little without one."""

    def __init__(self, of_halves):
        self.of_halves, self.generator = of_halves, np.random.default_rng(0)

    def matrices(self, deals):
        n = len(deals[0])
        k = 0.5 + (self.of_halves if n == 4 else 0.001) * self.generator.choice([-1, 1], size=(len(deals), n, n))
        k[:, np.arange(n), np.arange(n)] = 1
        return np.minimum(k, np.swapaxes(k, 1, 2))


def test_halves_that_vary_more_than_single_episodes_show_are_believed_in_part_and_others_not():
    of_skill = [np.arange(20), np.arange(20, 40)]
    few, more, most = (
        variation(Drawn(spread), of_skill, 1.0, 2.0, 200, np.random.default_rng(0)) for spread in (1e-4, 0.05, 0.1)
    )
    assert 1 < more.disagreement < most.disagreement
    assert more.error == pytest.approx(few.error * more.disagreement**0.225, rel=0.02)
    assert most.error == pytest.approx(few.error * most.disagreement**0.225, rel=0.02)


def test_where_tails_do_not_matter_episodes_that_were_not_seen_are_no_reason_for_doubt():
    """What was wrong: intervals of overlap held in more than 99 % of draws."""
    k = vr.similarity.overlap()
    assert not k.tails_matter
    assert not (2 * k.on([0])).tails_matter
    assert (k + vr.similarity.mmd()).tails_matter
    of_skill = [np.arange(20), np.arange(20, 40)]
    usual, sure = (
        variation(Drawn(0.01), of_skill, 1.0, 2.0, 200, np.random.default_rng(0), unseen=unseen)
        for unseen in (0.3, np.inf)
    )
    assert 1 / usual.freedom == pytest.approx(1 / sure.freedom + 1 / (0.3 * 40))
    assert usual.error == sure.error
    noisy = np.random.default_rng(0).normal(size=(6, 10, 4, 2))
    assert evaluated(noisy, "overlap").variation.freedom > 0.3 * 60 > evaluated(noisy, "mmd").variation.freedom


def test_the_scale_goes_there_and_back_and_ends_where_scores_do():
    scale = Scale(8.0)
    for score in (1.0, 1.01, 4.0, 7.99, 8.0):
        assert scale.back(float(scale.of(score))) == pytest.approx(score)
    assert (scale.back(-50.0), scale.back(50.0)) == (1, 8)
