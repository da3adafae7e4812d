"""Comparing methods over seeds, against hand-computed cases and simulation."""

import itertools

import numpy as np
import pytest

import vendirl as vr
from vendirl.evaluation.comparison import correlations, interquartile_mean, interval, probability_of_improvement


def test_interquartile_mean():
    assert interquartile_mean([1, 2, 3, 4, 100]) == pytest.approx(3)  # one is cut at each end
    assert interquartile_mean([0, 1, 2, 3, 4, 5, 6, 70]) == pytest.approx(3.5)
    assert interquartile_mean([7]) == 7


def test_probability_of_improvement_counts_pairs_and_halves_ties():
    assert probability_of_improvement([2, 3], [1, 2])[0] == pytest.approx((1 + 0.5 + 1 + 1) / 4)
    x, y = np.random.default_rng(0).normal(size=(2, 6))
    expected = np.mean([a > b for a, b in itertools.product(x, y)])
    value, (low, high) = probability_of_improvement(x, y)
    assert value == pytest.approx(expected)
    assert low <= value <= high
    with pytest.raises(ValueError, match="x has 2 tasks, but y has 1"):
        probability_of_improvement(np.zeros((3, 2)), np.zeros((3, 1)))


def test_intervals_of_a_mean_cover():
    """The bootstrap of the mean of 20 normal numbers covers at about its rate."""
    generator = np.random.default_rng(0)
    hits = 0
    for seed in range(200):
        low, high = interval(generator.normal(size=20), lambda x: x.mean(0), confidence=0.9, resamples=400, seed=seed)
        hits += low <= 0 <= high
    assert 0.82 < hits / 200 < 0.96


def test_stratified_resampling_stays_within_tasks():
    """Two tasks of very different scale: resampling across them would widen the interval of the mean."""
    scores = np.stack([np.full(5, 0.0), np.full(5, 100.0)], 1)
    assert interval(scores, lambda x: x.mean(0)) == (50.0, 50.0)


def test_compare_finds_the_first_and_whether_it_is_clear():
    table = vr.compare(
        {
            "a": {"mmd": [5, 5.1, 5.2, 5.1, 5], "overlap": [3, 4, 5, 4, 3]},
            "b": {"mmd": [1, 2, 1, 2, 1], "overlap": [4] * 5},
        }
    )
    assert table.first("mmd") == ("a", True)
    assert table.first("overlap") == ("b", False)
    assert table.improvement[0, 1, 0] == 1
    assert table.improvement[0, 0, 0] == pytest.approx(0.5)
    plain = table.to_json()
    assert plain["first"]["mmd"] == {"method": "a", "clearly": True}


def test_with_one_seed_nothing_is_clear():
    data = {
        name: [vr.evaluate(np.random.default_rng(seed).normal(size=(3, 2, 5, 2)), ["mmd"])]
        for seed, name in enumerate("ab")
    }
    assert vr.compare(data).first("mmd")[1] is False


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ({}, "scores is empty"),
        ({"a": []}, "a has no evaluations"),
        ({"a": {"mmd": [np.nan]}}, "finite"),
        ({"a": {"mmd": [1]}, "b": {"overlap": [1]}}, "same similarities"),
    ],
)
def test_bad_comparisons_are_refused(scores, message):
    with pytest.raises(ValueError, match=message):
        vr.compare(scores)


def test_compare_and_correlate_evaluations():
    generator = np.random.default_rng(0)
    sets = [
        vr.evaluate(
            generator.normal(size=(3, 3, 5, 2)) + spread * np.arange(3)[:, None, None, None],
            "mmd",
            shuffles=2,
            resamples=2,
        )
        for spread in (0.1, 1, 4)
    ]
    assert vr.compare({"a": sets[:2], "b": sets[2:]}).first("mmd")[0] == "b"
    names, R = correlations(sets)
    i, j = names.index("Vendi Score, mmd"), names.index("mutual information")
    assert R[i, j] > 0.4
    assert np.allclose(np.diag(R), 1)
    with pytest.raises(ValueError, match="at least three"):
        correlations(sets[:2])
