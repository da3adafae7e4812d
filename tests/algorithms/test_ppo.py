"""The learner on environments whose answers are known."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.compiling import compiled_as_for_users
from vendirl.algorithms.ppo import PPO, ReturnScale, advantages
from vendirl.environments.environment import Environment, State
from vendirl.environments.spaces import Box, Discrete
from vendirl.skills.policy import SkillPolicy, noise
from vendirl.skills.rollout import rollout

KEY = jax.random.key(0)
NEW = eqx.filter_jit(SkillPolicy)


class Probe(Environment):
    """An environment of at most a few lines: subclasses say what a step is."""

    episode_length: int = eqx.field(static=True, default=8)
    observation_size: int = eqx.field(static=True, default=1)
    feature_names: tuple[str, ...] = eqx.field(static=True, default=("s",))
    actions: Discrete | Box = eqx.field(static=True, default=Discrete(2))

    def reset(self, key):
        return probe_state(0.0)


def probe_state(observation, reward=0.0, terminated=False):
    observation = jnp.asarray(observation, jnp.float32)[None]
    return State((), observation, jnp.asarray(terminated), jnp.asarray(reward, jnp.float32))


def random_sign(key):
    return jax.random.rademacher(key, (), jnp.float32)


class ConstantReward(Probe):
    """One step, reward 1."""

    def step(self, state, action, key):
        return probe_state(0.0, 1.0, True)


class ObservedReward(Probe):
    """One step, the reward is the observation, 1 or -1."""

    def reset(self, key):
        return probe_state(random_sign(key))

    def step(self, state, action, key):
        return probe_state(0.0, state.observation[0], True)


class DelayedReward(Probe):
    """Two steps, 0 then 1, with a reward at the end."""

    def step(self, state, action, key):
        last = state.observation[0] > 0.5
        return probe_state(1.0, last, last)


class ActionReward(Probe):
    """One step, reward 1 for action 1 and -1 for action 0."""

    def step(self, state, action, key):
        return probe_state(0.0, 2.0 * action - 1.0, True)


class MatchReward(Probe):
    """One step, reward 1 for the action that agrees with the observation, -1 for the other."""

    def reset(self, key):
        return probe_state(random_sign(key))

    def step(self, state, action, key):
        return probe_state(0.0, state.observation[0] * (2.0 * action - 1.0), True)


class NearReward(Probe):
    """One step with a continuous action in [-2, 2], reward -(a - s)² for s = ±1."""

    actions: Discrete | Box = eqx.field(static=True, default=Box(1, -2.0, 2.0))

    def reset(self, key):
        return probe_state(random_sign(key))

    def step(self, state, action, key):
        return probe_state(0.0, -((jnp.clip(action[0], -2.0, 2.0) - state.observation[0]) ** 2), True)


class EndlessReward(Probe):
    """Reward 1 for ever; episodes are cut off after four steps."""

    episode_length: int = eqx.field(static=True, default=4)

    def step(self, state, action, key):
        return probe_state(0.0, 1.0)


class FourRewards(Probe):
    """Reward 1 in each of four steps, and then the end. The observation counts them."""

    def step(self, state, action, key):
        return probe_state(state.observation[0] + 1.0, 1.0, state.observation[0] >= 3.0)


def train(environment, ppo, updates, *, scenes=16, steps=16, skills=1, reward=None, key=KEY, jit=jax.jit, **network):
    """The policy after some updates, and its metrics (updates,). `reward(batch)` replaces the environment's own."""
    policy_key, reset_key, key = jax.random.split(key, 3)
    policy = NEW(
        environment.observation_size, environment.actions, skills, key=policy_key, **{"hidden": (32, 32), **network}
    )
    weights, rest = eqx.partition(policy, eqx.is_array)

    def update(carry, key):
        weights, opt_state, states, elapsed = carry
        policy = eqx.combine(weights, rest)
        rollout_key, update_key = jax.random.split(key)

        def scene(state, elapsed, skill, key):
            one = policy.skill(skill)
            return rollout(environment, one.act, state, elapsed, skill, steps, key, noise(one.actions, key, (steps,)))

        keys = jax.random.split(rollout_key, scenes)
        states, elapsed, batch = jax.vmap(scene)(states, elapsed, jnp.arange(scenes) % skills, keys)
        rewards = batch.reward if reward is None else reward(batch)
        policy, opt_state, metrics = ppo.update(policy, opt_state, batch, rewards, update_key)
        policy = policy.with_statistics(policy.statistics.update(batch.observation))
        metrics["reward"] = rewards.mean()
        return (eqx.filter(policy, eqx.is_array), opt_state, states, elapsed), metrics

    @jit
    def run(weights):
        opt_state = ppo.init(eqx.combine(weights, rest))
        states = jax.vmap(environment.reset)(jax.random.split(reset_key, scenes))
        carry = (weights, opt_state, states, jnp.zeros(scenes, int))
        (weights, *_), metrics = jax.lax.scan(update, carry, jax.random.split(key, updates))
        return weights, metrics

    weights, metrics = run(weights)
    return eqx.combine(weights, rest), metrics


