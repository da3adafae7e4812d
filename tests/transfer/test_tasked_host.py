"""Worlds of tasks outside of compiled programs: what they pay, and skills as actions, also where episodes end early."""

import jax.numpy as jnp
import numpy as np
import pytest

import vendirl as vr
from vendirl.transfer.task import Joined, parse_task
from vendirl.transfer.tasked_host import Skills, TaskedHost

pytest.importorskip("envpool", reason="these scenes need EnvPool: pip install envpool")
TASKS = Joined(
    tuple(map(parse_task, ["value(pole) + environment", "goal(x, range=1, radius=0.5)", "value(x_velocity)"]))
)
E = 4


@pytest.fixture(scope="module")
def run():
    settings = {"skills": 2, "steps": 480, "scenes": 8, "hidden": (8,), "method": "random", "progress": False}
    return vr.train("envpool:CartPole-v1(episode_length=60)", **settings)


def by_hand(run, skills):
    """The sums of what tasks pay in the first episode of each scene, and where it ends, a step at a time."""
    world = run.environment
    scenes = world.open(E, seed=3)
    names = list(world.feature_names)
    seen, going, steps = scenes.reset(np.ones(E, bool)), np.ones(E, bool), np.zeros(E, int)
    last, sums = seen.copy(), np.zeros((E, 2))
    while going.any():
        actions = [
            run.skills.mode(jnp.asarray(row), int(g), jnp.asarray(t / 60))
            for row, g, t in zip(seen, skills, steps, strict=True)
        ]
        found = scenes.step(np.array(actions, np.int32))
        pay = np.stack(
            [found.features[:, names.index("pole")] + found.rewards, found.features[:, names.index("x_velocity")]], 1
        )
        sums += pay * going[:, None]
        last = np.where(going[:, None], found.features, last)
        steps += going
        over = going & (found.terminated | (steps >= 60))
        going &= ~over
        seen = found.features
        if (~going).any():
            seen = np.where(~going[:, None], scenes.reset(~going), seen)
    scenes.close()
    return sums, last, steps


@pytest.mark.parametrize("hold", [1, 7])
def test_skills_that_are_held_earn_what_they_earn_by_themselves(run, hold):
    chosen = np.array([0, 1, 1, 0])
    wanted, last, steps = by_hand(run, chosen)
    assert steps.min() < 60  # some fall
    world = TaskedHost(run.environment, TASKS, Skills(run.skills, run.loop.problem.space, hold))
    assert (world.episode_length, world.actions.n) == (-(-60 // hold), 2)
    scenes = world.open(E, seed=3)
    features = scenes.reset(np.ones(E, bool))
    assert features.shape == (E, len(world.feature_names))
    sums, going, end = np.zeros((E, 3)), np.ones(E, bool), features.copy()
    for _ in range(world.episode_length):
        found = scenes.step(chosen)
        sums += found.features[:, -3:] * going[:, None]
        end = np.where(going[:, None], found.features, end)
        ended = going & (found.terminated | found.truncated)
        going &= ~ended
        if (~going).any():
            scenes.reset(~going)
    scenes.close()
    np.testing.assert_allclose(sums[:, [0, 2]], wanted, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(end[:, : world.visible - 1], last[:, : world.visible - 1], atol=1e-5)


def test_a_drawn_goal_is_shown_from_where_the_body_is(run):
    world = TaskedHost(run.environment, TASKS)
    x, shown = world.feature_names.index("x"), world.feature_names.index("task_shows_0")
    scenes = world.open(E, seed=5)
    first = scenes.reset(np.ones(E, bool))
    goals = first[:, shown] + first[:, x]
    assert len(set(np.round(goals, 5))) == E
    found = scenes.step(np.array([0, 1, 0, 1], np.int32))
    np.testing.assert_allclose(found.features[:, shown], goals - found.features[:, x], atol=1e-5)
    near = np.abs(goals - found.features[:, x]) <= 0.5
    assert found.features[:, -2].tolist() == near.astype(float).tolist()
    again = scenes.reset(np.array([True, False, False, False]))
    assert abs(again[0, shown] + again[0, x] - goals[0]) > 1e-4  # another episode, another goal
    np.testing.assert_allclose(again[1:, shown] + again[1:, x], goals[1:], atol=1e-5)
    scenes.close()
