"""The attainable score, against sets of skills whose score is known."""

import numpy as np
import pytest

import vendirl as vr

QUICK = {"restarts": 4, "iterations": 150}


def test_two_skills_go_as_far_apart_as_the_square_lets_them():
    """The farthest pair of means: straight to opposite corners, 10 steps of 0.05 on the way and 40 there."""
    way = np.minimum(0.5 + 0.05 * np.arange(1, 51), 1.0)
    corner = np.stack([way, way], -1)
    best = vr.effective_number(np.stack([corner, 1 - corner]), vr.similarity.mmd(scale=2.0))
    found = vr.attainable("point", "mmd(scale=2)", 2, **QUICK)
    assert found.method == "ascent"
    assert found.score == pytest.approx(best, rel=2e-3)
    again = vr.effective_number(found.trajectories.astype(np.float64), vr.similarity.mmd(scale=2.0))
    assert again == pytest.approx(found.score, rel=1e-4)


def test_cosine_in_the_plane_attains_its_rank():
    assert vr.attainable("point", "cosine(center=0.5)", 4, **QUICK).score == pytest.approx(2.0, abs=1e-3)


def test_where_gradients_are_of_no_use_the_bound_is_the_rank():
    assert vr.attainable("point", "overlap", 5).score == 5
    assert vr.attainable("point(discrete=True)", "cosine", 5).score == 2
    assert vr.attainable("point(discrete=True)", "cosine", 5).method == "rank"


def test_it_is_deterministic_and_refuses_nonsense():
    first = vr.attainable("point", "mmd", 3, restarts=2, iterations=20)
    assert first.score == vr.attainable("point", "mmd", 3, restarts=2, iterations=20).score
    with pytest.raises(ValueError, match="n must be"):
        vr.attainable("point", "mmd", 0)
    with pytest.raises(ValueError, match="no environment"):
        vr.attainable("pont", "mmd", 2)
