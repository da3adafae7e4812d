"""Sums, products, weights and chosen features; similarities as text; and a user's own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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


# ---- as text ---------------------------------------------------------------------------------------------------------

scales = st.floats(1e-3, 1e3)
atoms = st.one_of(
    st.builds(lambda c, t: s.cosine(scale=t, center=c), st.none() | st.lists(scales, min_size=1), st.floats(0.1, 1)),
    st.builds(lambda x: s.cosine(scaled=x), st.booleans()),
    st.builds(lambda t, c: s.angle(scale=t, center=c), scales, st.none() | scales),
    st.builds(lambda t, k, b: s.mmd(t, k, b), scales, st.sampled_from(["linear", "rbf"]), scales),
    st.builds(lambda t, x: s.covariance(scale=t, log=x), scales, st.booleans()),
    st.builds(lambda n, m: s.overlap(neighbours=n, measure=m), st.integers(1, 9), st.sampled_from(["f1", "recall"])),
    st.builds(lambda t: s.final_state(scale=t), scales),
    st.builds(lambda n: s.wasserstein(directions=n, seed=n), st.integers(1, 9)),
    st.builds(lambda t: s.alignment(scale=np.float32(t), bandwidth=np.float64(t)), scales),
)
features = st.one_of(
    st.lists(st.integers(-3, 9), min_size=1, max_size=3),
    st.lists(st.sampled_from(["x", "vel y", "it's"]), min_size=1, max_size=3),
    st.slices(7),
)
similarities = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a * b, inner, inner),
        st.builds(lambda w, a: w * a, scales, inner),
        st.builds(lambda a, f: a.on(f), inner, features),
    ),
    max_leaves=6,
)


@pytest.mark.filterwarnings("ignore:Do not use the `random` module")  # beartype does, to look at an item of a list
@settings(max_examples=200)
@given(similarities)
def test_text_is_read_back(k):
    again = s.parse(str(k))
    assert str(again) == str(k)
    assert jax.tree.structure(jax.tree.map(lambda _: 0, again)) == jax.tree.structure(jax.tree.map(lambda _: 0, k))
    np.testing.assert_allclose(jax.tree.leaves(again), jax.tree.leaves(k), rtol=1e-6)


@pytest.mark.parametrize(
    ("text", "k"),
    [
        ("cosine", s.cosine()),
        ("  cosine( ) ", s.cosine()),
        ("0.5*cosine + 0.5*covariance(scale=200)", 0.5 * s.cosine() + 0.5 * s.covariance(scale=200)),
        ("mmd*2 + angle", 2 * s.mmd() + s.angle()),
        ("2*3*mmd", 6 * s.mmd()),
        ("(mmd + angle)*overlap(neighbours=5)", (s.mmd() + s.angle()) * s.overlap(neighbours=5)),
        ("mmd(kernel='rbf', bandwidth=0.5).on(0, 1)", s.mmd(kernel="rbf", bandwidth=0.5).on(0, 1)),
        ("mmd.on(x, y)", s.mmd().on("x", "y")),
        ("mmd.on([x, 'y'])", s.mmd().on("x", "y")),
        ("mmd.on('0:2')", s.mmd().on(slice(0, 2))),
        ("mmd.on(-1)", s.mmd().on(-1)),
        ("cosine(center=[0.5, -0.5])", s.cosine(center=[0.5, -0.5])),
        ("covariance(log=True)", s.covariance(log=True)),
        ("0.5*mmd*angle + cosine", 0.5 * s.mmd() * s.angle() + s.cosine()),
    ],
)
def test_parse(text, k):
    assert str(s.parse(text)) == str(k)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cosin", r"cannot read the similarity 'cosin': there is no similarity 'cosin'; did you mean 'cosine'\?"),
        ("covariace(scale=2)", r"did you mean 'covariance'\? Known are alignment, angle, cosine"),
        ("mmd(scal=2)", r"mmd has no setting 'scal'; did you mean 'scale'\? It has scale, kernel, bandwidth"),
        ("mmd(2)", r"mmd takes its settings by name, such as mmd\(scale=...\)"),
        ("mmd(**x)", r"mmd has no setting None"),
        ("mmd(scale=x)", r"scale must be a positive finite number, but is 'x'"),
        ("mmd(scale=1+1)", r"'1 \+ 1' is not a number, a text or a list"),
        ("mmd(scale='a')", r"mmd: scale must be a positive finite number, but is 'a'"),
        ("mmd(scale=-1)", r"mmd: scale must be a positive finite number, but is -1"),
        ("mmd(scale=inf)", r"mmd: scale must be a positive finite number, but is inf"),
        ("mmd(scale=" + "9" * 400 + ")", r"a number has too many digits"),
        ("9" * 400 + "*mmd", r"a number has too many digits"),
        ("1e999*mmd", r"the weight of a similarity must be positive and finite, but is inf"),
        ("0*mmd", r"the weight of a similarity must be positive and finite, but is 0"),
        ("-1*mmd", r"weights must be positive"),
        ("mmd - angle", r"'mmd - angle' is not understood; write names, numbers"),
        ("mmd / 2", r"is not understood"),
        ("mmd ** 2", r"is not understood"),
        ("mmd + 1", r"a number cannot be added to a similarity; write weight\*similarity"),
        ("1", r"it is a number, not a similarity"),
        ("'mmd'", r"'mmd' is not a similarity"),
        ("True*mmd", r"True is not a similarity"),
        ("1j*mmd", r"is not understood"),
        ("1.on(x)", r"cannot read the similarity"),
        ("(1).on(x)", r".on\(\) applies to a similarity, not to a number"),
        ("mmd.on()", r".on\(\) needs at least one feature"),
        ("mmd.on(x=1)", r".on\(\) takes features, such as"),
        ("mmd.on(0.5)", r".on\(\) takes indices, a slice, names"),
        ("mmd.of(1)", r"a similarity has .on\(features\), but not .of\(\)"),
        ("", r"cannot read the similarity ''"),
        ("mmd +", r"cannot read the similarity 'mmd \+': invalid syntax"),
        ("mmd angle", r"cannot read the similarity 'mmd angle': invalid syntax"),
        ("mmd(scale=1, scale=2)", r"mmd: setting 'scale' is given twice"),
        ("mmd\nangle", r"cannot read the similarity"),
        ("mmd\0", r"cannot read the similarity"),
        ("\ud800", r"cannot read the similarity"),
        ("m" * 3000, r"has 3000 characters; at most 2000 are read"),
        ("(" * 900 + "mmd" + ")" * 900, r"cannot read the similarity"),
        ("-" * 1900 + "1", r"cannot read the similarity"),
        ("mmd" + ".on" * 600, r"cannot read the similarity"),
        ("mmd" + ".on(0)" * 300 + ".x", r"cannot read the similarity"),
        ("[" * 190 + "]" * 190, r"cannot read the similarity"),
    ],
)
def test_text_that_cannot_be_read(text, message):
    with pytest.raises(ValueError, match=message):
        s.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('touch {}')",
        "exec(\"open('{}', 'w')\")",
        "mmd(scale=open('{}', 'w'))",
        "mmd(scale=[open('{}', 'w')])",
        "mmd.on(open('{}', 'w'))",
        "mmd.__class__.__init__.__globals__",
        "(lambda: open('{}', 'w'))()",
        "[open('{}', 'w') for x in (1,)]",
        "mmd if open('{}', 'w') else mmd",
        "f\"{{open('{}', 'w')}}\"",
        "(x := open('{}', 'w'))",
        "open('{}', 'w')*mmd",
    ],
)
def test_text_is_never_evaluated(text, tmp_path):
    trap = tmp_path / "trap"
    with pytest.raises(ValueError, match=r"cannot read the similarity"):
        s.parse(text.format(trap))
    assert not trap.exists()


def test_only_text_is_parsed():
    with pytest.raises(TypeError, match=r"a similarity's description must be text, but is int"):
        s.parse(1)


# ---- a user's own ----------------------------------------------------------------------------------------------------


@s.moments(psd=True, order=1)
def nearness(a, b, scale=1.0):
    return jnp.exp(-scale * jnp.linalg.norm(a.mean - b.mean))


@s.moments
def spread(a, b, scale=1.0):
    return 3 * jnp.exp(-scale * jnp.abs(jnp.trace(a.covariance) - jnp.trace(b.covariance)))


@s.trajectories
def path(x, y, scale=1.0):
    return jnp.exp(-scale * jnp.mean((x - y) ** 2))


@s.trajectories(name="lengthy")
def of_lengths(x, y, length_x, length_y, weights=(1, 2), power=2):
    first = jnp.ones(power).sum() * weights[0]  # whole numbers may be shapes and indices
    return jnp.exp(-first * jnp.abs(length_x - length_y) / 4)


def reference_spread(a, b, scale=1.0):
    traces = [np.trace(reference.sample_covariance(reference.pooled(skill))) for skill in (a, b)]
    return np.exp(-scale * abs(traces[0] - traces[1]))


def reference_path(a, b, scale=1.0):
    def mean(s, t):
        return np.mean([np.exp(-scale * np.mean((x - y) ** 2)) for x in s for y in t])

    return mean(a, b) / np.sqrt(mean(a, a) * mean(b, b))


@pytest.mark.parametrize("N", [1, 3])
def test_own_similarities(N):
    x = skill_set(np.random.default_rng(1), 4, N, 5, 2)
    skills = reference.as_skills(x)
    for k, pairwise in (
        (nearness(scale=0.5), lambda a, b: reference.mmd(a, b, scale=0.5)),
        (spread(scale=0.2), lambda a, b: reference_spread(a, b, 0.2)),
        (path(scale=0.7), lambda a, b: reference_path(a, b, 0.7)),
        (0.5 * spread() + 0.5 * path().on(0), None),
    ):
        if pairwise is None:
            expected = 0.5 * vr.kernel_matrix(spread(), x) + 0.5 * vr.kernel_matrix(path(), x[..., :1])
        else:
            expected = reference.kernel_matrix(pairwise, skills)
        np.testing.assert_allclose(vr.kernel_matrix(k, x), expected, rtol=1e-9)
        again = s.parse(str(k))
        np.testing.assert_allclose(vr.kernel_matrix(again, x), expected, rtol=1e-9)


def test_own_similarities_make_rewards_and_those_of_moments_stream():
    x, y = skill_set(np.random.default_rng(2), 3, 1, 5, 2), np.random.default_rng(3).normal(size=(7, 2))
    for k, pairwise in ((nearness(), reference.mmd), (spread(), reference_spread), (path(), reference_path)):
        expected, _ = reference.algorithm_1(pairwise, x, 1, y)
        memory = vr.SkillMemory.fill(k, jnp.asarray(x, jnp.float32))
        rewards = vr.relabel(k, memory, 1, jnp.asarray(y, jnp.float32))[0]
        np.testing.assert_allclose(rewards, expected, rtol=1e-4)
    assert nearness().streams
    assert spread().streams
    assert not path().streams
    assert nearness().psd
    assert not spread().psd
    vr.FadingMemory.fill(spread(), jnp.asarray(x))


def test_own_similarities_of_unequal_lengths_and_settings():
    skills = [np.zeros((2, 1)), np.zeros((6, 1)), np.zeros((4, 1))]
    k = s.parse("lengthy(weights=[3, 1], power=2)")
    np.testing.assert_allclose(vr.kernel_matrix(k, skills)[0, 1], np.exp(-6), rtol=1e-6)
    np.testing.assert_allclose(vr.kernel_matrix(s.known()["lengthy"](power=np.int64(1)), skills)[0, 1], np.exp(-1))
    with pytest.raises(ValueError, match=r"similarity path compares trajectories of equal length, but these differ"):
        vr.kernel_matrix(path(), skills)


def test_an_own_similarity_that_is_not_symmetric_is_made_so():
    @s.moments(order=1, name="lopsided")
    def lopsided(a, b):
        return jnp.exp(jnp.minimum(b.mean[0] - a.mean[0], 0.0))

    x = np.random.default_rng(0).normal(size=(3, 4, 1))
    expected = reference.kernel_matrix(
        lambda a, b: (1 + np.exp(-abs(reference.mean(a)[0] - reference.mean(b)[0]))) / 2, reference.as_skills(x)
    )
    np.testing.assert_allclose(vr.kernel_matrix(lopsided(), x), expected, rtol=1e-9)
    memory = vr.SkillMemory.fill(lopsided(), jnp.asarray(x))
    rewards, _ = vr.relabel(lopsided(), memory, 0, jnp.asarray(x[0]))
    np.testing.assert_allclose(rewards, vr.vendi_score(expected), rtol=1e-4)


def test_an_own_similarity_whose_value_with_itself_is_not_positive_is_zero():
    @s.moments(order=1, name="product_of_means")
    def product_of_means(a, b):
        return a.mean @ b.mean

    K = vr.kernel_matrix(product_of_means(), np.array([[[1.0, 0]], [[0, 0.0]], [[2.0, 0]]]))
    np.testing.assert_allclose(K, [[1, 0, 1], [0, 1, 0], [1, 0, 1]], atol=1e-12)


def test_errors_of_own_similarities():
    with pytest.raises(TypeError, match=r"similarity bad: setting 'scale' needs a default value"):
        s.moments(lambda a, b, scale: 1.0, name="bad")
    with pytest.raises(ValueError, match=r"order must be 1 \(mean\) or 2"):
        s.moments(lambda a, b: 1.0, order=3)
    with pytest.raises(TypeError, match=r"similarity nearness has no setting 'size'; it has scale"):
        nearness(size=1)
    with pytest.raises(ValueError, match=r"a similarity's name must be an identifier, but is '<lambda>'"):
        s.moments(lambda a, b: 1.0)
    vector = s.moments(lambda a, b: a.mean, name="vector")
    with pytest.raises(ValueError, match=r"similarity vector must return one number, but returned shape \(3,\)"):
        K(vector())
    pair = s.trajectories(lambda x, y: x, name="pair")
    with pytest.raises(ValueError, match=r"similarity pair must return one number, but returned shape \(6, 3\)"):
        K(pair())
    first = s.moments(lambda a, b: jnp.trace(a.covariance), order=1, name="first")
    with pytest.raises(ValueError, match=r"declared with order=1, which has no covariance; declare order=2"):
        K(first())
