"""Held-out accuracy of telling skills apart."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from vendirl.data import Trajectories
from vendirl.evaluation.measures.discriminability import dealt_in_turn, discriminability

NOISE = np.random.default_rng(0).normal(size=(3, 6, 30, 2))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_separated_and_identical_skills():
    apart = discriminability(Trajectories.of(NOISE + 100 * np.arange(3)[:, None, None, None]))
    assert apart.value == 1
    assert apart.settings["chance"] == pytest.approx(1 / 3)
    assert discriminability(Trajectories.of(NOISE)).value == pytest.approx(1 / 3, abs=0.08)
    copies = Trajectories.of(np.broadcast_to(NOISE[:1], NOISE.shape))
    assert discriminability(copies).value == pytest.approx(1 / 3, abs=0.08)


def test_whole_trajectories_are_held_out(rng):
    """Skills that do the same, where each trajectory stays in a place of its own: single steps would be named right."""
    x = rng.normal(0, 100, (2, 10, 1, 2)) + 0.01 * rng.normal(size=(2, 10, 20, 2))
    assert discriminability(Trajectories.of(x)).value < 0.8


@pytest.mark.parametrize("k", [1, 5])
def test_against_scikit_learn(rng, k):
    x = rng.normal(size=(2, 4, 15, 3)) * [1, 50, 0.1] + np.array([0, 1])[:, None, None, None] * [0.8, 0, 0.08]
    data = Trajectories.of(x)  # two skills and odd k: no ties
    fold = np.repeat(dealt_in_turn(data, 4), 15)
    points, skill = x.reshape(-1, 3), np.repeat([0, 1], 60)
    right = np.zeros(120)
    for f in range(4):
        train, test = fold != f, fold == f
        scale = StandardScaler().fit(points[train])
        model = KNeighborsClassifier(k).fit(scale.transform(points[train]), skill[train])
        right[test] = model.predict(scale.transform(points[test])) == skill[test]
    found = discriminability(data, neighbours=k, folds=4)
    assert found.value == pytest.approx(right.mean())
    assert 0.55 < found.value < 0.95


def test_accuracy_is_the_mean_over_skills_and_ties_are_shared():
    # Skill 0 has 8 trajectories where skill 1 has 2, all at one point: each neighbour is as near as any other.
    data = Trajectories.of([np.zeros((3, 2))] * 10, skill=[0] * 8 + [1] * 2)
    assert discriminability(data).value == pytest.approx(0.5)
    # With one observation of each skill to learn from, more than one neighbour would be of another skill.
    data = Trajectories.of(100 * np.arange(3.0)[:, None, None, None] + np.zeros((3, 2, 1, 1)))
    assert discriminability(data).value == 1
    assert discriminability(data).settings["neighbours"] == 1
    # Two neighbours, one of either skill, at the same distance: half a point.
    data = Trajectories.of([[[0.0]], [[0.0]], [[0.0]], [[0.0]]], skill=[0, 0, 1, 1])
    assert discriminability(data, neighbours=2).value == pytest.approx(0.5)


def test_a_feature_of_another_size_or_that_is_constant_changes_nothing():
    x = NOISE + 1.5 * np.arange(3)[:, None, None, None] * [1, 0]
    found = discriminability(Trajectories.of(x)).value
    assert discriminability(Trajectories.of(x * [1e200, 1e-200])).value == found
    constant = np.full((*x.shape[:-1], 1), 0.1, np.float32)
    assert discriminability(Trajectories.of(np.concatenate([x, constant], -1))).value == found
    assert discriminability(Trajectories.of(x), features=[1]).value < found


def test_what_cannot_be_computed_says_why():
    alone = discriminability(Trajectories.of(NOISE[:1]))
    assert alone.value is None
    assert "one skill" in alone.note
    single = discriminability(Trajectories.of(NOISE[:, 0]))
    assert single.value is None
    assert "single trajectory" in single.note
    with pytest.raises(ValueError, match="folds=1"):
        discriminability(Trajectories.of(NOISE), folds=1)


def test_seed_and_sample():
    data = Trajectories.of(NOISE + 0.5 * np.arange(3)[:, None, None, None])
    small = discriminability(data, limit=150, seed=1)
    assert small == discriminability(data, limit=150, seed=1)
    assert small.settings["observations"] == 150
    assert small.value != discriminability(data, limit=150, seed=2).value
    assert small.settings["folds"] == 5
    assert discriminability(data, folds=99).settings["folds"] == 6