def value(policy, observation, skill=0, time=0.0):
    return float(
        eqx.filter_jit(lambda *x: policy.skill(skill).value(*x))(jnp.atleast_1d(jnp.float32(observation)), time)
    )


LEARNER = PPO(learning_rate=5e-3, discount=0.9, minibatches=4, entropy_coefficient=0.0)


def test_value_of_a_constant_reward():
    policy, metrics = train(ConstantReward(), LEARNER, 100)
    assert value(policy, 0.0) == pytest.approx(1.0, abs=0.02)
    assert metrics["value_loss"][-1] < metrics["value_loss"][0] / 100


def test_value_follows_the_observation():
    policy, _ = train(ObservedReward(), LEARNER, 150)
    assert value(policy, 1.0) == pytest.approx(1.0, abs=0.05)
    assert value(policy, -1.0) == pytest.approx(-1.0, abs=0.05)


def test_value_is_discounted():
    policy, _ = train(DelayedReward(), LEARNER, 150)
    assert value(policy, 1.0) == pytest.approx(1.0, abs=0.04)
    assert value(policy, 0.0) == pytest.approx(0.9, abs=0.04)


def test_policy_takes_the_rewarded_action():
    policy, metrics = train(ActionReward(), LEARNER, 60)
    log_prob, _, _ = policy.evaluate(jnp.zeros(1), 0, 0.0, 1)
    assert jnp.exp(log_prob) > 0.95
    assert metrics["entropy"][-1] < metrics["entropy"][0] / 2


def test_policy_follows_the_observation():
    policy, _ = train(MatchReward(), LEARNER, 80)
    assert policy.mode(jnp.array([1.0]), 0, 0.0) == 1
    assert policy.mode(jnp.array([-1.0]), 0, 0.0) == 0
    assert jnp.exp(policy.evaluate(jnp.array([-1.0]), 0, 0.0, 0)[0]) > 0.95


def test_continuous_policy_follows_the_observation():
    policy, _ = train(NearReward(), LEARNER, 150)
    assert float(policy.mode(jnp.array([1.0]), 0, 0.0)[0]) == pytest.approx(1.0, abs=0.1)
    assert float(policy.mode(jnp.array([-1.0]), 0, 0.0)[0]) == pytest.approx(-1.0, abs=0.1)
    assert (policy.log_std < -0.6).all()  # it has become surer than it began


def test_truncation_values_the_future():
    """1 + γ + γ² + ... = 10, though no episode has more than four steps."""
    policy, _ = train(EndlessReward(), LEARNER, 250)
    assert value(policy, 0.0) == pytest.approx(10.0, abs=0.5)


def test_termination_does_not():
    policy, _ = train(FourRewards(), LEARNER, 250)
    found = [value(policy, count) for count in range(4)]
    np.testing.assert_allclose(found, [1 + 0.9 + 0.81 + 0.729, 1 + 0.9 + 0.81, 1.9, 1.0], atol=0.15)


@pytest.mark.parametrize("separate", [False, True])
def test_each_skill_learns_its_own(separate):
    """Even skills are paid for action 1, odd ones for action 0, by rewards that replace the environment's."""

    def reward(batch):
        return jnp.where(batch.skill[:, None] % 2 == 0, 1.0, -1.0) * (2.0 * batch.action - 1.0)

    policy, _ = train(ConstantReward(), LEARNER, 60, skills=4, reward=reward, separate=separate)
    assert [int(policy.mode(jnp.zeros(1), skill, 0.0)) for skill in range(4)] == [1, 0, 1, 0]


