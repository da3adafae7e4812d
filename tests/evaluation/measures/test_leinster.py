"""Leinster-Cobbold diversity and magnitude."""

import itertools
import math

import numpy as np
import pytest

from tests import reference
from tests.generators import kernel
from vendirl.evaluation.measures.leinster import leinster_cobbold, magnitude

ORDERS = (0, 0.5, 0.999, 1, 1.001, 2, 300, math.inf)
BLOCKS = np.kron(np.diag([1.0, 1.0]), np.ones((3, 3)))  # two kinds of three


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("q", ORDERS)
def test_closed_forms(rng, q):
    p = rng.dirichlet(np.ones(5))
    assert leinster_cobbold(np.eye(5), q, p).value == pytest.approx(reference.hill_number(p, q), rel=1e-9)
    assert leinster_cobbold(np.ones((5, 5)), q, p).value == pytest.approx(1)
    assert leinster_cobbold(BLOCKS, q).value == pytest.approx(2)
    share = np.array([0.1, 0.2, 0.3, 0.4, 0, 0])  # 0.6 of one kind, 0.4 of the other, and some that are not there
    expected = reference.hill_number(np.array([0.6, 0.4]), q)
    assert leinster_cobbold(BLOCKS, q, 7 * share).value == pytest.approx(expected, rel=1e-9)
    pair = np.array([[1, 0.3], [0.3, 1]])
    assert leinster_cobbold(pair, q).value == pytest.approx(2 / 1.3)  # all equally ordinary: the same for each order


def test_the_formula_and_that_it_never_increases_with_the_order(rng):
    Z = np.abs(kernel(rng, 6, "full"))
    p = rng.dirichlet(np.ones(6))
    for q in (0, 0.3, 0.9, 1.4, 3.5):
        direct = np.sum(p * (Z @ p) ** (q - 1)) ** (1 / (1 - q))
        assert leinster_cobbold(Z, q, p).value == pytest.approx(direct)
    values = [leinster_cobbold(Z, q, p).value for q in ORDERS]
    assert all(a >= b for a, b in itertools.pairwise(values))
    assert values[2] > values[3] > values[4]
    assert leinster_cobbold(Z, 1 + 1e-10, p).value == pytest.approx(values[3], rel=1e-9)


def test_settings_and_refusals():
    assert leinster_cobbold(np.eye(3), math.inf).settings == {"q": "inf", "skills": 3, "weights": "uniform"}
    negative = leinster_cobbold(np.array([[1, -0.5], [-0.5, 1]]))
    assert negative.value is None
    assert "below 0" in negative.note
    for wrong in ({"q": -1}, {"q": math.nan}, {"weights": [1]}, {"weights": [0, 0]}, {"weights": [-1, 2]}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            leinster_cobbold(np.eye(2), **wrong)
    for K, says in ((np.ones(3), "shape"), (2 * np.eye(2), "must be 1"), ([[1, 0.5], [0, 1]], "symmetric")):
        for measure in (leinster_cobbold, magnitude):
            with pytest.raises(ValueError, match=says):
                measure(K)
    with pytest.raises(ValueError, match="finite"):
        magnitude([[1, np.nan], [np.nan, 1]])


def test_magnitude():
    assert magnitude(np.eye(5)).value == pytest.approx(5)
    assert magnitude(np.ones((5, 5))).value == pytest.approx(1)  # singular, with many weightings
    assert magnitude(BLOCKS).value == pytest.approx(2)
    K = np.exp(-np.abs(np.subtract.outer(*[np.array([0, 0.5, 2, 7])] * 2)))
    found = magnitude(K)
    assert found.value == pytest.approx(np.linalg.inv(K).sum())
    assert found.value == pytest.approx(1 + np.tanh(np.array([0.5, 1.5, 5]) / 2).sum())  # points on a line
    assert found.note is None


def test_magnitude_where_there_is_none_or_it_means_little():
    turn = 2 * np.pi * np.arange(3) / 3
    for K in ([[1, -1], [-1, 1]], np.cos(np.subtract.outer(turn, turn))):
        none = magnitude(K)
        assert none.value is None
        assert "no weighting" in none.note
    large = magnitude([[1, 0.7, 0.7], [0.7, 1, 0], [0.7, 0, 1]])
    assert large.value == pytest.approx(10)  # more than its three points
    assert "negative" in large.note
    assert "nearly singular" in magnitude([[1, 1 - 1e-9], [1 - 1e-9, 1]]).note
