import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vendirl.environments import Box, Discrete, Environment, Plane, State
from vendirl.skills.policy import SkillPolicy, noise
from vendirl.skills.rollout import act_out
from vendirl.skills.rollout import rollout as eager_rollout

KEY = jax.random.key(0)
NEW = eqx.filter_jit(SkillPolicy)
rollout = eqx.filter_jit(eager_rollout)
trajectories = eqx.filter_jit(lambda *of, **named: act_out(*of, **named).next_observation)


class Counter(Environment):
    """Counts the steps since a random beginning below 3, and terminates at `goal`."""

    goal: int = eqx.field(static=True, default=10**6)
    episode_length: int = eqx.field(static=True, default=5)
    observation_size: int = eqx.field(static=True, default=1)
    feature_names: tuple[str, ...] = eqx.field(static=True, default=("count",))
    actions: Discrete | Box = eqx.field(static=True, default=Box(1))

    def reset(self, key):
        return self._state(jax.random.randint(key, (), 0, 3))

    def step(self, state, action, key):
        return self._state(state.physics + 1)

    def _state(self, count):
        reward = 10.0 * count
        return State(count, count[None].astype(jnp.float32), count >= self.goal, reward.astype(jnp.float32))


def act_by_the_clock(observation, time, key):
    return 100 * observation, time


def reference_rollout(environment, state, elapsed, steps, resets):
    """What should be written down, step by step; `resets` are the counts that new episodes begin with."""
    rows, count = [], int(state.physics)
    resets = iter(resets)
    for _ in range(steps):
        successor = count + 1
        elapsed += 1
        terminated = successor >= environment.goal
        truncated = elapsed == environment.episode_length and not terminated
        rows.append((count, (elapsed - 1) / environment.episode_length, successor, terminated, truncated))
        count = successor
        if terminated or truncated:
            count, elapsed = next(resets), 0
    return rows, count, elapsed


@pytest.mark.parametrize(("goal", "elapsed"), [(10**6, 0), (10**6, 3), (4, 0), (4, 4), (7, 2)])
def test_rows_are_the_reference(goal, elapsed):
    world = Counter(goal)
    begin = world.reset(jax.random.key(5))
    end, after, rows = rollout(world, act_by_the_clock, begin, jnp.array(elapsed), jnp.array(2), 23, KEY)
    done = np.asarray(rows.terminated | rows.truncated)
    resets = [*np.asarray(rows.observation[1:, 0])[done[:-1]], end.physics if done[-1] else 0]
    assert set(map(int, resets)) <= {0, 1, 2}
    expected, count, left = reference_rollout(world, begin, elapsed, 23, map(int, resets))
    observation, time, successor, terminated, truncated = map(np.array, zip(*expected, strict=True))
    np.testing.assert_array_equal(rows.observation[:, 0], observation)
    np.testing.assert_array_equal(rows.next_observation[:, 0], successor)
    np.testing.assert_array_equal(rows.terminated, terminated)
    np.testing.assert_array_equal(rows.truncated, truncated)
    np.testing.assert_allclose(rows.time, time, rtol=1e-6)
    np.testing.assert_allclose(rows.next_time, time + 1 / 5, rtol=1e-6)
    np.testing.assert_array_equal(rows.reward, 10 * successor)
    np.testing.assert_array_equal(rows.action[:, 0], 100 * observation)
    np.testing.assert_allclose(rows.log_prob, time, rtol=1e-6)
    assert done.any()
    assert rows.skill.shape == ()
    assert rows.skill == 2
    assert (int(end.physics), int(after)) == (count, left)


def test_new_episodes_begin_at_random():
    _, _, rows = rollout(Counter(), act_by_the_clock, Counter().reset(KEY), jnp.array(0), jnp.array(0), 200, KEY)
    begins = np.asarray(rows.observation[rows.time == 0, 0])
    assert set(begins.tolist()) == {0.0, 1.0, 2.0}