def test_time_is_seen():
    """Without an observation to tell, the value of the first and of the second half of an episode differ."""

    def reward(batch):
        return jnp.where(batch.time < 0.5, 1.0, -1.0)

    ppo = PPO(learning_rate=5e-3, discount=0.0, minibatches=4)
    policy, _ = train(EndlessReward(), ppo, 150, reward=reward, time=True)
    np.testing.assert_allclose([value(policy, 0.0, time=t / 4) for t in range(4)], [1, 1, -1, -1], atol=0.15)


class Pendulum(Environment):
    """Swing a pendulum up and keep it there; Gymnasium's Pendulum-v1. A return of -1200 is idle, -200 is solved."""

    episode_length: int = eqx.field(static=True, default=200)
    observation_size: int = eqx.field(static=True, default=3)
    feature_names: tuple[str, ...] = eqx.field(static=True, default=("cos", "sin", "speed"))
    actions: Discrete | Box = eqx.field(static=True, default=Box(1, -2.0, 2.0))

    def reset(self, key):
        angle, speed = jax.random.uniform(key, (2,), minval=-1.0, maxval=1.0) * jnp.array([jnp.pi, 1.0])
        return self._state(angle, speed, 0.0)

    def step(self, state, action, key):
        angle, speed = state.physics
        torque = jnp.clip(action[0], -2.0, 2.0)
        upright = (angle + jnp.pi) % (2 * jnp.pi) - jnp.pi
        cost = upright**2 + 0.1 * speed**2 + 0.001 * torque**2
        speed = jnp.clip(speed + 0.05 * (15.0 * jnp.sin(angle) + 3.0 * torque), -8.0, 8.0)
        return self._state(angle + 0.05 * speed, speed, -cost)

    def _state(self, angle, speed, reward):
        observation = jnp.stack([jnp.cos(angle), jnp.sin(angle), speed])
        return State(jnp.stack([angle, speed]), observation, jnp.array(False), jnp.asarray(reward, jnp.float32))


def test_swings_up_a_pendulum():
    ppo = PPO(learning_rate=4e-3, discount=0.95, anneal=80)
    scaled = lambda batch: batch.reward / 8  # noqa: E731
    how = {"reward": scaled, "hidden": (64, 64), "jit": compiled_as_for_users}
    _, metrics = train(Pendulum(), ppo, 80, scenes=64, steps=50, **how)
    returns = metrics["reward"] * 8 * 200
    assert returns[:4].mean() < -900
    assert returns[-8:].mean() > -300


def reference_advantages(rewards, values, next_values, terminated, truncated, discount, gae_lambda):
    """Σ_k (γλ)^k δ_{t+k} up to the end of the episode or of the data, term by term in float64."""
    T = len(rewards)
    δ = np.zeros(T)
    for t in range(T):
        future = 0.0 if terminated[t] else float(next_values[t])
        δ[t] = float(rewards[t]) + discount * future - float(values[t])
    A = np.zeros(T)
    for t in range(T):
        for k in range(t, T):
            A[t] += (discount * gae_lambda) ** (k - t) * δ[k]
            if terminated[k] or truncated[k]:
                break
    return A


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    ends=st.lists(st.sampled_from(["", "", "", "terminated", "truncated"]), min_size=12, max_size=12),
    discount=st.floats(0.0, 1.0),
    gae_lambda=st.floats(0.0, 1.0),
)
def test_advantages_are_the_reference(seed, ends, discount, gae_lambda):
    rewards, values, next_values = np.random.default_rng(seed).normal(size=(3, 12)).astype(np.float32)
    terminated = np.array([end == "terminated" for end in ends])
    truncated = np.array([end == "truncated" for end in ends])
    rows = (rewards, values, next_values, terminated, truncated)
    found = ADVANTAGES(*rows, discount, gae_lambda)
    np.testing.assert_allclose(found, reference_advantages(*rows, discount, gae_lambda), rtol=1e-4, atol=1e-4)


ADVANTAGES = jax.jit(advantages)


