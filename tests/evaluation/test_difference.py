"""Differences of two sets and of two methods' seeds."""

import numpy as np
import pytest
import scipy.stats

import vendirl as vr


def skills(seed, apart, n=8, episodes=8):
    generator, turn = np.random.default_rng(seed), 2 * np.pi * np.arange(n) / n
    place = apart * np.stack([np.cos(turn), np.sin(turn)], -1)
    return place[:, None, None] + 0.5 * generator.normal(size=(n, episodes, 1, 2)) + np.zeros((1, 1, 2, 1))


def evaluated(x, similarities="mmd", **settings):
    return vr.evaluate(x, similarities, measures=False, **{"shuffles": 1, **settings})


def test_two_sets_of_one_kind_differ_by_chance_and_of_two_kinds_do_not():
    found = [evaluated(skills(seed, 1)).minus(evaluated(skills(50 + seed, 1)))[0] for seed in range(40)]
    given = [d for d in found if d.interval is not None]
    assert len(given) > 30
    assert np.mean([d.interval[0] <= 0 <= d.interval[1] for d in given]) >= 0.85
    for d in given:
        assert (d.p_value < 0.05) == (not d.interval[0] <= 0 <= d.interval[1])
    (far,) = evaluated(skills(0, 2)).minus(skills(1, 0.5))
    assert far.interval[0] > 0
    assert far.p_value < 0.01
    assert far.difference == pytest.approx(far.scores[0] - far.scores[1])
    (back,) = evaluated(skills(1, 0.5)).minus(evaluated(skills(0, 2)))
    assert back.p_value == pytest.approx(far.p_value, rel=1e-3)
    assert "p " in str(far)


def test_seeds_are_paired_if_there_are_as_many_and_else_their_means_are_compared():
    a = [evaluated(skills(seed, 1.2)) for seed in range(4)]
    b = [evaluated(skills(10 + seed, 1.0)) for seed in range(4)]
    x, y = ([e[0].vendi_score for e in es] for es in (a, b))
    (found,) = vr.differences(a, b)
    reference = scipy.stats.ttest_rel(x, y)
    assert found.p_value == pytest.approx(reference.pvalue)
    assert found.interval == pytest.approx(tuple(reference.confidence_interval(0.95)))
    assert found.note == "paired over 4 seeds"
    (found,) = vr.differences(a, b[:3])
    reference = scipy.stats.ttest_ind(x, y[:3], equal_var=False)
    assert found.p_value == pytest.approx(reference.pvalue)
    assert found.interval == pytest.approx(tuple(reference.confidence_interval(0.95)))
    (found,) = vr.differences(a, b[:1])
    assert found.interval is None
    assert "single seed" in found.note


def test_what_cannot_be_compared_says_why():
    few, enough = evaluated(skills(0, 1, episodes=2)), evaluated(skills(0, 1))
    (found,) = few.minus(enough)
    assert (found.interval, found.p_value) == (None, None)
    assert "at least 8 episodes" in str(found)
    (found,) = enough.minus(evaluated(skills(0, 1, episodes=9)))
    assert "not equally many" in found.note
    (found,) = enough.minus(evaluated(skills(0, 1, n=6)))
    assert "of 8 and 6 skills" in found.note
    assert "equally many" not in found.note
    with pytest.raises(ValueError, match="same similarity"):
        enough.minus(evaluated(skills(0, 1), "final_state"))
    with pytest.raises(ValueError, match="different orders"):
        enough.minus(evaluated(skills(0, 1), q=2.0))
    with pytest.raises(ValueError, match="nothing to compare"):
        vr.differences([], [enough])


def test_a_similarity_that_no_text_says_is_that_of_the_other_set_too():
    k = vr.similarity.mmd().on(lambda observation: observation[..., :1])
    (found,) = evaluated(skills(0, 2), k).minus(skills(1, 0.5))
    assert found.similarity == str(k)
    assert found.difference > 0


def test_a_confidence_is_said_with_all_its_digits():
    found = evaluated(skills(0, 1), confidence=0.995)
    assert "99.5% interval" in str(found[0])
    assert "99.5% interval" in str(found.minus(found)[0])


def test_sets_of_different_features_are_compared_with_a_warning():
    a = evaluated(skills(0, 1))
    assert "features" not in str(a.minus(skills(1, 1))[0])
    (found,) = a.minus(np.concatenate([skills(1, 1), skills(2, 1)], -1))
    assert "careful, the data are of different features, of feature 0, feature 1 and of feature 0" in str(found)
    assert found.interval is not None