def test_two_halves_make_a_whole_where_nothing_is_random():
    world = Plane(episode_length=7)
    policy_fn = lambda observation, time, key: (jnp.sin(9 * observation + time), time)  # noqa: E731
    begin, zero = world.reset(KEY), jnp.array(0)
    _, _, whole = rollout(world, policy_fn, begin, zero, zero, 20, KEY)
    state, elapsed, first = rollout(world, policy_fn, begin, zero, zero, 9, KEY)
    _, _, second = rollout(world, policy_fn, state, elapsed, zero, 11, KEY)
    for name in ("observation", "next_observation", "time", "truncated", "action"):
        halves = jnp.concatenate([getattr(first, name), getattr(second, name)])
        np.testing.assert_allclose(halves, getattr(whole, name), atol=1e-6)


@pytest.mark.parametrize("actions", [{}, {"discrete": True, "moves": 9}])
def test_noise_drawn_beforehand_is_the_noise_of_each_step(actions):
    world = Plane(**actions)
    policy = NEW(2, world.actions, 3, key=KEY)
    one = policy.skill(1)
    begin, zero = world.reset(KEY), jnp.array(0)
    drawn = noise(one.actions, KEY, (60,))
    _, _, rows = rollout(world, one.act, begin, zero, zero, 60, KEY, drawn)
    action, log_prob = jax.vmap(one.act)(rows.observation, rows.time, drawn)
    np.testing.assert_allclose(rows.action, action, atol=1e-5)
    np.testing.assert_allclose(rows.log_prob, log_prob, atol=1e-4)


def test_scenes_are_independent_and_recorded_probabilities_are_the_policys():
    world = Plane(noise=0.01)
    policy = NEW(2, world.actions, 4, key=KEY, time=True)

    def scene(skill, key):
        one = policy.skill(skill)
        return rollout(world, one.act, world.reset(key), jnp.array(0), skill, 60, key, noise(one.actions, key, (60,)))[
            2
        ]

    skills, keys = jnp.arange(256) % 4, jax.random.split(KEY, 256)
    batch = jax.jit(jax.vmap(scene))(skills, keys)
    alone = scene(skills[37], keys[37])
    np.testing.assert_allclose(batch.next_observation[37], alone.next_observation, atol=1e-5)
    assert batch.observation.shape == (256, 60, 2)
    assert batch.skill.shape == (256,)
    log_prob, _, value = policy.evaluate_scenes(batch.skill, batch.observation, batch.time, batch.action)
    np.testing.assert_allclose(log_prob, batch.log_prob, atol=1e-4)
    alone = jax.vmap(lambda skill, *rows: jax.vmap(policy.skill(skill).value)(*rows))
    np.testing.assert_allclose(value, alone(batch.skill, batch.observation, batch.time), atol=1e-5)
    np.testing.assert_allclose(policy.values(batch.skill, batch.observation, batch.time), value, atol=1e-5)
    within = ~np.asarray(batch.truncated)[:, :-1]
    np.testing.assert_array_equal(batch.next_observation[:, :-1][within], batch.observation[:, 1:][within])
    assert batch.truncated.sum() == 256


@pytest.mark.parametrize("deterministic", [False, True])
def test_trajectories_are_whole_episodes(deterministic):
    world = Plane(episode_length=12)
    policy = NEW(2, world.actions, 4, key=KEY, log_std=-3.0)
    skills = jnp.array([3, 1, 1, 0, 2])
    paths = trajectories(world, policy, skills, KEY, deterministic)
    assert paths.shape == (5, 12, 2)
    assert (paths[1] == paths[2]).all() == deterministic
    position = jnp.array(world.start)
    for t in range(12):
        position = jnp.clip(position + 0.05 * jnp.clip(policy.mode(position, 3, 0.0), -1, 1), 0, 1)
        if deterministic:
            np.testing.assert_allclose(paths[0, t], position, atol=1e-5)


def test_a_trajectory_that_terminates_begins_anew_as_the_memory_has_it():
    world = Counter(goal=4)
    policy = NEW(1, world.actions, 1, key=KEY)
    path = trajectories(world, policy, jnp.array([0]), KEY)[0, :, 0]
    assert path.shape == (5,)
    assert path.max() == 4
    assert (jnp.diff(path) <= 1).all()
    assert (jnp.diff(path) < 0).any()
