"""Sums, products and weights of similarities, and chosen features."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vendirl as vr
from tests import reference
from tests.generators import skill_set
from tests.similarity.similarity_cases import on
from vendirl import similarity as s
from vendirl._text import Expressions

X = skill_set(np.random.default_rng(0), 5, 1, 6, 3, ("free",))


def K(k, **keywords):
    return vr.kernel_matrix(k, X, **keywords)


A, B, C = s.mmd(scale=0.5), s.covariance(scale=0.3), s.angle(scale=2.0)


@pytest.mark.parametrize(
    ("k", "expected"),
    [
        (A + B, lambda a, b, c: (a + b) / 2),
        (0.25 * A + 0.75 * B, lambda a, b, c: 0.25 * a + 0.75 * b),
        (sum([0.25 * A, 0.25 * B, 0.5 * C]), lambda a, b, c: 0.25 * a + 0.25 * b + 0.5 * c),
        (A * 3 + B, lambda a, b, c: (3 * a + b) / 4),
        (A + B + C, lambda a, b, c: (a + b + c) / 3),
        (2 * (A + B) + C, lambda a, b, c: (2 * a + 2 * b + c) / 5),
        (7 * A, lambda a, b, c: a),
        (A * B, lambda a, b, c: a * b),
        (A * B * C, lambda a, b, c: a * b * c),
        (0.5 * A * B + C, lambda a, b, c: (0.5 * a * b + c) / 1.5),
        (A * (0.5 * B) + C, lambda a, b, c: (0.5 * a * b + c) / 1.5),
        ((A + B) * C, lambda a, b, c: (a + b) * c / 2),
        ((A + B) * C + A, lambda a, b, c: ((a + b) * c + a) / 3),
        ((A + B) * (B + C) * 0.5 + 1 * C, lambda a, b, c: (0.5 * (a + b) * (b + c) + c) / 3),
        ((0.25 * A + 0.75 * B) * C + A, lambda a, b, c: ((0.25 * a + 0.75 * b) * c + a) / 2),
        (np.float64(0.5) * A + np.float32(0.5) * B, lambda a, b, c: (a + b) / 2),
        (jnp.asarray(0.5) * A * B + C, lambda a, b, c: (0.5 * a * b + c) / 1.5),
    ],
)
def test_combinations_are_those_of_the_kernel_matrices(k, expected):
    np.testing.assert_allclose(K(k), expected(K(A), K(B), K(C)), rtol=1e-12, atol=1e-15)
    if not any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(k)):
        np.testing.assert_allclose(K(s.parse(str(k))), K(k), rtol=1e-12, atol=1e-15)


def test_weights_stay_with_what_was_restricted_to_features():
    left = (0.5 * A).on(0) + B
    np.testing.assert_allclose(K(left), (0.5 * K(A.on(0)) + K(B)) / 1.5, rtol=1e-12)
    both = (0.5 * A + 2 * B).on(0, 1)
    np.testing.assert_allclose(K(both), (0.5 * K(A.on(0, 1)) + 2 * K(B.on(0, 1))) / 2.5, rtol=1e-12)


@pytest.mark.parametrize(
    ("features", "columns"),
    [
        ((0,), [0]),
        (([0, 2],), [0, 2]),
        ((0, 2), [0, 2]),
        (((2, 0),), [2, 0]),
        ((-1,), [2]),
        ((range(2),), [0, 1]),
        ((np.array([1, 2]),), [1, 2]),
        ((slice(1, None),), [1, 2]),
        ((slice(None, None, 2),), [0, 2]),
        (("1:",), [1, 2]),
        (("::2",), [0, 2]),
        (("x",), [0]),
        ((["x", "z"],), [0, 2]),
        (("z", "y"), [2, 1]),
    ],
)
@pytest.mark.parametrize("k", [s.mmd(), s.overlap()])
def test_chosen_features(features, columns, k):
    expected = vr.kernel_matrix(k, X[..., columns])
    chosen = k.on(*features)
    np.testing.assert_allclose(K(chosen, names=["x", "y", "z"]), expected, rtol=1e-12)
    np.testing.assert_allclose(K(s.parse(str(chosen)), names=["x", "y", "z"]), expected, rtol=1e-12)
    if not isinstance(features[-1], str) and not isinstance(features[0], list | str):
        np.testing.assert_allclose(K(chosen), expected, rtol=1e-12)


def test_what_a_function_finds_true_or_false_is_one_or_zero():
    expected = vr.kernel_matrix(s.covariance(), (X > 0).astype(float))
    found = K(s.covariance().on(lambda o: o > 0))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(K(s.overlap().on(lambda o: o > 0)), vr.kernel_matrix(s.overlap(), (X > 0) * 1.0))

    @s.moments(order=1, name="same_side")
    def same_side(a, b):
        return (a.mean[0] > 0) == (b.mean[0] > 0)

    side = X.mean((1, 2))[:, 0] > 0
    np.testing.assert_array_equal(K(same_side()), side[:, None] == side)


@pytest.mark.parametrize("other", [s.mmd(), s.overlap()])
def test_a_weight_of_jax_gives_the_matrix_that_a_number_gives(other):
    found = K(jnp.asarray(0.25) * s.overlap() + 0.75 * other)
    assert isinstance(found, np.ndarray)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, K(0.25 * s.overlap() + 0.75 * other), rtol=1e-12)


def test_a_language_of_what_has_no_features_says_so():
    numbers: Expressions[int] = Expressions("number", int)
    numbers.register("three", lambda: 3)
    with pytest.raises(ValueError, match=r"a number does not look at features, so .on\(\) means nothing for it"):
        numbers.parse("three.on(x)")


def test_a_function_of_an_observation():
    expected = reference.kernel_matrix(on([0, 2], reference.mmd), reference.as_skills(X[..., :] ** 2))
    np.testing.assert_allclose(K(s.mmd().on(lambda o: o[jnp.array([0, 2])] ** 2)), expected, rtol=1e-12)
    expected = vr.kernel_matrix(s.mmd(), np.linalg.norm(X, axis=-1, keepdims=True))
    np.testing.assert_allclose(K(s.mmd().on(jnp.linalg.norm)), expected, rtol=1e-12)  # one number is one feature
    ragged = [list(skill) for skill in X]
    ragged[0] = [X[0, 0, :4]]
    np.testing.assert_allclose(
        vr.kernel_matrix(s.mmd().on(lambda o: o[:2] + 1), ragged), vr.kernel_matrix(s.mmd().on(0, 1), ragged), rtol=1e-9
    )
    nested = s.mmd().on(1).on([2, 0])  # feature 1 of (2, 0) is feature 0
    np.testing.assert_allclose(K(nested), K(s.mmd().on(0)), rtol=1e-12)
    np.testing.assert_allclose(K(s.mmd().on("x").on("z", "x"), names=["x", "y", "z"]), K(s.mmd().on(0)), rtol=1e-12)


def test_scale_can_be_differentiated_and_compiled_without_recompiling():
    traces = []

    @jax.jit
    def score(scale):
        traces.append(1)
        k = s.mmd(scale=scale) + scale * s.covariance()
        return vr.vendi_score(vr.kernel_matrix(k, jnp.asarray(X)))

    assert score(0.5) != score(2.0)
    assert len(traces) == 1
    assert jax.grad(lambda scale: vr.vendi_score(vr.kernel_matrix(s.mmd(scale=scale), jnp.asarray(X))))(1.0) > 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: s.mmd(scale=0), r"mmd: scale must be a positive finite number, but is 0"),
        (lambda: s.mmd(scale=np.nan), r"mmd: scale must be a positive finite number, but is nan"),
        (lambda: s.mmd(scale="a"), r"mmd: scale must be a positive finite number, but is 'a'"),
        (lambda: s.mmd(scale=jnp.asarray(-1.0)), r"mmd: scale must be a positive finite number"),
        (lambda: s.mmd(kernel="cubic"), r"mmd: kernel must be 'linear' or 'rbf', but is 'cubic'"),
        (lambda: s.mmd(bandwidth=-1), r"mmd: bandwidth must be a positive finite number, but is -1"),
        (lambda: s.mmd(kernel="rbf", bandwidth=0), r"mmd: bandwidth must be a positive finite number, but is 0"),
        (lambda: s.cosine(scale=2), r"cosine: scale must be in \(0, 1\], but is 2; use angle"),
        (lambda: s.cosine(center="east"), r"cosine: center must be a number or one number per feature, but is 'east'"),
        (lambda: s.cosine(center=[np.nan]), r"cosine: center must be a finite number or one number per feature"),
        (lambda: s.cosine(scaled=3), r"cosine: scaled must be True or False, but is 3"),
        (lambda: s.angle(scale=-1), r"angle: scale must be a positive finite number, but is -1"),
        (lambda: s.covariance(floor=0, log=True), r"covariance: floor must be a positive finite number, but is 0"),
        (lambda: s.covariance(log="yes"), r"covariance: log must be True or False, but is 'yes'"),
        (lambda: s.overlap(neighbours=0), r"overlap: neighbours must be a positive whole number, but is 0"),
        (lambda: s.overlap(neighbours=2.5), r"overlap: neighbours must be a positive whole number, but is 2.5"),
        (lambda: s.overlap(neighbours=True), r"overlap: neighbours must be a positive whole number, but is True"),
        (lambda: s.overlap(measure="f2"), r"overlap: measure must be 'f1', 'precision' or 'recall', but is 'f2'"),
        (lambda: s.wasserstein(directions=0), r"wasserstein: directions must be a positive whole number, but is 0"),
        (lambda: s.wasserstein(seed="a"), r"wasserstein: seed must be a whole number of at least 0, but is 'a'"),
        (lambda: s.alignment(bandwidth=np.inf), r"alignment: bandwidth must be a positive finite number, but is inf"),
        (lambda: s.final_state(scale=None), r"final_state: scale must be a positive finite number, but is None"),
        (lambda: -1 * s.mmd(), r"the weight of a similarity must be positive and finite, but is -1"),
        (lambda: 0 * s.mmd(), r"the weight of a similarity must be positive and finite, but is 0"),
        (lambda: s.mmd() * np.inf, r"the weight of a similarity must be positive and finite, but is inf"),
        (lambda: s.mmd().on(), r".on\(\) needs at least one feature"),
        (lambda: s.mmd().on([]), r".on\(\) needs at least one feature"),
        (lambda: s.mmd().on("a:b"), r"a slice is written 'start:stop'"),
        (lambda: K(s.mmd().on(3)), r"feature 3 is out of range: there are 3, numbered from 0"),
        (lambda: K(s.mmd().on("x")), r"'x' is the name of a feature, but these observations have none; give names"),
        (lambda: K(s.mmd().on(slice(5, 9))), r"no features were chosen of the 3 features"),
        (
            lambda: K(s.mmd().on("sped"), names=["speed", "y", "z"]),
            r"no feature is called 'sped'; did you mean 'speed'\?",
        ),
        (lambda: K(s.mmd().on(lambda o: o[None])), r"must return a vector of features for one observation"),
    ],
)
def test_errors_of_settings(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_errors_of_type():
    with pytest.raises(TypeError, match=r".on\(\) takes indices, a slice, names, or one function"):
        s.mmd().on(0.5)
    for make in (lambda: s.mmd() + 1, lambda: s.mmd() * "a", lambda: True * s.mmd()):
        with pytest.raises(TypeError, match=r"unsupported operand|can't multiply"):
            make()
