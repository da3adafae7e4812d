"""Trajectories of which no kernel matrix can be made are refused in words."""

import jax.numpy as jnp
import numpy as np
import pytest

import vendirl as vr
from vendirl import similarity as s


@pytest.mark.parametrize(
    ("trajectories", "message"),
    [
        (
            np.full((2, 3, 2), np.nan),
            r"trajectories must be finite, but feature 0 of skill 0, trajectory 0, step 0 is nan",
        ),
        (jnp.full((2, 3, 2), jnp.inf), r"trajectories must be finite, but feature 0 of skill 0.* is inf"),
        ([np.ones((2, 2)), [[1.0, np.inf]]], r"trajectories must be finite, but feature 1 of skill 1.*step 0 is inf"),
        (
            np.ones((2, 3)),
            r"trajectories must have shape \(skills, T, D\) or \(skills, N, T, D\), but has shape \(2, 3\)",
        ),
        (np.ones((0, 3, 2)), r"trajectories has shape \(0, 3, 2\): there are no skills"),
        (np.ones((2, 0, 2)), r"trajectories has shape \(2, 0, 2\): there are no steps"),
        (np.ones((2, 3, 0)), r"there are no features"),
        ([], r"trajectories is empty"),
        ([np.ones((2, 2)), []], r"trajectories\[1\] is empty: every skill needs at least one observation"),
        ([np.ones((2, 2)), np.ones((0, 2))], r"trajectories\[1\] is empty: every skill needs at least one observation"),
        ([np.ones((2, 2)), [[]]], r"trajectories\[1\] is empty"),
        (
            [np.ones((2, 2)), np.ones((2, 3))],
            r"trajectories\[1\]\[0\] has 3 features, but trajectories\[0\]\[0\] has 2",
        ),
        ([np.ones(3), np.ones(3)], r"trajectories\[0\] must have shape \(T, D\) or \(N, T, D\), but has shape \(3,\)"),
        ([[1.0, 2.0], [3.0, 4.0]], r"trajectories\[0\]\[0\] must have shape \(T, D\), but has shape \(\)"),
        ([[[1.0, 2.0], [3.0]]], r"trajectories\[0\] must be a rectangular array of numbers, but its rows differ"),
    ],
)
def test_errors_of_trajectories(trajectories, message):
    with pytest.raises(ValueError, match=message):
        vr.kernel_matrix(s.cosine(), trajectories)


@pytest.mark.parametrize(
    ("trajectories", "message"),
    [
        (None, r"trajectories must be an array, or a list .* but is NoneType"),
        ([None], r"trajectories\[0\] must be an array or a list of them, but is NoneType"),
        (np.full((2, 3, 2), 1j), r"trajectories must be an array of real numbers, but has type complex128"),
        ([[["a", "b"]]], r"trajectories\[0\]\S* must be an array of real numbers, but has type <U1"),
    ],
)
def test_errors_of_type(trajectories, message):
    with pytest.raises(TypeError, match=message):
        vr.kernel_matrix(s.cosine(), trajectories)


def test_errors_of_similarities_that_do_not_fit_the_trajectories():
    x = np.ones((2, 3, 2))
    with pytest.raises(
        ValueError, match=r"overlap needs at least 4 observations of each skill, but skill 0 has 3; give"
    ):
        vr.kernel_matrix(s.overlap(), x)
    with pytest.raises(ValueError, match=r"needs at least 3 observations of each skill, but skill 1 has 2"):
        vr.kernel_matrix(s.mmd() + s.overlap(neighbours=2).on(0), [np.ones((5, 2)), np.ones((2, 2))])
    with pytest.raises(ValueError, match=r"cosine: center has 3 entries, but there are 2 features"):
        vr.kernel_matrix(s.cosine(center=[1, 2, 3]), x)
    with pytest.raises(ValueError, match=r"names has 1 entries, but the observations have 2 features"):
        vr.kernel_matrix(s.mmd(), x, names=["x"])
    with pytest.raises(TypeError, match=r"must be a Similarity such as .*cosine\(\), or its text, but is int"):
        vr.kernel_matrix(3, x)
    with pytest.raises(TypeError, match=r"similarity must be a Similarity"):
        vr.kernel_matrix(s.cosine, x)
