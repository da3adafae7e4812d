"""Rewards of which only each k-th step is scored, and rewards by embeddings, against the loop of Algorithm 1."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vendirl as vr
from tests import reference
from tests.compiling import compiled_as_for_users
from tests.generators import precision, tolerance
from tests.memory.test_reward import CASES, TRANSFORMS, close, fill, setting
from vendirl import similarity as s
from vendirl.memory import border_of
from vendirl.memory.reward import scored_steps
from vendirl.score.dual import Dual

CENTER = (0.3, 0.2)


@functools.partial(jax.jit, static_argnums=(4, 5, 6))
def relabel(k, memory, skill, observations, transform="raw", q=1.0, every=1):
    return vr.relabel(k, memory, skill, observations, transform, q, every)


def spread_evenly(scores, before, every, transform, n):
    """The rewards of steps with these scores, of which every k-th and the last are known, one step after the other."""
    rewards, last = [], len(scores) - 1
    start, known = -1, before
    for t in range(len(scores)):
        if t > start:
            end = min(start + every, last)
            begin, value, gain = start, known, scores[end] - known
            width, start, known = end - begin, end, scores[end]
        now, then = (value + gain * (t + moved - begin) / width for moved in (0, -1))
        rewards.append({"raw": now, "derivative": now - then, "penalty": now - n, "log": np.log(now / n)}[transform])
    return rewards


@pytest.mark.parametrize(
    ("name", "every", "transform"),
    [
        ("mmd", 5, "derivative"),
        ("mmd", 40, "derivative"),
        *(("mmd", 2, transform) for transform in TRANSFORMS),
        ("cosine", 4, "raw"),
        ("overlap", 3, "derivative"),
    ],
)
def test_what_is_gained_in_k_steps_is_spread_evenly_over_them(name, every, transform):
    k, pairwise = CASES[name]
    trajectories, observations, g = setting(5, c=11)
    scores, after = reference.algorithm_1(pairwise, trajectories, g, observations, "raw")
    before = reference.vendi_score(reference.kernel_matrix(pairwise, reference.as_skills(trajectories)))
    expected = spread_evenly(scores, before, every, transform, 4)
    if transform == "derivative":
        assert sum(expected) == pytest.approx(scores[-1] - before)
    with precision(np.float64):
        memory = fill(k, jnp.asarray(trajectories))
        found, memory = relabel(k, memory, g, jnp.asarray(observations), transform, 1.0, every)
        close(found, expected, np.float64)
        np.testing.assert_array_equal(memory.observations, after.reshape(4, 6, 2))


def test_scoring_every_step_is_what_it_was_bit_for_bit():
    """As without the setting: the rows of K for all steps, and their scores."""
    k, _ = CASES["mmd"]
    trajectories, observations, g = setting(7)
    memory, y = fill(k, jnp.asarray(trajectories, jnp.float32)), jnp.asarray(observations, jnp.float32)

    @jax.jit
    def before(memory, y):
        _, summaries = memory.track(g).roll(k, y)
        rows = jax.vmap(jax.vmap(k.compare, (None, 0)), (0, None))(summaries, memory.summaries)
        scores = vr.Border.of(memory.kernel, 1.0, True).scores(g, jnp.concatenate([memory.kernel[g][None], rows]))
        return scores[1:] - scores[:-1]

    found = relabel(k, memory, jnp.asarray(g), y, "derivative", 1.0, 1)[0]
    np.testing.assert_array_equal(found, before(memory, y))


@pytest.mark.parametrize("name", ["mmd", "scaled"])
def test_a_score_that_is_known_at_the_start_is_not_needed_again(name):
    k = CASES[name][0]
    trajectories, observations, g = setting(7, n=6, c=8)
    memory, y = fill(k, jnp.asarray(trajectories, jnp.float32)), jnp.asarray(observations, jnp.float32)
    border = border_of(k, memory)
    np.testing.assert_allclose(border.score, vr.vendi_score(memory.kernel), rtol=1e-5)

    @jax.jit
    def chunks(value):
        following, first, _ = vr.Following.start(memory, jnp.asarray(g), value).observe(
            k, memory, border, y[:5], every=3
        )
        after, second, _ = following.observe(k, memory, border, y[5:], "derivative", 3)
        return after.value, jnp.concatenate([first, second])

    (value, found), (_, expected) = chunks(border.score), chunks(None)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(value, vr.Following.start(memory, g).observe(k, memory, border, y)[2][-1], rtol=1e-4)


def test_the_steps_that_are_scored():
    assert scored_steps(6, 1).tolist() == [0, 1, 2, 3, 4, 5]
    assert scored_steps(6, 2).tolist() == [1, 3, 5]
    assert scored_steps(7, 3).tolist() == [2, 5, 6]
    assert scored_steps(2, 9).tolist() == [1]
    with pytest.raises(ValueError, match="every must be a positive whole number, but is 0"):
        vr.relabel(s.mmd(), vr.SkillMemory.fill(s.mmd(), np.zeros((2, 3, 2))), 0, np.ones((2, 2)), every=0)


EMBEDDED = {
    "cosine": s.cosine(center=CENTER),
    "scaled": s.cosine(scaled=True, center=CENTER),
    "sharp": s.cosine(scale=0.7, center=CENTER).on(1, 0),
    "sum": 0.5 * s.cosine(center=CENTER) + 1.5 * s.cosine(scaled=True).on(0),
    "product": s.cosine(scale=0.5, center=CENTER) * (s.cosine(center=CENTER) + 2 * s.cosine(scaled=True)),
}


@pytest.mark.parametrize("name", EMBEDDED)
def test_the_product_of_two_embeddings_is_the_similarity(name):
    k, (trajectories, _, _) = EMBEDDED[name], setting(8)
    with precision(np.float64):
        memory = fill(k, jnp.asarray(trajectories))
        phi = jax.vmap(k.embedding)(memory.summaries)
        np.testing.assert_allclose(phi @ phi.T, memory.kernel, atol=1e-12)
    assert np.linalg.matrix_rank(phi) <= k.rank(2)


@pytest.mark.parametrize(("name", "q"), [("scaled", 1.0), ("sum", 1.0), ("product", 1.0), ("sum", 2.0)])
def test_rewards_by_embeddings_are_those_by_the_kernel_in_256_scenes(name, q):
    """Exact: the small matrix has the same eigenvalues."""
    k, rng = EMBEDDED[name], np.random.default_rng(0)
    trajectories, _, _ = setting(9, n=16)
    g, y = rng.integers(0, 16, 256), rng.integers(-24, 25, (256, 6, 2)) / 16
    for dtype in (np.float64, np.float32) if name == "scaled" else (np.float64,):
        with precision(dtype):
            memory = fill(k, jnp.asarray(trajectories, dtype))
            whole, small = vr.Border.of(memory.kernel, q, k.psd), border_of(k, memory, q)
            assert isinstance(small, Dual)

            def scene(border, g, y, memory=memory):
                following = vr.Following.start(memory, g)
                half, first, _ = following.observe(k, memory, border, y[:3], "derivative")
                return jnp.concatenate([first, half.observe(k, memory, border, y[3:], "derivative")[1]])

            scenes = compiled_as_for_users(jax.vmap(scene, (None, 0, 0)))
            found, expected = (scenes(border, jnp.asarray(g), jnp.asarray(y, dtype)) for border in (small, whole))
            np.testing.assert_allclose(found, expected, atol=16 * tolerance(dtype))


def test_embeddings_are_used_where_they_are_smaller_than_the_kernel():
    k = s.cosine(center=CENTER)
    few, many = (fill(k, jnp.asarray(setting(0, n=n)[0], jnp.float32)) for n in (2, 3))
    assert isinstance(border_of(k, few), vr.Border)
    assert isinstance(border_of(k, many), Dual)
    for without in (s.mmd(), k + s.mmd(), k * s.mmd()):
        memory = fill(without, jnp.asarray(setting(0, n=3)[0], jnp.float32))
        assert isinstance(border_of(without, memory), vr.Border)
    assert functools.reduce(lambda a, b: a * b, [s.cosine(scaled=True)] * 7).embedding((jnp.ones(2),) * 7) is None
