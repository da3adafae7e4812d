"""Forms of input of the Vendi Score, and its errors."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vendirl as vr


def test_forms_of_input():
    K = [[1, 0.5], [0.5, 1]]
    expected = vr.vendi_score(np.array(K))
    assert np.ndim(expected) == 0
    np.testing.assert_allclose(vr.vendi_score(K), expected)
    np.testing.assert_allclose(vr.vendi_score(np.array(K, np.float32)), expected, rtol=1e-6)
    np.testing.assert_allclose(vr.vendi_score(np.eye(2, dtype=int)), 2)
    np.testing.assert_allclose(vr.vendi_score(jnp.eye(2, dtype=int)), 2)
    assert isinstance(vr.vendi_score(jnp.array(K)), jax.Array)
    assert vr.vendi_score(np.broadcast_to(K, (3, 1, 2, 2))).shape == (3, 1)
    assert vr.vendi_score(np.broadcast_to(K, (3, 1, 2, 2)), [1, 2, 3]).shape == (3, 1, 3)
    assert vr.vendi_score(K, np.array([1.0])).shape == (1,)
    assert vr.vendi_score(np.array(K), weights=np.ones((4, 2))).shape == (4,)
    np.testing.assert_allclose(vr.vendi_score(K, np.float64(2)), vr.vendi_score(K, 2))
    np.testing.assert_allclose(vr.vendi_score(K, np.array(2)), vr.vendi_score(K, 2))


def changed(place, value, n=3):
    K = np.eye(n)
    K[place] = value
    return K


@pytest.mark.parametrize("function", [vr.vendi_score, vr.vendi])
@pytest.mark.parametrize("array", [np.asarray, jnp.asarray])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"K": changed((0, 1), np.nan)}, r"K must be finite, but K\[0, 1\] is nan"),
        ({"K": changed((2, 1), np.inf)}, r"K must be finite, but K\[2, 1\] is inf"),
        ({"K": changed((0, 1), 0.5)}, r"K is not symmetric: K\[\d, \d\] = .*\(K \+ K.T\) / 2"),
        ({"K": changed((1, 1), 0.0)}, r"K: item \[1\] has similarity 0 to itself.*must be 1.*zero diagonal"),
        ({"K": changed((1, 1), 4.0)}, r"K: item \[1\] has similarity 4 to itself.*use K / sqrt"),
        ({"K": np.ones(3)}, r"K must be a \(..., n, n\) kernel matrix, but has shape \(3,\)"),
        ({"K": np.ones((2, 3))}, r"K must be a \(..., n, n\) kernel matrix, but has shape \(2, 3\)"),
        ({"K": np.ones((0, 0))}, r"K is a 0 x 0 matrix"),
        ({"weights": [1, -1, 1]}, r"weights must not be negative, but weights\[1\] is -1"),
        ({"weights": [0, 0, 0]}, r"weights are all zero"),
        ({"weights": [1, np.nan, 0]}, r"weights must be finite, but weights\[1\] is nan"),
        ({"weights": [1, 2]}, r"weights must have one entry for each of the 3 items, but has shape \(2,\)"),
        ({"weights": 1.0}, r"weights must have one entry for each of the 3 items, but has shape \(\)"),
        ({"q": -1}, r"q must be a number in \[0, inf\].* but is -1"),
        ({"q": [1, math.nan]}, r"q must be a number in \[0, inf\].* but is nan"),
        ({"q": "one"}, r"q must be a number in \[0, inf\].* but is 'one'"),
        ({"q": None}, r"q must be a number in \[0, inf\].* but is None"),
        ({"q": []}, r"q is an empty list"),
        ({"psd": "abs"}, r"psd must be one of clip, error, nearest, but is 'abs'"),
    ],
)
def test_errors_name_the_argument_and_what_was_wrong(function, array, arguments, message):
    given = {"K": np.eye(3), **arguments}
    given["K"] = array(given["K"])
    with pytest.raises(ValueError, match=message):
        function(**given)


def test_errors_of_type_and_form():
    with pytest.raises(ValueError, match=r"K must be a rectangular array of numbers, but its rows differ in length"):
        vr.vendi_score([[1.0, 0.0], [1.0]])
    with pytest.raises(TypeError, match=r"K must be an array of real numbers, but has type complex"):
        vr.vendi_score(np.eye(2) * 1j)
    with pytest.raises(TypeError, match=r"K must be an array of real numbers, but has type"):
        vr.vendi_score([["a", "b"], ["c", "d"]])
    with pytest.raises(TypeError, match=r"K must be an array of real numbers, but has type"):
        vr.vendi_score(None)
    with pytest.raises(TypeError, match=r"K must be an array of real numbers, but has type complex"):
        vr.vendi_score(jnp.eye(2) * 1j)
    with pytest.raises(TypeError, match=r"q must be a number that is known before compiling"):
        jax.jit(lambda q: vr.vendi_score(jnp.eye(2), q))(1.0)
    with pytest.raises(ValueError, match=r"K must be a \(..., n, n\) kernel matrix"):
        jax.jit(vr.vendi_score)(jnp.ones((2, 3)))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones(3), r"X must be a \(..., n, d\) array of features, but has shape \(3,\)"),
        (np.ones((3, 0)), r"X must be a \(..., n, d\) array of features"),
        (np.array([[1.0, np.nan]]), r"X must be finite, but X\[0, 1\] is nan"),
        (np.array([[1.0, 1.0], [0.0, 0.0]]), r"X: row \[1\] is all zero and has no direction; remove it"),
    ],
)
def test_errors_of_features(X, message):
    with pytest.raises(ValueError, match=message):
        vr.vendi_score_features(X)
    with pytest.raises(ValueError, match=r"weights must have one entry for each of the 2 items"):
        vr.vendi_score_features(np.ones((2, 3)), weights=[1, 2, 3])
