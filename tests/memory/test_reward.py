"""Rewards: relabelling a chunk of any length is the literal per-step loop of Algorithm 1."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vendirl as vr
from tests import reference
from tests.compiling import compiled_as_for_users
from tests.generators import PRECISIONS, precision, skill_set, tolerance
from vendirl import similarity as s

TRANSFORMS = ("raw", "derivative", "penalty", "log")


def combined(a, b):
    return 0.25 * reference.mmd(a, b, scale=2.0) + 0.75 * reference.covariance(a, b, scale=0.5)


def product_on_features(a, b):
    first = [[x[:, :1] for x in skill] for skill in (a, b)]
    return reference.mmd(*first, scale=0.5) * reference.angle(a, b, scale=2.0, center=[0.3, 0.2])


CASES = {
    "mmd": (s.mmd(scale=2.0), functools.partial(reference.mmd, scale=2.0)),
    "cosine": (s.cosine(center=(0.3, 0.2)), functools.partial(reference.cosine, center=(0.3, 0.2))),
    "scaled": (
        s.cosine(scaled=True, center=(0.3, 0.2)),
        functools.partial(reference.cosine, scaled=True, center=(0.3, 0.2)),
    ),
    "covariance": (s.covariance(scale=0.5), functools.partial(reference.covariance, scale=0.5)),
    "log_covariance": (
        s.covariance(scale=0.2, log=True, floor=0.1),
        functools.partial(reference.covariance, scale=0.2, log=True, floor=0.1),
    ),
    "sum": (0.25 * s.mmd(scale=2.0) + 0.75 * s.covariance(scale=0.5), combined),
    "product": (s.mmd(scale=0.5).on(0) * s.angle(scale=2.0, center=(0.3, 0.2)), product_on_features),
    "overlap": (s.overlap(neighbours=2), functools.partial(reference.overlap, neighbours=2)),
    "final_state": (s.final_state(), reference.final_state),
    "rbf": (s.mmd(kernel="rbf"), functools.partial(reference.mmd, kernel="rbf")),
    "wasserstein": (
        s.wasserstein(directions=3, quantiles=5),
        functools.partial(reference.wasserstein, directions=3, quantiles=5),
    ),
    "alignment": (s.alignment(bandwidth=2.0), functools.partial(reference.alignment, bandwidth=2.0)),
}


def setting(seed, N=1, n=4, T=6, c=6):
    rng = np.random.default_rng(seed)
    return skill_set(rng, n, N, T, 2), rng.integers(-24, 25, (c, 2)) / 16, int(rng.integers(n))


@functools.partial(jax.jit, static_argnums=(4, 5))
def relabel(k, memory, skill, observations, transform="raw", q=1.0):
    return vr.relabel(k, memory, skill, observations, transform, q)


fill = jax.jit(vr.SkillMemory.fill)


def close(found, expected, dtype, n=4):
    """Rewards are differences of scores of size n, so that n is what the tolerance is relative to."""
    np.testing.assert_allclose(found, expected, rtol=tolerance(dtype), atol=tolerance(dtype) * n / 2)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        *((name, np.float64) for name in CASES),
        *((name, np.float32) for name in CASES if CASES[name][0].streams or name == "overlap"),
    ],
)
def test_relabelling_is_the_loop_of_algorithm_1(name, dtype):
    k, pairwise = CASES[name]
    trajectories, observations, g = setting(7)
    expected, after = reference.algorithm_1(pairwise, trajectories, g, observations)
    with precision(dtype):
        memory = fill(k, jnp.asarray(trajectories, dtype))
        rewards, memory = relabel(k, memory, g, jnp.asarray(observations, dtype))
        assert rewards.dtype == dtype
        close(rewards, expected, dtype)
        np.testing.assert_array_equal(memory.observations, after.reshape(4, 6, 2))
        K = reference.kernel_matrix(pairwise, reference.as_skills(after))
        np.testing.assert_allclose(memory.kernel, K, rtol=tolerance(dtype), atol=tolerance(dtype) / 2)
        np.testing.assert_array_equal(memory.positions, 0)


@pytest.mark.parametrize(
    ("name", "q", "transform"),
    [
        *(("mmd", 1.0, transform) for transform in TRANSFORMS),
        *((name, q, "derivative") for name in ("mmd", "overlap") for q in (2.0, 3.0)),
    ],
)
def test_transforms_and_orders(name, q, transform):
    k, pairwise = CASES[name]
    trajectories, observations, g = setting(3)
    expected, _ = reference.algorithm_1(pairwise, trajectories, g, observations, transform, q)
    memory = fill(k, jnp.asarray(trajectories, jnp.float32))
    close(relabel(k, memory, g, jnp.asarray(observations, jnp.float32), transform, q)[0], expected, np.float32)


@pytest.mark.parametrize(
    ("name", "chunk", "N"),
    [
        *(("sum", chunk, N) for chunk in (1, 7, 23) for N in (1, 3)),
        ("sum", 6, 1),
        ("product", 7, 1),
        ("overlap", 1, 1),
        ("overlap", 7, 3),
        ("final_state", 7, 1),
        ("final_state", 23, 3),
    ],
)
def test_chunks_of_any_length_from_any_position(name, chunk, N):
    """Chunks of one step, of an odd number, of the episode, and longer than it, over several episodes in memory."""
    k, pairwise = CASES[name]
    trajectories, observations, g = setting(11, N=N, c=23)
    expected, after = reference.algorithm_1(pairwise, trajectories, g, observations, "derivative")
    memory = fill(k, jnp.asarray(trajectories, jnp.float32))
    found = []
    for start in range(0, len(observations), chunk):
        part = jnp.asarray(observations[start : start + chunk], jnp.float32)
        rewards, memory = relabel(k, memory, g, part, "derivative")
        found.extend(rewards)
    close(found, expected, np.float32)
    np.testing.assert_array_equal(memory.observations, after.reshape(4, 6 * N, 2))
    assert memory.positions[g] == 23 % (6 * N)


def test_chunks_are_the_same_to_1e_9_in_float64():
    k, pairwise = CASES["sum"]
    trajectories, observations, g = setting(2, N=2, c=30)
    expected, _ = reference.algorithm_1(pairwise, trajectories, g, observations)
    with precision(np.float64):
        for chunk in (1, 7, 30):
            memory = fill(k, jnp.asarray(trajectories))
            found = []
            for start in range(0, 30, chunk):
                rewards, memory = relabel(k, memory, g, jnp.asarray(observations[start : start + chunk]))
                found.extend(rewards)
            close(found, expected, np.float64)


def test_following_in_chunks_without_storing_is_relabelling_at_once():
    k, pairwise = CASES["sum"]
    trajectories, observations, g = setting(4, c=12)
    expected, _ = reference.algorithm_1(pairwise, trajectories, g, observations, "derivative")
    memory = fill(k, jnp.asarray(trajectories, jnp.float32))
    following, border = vr.Following.start(memory, jnp.asarray(g)), vr.Border.of(memory.kernel, 1.0, k.psd)
    observe = jax.jit(lambda following, part: following.observe(k, memory, border, part, "derivative"))
    found = []
    for part in np.split(observations.astype(np.float32), [1, 5, 6]):
        following, rewards, scores = observe(following, jnp.asarray(part))
        assert scores.shape == rewards.shape
        found.extend(rewards)
    close(found, expected, np.float32)


def test_successive_skills_see_each_other():
    """After one skill has been followed, the next is compared with what it has become."""
    k, pairwise = CASES["mmd"]
    trajectories, observations, _ = setting(5)
    memory = fill(k, jnp.asarray(trajectories, jnp.float32))
    after = trajectories
    for g in (1, 3, 1):
        expected, after = reference.algorithm_1(pairwise, after, g, observations + g)
        rewards, memory = relabel(k, memory, g, jnp.asarray(observations + g, jnp.float32))
        close(rewards, expected, np.float32)


@pytest.mark.parametrize(
    ("name", "dtype"), [("mmd", np.float32), ("sum", np.float32), ("overlap", np.float32), ("sum", np.float64)]
)
def test_256_scenes_by_vmap(name, dtype):
    """A memory for each scene, the paper's way."""
    k, pairwise = CASES[name]
    cases = [setting(seed, n=3, T=5, c=3) for seed in range(256)]
    with precision(dtype):
        x, y = (jnp.asarray(np.stack(part), dtype) for part in list(zip(*cases, strict=True))[:2])
        g = jnp.asarray([case[2] for case in cases])

        def scene(x, g, y):
            return vr.relabel(k, vr.SkillMemory.fill(k, x), g, y)[0]

        found = compiled_as_for_users(jax.vmap(scene))(x, g, y)
        expected = [reference.algorithm_1(pairwise, x, g, y)[0] for x, y, g in cases]
        close(found, expected, dtype, n=3)


