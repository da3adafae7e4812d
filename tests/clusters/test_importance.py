"""Importance against a plain reference, and against chance."""

import numpy as np

from vendirl.clusters.importance import DEALS, explained, groups_of, importances
from vendirl.clusters.space import parse_space


def reference(y, groups):
    """η² as the equation has it."""
    total = sum((value - np.mean(y)) ** 2 for value in y)
    between = 0.0
    for g in set(groups):
        members = [value for value, group in zip(y, groups, strict=True) if group == g]
        between += len(members) * (np.mean(members) - np.mean(y)) ** 2
    return between / total


def test_the_share_explained_is_that_of_the_equation():
    generator = np.random.default_rng(0)
    y, groups = generator.normal(size=(5, 17)), generator.permutation(np.arange(17) % 3)
    np.testing.assert_allclose(explained(y, groups), [reference(row, groups) for row in y])


def test_groups_are_choices_or_equally_many_of_a_range():
    order, rate = parse_space("order=1,2,3; ppo.learning_rate=1e-4..1e-2 log")
    assert groups_of(order, [3.0, 1.0, 3.0]).tolist() == [1, 0, 1]
    drawn = np.geomspace(1e-4, 1e-2, 16)
    assert groups_of(rate, drawn.tolist()).tolist() == np.repeat(range(4), 4).tolist()


def test_what_matters_is_told_from_what_does_not():
    space = parse_space("ppo.learning_rate=1e-4..1e-2 log; order=1,2,3; skills=2,3")
    generator = np.random.default_rng(1)
    values = [{d.name: d.at(x) for d, x in zip(space, generator.random(3), strict=True)} for _ in range(60)]
    objectives = [np.log10(row["ppo.learning_rate"]) + 0.3 * (row["order"] == 2) for row in values]
    found = importances(space, values, objectives)
    assert found[0].name == "ppo.learning_rate"
    assert found[0].share > 0.8
    assert found[0].p == 1 / (1 + DEALS)
    assert {one.name: one for one in found}["skills"].share < 0.1


def test_by_chance_alone_nothing_matters():
    space = parse_space("order=1,2,3")
    generator = np.random.default_rng(2)
    found = []
    for i in range(100):
        values = [{"order": space[0].at(x)} for x in generator.random(9)]
        found += importances(space, values, generator.normal(size=9).tolist(), seed=i)
    assert np.mean([one.p <= 0.1 for one in found]) < 0.2  # 10 are expected of 100, and 20 are 3.3 deviations more
    assert np.mean([one.share for one in found]) < 0.2  # at least 0, so not 0 on average


def test_too_few_or_equal_trials_say_nothing():
    space = parse_space("order=1,2")
    assert importances(space, [{"order": 1.0}, {"order": 2.0}], [1.0, 2.0]) == []
    assert importances(space, [{"order": 1.0}, {"order": 2.0}] * 4, [1.0] * 8) == []
