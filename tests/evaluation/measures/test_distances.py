"""Wasserstein distances between skills."""

import itertools

import numpy as np
import pytest
import scipy.stats

import vendirl as vr
from vendirl.data import Trajectories
from vendirl.evaluation.measures.distances import exact_distances, pairwise_wasserstein, sliced_distances


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_on_a_line_against_scipy(rng):
    groups = [rng.normal(size=(m, 1)) * s for m, s in ((7, 1), (12, 3), (1, 1), (30, 0.1))]
    expected = [scipy.stats.wasserstein_distance(a[:, 0], b[:, 0]) for a, b in itertools.combinations(groups, 2)]
    np.testing.assert_allclose(exact_distances(groups), expected, rtol=1e-12)
    found = pairwise_wasserstein(Trajectories.of(groups))
    assert found.value == pytest.approx(np.mean(expected))
    assert found.settings["method"] == "exact"


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("D", [1, 2])
def test_against_all_permutations(rng, order, D):
    a, b = rng.normal(size=(2, 6, D))
    costs = [np.mean(np.linalg.norm(a - b[list(p)], axis=-1) ** order) for p in itertools.permutations(range(6))]
    assert exact_distances([a, b], order)[0] == pytest.approx(min(costs) ** (1 / order))


def test_order_two_on_a_line_repeats_to_equal_numbers(rng):
    a, b = rng.normal(size=(4, 1)), rng.normal(size=(6, 1))
    evenly = np.sort(np.repeat(a, 3)) - np.sort(np.repeat(b, 2))
    assert exact_distances([a, b], 2)[0] == pytest.approx(np.sqrt(np.mean(evenly**2)))


def test_sliced(rng):
    a, b, c = rng.normal(size=(3, 50, 2)) * [[[1, 1]], [[3, 0.1]], [[1, 5]]]
    # on a line every direction is the same, and as many quantiles as points are exact
    line = [a[:, :1], b[:, :1], c[:, :1]]
    for order in (1, 2):
        found = sliced_distances(line, order, directions=3, quantiles=50)
        np.testing.assert_allclose(found, exact_distances(line, order), rtol=1e-9)
    # of a shift by d the squared projections average d² / D
    shift = sliced_distances([a, a + np.array([3.0, 4.0])], 2, directions=1000)
    assert shift[0] == pytest.approx(5 / np.sqrt(2), rel=0.03)
    # the similarity of that name, with other directions
    k = vr.similarity.wasserstein(directions=64, quantiles=64)
    K = vr.kernel_matrix(k, np.stack([a, b, c]))
    np.testing.assert_allclose(
        sliced_distances([a, b, c], 2, directions=1000, quantiles=64), -np.log(K[np.triu_indices(3, 1)]), rtol=0.05
    )


def test_methods_samples_and_seeds(rng):
    x = rng.normal(size=(3, 2, 200, 2)) + 10 * np.arange(3)[:, None, None, None]
    data = Trajectories.of(x)
    sliced, exact = pairwise_wasserstein(data), pairwise_wasserstein(data, method="exact")
    assert sliced.settings["method"] == "sliced"
    assert exact.settings["points"] == 256
    shift = np.mean([10, 10, 20]) * np.sqrt(2)
    assert exact.value == pytest.approx(shift, rel=0.03)
    assert sliced.value == pytest.approx(shift * 2 / np.pi, rel=0.15)  # E|cos| in the plane
    small = pairwise_wasserstein(data, limit=90, seed=1)
    assert small.settings["method"] == "exact"
    assert small.settings["points"] == 30
    assert small == pairwise_wasserstein(data, limit=90, seed=1)
    assert small.value != pairwise_wasserstein(data, limit=90, seed=2).value
    standard = pairwise_wasserstein(Trajectories.of(x * [1, 1e6]), method="exact", standardise=True)
    assert standard.value == pytest.approx(pairwise_wasserstein(data, method="exact", standardise=True).value)


def test_degenerate(rng):
    same = Trajectories.of(np.repeat(rng.normal(size=(1, 20, 2)), 3, 0))
    for method in ("exact", "sliced"):
        assert pairwise_wasserstein(same, method=method).value == pytest.approx(0, abs=1e-12)
    constant = Trajectories.of(np.ones((3, 4, 2)))
    assert pairwise_wasserstein(constant, standardise=True).value == 0
    alone = pairwise_wasserstein(Trajectories.of(np.zeros((1, 4, 2))))
    assert alone.value is None
    assert "one skill" in alone.note
    for wrong in ({"order": 3}, {"method": "fast"}, {"directions": 0}, {"limit": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            pairwise_wasserstein(same, **wrong)