@pytest.mark.parametrize(("name", "q"), [("mmd", 1.0), ("cosine", 2.0), ("overlap", 1.0)])
def test_a_border_shared_by_scenes_is_that_of_each_scene(name, q):
    k, _ = CASES[name]
    trajectories, _, _ = setting(9)
    rng = np.random.default_rng(0)
    memory = fill(k, jnp.asarray(trajectories, jnp.float32))
    g = jnp.asarray(rng.integers(0, 4, 256))
    y = jnp.asarray(rng.integers(-24, 25, (256, 3, 2)) / 16, jnp.float32)

    @jax.jit
    def shared(memory, g, y):
        border = vr.Border.of(memory.kernel, q, k.psd)
        return jax.vmap(lambda g, y: vr.Following.start(memory, g).observe(k, memory, border, y)[1])(g, y)

    own = jax.jit(jax.vmap(lambda g, y: vr.relabel(k, memory, g, y, q=q)[0]))
    np.testing.assert_allclose(shared(memory, g, y), own(g, y), rtol=1e-5)


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_a_fading_memory_follows_its_recurrence(dtype):
    k = 0.5 * s.mmd(scale=2.0) + 0.5 * s.covariance(scale=0.5)
    trajectories, observations, g = setting(6, N=2, c=9)
    moments = reference.fading_moments(trajectories[g], observations)
    others = [reference.pooled(skill) for skill in trajectories]
    stats = [(x.mean(0), reference.sample_covariance(x)) for x in others]
    expected = []
    for now in moments:
        current = [now if i == g else stats[i] for i in range(4)]
        K = np.ones((4, 4))
        for i in range(4):
            for j in range(4):
                far = np.linalg.norm(current[i][0] - current[j][0])
                spread = abs(np.linalg.det(current[i][1]) - np.linalg.det(current[j][1]))
                K[i, j] = 0.5 * np.exp(-2 * far) + 0.5 * np.exp(-0.5 * spread)
        expected.append(reference.vendi_score(K))
    with precision(dtype):
        for chunk in (1, 9):
            memory = jax.jit(vr.FadingMemory.fill)(k, jnp.asarray(trajectories, dtype))
            found = []
            for start in range(0, 9, chunk):
                rewards, memory = relabel(k, memory, g, jnp.asarray(observations[start : start + chunk], dtype))
                found.extend(rewards)
            close(found, expected, dtype)
            np.testing.assert_allclose(vr.vendi_score(memory.kernel), expected[-1], rtol=tolerance(dtype))


