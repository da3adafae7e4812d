"""The overlap of manifolds on the host is that of the definition, compared one by one, to the last point."""

import contextlib
import io

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vendirl as vr
from vendirl import similarity as s
from vendirl.similarity import SkillSet, manifolds
from vendirl.similarity.manifolds import Pool, overlap_kernel, precision_matrix
from vendirl.similarity.similarity import compiled_matrix


def reference(skills, neighbours):
    """The definition: all distances, the k-th (or farthest) other observation, any ball."""

    def squares(x, y):
        return sum((x[:, None, d] - y[None, :, d]) ** 2 for d in range(x.shape[1]))

    def radii(x):
        others = np.sort(squares(x, x), axis=1)[:, 1:]  # but itself
        return others[:, min(neighbours, len(x) - 1) - 1] if len(x) > 1 else np.zeros(1)

    inside = [[(squares(x, y) <= radii(x)[:, None]).any(0).mean() for y in skills] for x in skills]
    return np.array(inside)


SIZES = {
    "all with all": {},
    "small blocks": {"FEW": 0, "ONCE": 0, "BLOCK": 8, "CHUNK": 16, "BATCH": 3, "PAIRS": 64},
    "blocks": {"ONCE": 0},
}


@contextlib.contextmanager
def comparing(how):
    """Few observations are compared all with all, unless told otherwise."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SIZES[how].items():
            patch.setattr(manifolds, name, value)
        yield


def skills_of(kind, rng, sizes, D):
    """Skills that partly overlap, with ties of distances and the same observation many times in most of the kinds."""
    shift = rng.integers(0, 3, (len(sizes), D))
    parts = {
        "normal": lambda i, M: rng.normal(size=(M, D)) + shift[i],
        "far off": lambda i, M: 1e6 + 1e-3 * (rng.normal(size=(M, D)) + shift[i]),
        "grid": lambda i, M: rng.integers(0, 5, (M, D)) + shift[i],
        "fine grid": lambda i, M: 0.1 * (rng.integers(0, 9, (M, D)) + shift[i]) + 7.3,
        "walk": lambda i, M: np.cumsum(rng.integers(-1, 2, (M, D)), 0) + shift[i],
        "still": lambda i, M: np.zeros((M, D)) + shift[i] % 2,
        "scales": lambda i, M: rng.normal(size=(M, D)) * 10.0 ** rng.integers(-6, 3, (M, 1)),
    }
    return [np.asarray(parts[kind](i, M), float) for i, M in enumerate(sizes)]


KINDS = ["normal", "far off", "grid", "fine grid", "walk", "still", "scales"]


@pytest.mark.parametrize("how", ["all with all", "small blocks"])
@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 10**6),
    sizes=st.lists(st.integers(1, 70), min_size=1, max_size=5),
    D=st.integers(1, 5),
    neighbours=st.sampled_from([1, 2, 3, 20]),
)
def test_the_definition(how, kind, seed, sizes, D, neighbours):
    skills = skills_of(kind, np.random.default_rng(seed), sizes, D)
    with comparing(how):
        found = precision_matrix(skills, neighbours)
    np.testing.assert_array_equal(found, reference(skills, neighbours))


@pytest.mark.parametrize("how", ["all with all", "small blocks"])
@settings(max_examples=40, deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 10**6),
    lengths=st.lists(st.integers(1, 25), min_size=2, max_size=8),
    data=st.data(),
)
def test_subsets_and_shuffles_of_episodes(how, kind, seed, lengths, data):
    episodes = skills_of(kind, np.random.default_rng(seed), lengths, 2)
    index = st.integers(0, len(episodes) - 1)
    with comparing(how):
        pool = Pool(episodes, neighbours=2)
        for _ in range(2):
            groups = data.draw(st.lists(st.lists(index, min_size=1, max_size=4, unique=True), min_size=1, max_size=4))
            skills = [np.concatenate([episodes[e] for e in group]) for group in groups]
            np.testing.assert_array_equal(pool.precision(groups), reference(skills, 2))


@pytest.mark.parametrize("neighbours", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_of_the_usual_size(neighbours, dtype):
    """Several to a skill, on smooth trajectories that overlap a little, a lot, and not at all."""
    rng, t = np.random.default_rng(0), np.linspace(0, 30, 700)[:, None]
    phase = rng.uniform(0, 6, 6)
    skills = [np.sin(t * w + phase) + shift + 0.05 * rng.normal(size=(700, 6)) for w, shift in ((1, 0), (1.3, 0.05))]
    skills += [skills[0] + 5, skills[1][:300].copy(), np.repeat(skills[0][:1], 200, axis=0)]
    skills = [x.astype(dtype) for x in skills]
    with comparing("blocks"):
        found = precision_matrix(skills, neighbours)
    np.testing.assert_array_equal(found, reference([x.astype(float) for x in skills], neighbours))
    assert 0 < found[0, 1] < 1
    assert found[0, 2] == 0
    assert found[1, 3] == 1


@pytest.mark.parametrize("how", ["all with all", "small blocks"])
def test_prdc(how):
    """It has < where the definition has <=, which makes no difference on continuous data."""
    prdc = pytest.importorskip("prdc")
    rng = np.random.default_rng(1)
    skills = [rng.normal(shift, 1, (60, 3)) for shift in (0, 0.7, 1.5)]
    with comparing(how):
        found = precision_matrix(skills, 3)
    for a in range(3):
        for b in range(a):
            with contextlib.redirect_stdout(io.StringIO()):
                theirs = prdc.compute_prdc(skills[a], skills[b], 3)
            assert found[a, b] == theirs["precision"]
            assert found[b, a] == theirs["recall"]


def squared(observation):
    return observation[:2] ** 2


def test_kernel_matrix_on_the_host_is_the_compiled_one():
    """Also within sums, products and choices of features, for unequal lengths, and with any measure."""
    rng = np.random.default_rng(2)
    ragged = [[rng.normal(i / 2, 1, (length, 3)) for length in (9, 4 + i)] for i in range(4)]
    k = s.overlap(neighbours=2)
    k = 0.5 * s.cosine() + 2 * k.on([0, 2]) * s.mmd() + 0.3 * s.overlap(measure="recall", scale=2.0).on(squared) + k
    assert k.on_host
    assert not s.cosine().on_host
    assert not (s.cosine() * s.mmd() + s.angle().on(0)).on_host
    with jax.enable_x64(True):
        expected = compiled_matrix(k, SkillSet.of(ragged))
    found = vr.kernel_matrix(k, ragged)
    assert isinstance(found, np.ndarray)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_jax_input_stays_compiled():
    x = jnp.asarray(np.random.default_rng(3).normal(size=(3, 8, 2)), jnp.float32)
    found = vr.kernel_matrix(s.overlap(), x)
    assert isinstance(found, jax.Array)
    np.testing.assert_allclose(found, vr.kernel_matrix(s.overlap(), np.asarray(x)), atol=1e-6)


@pytest.mark.parametrize("how", ["all with all", "small blocks"])
def test_known_answers(how):
    """Skills that are apart have nothing in common, the same skill everything; no size of the numbers is too large."""
    x = np.random.default_rng(4).normal(size=(50, 3))
    for unit in (1.0, 1e-300, 1e300):
        with comparing(how):
            found = precision_matrix([x * unit, x[::-1] * unit, (x + 100) * unit])
        np.testing.assert_array_equal(found, [[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    with comparing(how):
        np.testing.assert_array_equal(precision_matrix([np.zeros((30, 2)), np.zeros((1, 2))]), np.ones((2, 2)))


def test_the_kernel_of_precisions():
    assert overlap_kernel(np.eye(2))[0, 1] == 0
    many = np.random.default_rng(5).uniform(size=(7, 4, 4))
    K = overlap_kernel(many, "precision", 2.0)
    np.testing.assert_allclose(K[3, 0, 1], (many[3, 0, 1] / 2 + many[3, 1, 0] / 2) ** 2)
    np.testing.assert_array_equal(K[:, range(4), range(4)], 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: precision_matrix([]), r"skills is empty"),
        (
            lambda: precision_matrix([np.zeros((3, 2)), np.zeros((3, 1))]),
            r"skills\[1\] must have shape \(observations, 2",
        ),
        (lambda: precision_matrix([np.zeros((3, 2)), np.zeros((0, 2))]), r"skills\[1\] has no observations"),
        (lambda: precision_matrix([np.full((3, 2), np.nan)]), r"skills\[0\] must be finite, but has NaN"),
        (lambda: precision_matrix([np.zeros((3, 2))], 0), r"neighbours must be a positive whole number, but is 0"),
        (lambda: Pool([np.zeros((3, 2))]).precision([[0], []]), r"groups\[1\] has no observations"),
        (
            lambda: Pool([np.zeros((3, 2))]).precision([[0, 1]]),
            r"groups\[0\] must be among the 1 episodes, but is \[0, 1\]",
        ),
        (lambda: overlap_kernel(np.eye(2), "f2"), r"measure must be 'f1', 'precision' or 'recall', but is 'f2'"),
        (
            lambda: vr.kernel_matrix(s.overlap().on(lambda x: jnp.log(x - 1)), np.zeros((2, 5, 2))),
            r"must be finite, but has NaN or infinity \(from a function given to .on",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_what_is_known_of_a_skill_is_not_found_again_and_changes_nothing():
    episodes = list(np.random.default_rng(0).normal(size=(8, 5, 2)))
    deals = [[[0, 1, 2, 3], [4, 5, 6, 7]], [[1, 2, 3], [4, 5, 6, 7]], [[0, 1, 2, 3], [5, 6, 7]]]
    pool, known = Pool(episodes, 2), {}
    for deal, skills in zip(deals, (2, 3, 4), strict=True):
        np.testing.assert_array_equal(pool.precision(deal, known), pool.precision(deal))
        assert len(known) == skills
