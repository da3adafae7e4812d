"""The Vendi Score of many items: every interval must hold the exact value, wherever that can be computed."""

import functools
import math
import sys

import jax.numpy as jnp
import numpy as np
import pytest

from tests import reference
from vendirl.score import large
from vendirl.score.large import (
    LargeScore,
    kernel_blocks,
    order_two,
    pivoted_cholesky,
    stochastic_lanczos,
    vendi_score_of_items,
)

N = 301  # not a multiple of a tile
ORDERS = (0, 0.5, 0.9, 1, 1.0001, 1.5, 2, 3, 10, math.inf)


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Several tiles, the last one filled up, also for few items."""
    monkeypatch.setattr(kernel_blocks, "TILE", 128)


@functools.cache
def items(name):
    rng = np.random.default_rng(0)
    return {
        "flat spectrum": lambda: 3 * rng.normal(size=(N, 8)),
        "many directions": lambda: 0.15 * rng.normal(size=(N, 16)),
        "fast decay": lambda: 0.3 * rng.normal(size=(N, 2)),
        "one feature": lambda: rng.normal(size=(N, 1)),
        "heavy tails": lambda: rng.standard_cauchy(size=(N, 2)),
        "far from the origin": lambda: 1e4 + rng.normal(size=(N, 2)),
        "duplicates": lambda: np.repeat(rng.normal(size=(7, 3)), 43, 0),
        "all alike": lambda: np.ones((N, 3)),
        "two items": lambda: np.array([[0.5, 1.0], [2.0, 0.0]]),
        "one item": lambda: np.ones((1, 2)),
    }[name]()


SETS = (
    "flat spectrum",
    "many directions",
    "fast decay",
    "one feature",
    "heavy tails",
    "far from the origin",
    "duplicates",
    "all alike",
    "two items",
    "one item",
)


def padded(name):
    """The same items with features that are all zero: one shape, so that each function compiles once."""
    X = items(name)
    return np.pad(X, ((0, 0), (0, 16 - X.shape[1])))


def kernel_matrix(X, kernel, scale=1.0):
    if kernel == "linear":
        unit = X / np.linalg.norm(X, axis=1, keepdims=True)
        return unit @ unit.T
    square = np.square(X[:, None] - X[None]).sum(-1)
    return np.exp(-scale * (square if kernel == "rbf" else np.sqrt(square)))


@functools.cache
def spectrum(name, kernel):
    return reference.spectrum(kernel_matrix(items(name), kernel))


def exact(name, kernel, q):
    lam = spectrum(name, kernel)
    return reference.hill_number(lam, q, 4 * len(lam) * np.finfo(float).eps)


def holds(found, value):
    assert found.lower <= found.score <= found.upper
    assert found.lower <= value <= found.upper, f"{value} is not in {found}"


# ---- methods that are exact ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplace"])
@pytest.mark.parametrize("name", SETS)
def test_exact_is_the_reference(name, kernel):
    for q in (0.5, 1, 2, math.inf):
        found = vendi_score_of_items(items(name), kernel, q=q, method="exact")
        holds(found, exact(name, kernel, q))
        np.testing.assert_allclose(found.score, exact(name, kernel, q), rtol=1e-9)
        assert found.error < 1e-8


@pytest.mark.parametrize("name", SETS)
def test_dual_is_the_reference(name):
    for q in (0.5, 1, 2, math.inf):
        holds(vendi_score_of_items(items(name), "linear", q=q, method="dual"), exact(name, "linear", q))


@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplace"])
@pytest.mark.parametrize("name", SETS[:-2])
def test_order_two_in_tiles_is_the_reference(name, kernel):
    found = vendi_score_of_items(padded(name), kernel, q=2, method="order 2")
    holds(found, exact(name, kernel, 2))
    assert found.error < 1e-5
    assert found.confidence == 1


@pytest.mark.parametrize("kernel", ["rbf", "laplace"])
@pytest.mark.parametrize("name", ["many directions", "one feature", "heavy tails", "duplicates"])
def test_order_two_in_float32_holds_the_exact_value_whatever_rounding_does(name, kernel):
    X, k = kernel_blocks.prepared(padded(name), kernel, 1.0)
    low, high = order_two._squares(k, X, np.float32)
    assert low <= len(X) ** 2 / exact(name, kernel, 2) <= high


def test_order_two_of_a_function():
    found = vendi_score_of_items(items("one feature"), lambda x, y: np.exp(-np.abs(x - y.T)), q=2, method="order 2")
    holds(found, exact("one feature", "laplace", 2))


# ---- pivoted Cholesky ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplace"])
@pytest.mark.parametrize("name", SETS)
def test_pivoted_cholesky_holds_the_exact_value_at_every_order(name, kernel):
    for q in ORDERS:
        for rank, tolerance in ((20, 0.01), (N, 1e-6)):
            found = vendi_score_of_items(
                items(name), kernel, q=q, method="pivoted Cholesky", rank=rank, tolerance=tolerance
            )
            holds(found, exact(name, kernel, q))
            assert found.confidence == 1
            assert found.details["rank"] <= rank
        if q >= 1:  # with all the pivots it needs
            assert found.error <= tolerance


def test_bounds_are_attained_by_spectra_they_allow():
    mu, residual, n = np.array([0.5, 0.2, 0.1]), 0.2, 6
    rng = np.random.default_rng(0)
    for q in ORDERS[1:]:
        lower, upper = pivoted_cholesky._spectrum_bounds(mu, residual, n, q)
        some = np.concatenate([mu, np.zeros(3)])
        least, most = some + 0.2 * np.eye(6)[0], np.array([0.5, 0.2, 0.1, 0.2 / 3, 0.2 / 3, 0.2 / 3])
        np.testing.assert_allclose([lower, upper], [reference.hill_number(lam, q) for lam in (least, most)], rtol=1e-8)
        for share in rng.dirichlet(np.full(n, 0.3), 50):
            assert lower <= reference.hill_number(some + residual * share, q) <= upper


def test_pivots_stop_when_the_tolerance_is_met():
    ranks = [
        vendi_score_of_items(items("fast decay"), method="pivoted Cholesky", tolerance=t).details["rank"]
        for t in (0.5, 1e-8)
    ]
    assert ranks[0] < ranks[1] < N
    few = vendi_score_of_items(items("flat spectrum"), method="pivoted Cholesky", rank=20)
    assert "tolerance was not met" in few.reason


def test_pivots_end_where_only_rounding_is_left():
    def rounded(x, y):
        return np.exp(-np.square(x[:, None] - y).sum(-1)).astype(np.float32)

    for name in ("fast decay", "one feature"):
        found = vendi_score_of_items(items(name), rounded, method="pivoted Cholesky", rank=N, tolerance=1e-12)
        assert 0 < found.details["residual"] < 1e-5
        holds(found, exact(name, "rbf", 1))


def test_a_kernel_that_is_not_positive_semidefinite():
    def far_is_near(x, y):
        return np.maximum(np.cos(3 * np.abs(x - y.T)) ** 3 - 0.5 * np.minimum(np.abs(x - y.T), 1), -1)

    X = items("one feature")
    with pytest.raises(ValueError, match=r"kernel is not positive semidefinite: item \d+ .*method='exact'"):
        vendi_score_of_items(X, far_is_near, method="pivoted Cholesky")
    found = vendi_score_of_items(X, far_is_near)  # few items: eigenvalues, the negative ones set to zero
    assert found.method == "exact"
    np.testing.assert_allclose(found.score, reference.vendi_score(far_is_near(X, X)), rtol=1e-9)


# ---- statistical intervals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "laplace"])
def test_random_features_hold_the_exact_value(kernel):
    for name in ("fast decay", "heavy tails", "flat spectrum"):
        for q in (0.5, 1, 3):
            found = vendi_score_of_items(padded(name), kernel, q=q, method="random features", features=64)
            holds(found, exact(name, kernel, q))
            assert found.confidence == 0.99


def test_random_features_narrow_with_their_number():
    few, many = (
        vendi_score_of_items(padded("fast decay"), method="random features", features=m).error for m in (64, 192)
    )
    assert many < few / 1.3


@pytest.mark.parametrize("kernel", ["rbf", "laplace"])
def test_stochastic_lanczos_holds_the_exact_value(kernel):
    pytest.importorskip("matfree")
    for name in ("heavy tails", "duplicates", "flat spectrum"):
        for q in (0.5, 1, 1.5, 3):
            found = vendi_score_of_items(
                padded(name), kernel, q=q, method="stochastic Lanczos", rank=20, steps=12, tolerance=1e-9
            )
            holds(found, exact(name, kernel, q))
            assert found.details["steps"] == 12


def test_quadratures_hold_the_quadratic_form():
    A = kernel_matrix(items("many directions"), "laplace") / N
    lam, U = np.linalg.eigh(A)
    starts = np.random.default_rng(1).choice([-1.0, 1.0], (16, N)) / math.sqrt(N)  # as many as elsewhere: compiled once
    X, k = kernel_blocks.prepared(items("many directions"), "laplace", 1.0)
    pytest.importorskip("matfree")
    v, T = starts[3], stochastic_lanczos._tridiagonals(k, X, starts, 12, np.float64)[3]
    for f in (lambda x: x * np.log(np.where(x > 0, x, 1)), np.sqrt, lambda x: x**1.5, lambda x: x**2.5):
        value = np.square(v @ U) @ f(np.maximum(lam, 0))
        widths = []
        for steps in (4, 12):
            low, high = stochastic_lanczos._quadratures(T[:steps, :steps], f)
            assert low - 1e-15 <= value <= high + 1e-15
            widths.append(high - low)
        assert widths[1] < widths[0] / 5
    # 4 nodes, one of them at 0: exact to degree 6
    low, high = stochastic_lanczos._quadratures(T[:4, :4], lambda x: x**6)
    np.testing.assert_allclose([low, high], np.square(v @ U) @ lam**6, rtol=1e-10)
    assert stochastic_lanczos._quadratures(T[:4, :4], lambda x: (x < 1e-12).astype(float))[1] > 0


@pytest.mark.parametrize("q", [1, math.inf])
def test_stochastic_intervals_cover_as_often_as_they_say(q):
    pytest.importorskip("matfree")
    X = items("many directions")[:100]
    value = reference.vendi_score(kernel_matrix(X, "rbf"), q)
    inside, narrow = 0, []
    for seed in range(40):
        found = vendi_score_of_items(
            X, q=q, method="stochastic Lanczos", rank=10, steps=12, confidence=0.9, tolerance=1e-9, seed=seed
        )
        inside += found.lower <= value <= found.upper
        narrow.append(found.upper / found.lower)
    certain = vendi_score_of_items(X, q=q, method="pivoted Cholesky", rank=10)
    assert inside >= 31  # of 40 at 90 %; fewer would happen once in a hundred
    assert np.median(narrow) < math.sqrt(certain.upper / certain.lower)


def test_rows_of_a_sample_cover_order_two(monkeypatch):
    monkeypatch.setattr(order_two, "PASS", 100)
    for name in ("many directions", "heavy tails"):
        for seed in range(5):
            sampled = vendi_score_of_items(padded(name), q=2, method="order 2", seed=seed)
            assert sampled.details["rows"] == 256
            assert sampled.confidence == 0.99
            holds(sampled, exact(name, "rbf", 2))


def test_tiles_that_do_not_divide_the_sample_leave_no_row_out(monkeypatch):
    monkeypatch.setattr(order_two, "PASS", 100)
    of_one_tile = vendi_score_of_items(padded("heavy tails"), q=2, method="order 2")
    monkeypatch.setattr(kernel_blocks, "TILE", 100)  # 256 rows in three of 86, two of which are not rows
    assert vendi_score_of_items(padded("heavy tails"), q=2, method="order 2").score == pytest.approx(of_one_tile.score)


# ---- the choice ----------------------------------------------------------------------------------------------------


def test_the_choice(monkeypatch):
    monkeypatch.setattr(large, "EXACT_ITEMS", 200)
    auto = functools.partial(vendi_score_of_items, rank=40, steps=8, probes=4)
    for name, kernel, q, method in (
        ("many directions", "linear", 1, "dual"),
        ("two items", "rbf", 1, "exact"),
        ("many directions", "rbf", 2, "order 2"),
        ("duplicates", "rbf", 1, "pivoted Cholesky"),
        ("flat spectrum", "rbf", 0, "pivoted Cholesky"),
    ):
        found = auto(items(name), kernel, q=q)
        assert found.method == method
        assert found.reason
        assert found.method in str(found)
        holds(found, exact(name, kernel, q))
    assert "order 0" in found.reason


def test_the_choice_goes_on_to_lanczos_where_the_kernel_allows(monkeypatch):
    pytest.importorskip("matfree")
    monkeypatch.setattr(large, "EXACT_ITEMS", 200)
    X = items("many directions")
    written_in_jax = vendi_score_of_items(X, lambda x, y: jnp.exp(-jnp.sum((x[:, None] - y) ** 2, -1)), rank=40)
    assert written_in_jax.method == "stochastic Lanczos"
    assert "rank 40" in written_in_jax.reason
    holds(written_in_jax, exact("many directions", "rbf", 1))

    def written_in_numpy(x, y):
        return np.exp(-np.square(np.asarray(x)[:, None] - np.asarray(y)).sum(-1))

    other = vendi_score_of_items(X, written_in_numpy, rank=40)
    assert other.method == "pivoted Cholesky"
    assert "jax.numpy" in other.reason
    holds(other, exact("many directions", "rbf", 1))


def test_without_matfree(monkeypatch):
    monkeypatch.setitem(sys.modules, "matfree", None)
    monkeypatch.setattr(large, "EXACT_ITEMS", 200)
    with pytest.raises(ImportError, match="pip install matfree"):
        vendi_score_of_items(items("flat spectrum"), method="stochastic Lanczos")
    found = vendi_score_of_items(items("flat spectrum"), rank=40)
    assert found.method == "pivoted Cholesky"
    assert "matfree" in found.reason


def test_the_same_seed_gives_the_same_result():
    a, b = (vendi_score_of_items(items("heavy tails"), method="pivoted Cholesky", rank=40, seed=3) for _ in range(2))
    assert a == b
    assert isinstance(a, LargeScore)


# ---- input ---------------------------------------------------------------------------------------------------------

TEN = np.arange(20.0).reshape(10, 2) + 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"items": np.arange(3.0)}, r"items must be an \(N, D\) array.*shape \(3,\); use items\[:, None\]"),
        ({"items": np.zeros((0, 2))}, r"items has shape \(0, 2\)"),
        ({"items": [[1.0, np.nan]]}, r"items must be finite, but items\[0, 1\] is nan"),
        ({"items": [[1.0], [np.inf]]}, r"items must be finite, but items\[1, 0\] is inf"),
        ({"items": [[1.0], [1.0, 2.0]]}, "differ in length"),
        ({"items": [[1.0, 0], [0, 0]], "kernel": "linear"}, "row 1 is all zero"),
        ({"scale": 0}, "scale must be a positive number, but is 0"),
        ({"scale": -1.0}, "scale must be a positive number"),
        ({"scale": math.nan}, "scale must be a positive number"),
        ({"kernel": "linear", "scale": 2.0}, "only the kernels rbf and laplace have one"),
        ({"kernel": "rbff"}, "did you mean 'rbf'"),
        ({"method": "pivoted cholesky"}, "did you mean 'pivoted Cholesky'"),
        ({"method": "dual"}, "needs kernel='linear'"),
        ({"method": "order 2", "q": 1}, "q must be 2"),
        ({"method": "random features", "kernel": "linear"}, "needs kernel='rbf' or 'laplace'"),
        ({"method": "random features", "q": math.inf}, "q must lie strictly"),
        ({"method": "stochastic Lanczos", "q": 0}, "order 0"),
        ({"q": -1}, "q must be a number in"),
        ({"q": math.nan}, "q must be a number in"),
        ({"tolerance": 0}, "tolerance must be a positive number"),
        ({"confidence": 1}, "confidence must lie"),
        ({"rank": 1.5}, "rank must be a whole number"),
        ({"kernel": lambda x, y: np.zeros((len(x), len(y)))}, r"k\(x, x\) must be 1, but is 0"),
        ({"kernel": lambda x, y: np.ones(len(x))}, r"must return a \(10, 10\) block"),
        ({"kernel": lambda x, y: np.full((len(x), len(y)), np.nan)}, "not finite"),
        ({"kernel": lambda x, y: np.where(x[:, :1] > y[:, 0], 0.5, 1)}, r"k\(x, y\) must equal k\(y, x\)"),
    ],
)
def test_errors_name_the_argument(given, message):
    with pytest.raises(ValueError, match=message):
        vendi_score_of_items(**{"items": TEN, **given})


def test_wrong_types():
    with pytest.raises(TypeError, match="items must be an array of real numbers"):
        vendi_score_of_items([["a"]])
    with pytest.raises(TypeError, match="kernel must be one of linear, rbf, laplace or a function"):
        vendi_score_of_items(TEN, kernel=3)
    few = {"method": "pivoted Cholesky", "tolerance": 1e-9}
    assert vendi_score_of_items(TEN, rank=4.0, **few) == vendi_score_of_items(TEN, rank=4, **few)
    assert vendi_score_of_items(TEN.astype(int)).score == vendi_score_of_items(jnp.asarray(TEN)).score