def a_batch(policy: SkillPolicy, scenes=8, steps=5) -> tuple:
    def scene(skill, key):
        one = policy.skill(skill)
        return rollout(
            MatchReward(),
            one.act,
            MatchReward().reset(key),
            jnp.array(0),
            skill,
            steps,
            key,
            noise(one.actions, key, (steps,)),
        )[2]

    batch = jax.jit(jax.vmap(scene))(jnp.zeros(scenes, int), jax.random.split(KEY, scenes))
    return batch, batch.reward


def test_update_is_deterministic_and_leaves_the_statistics_alone():
    policy = NEW(1, Discrete(2), 1, key=KEY, hidden=(8,))
    policy = policy.with_statistics(policy.statistics.update(jnp.arange(10.0)[:, None]))
    ppo = PPO(minibatches=4)
    batch, rewards = a_batch(policy)
    update = eqx.filter_jit(ppo.update)
    first, _, metrics = update(policy, ppo.init(policy), batch, rewards, KEY)
    again, _, _ = update(policy, ppo.init(policy), batch, rewards, KEY)
    assert eqx.tree_equal(first, again)
    assert eqx.tree_equal(first.statistics, policy.statistics)
    assert not eqx.tree_equal(first.actor, policy.actor)
    assert all(jnp.isfinite(metric) and metric.shape == () for metric in metrics.values())


def test_first_gradient_step_sees_the_policy_that_acted():
    """One epoch of one minibatch: the ratio is 1, so nothing is clipped and the policies do not differ yet."""
    policy = NEW(1, Discrete(2), 1, key=KEY, hidden=(8,))
    ppo = PPO(minibatches=1, epochs=1)
    _, _, metrics = ppo.update(policy, ppo.init(policy), *a_batch(policy), KEY)
    assert metrics["kl"] == pytest.approx(0.0, abs=1e-6)
    assert metrics["clip_fraction"] == 0
    assert metrics["policy_loss"] == pytest.approx(0.0, abs=1e-5)  # minus the mean of normalised advantages


def test_annealing_ends_at_rest():
    policy = NEW(1, Discrete(2), 1, key=KEY, hidden=(8,))
    ppo = PPO(minibatches=4, anneal=1)
    batch = a_batch(policy)
    update = eqx.filter_jit(ppo.update)
    once, opt_state, _ = update(policy, ppo.init(policy), *batch, KEY)
    twice, _, _ = update(once, opt_state, *batch, KEY)
    assert not eqx.tree_equal(once.actor, policy.actor)
    assert eqx.tree_equal(once.actor, twice.actor)


def test_refuses_an_impossible_split():
    policy = NEW(1, Discrete(2), 1, key=KEY, hidden=(8,))
    ppo = PPO(minibatches=3)
    with pytest.raises(ValueError, match=r"minibatches=3 does not divide the 8 scenes"):
        ppo.update(policy, ppo.init(policy), *a_batch(policy), KEY)


def test_rewards_are_divided_by_the_deviation_of_all_returns_so_far():
    random = np.random.default_rng(0)
    rewards, ended = random.normal(3, 20, (2, 4, 6)), random.random((2, 4, 6)) < 0.3
    scale, sums, seen = ReturnScale.start(4), np.zeros(4), []
    for part in range(2):
        scale, found = scale.scaled(jnp.asarray(rewards[part]), jnp.asarray(ended[part]), 0.9)
        for t in range(6):
            sums = 0.9 * sums + rewards[part, :, t]
            seen.append(sums)
            sums = np.where(ended[part, :, t], 0.0, sums)
        np.testing.assert_allclose(found, rewards[part] / np.std(seen), rtol=1e-4)
    assert float(np.abs(scale.scaled(jnp.full((4, 6), 1e6), jnp.zeros((4, 6), bool), 0.0)[1]).max()) <= 10


def test_an_update_by_scaled_rewards_does_not_depend_on_their_size():
    ppo, policy = PPO(scale_rewards=True, minibatches=4), NEW(1, Discrete(2), 1, key=KEY, hidden=(8,))
    batch, rewards = a_batch(policy)
    found = [ppo.update(policy, ppo.init(policy, rewards=rewards), batch, r, KEY)[0] for r in (rewards, 1000 * rewards)]
    weights = [jax.flatten_util.ravel_pytree(eqx.filter(new, eqx.is_inexact_array))[0] for new in found]
    np.testing.assert_allclose(*weights, atol=1e-4)
