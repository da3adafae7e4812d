"""Returns of stored episodes, against a loop over their steps."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vendirl as vr
from vendirl.transfer.rewards import returns_of
from vendirl.transfer.task import Seen, Step, parse_task


@pytest.fixture
def walks():
    rng = np.random.default_rng(0)
    lengths = [4, 1, 3, 5]
    episodes = [rng.normal(size=(length, 2)) for length in lengths]
    return vr.Trajectories.of(
        episodes,
        skill=[1, 0, 0, 1],
        features=["x", "y"],
        rewards=[rng.normal(size=length) for length in lengths],
        first_observations=rng.normal(size=(4, 2)),
    )


def test_returns_are_sums_over_the_steps_of_each_episode(walks):
    tasks = [
        parse_task(text) for text in ("hurdles(x, first=0, gap=0.5)", "goal(x, y, range=1, every=2)", "environment")
    ]
    found = returns_of(tasks, walks, draws=3, seed=7)
    assert found.episodes.shape == (3, 4, 3)
    starts = np.cumsum(walks.lengths) - walks.lengths
    keys = jax.random.split(jax.random.key(7), 3)
    for draw, key in enumerate(keys):
        own = jax.random.split(key, 3)
        for e, (start, length) in enumerate(zip(starts, walks.lengths, strict=True)):
            before = walks.first_observations[e]
            total = np.zeros(3)
            for t in range(length):
                after = walks.observations[start + t]
                seen = [Seen(jnp.asarray(v, jnp.float32), ("x", "y")) for v in (before, after)]
                now = Step(*seen, jnp.asarray(t), jnp.asarray(walks.rewards[start + t], jnp.float32))
                total += [float(task.reward(task.draw(k), now)) for task, k in zip(tasks, own, strict=True)]
                before = after
            np.testing.assert_allclose(found.episodes[draw, e], total, atol=1e-5)


def test_profiles_are_means_over_the_episodes_of_a_skill(walks):
    found = returns_of([parse_task("environment")], walks)
    sums = [
        walks.rewards[s : s + n].sum()
        for s, n in zip(np.cumsum(walks.lengths) - walks.lengths, walks.lengths, strict=True)
    ]
    np.testing.assert_allclose(found.profile[:, 0], [(sums[1] + sums[2]) / 2, (sums[0] + sums[3]) / 2], atol=1e-6)
    gap = abs(sums[1] - sums[2]) / 2  # the standard error of two is half their distance
    np.testing.assert_allclose(found.errors[0, 0], gap, atol=1e-6)


def test_what_data_do_not_say_is_refused(walks):
    import dataclasses

    with pytest.raises(ValueError, match="looks at the feature 'speed', which trajectories does not have"):
        returns_of([parse_task("value(speed)")], walks)
    with pytest.raises(ValueError, match="has no rewards"):
        returns_of([parse_task("environment")], dataclasses.replace(walks, rewards=None))
    with pytest.raises(ValueError, match="observed first"):
        returns_of([parse_task("value(x)")], dataclasses.replace(walks, first_observations=None))
    with pytest.raises(ValueError, match="tasks is empty"):
        returns_of([], walks)
