"""mmd by random features: near the kernel itself, nearer the more there are, and what it claims exactly."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vendirl as vr
from vendirl import similarity as s
from vendirl.memory import border_of
from vendirl.score.dual import Dual


def walks(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 5, 3)).cumsum(1) / 4


def test_it_is_near_the_kernel_by_as_much_as_so_many_random_features_are():
    """Over seeds unbiased, with the standard deviation that it claims at most."""
    points = walks(6)
    means = points.mean(1)
    K = np.exp(-2 * np.linalg.norm(means[:, None] - means, axis=-1))
    found = np.array([vr.kernel_matrix(s.mmd(scale=2.0, features=64, seed=seed), points) for seed in range(60)])
    assert np.abs(found.mean(0) - K).max() < 4 / np.sqrt(64 * 60)
    assert found.std(0).max() < 1.3 / np.sqrt(64)
    one = found[0]
    np.testing.assert_allclose(np.diag(one), 1)
    assert np.linalg.eigvalsh(one).min() > -1e-12


def test_skills_with_nothing_in_common_score_what_it_says():
    n, d = 64, 64
    far = 1e3 * np.random.default_rng(0).normal(size=(n, 1, 3))
    scores = [vr.effective_number(far, s.mmd(scale=1.0, features=d, seed=seed), q=2) for seed in range(10)]
    assert np.mean([float(score) for score in scores]) == pytest.approx(n / (1 + n / d), rel=0.05)


def test_its_rewards_are_by_the_small_matrix_and_are_those_of_its_kernel():
    k, y = s.mmd(scale=2.0, features=8), jnp.asarray(walks(1, seed=1)[0], jnp.float32)
    memory = jax.jit(vr.SkillMemory.fill)(k, jnp.asarray(walks(12), jnp.float32))
    small, whole = border_of(k, memory), vr.Border.of(memory.kernel, 1.0, True)
    assert isinstance(small, Dual)
    observe = jax.jit(lambda border: vr.Following.start(memory, 4).observe(k, memory, border, y)[1])
    np.testing.assert_allclose(observe(small), observe(whole), rtol=1e-4)


def test_its_text_reads_back():
    for k in (s.mmd(scale=2.0, features=8), s.mmd(features=256, seed=3)):
        assert str(s.parse(str(k))) == str(k)
        assert s.parse(str(k)).features == k.features
    assert s.mmd(features=8).ceiling(64, 2) == 8


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"features": 7}, "features must be even"),
        ({"features": -2}, "features must be a whole number of at least 2"),
        ({"features": "many"}, "features must be a whole number"),
        ({"features": 8, "kernel": "rbf"}, "use kernel='linear'"),
        ({"features": 8, "seed": -1}, "mmd: seed must be"),
    ],
)
def test_what_cannot_be_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        s.mmd(**settings)
