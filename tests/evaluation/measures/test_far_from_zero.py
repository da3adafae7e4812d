"""What is measured does not depend on where the origin is, unless it says so; masks are refused."""

import numpy as np
import pytest

import vendirl as vr
from vendirl.evaluation.measures import measures
from vendirl.evaluation.measures.leinster import magnitude
from vendirl.evaluation.measures.neural_diversity import gaussian_neural_diversity
from vendirl.evaluation.measures.observed import constant, scaling

rng = np.random.default_rng(0)
X = np.round((rng.normal(size=(4, 6, 25, 2)) + 3 * rng.normal(size=(4, 1, 1, 2))) * 2**20) / 2**20
"""Numbers to which 1e8 can be added without rounding."""
FAR = X + 1e8


def test_every_measure_is_the_same_far_from_zero():
    rest = {"skill": np.repeat(np.arange(4), 6), "rewards": rng.uniform(size=(24, 25))}
    data = (vr.Trajectories.of(x.reshape(24, 25, 2), **rest) for x in (X, FAR))
    near, far = (measures(d, similarity=vr.similarity.mmd()) for d in data)
    assert sum(m.value is not None for m in near) > 20
    for a, b in zip(near, far, strict=True):
        if a.note and "run.evaluate()" in a.note:  # not from data alone
            continue
        assert a.value is not None, a
        assert b.value == pytest.approx(a.value, rel=1e-6), a.name


@pytest.mark.parametrize(
    "text", ["mmd", "mmd(kernel='rbf')", "covariance", "covariance(log=True)", "final_state", "overlap", "wasserstein"]
)
def test_similarities_without_an_origin_are_the_same_far_from_zero(text):
    np.testing.assert_allclose(vr.kernel_matrix(text, FAR), vr.kernel_matrix(text, X), atol=1e-8)


def test_rounding_is_that_of_the_numbers():
    """Of float32 where all are numbers of float32, else of float64."""
    noise = np.float32(1e6) + np.array([[0.0], [0.0625], [0.0]], np.float32)
    assert constant(noise.astype(np.float64)) == [True]
    assert constant(noise.astype(np.float64) + 0.01) == [False]
    assert constant(np.array([[0.1 + 0.2], [0.3]])) == [True]
    assert np.isinf(scaling(np.full((3, 1), 0.1))[1])
    centre, width = scaling(np.array([[1e308], [-1e308]]))
    assert (centre[0], width[0]) == (0, 1e308)


MASKED = np.ma.masked_array(X, mask=False)
MASKED[1, 0, 0, 0] = np.ma.masked
MASKED_K = np.ma.masked_array(np.eye(2), mask=np.eye(2))
MEMORY = vr.SkillMemory.fill(vr.similarity.mmd(), X.astype(np.float32)[:, 0])


@pytest.mark.parametrize(
    "call",
    [
        lambda: vr.vendi_score(MASKED_K),
        lambda: vr.vendi_score(np.eye(2), weights=MASKED_K[0]),
        lambda: vr.vendi(MASKED_K),
        lambda: vr.vendi_score_features(MASKED_K),
        lambda: vr.vendi_score_of_items(MASKED_K),
        lambda: vr.kernel_matrix("mmd", MASKED),
        lambda: vr.kernel_matrix("mmd", list(MASKED)),
        lambda: vr.kernel_matrix("mmd", [list(skill) for skill in MASKED]),
        lambda: vr.effective_number(MASKED, "mmd"),
        lambda: vr.effective_number(list(MASKED), "mmd"),
        lambda: vr.evaluate(MASKED, "mmd"),
        lambda: vr.Trajectories.of(MASKED),
        lambda: vr.Trajectories.of(list(MASKED)),
        lambda: vr.SkillMemory.fill(vr.similarity.mmd(), MASKED[:, 0]),
        lambda: vr.relabel(vr.similarity.mmd(), MEMORY, 0, MASKED[1, 0].astype(np.float32)),
        lambda: magnitude(MASKED_K),
        lambda: gaussian_neural_diversity(MASKED[1], 1.0),
    ],
)
def test_masked_entries_are_refused(call):
    with pytest.raises(ValueError, match="must not have masked entries"):
        call()
