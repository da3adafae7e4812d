"""Measures against packages that compute the same: sentropy, pyribs, POT, scikit-learn and SciPy."""

import math
import os

import numpy as np
import pytest
import scipy.stats
from sklearn.metrics import mutual_info_score

import vendirl as vr
from tests.generators import kernel
from vendirl.data import Trajectories
from vendirl.evaluation.measures.archive import archive_coverage, qd_score
from vendirl.evaluation.measures.cells import cells
from vendirl.evaluation.measures.distances import exact_distances, sliced_distances
from vendirl.evaluation.measures.information import mutual_information
from vendirl.evaluation.measures.leinster import leinster_cobbold
from vendirl.evaluation.measures.neural_diversity import gaussian_neural_diversity
from vendirl.evaluation.measures.pwsep import to_nearest_mixture
from vendirl.evaluation.measures.selection import selected_number

for library in ("PYTORCH", "JAX", "TENSORFLOW", "CUPY"):  # which POT would import to work with, for seconds
    os.environ.setdefault(f"POT_BACKEND_DISABLE_{library}", "1")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("q", [0, 0.5, 1, 2, 3.5, math.inf])
def test_leinster_and_cobbold_and_the_vendi_score_against_sentropy(rng, q):
    from sentropy import Set
    from sentropy.spectral import vendi_score

    K = kernel(rng, 6, "full") ** 2  # a product of positive semidefinite matrices, and nowhere negative
    p = rng.dirichlet(np.ones(6))
    theirs = Set(p[:, None], similarity=K).set_diversity(q, "gamma")
    assert leinster_cobbold(K, q, p).value == pytest.approx(theirs, rel=1e-6)
    whole = vendi_score(np.ones((6, 1)), K, q, level="overall")
    assert float(vr.vendi_score(K, q)) == pytest.approx(float(whole), rel=1e-6)


def test_an_archive_against_pyribs(rng):
    from ribs.archives import GridArchive

    x, fitness = rng.uniform(-0.1, 1.1, (60, 2)), rng.normal(size=60)
    data = Trajectories.of(x[:, None], skill=np.arange(60) % 4, rewards=fitness[:, None])
    theirs = GridArchive(solution_dim=1, dims=[5, 3], ranges=[(0, 1), (0, 1)], qd_score_offset=-10.0)
    theirs.add(np.zeros((60, 1)), fitness, x)
    options = {"bounds": [[0, 1], [0, 1]], "cells": (5, 3)}
    assert qd_score(data, offset=-10.0, **options).value == pytest.approx(theirs.stats.qd_score)
    assert archive_coverage(data, **options).value == pytest.approx(theirs.stats.coverage)


@pytest.mark.parametrize(("D", "order"), [(1, 1), (1, 2), (3, 1), (3, 2)])
def test_wasserstein_distances_against_pot(rng, D, order):
    import ot

    a, b = rng.normal(size=(9, D)), rng.normal(size=(9 if D > 1 else 14, D)) * 2 + 1
    cost = np.linalg.norm(a[:, None] - b[None], axis=-1) ** order
    assert exact_distances([a, b], order)[0] == pytest.approx(
        ot.emd2(ot.unif(len(a)), ot.unif(len(b)), cost) ** (1 / order)
    )
    drawn = np.random.default_rng(3).normal(size=(D, 16))  # the same directions, and as many quantiles as points
    theirs = ot.sliced_wasserstein_distance(a, b[:9], projections=drawn / np.linalg.norm(drawn, axis=0), p=order)
    ours = sliced_distances([a, b[:9]], order, directions=16, quantiles=9, seed=3)[0]
    assert ours == pytest.approx(theirs)


def test_the_nearest_mixture_against_every_mixture_by_pot(rng):
    """No mixture of two others on a fine grid is nearer than the one that the linear program finds, and one is as near
    as the grid is fine."""
    import ot

    a, first, second = rng.normal(size=(5, 2)), rng.normal(size=(6, 2)) + 1, rng.normal(size=(4, 2)) - 2
    cost = np.linalg.norm(a[:, None] - np.concatenate([first, second])[None], axis=-1)
    shares = np.linspace(0, 1, 201)
    found = [ot.emd2(ot.unif(5), np.repeat([w / 6, (1 - w) / 4], [6, 4]), cost) for w in shares]
    best = to_nearest_mixture(a, [first, second])
    assert best <= min(found) + 1e-9
    assert best == pytest.approx(min(found), abs=0.02)
    assert 0 < np.argmin(found) < 200


def test_distances_of_normal_actions_against_pot(rng):
    import ot

    means, stds = rng.normal(size=(2, 3, 4)), rng.uniform(0.2, 2, (2, 3, 4))
    theirs = [
        ot.gaussian.bures_wasserstein_distance(*means[:, s], *(np.diag(stds[i, s] ** 2) for i in range(2)))
        for s in range(3)
    ]
    assert gaussian_neural_diversity(means, stds).value == pytest.approx(np.mean(theirs))


def test_information_and_entropy_against_scikit_learn_and_scipy(rng):
    data = Trajectories.of(rng.normal(size=(4, 3, 20, 2)) + np.arange(4)[:, None, None, None])
    found = cells(data, bin=1.0)
    assert mutual_information(data, bin=1.0).value == pytest.approx(mutual_info_score(found.index, found.skill))
    counts = rng.integers(1, 20, 7)
    assert selected_number(counts).value == pytest.approx(np.exp(scipy.stats.entropy(counts / counts.sum())))
