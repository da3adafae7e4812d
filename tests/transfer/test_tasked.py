"""Worlds of tasks: what they show and pay, and that skills as actions do what the skills do by themselves."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vendirl as vr
from vendirl.environments.checking import check
from vendirl.skills.rollout import act_out
from vendirl.transfer.rewards import returns_of
from vendirl.transfer.task import Joined, parse_task
from vendirl.transfer.tasked import OverSkills, Tasked

TASKS = tuple(
    map(parse_task, ["value(x)", "goal(x, y, range=0.5, radius=0.2, every=3, goals=2)", "hurdles(y, 0.4, 0.05)"])
)
WORLD = vr.environments.Plane(episode_length=7)


@pytest.fixture(scope="module")
def run():
    settings = {"skills": 3, "steps": 240, "scenes": 8, "hidden": (8,), "devices": 1, "progress": False, "log_std": 0.0}
    return vr.train(WORLD, "mmd(scale=4)", **settings)


def test_a_world_of_tasks_pays_every_task_and_shows_what_is_drawn():
    world = Tasked(WORLD, Joined(TASKS))
    check(world)
    assert world.feature_names == ("x", "y", "task_shows_0", "task_shows_1", *(f"task_reward_{i}" for i in range(3)))
    assert (world.visible, world.observation_size) == (4, 7)
    state, key = world.reset(jax.random.key(3)), jax.random.key(0)
    goals = np.asarray(state.physics.θ).reshape(2, 2)
    for t in range(7):
        before = np.asarray(state.observation[:2])
        np.testing.assert_allclose(state.observation[2:4], goals[min(t // 3, 1)] - before, atol=1e-6)
        state = world.step(state, jnp.array([1.0, -0.5]), key)
        x, y = np.asarray(state.observation[:2])
        near = np.hypot(*(goals[min(t // 3, 1)] - (x, y))) <= 0.2
        passed = sum(y > h for h in 0.4 + 0.05 * np.arange(7)) - sum(before[1] > h for h in 0.4 + 0.05 * np.arange(7))
        np.testing.assert_allclose(state.observation[4:], [x, float(near), passed], atol=1e-6)


@pytest.mark.parametrize("hold", [1, 3, 7])
def test_holding_one_skill_is_that_skill(run, hold):
    """Also where the last choice is cut short by the end of the episode, as 7 is no multiple of 3."""
    tasks = Joined((TASKS[0], TASKS[2]))
    space = run.loop.problem.space
    over = OverSkills(inner=WORLD, tasks=tasks, policy=run.skills, space=space, hold=hold)
    assert over.episode_length == -(-7 // hold)
    assert over.actions == vr.environments.Discrete(3)
    wanted = returns_of(tasks.tasks, run.episodes()).profile
    for skill in range(3):
        state, total = over.reset(jax.random.key(0)), np.zeros(2)
        for _ in range(over.episode_length):
            state = over.step(state, jnp.array(skill), jax.random.key(1))
            total += np.asarray(state.observation[-2:])
        assert int(state.physics.elapsed) == 7
        np.testing.assert_allclose(total, wanted[skill], atol=1e-5)
        end = act_out(WORLD, run.skills, np.array([skill]), jax.random.key(0), True).next_observation[0, -1]
        np.testing.assert_allclose(state.observation[:2], end, atol=1e-6)
