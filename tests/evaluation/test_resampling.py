"""Deals: halves that share nothing, all episodes but one, all ways there are."""

import numpy as np
import pytest

from vendirl.evaluation.resampling import (
    deals_without_one,
    every_deal,
    number_of_deals,
    shuffled_deals,
    split_deals,
)


def test_halves_are_of_the_same_skill_and_share_no_episode_and_shuffles_keep_sizes_and_episodes():
    of_skill = [np.arange(5), np.arange(5, 7)]
    generator = np.random.default_rng(0)
    for deal in split_deals(of_skill, 20, generator):
        assert [len(chosen) for chosen in deal] == [2, 1, 2, 1]
        assert len(np.unique(np.concatenate(deal))) == 6
        assert all(np.isin(chosen, of_skill[i % 2]).all() for i, chosen in enumerate(deal))
    for deal in shuffled_deals(of_skill, 20, generator):
        assert [len(chosen) for chosen in deal] == [5, 2]
        assert sorted(np.concatenate(deal)) == list(range(7))


def test_each_episode_is_left_out_once_or_as_many_of_one_skill_as_of_another():
    of_skill = [np.arange(5), np.arange(5, 8)]
    missing = [
        set(range(8)) - set(np.concatenate(d)) for d in deals_without_one(of_skill, 99, np.random.default_rng(0))
    ]
    assert sorted(e for gone in missing for e in gone) == list(range(8))
    few = [set(range(8)) - set(np.concatenate(d)) for d in deals_without_one(of_skill, 4, np.random.default_rng(0))]
    assert sum(e < 5 for gone in few for e in gone) == 2


@pytest.mark.parametrize(
    ("sizes", "count"),
    [((2, 2, 2), 15), ((1, 1, 1), 1), ((3, 2), 10), ((2, 3, 2), 105), ((1, 2, 2, 1), 45), ((4, 4), 35), ((4,), 1)],
)
def test_every_deal_is_there_once(sizes, count):
    of_skill = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    deals = list(every_deal(of_skill))
    assert number_of_deals(sizes) == len(deals) == count
    assert len({frozenset(map(frozenset, deal)) for deal in deals}) == count
    assert all(sorted(map(len, deal)) == sorted(sizes) for deal in deals)
    assert all(sorted(e for chosen in deal for e in chosen) == list(range(sum(sizes))) for deal in deals)
