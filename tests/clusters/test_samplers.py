"""Samplers ask for what they should, and for the same again."""

import time

import numpy as np
import pytest

from vendirl.clusters.samplers import sampler_of
from vendirl.clusters.space import parse_space

CHOICES = "skills=2,3; order=1,2,3"


def asked(sampler, count, objective=lambda values: 0.0):
    found = []
    for number in range(count):
        found.append(sampler.ask(number))
        sampler.tell(number, objective(found[-1]))
    return found


def test_a_grid_has_each_combination_once():
    space = parse_space(CHOICES)
    grid, count = sampler_of("grid", space, None, 0)
    rows = [tuple(values.values()) for values in asked(grid, count)]
    assert rows == [(n, q) for n in (2, 3) for q in (1.0, 2.0, 3.0)]
    few, count = sampler_of("grid", space, 4, 0)
    drawn = [tuple(values.values()) for values in asked(few, count)]
    assert len(set(drawn)) == count == 4
    assert set(drawn) <= set(rows)
    assert sampler_of("grid", space, 99, 0)[1] == 6


def test_random_trials_depend_on_their_number_alone_and_are_even():
    space = parse_space("ppo.learning_rate=1e-4..1e-2 log; order=1,2")
    first, count = sampler_of("random", space, None, 3)
    again, _ = sampler_of("random", space, 500, 3)
    assert count == 20
    assert first.ask(7) == again.ask(7) != first.ask(8)
    drawn = [again.ask(number) for number in range(500)]
    share = (np.log10([values["ppo.learning_rate"] for values in drawn]) + 4) / 2
    np.testing.assert_allclose(np.histogram(share, 4, (0, 1))[0], 125, atol=35)  # 3.6 standard deviations
    assert 200 < sum(values["order"] == 1 for values in drawn) < 300


def test_optuna_learns_and_asks_for_the_same_again():
    space = parse_space("ppo.learning_rate=1e-4..1e-2 log; skills=2..9; order=1,2")

    def near(values):
        return -abs(np.log10(values["ppo.learning_rate"]) + 3) - (values["order"] == 1)

    runs = [asked(sampler_of("tpe", space, 30, 1)[0], 30, near) for _ in range(2)]
    assert runs[0] == runs[1]
    assert all(isinstance(values["skills"], int) and 2 <= values["skills"] <= 9 for values in runs[0])
    assert np.mean([near(values) for values in runs[0][20:]]) > np.mean([near(values) for values in runs[0][:10]]) + 0.2


def test_what_failed_is_told_as_that():
    sampler, _ = sampler_of("tpe", parse_space(CHOICES), 3, 0)
    sampler.ask(0)
    sampler.tell(0, None)
    assert [trial.state.name for trial in sampler.study.trials] == ["FAIL"]


@pytest.mark.parametrize(
    ("sampler", "over", "message"),
    [
        ("grids", CHOICES, "did you mean 'grid'"),
        ("grid", "skills=2..9", "skills=2..9 in 5"),
        (3, CHOICES, "or one of Optuna's"),
    ],
)
def test_samplers_are_refused_in_words(sampler, over, message):
    with pytest.raises((ValueError, TypeError), match=message):
        sampler_of(sampler, parse_space(over), None, 0)


def test_a_large_grid_is_asked_as_fast_as_a_small_one():
    space = parse_space("ppo.discount=0.1..0.9 in 1000; order=" + ",".join(map(str, range(1, 1001))))
    sampler, count = sampler_of("grid", space, None, 0)
    assert count == 10**6
    assert sampler.ask(count - 1) == {"ppo.discount": 0.9, "order": 1000.0}
    assert [sampler.ask(i)["order"] for i in (0, 1, 1000)] == [1.0, 2.0, 1.0]
    start = time.process_time()
    for i in range(200):
        sampler.ask(count - 1 - i)
    assert time.process_time() - start < 0.5
