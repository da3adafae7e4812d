"""Similarities as text: what is written is read back, and what cannot be read is refused and never run."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vendirl import similarity as s

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