def test_one_skill_scores_one():
    k = s.mmd()
    memory = fill(k, jnp.zeros((1, 3, 2)))
    for transform, reward in {"raw": 1, "derivative": 0, "penalty": 0, "log": 0}.items():
        np.testing.assert_allclose(vr.relabel(k, memory, 0, jnp.ones((4, 2)), transform)[0], reward, atol=1e-6)


def test_forms_of_input():
    k = s.mmd()
    x, y, g = setting(0)
    expected = vr.relabel(k, vr.SkillMemory.fill(k, jnp.asarray(x[:, 0])), jnp.asarray(g), jnp.asarray(y))[0]
    np.testing.assert_allclose(vr.relabel(k, vr.SkillMemory.fill(k, x), g, y)[0], expected)
    whole = vr.SkillMemory.fill(k, np.ones((2, 3, 2), int))
    assert np.isfinite(vr.relabel(k, whole, 0, np.ones((2, 2), int))[0]).all()


@pytest.mark.parametrize("memory", [vr.SkillMemory, vr.FadingMemory])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"transform": "speed"}, r"transform must be one of raw, derivative, penalty, log, but is 'speed'"),
        ({"skill": 4}, r"skill must be one of the 4 skills 0 to 3, but is 4"),
        ({"skill": -1}, r"skill must be one of the 4 skills 0 to 3, but is -1"),
        ({"observations": np.ones((5, 3))}, r"observations must have shape \(steps, 2\).* but has shape \(5, 3\)"),
        ({"observations": np.ones((5, 1))}, r"observations must have shape \(steps, 2\).* but has shape \(5, 1\)"),
        ({"observations": np.ones((0, 2))}, r"observations must have shape \(steps, 2\).* but has shape \(0, 2\)"),
        ({"observations": np.ones(2)}, r"observations must have shape \(steps, 2\).* but has shape \(2,\)"),
        ({"observations": [[1, np.nan]]}, r"observations must be finite, but feature 1 at step 0 is nan"),
        ({"q": -1.0}, r"q must be a number in \[0, inf\]"),
        ({"q": [1.0, 2.0]}, r"q must be one order"),
    ],
)
def test_errors_name_the_argument_and_what_was_wrong(memory, arguments, message):
    filled = memory.fill(s.mmd(), jnp.zeros((4, 3, 2)))
    given = {"skill": 0, "observations": np.ones((5, 2)), **arguments}
    with pytest.raises(ValueError, match=message):
        vr.relabel(s.mmd(), filled, **given)
