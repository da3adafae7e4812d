"""What VendiRL does otherwise where there are many skills: steps that share a score, memories that are kept."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vendirl.training.problem import build, new_policy
from vendirl.training.settings import Settings

SMALL = Settings(skills=3, scenes=8, hidden=(8,), steps=8 * 50 * 10, ppo={"minibatches": 2, "epochs": 1}, devices=1)


def method_of(**changes):
    return build(dataclasses.replace(SMALL, **changes))[1].method


def test_auto_is_exact_for_few_skills_and_shares_scores_of_many():
    assert (method_of().spacing, method_of().lasts) == (1, 1)
    many = method_of(skills=256)
    assert many.spacing > 1
    assert many.lasts == 1
    most = method_of(skills=1024)
    assert most.spacing >= many.spacing
    for exact in (
        {"order": 2.0},  # needs no spectrum
        {"similarity": "cosine(center=0.5)"},  # has a matrix of two features, however many skills there are
        {"every": 1},
    ):
        assert method_of(skills=1024, **exact).spacing == 1
    method = method_of(method="vendirl(every=7, keep=3)", every=2, keep=2)
    assert (method.spacing, method.lasts) == (7, 3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"every": 0}, "every must be a positive whole number, but is 0"),
        ({"every": "often"}, "every must be a positive whole number or auto, but is 'often'"),
        ({"keep": 0}, "keep must be a positive whole number, but is 0"),
        ({"keep": 4, "refill": "off"}, "use synchronise=4 for how long"),
        ({"method": "vendirl(every=-3)"}, "vendirl: every must be a positive whole number, but is -3"),
    ],
)
def test_settings_that_cannot_be_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        method_of(**changes)


def test_a_memory_is_kept_for_as_many_epochs_as_it_says():
    """With its decomposition; then it is filled anew, and so often trajectories are asked for."""
    settings, loop = build(dataclasses.replace(SMALL, keep=3, refill="shared"))
    method, policy = loop.method, new_policy(settings, loop, jax.random.key(0))
    assert method.rehearsal_period == 3
    assert [method.rehearsed(epochs) for epochs in (1, 3, 4)] == [1, 1, 2]
    goals, elapsed = jnp.arange(8) % 3, jnp.zeros(8, jnp.int32)

    @jax.jit
    def epoch(state, points):
        carried = method.prepare(state, goals, elapsed, jax.random.key(0), lambda key, episodes: points)
        return method.finish(carried), carried

    state, seen = method.start(policy, jax.random.key(0)), []
    for i in range(4):
        points = jax.random.normal(jax.random.key(i), (3, 1, 50, 2))
        state, carried = epoch(state, points)
        seen.append(carried)
        expected = method.filled(jax.random.normal(jax.random.key(3 * (i // 3)), (3, 1, 50, 2)))
        np.testing.assert_allclose(carried.memory.kernel, expected.kernel, rtol=1e-5)
    np.testing.assert_array_equal(seen[0].border.decomposition.vectors, seen[2].border.decomposition.vectors)
    assert not np.array_equal(seen[2].border.decomposition.entropy, seen[3].border.decomposition.entropy)


def test_settings_of_runs_that_are_older_score_every_step():
    data = {name: value for name, value in SMALL.to_json().items() if name != "every"}
    assert Settings.from_json(data).every == 1
    assert Settings.from_json(SMALL.to_json()) == SMALL
