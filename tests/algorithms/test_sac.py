"""Soft actor-critic on environments whose answers are known."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.algorithms.test_ppo import EndlessReward, FourRewards, NearReward, Probe, probe_state
from vendirl.algorithms import Context
from vendirl.algorithms.sac import SAC
from vendirl.environments.spaces import Box, Discrete
from vendirl.skills.policy import SkillPolicy, noise
from vendirl.skills.rollout import rollout
from vendirl.training.driver import run
from vendirl.training.problem import build, new_policy
from vendirl.training.settings import Settings

KEY = jax.random.key(0)
ONE = Box(1, -1.0, 1.0)
PLAIN = SAC(learning_rate=3e-3, discount=0.5, temperature=1e-8, learn_temperature=False, batch=64, updates=32)
PLAIN = dataclasses.replace(PLAIN, reward_scale=1.0, warmup=0, capacity=4096, hidden=(32, 32), polyak=0.05)


class Endless(EndlessReward):
    actions: Discrete | Box = eqx.field(static=True, default=ONE)


class Four(FourRewards):
    actions: Discrete | Box = eqx.field(static=True, default=ONE)


class TwoFeatures(Probe):
    """A world with nothing in it, for successor features."""

    actions: Discrete | Box = eqx.field(static=True, default=ONE)

    def step(self, state, action, key):
        return probe_state(0.0)


def train(environment, sac, updates, scenes=16, steps=8, skills=1, cumulants=None, relabel=None, whole=False):
    """The policy and the learner after some updates, and the metrics of each."""
    policy_key, reset_key, learner_key, key = jax.random.split(KEY, 4)
    policy = eqx.filter_jit(SkillPolicy)(
        environment.observation_size,
        environment.actions,
        skills,
        key=policy_key,
        hidden=(32, 32),
        squashed=True,
        activation=sac.activation,
        deviation=sac.deviation,
    )

    def act(policy, states, elapsed, key):
        def scene(state, elapsed, skill, key):
            one = policy.skill(skill)
            return rollout(environment, one.act, state, elapsed, skill, steps, key, noise(one.actions, key, (steps,)))

        return jax.vmap(scene)(states, elapsed, jnp.arange(scenes) % skills, jax.random.split(key, scenes))

    def paid(batch):
        return batch.reward if cumulants is None else cumulants(batch)

    @eqx.filter_jit
    def start():
        states = jax.vmap(environment.reset)(jax.random.split(reset_key, scenes))
        elapsed = jnp.zeros(scenes, jnp.int32)
        example = jax.eval_shape(lambda: act(policy, states, elapsed, key)[2])
        return states, elapsed, sac.init(policy, learner_key, example, jax.eval_shape(paid, example))

    states, elapsed, learner = start()
    arrays, static = eqx.partition((policy, learner), eqx.is_array)

    def update(carry, key):
        arrays, states, elapsed = carry
        policy, learner = eqx.combine(arrays, static)
        rollout_key, update_key = jax.random.split(key)
        states, elapsed, batch = act(policy, states, elapsed, rollout_key)
        context = Context(rewards_now=relabel, whole_stretches=whole)
        policy, learner, metrics = sac.update(policy, learner, batch, paid(batch), update_key, context)
        return (eqx.filter((policy, learner), eqx.is_array), states, elapsed), metrics

    scan = jax.jit(lambda carry, keys: jax.lax.scan(update, carry, keys))
    (arrays, _, _), metrics = scan((arrays, states, elapsed), jax.random.split(key, updates))
    policy, learner = eqx.combine(arrays, static)
    return policy, learner, metrics


def q(sac, policy, learner, observation, action=0.0, z=(1.0,)):
    row = [jnp.asarray([x], jnp.float32) for x in ([observation], [action], list(z))]
    return np.asarray(sac._q(policy, learner.critics, row[0], jnp.zeros(1), row[1], row[2]))[:, 0]


def test_a_cut_off_is_not_an_end():
    """Reward 1 for ever, cut off every four steps: Q = 1 / (1 - γ) = 2 everywhere."""
    policy, learner, _ = train(Endless(), PLAIN, 40)
    np.testing.assert_allclose(q(PLAIN, policy, learner, 0.0), 2.0, atol=0.1)


@pytest.mark.parametrize(
    ("steps", "whole", "anew"),
    [(1, False, False), (3, False, False), (3, True, True), (1, False, True), (3, False, True)],
)
def test_an_end_has_no_future(steps, whole, anew):
    """Four rewards of 1 and the end: 1.875, 1.75, 1.5, 1; by one reward at a time or three, stored or computed anew."""
    sac = dataclasses.replace(PLAIN, steps=steps)
    relabel = (lambda rows: rows.reward) if anew else None
    policy, learner, _ = train(Four(), sac, 60, relabel=relabel, whole=whole)
    for s, value in enumerate([1.875, 1.75, 1.5, 1.0]):
        np.testing.assert_allclose(q(sac, policy, learner, float(s)), value, atol=0.12)


@pytest.mark.parametrize("changes", [{"temperature": 0.1}, {"noise": 0.2, "activation": "relu"}], ids=["sac", "ddpg"])
def test_the_actor_finds_the_best_action_for_each_state(changes):
    """With some entropy: without any the actor may run into the wall of the box, where tanh has no slope. With noise
    after tanh and without entropy, the wall does not stop the gradient."""
    policy, _, _ = train(NearReward(), dataclasses.replace(PLAIN, discount=0.0, **changes), 60)
    for s in (-1.0, 1.0):
        action = policy.mode(jnp.array([s]), 0, jnp.array(0.0))
        assert float(action[0]) == pytest.approx(s, abs=0.1)


def test_the_temperature_brings_the_entropy_to_its_target():
    sac = dataclasses.replace(PLAIN, learn_temperature=True, temperature=1.0, target_entropy=-0.5, learning_rate=1e-2)
    _, _, metrics = train(NearReward(), dataclasses.replace(sac, discount=0.0), 120)
    assert float(np.mean(metrics["entropy"][-30:])) == pytest.approx(-0.5, abs=0.25)


def test_successor_features_are_the_discounted_sum_of_features():
    """Features (1, 3) for ever: ψ = (1, 3) / (1 - γ)."""
    sac = dataclasses.replace(PLAIN, successor=True)
    cumulants = lambda batch: jnp.broadcast_to(jnp.array([1.0, 3.0]), (*batch.reward.shape, 2))  # noqa: E731
    policy, learner, _ = train(TwoFeatures(), sac, 60, skills=2, cumulants=cumulants)
    for z in np.eye(2):
        np.testing.assert_allclose(q(sac, policy, learner, 0.0, z=z), [[2, 6], [2, 6]], atol=0.4)


def test_rewards_with_a_part_beside_the_features_are_learned_as_values():
    """Reward 1 for ever and features of which nothing is said: ψ·z = 1 / (1 - γ)."""
    sac = dataclasses.replace(PLAIN, successor=True)
    policy, learner, _ = train(Endless(), sac, 40, skills=2)
    for z in np.eye(2):
        np.testing.assert_allclose(q(sac, policy, learner, 0.0, z=z) @ z, 2.0, atol=0.15)


def test_aps_pays_its_entropy_to_a_learner_of_successor_features():
    """VISR's features are all of its reward; APS has a part beside them, which must not vanish."""
    small = {"learner": "sac(successor=True)", "scenes": 4, "steps": 4 * 50 * 10, "hidden": (4,)}
    for method, shape in (("visr", (50, 2)), ("aps", (50,))):
        settings, loop = build(Settings(method=method, **small))
        start = lambda key, settings=settings, loop=loop: loop.start(new_policy(settings, loop, key), key)  # noqa: E731
        assert eqx.filter_eval_shape(start, KEY).learner.replay.rewards.shape[1:] == shape, method


def test_returns_over_several_steps_by_hand():
    sac = dataclasses.replace(PLAIN, steps=3)
    rewards = jnp.array([1.0, 2.0, 4.0, 8.0, 16.0])
    terminated = jnp.array([False, False, True, False, False])
    truncated = jnp.array([False, False, False, False, False])
    total, weight, last = sac._returns(rewards, terminated, truncated)
    np.testing.assert_allclose(total, [1 + 1 + 1, 2 + 2, 4, 8 + 8, 16])
    np.testing.assert_allclose(weight, [0, 0, 0, 0.25, 0.5])  # the end has no future; the last rows have one
    np.testing.assert_array_equal(last, [2, 2, 2, 4, 4])
    cut = sac._returns(rewards, jnp.zeros(5, bool), terminated)
    np.testing.assert_allclose(cut[0], [3, 4, 4, 16, 16])
    np.testing.assert_allclose(cut[1], [0.125, 0.25, 0.5, 0.25, 0.5])  # cut off after step 2: its successor is valued


@pytest.mark.parametrize("successor", [False, True])
def test_the_lower_critic_is_chosen_without_asking_for_equal_numbers(successor):
    """Else its derivative is 0 / 0 where a compiler computes a value twice, with other rounding."""
    sac = dataclasses.replace(PLAIN, successor=successor)
    q, z = jnp.array([[[1.0], [4.0]], [[2.0], [3.0]]]), jnp.ones((2, 1))
    np.testing.assert_array_equal(sac._lower(q, z), [[1.0], [3.0]])
    slope = jax.grad(lambda q: jnp.sum(sac._lower(q, z)))
    np.testing.assert_array_equal(slope(q), [[[1.0], [0.0]], [[0.0], [1.0]]])
    asked = str(jax.make_jaxpr(slope)(q))
    assert " eq " not in asked
    assert " div " not in asked


def test_the_replay_keeps_the_latest():
    _, learner, _ = train(Endless(), dataclasses.replace(PLAIN, capacity=4 * 16 * 8, updates=1), 6)
    assert learner.replay.rewards.shape == (64, 8)
    assert int(learner.replay.written) == 6 * 16
    assert int(learner.replay.filled) == 64
    assert float(learner.replay.rewards.min()) == 1


def test_nothing_is_learned_before_the_warm_up():
    sac = dataclasses.replace(PLAIN, warmup=10**9)
    _, learner, metrics = train(Endless(), sac, 2)
    np.testing.assert_array_equal(learner.critics.layers[0].weight, learner.targets.layers[0].weight)
    assert float(np.abs(metrics["value_loss"]).max()) == 0


def test_squashed_actions_have_the_density_they_claim():
    """exp(log π) integrates to one over the box, in half widths, and is what a histogram of actions shows."""
    policy = SkillPolicy(1, Box(1, -2.0, 2.0), 1, key=KEY, hidden=(8,), squashed=True)
    skill, s, t = policy.skill(0), jnp.zeros(1), jnp.array(0.0)
    ε = jnp.linspace(-6, 6, 20001)[:, None]
    actions, log_prob = jax.vmap(lambda e: skill.act(s, t, e))(ε)
    a = np.asarray(actions[:, 0]) / 2
    assert a.min() >= -1
    assert a.max() <= 1
    assert np.trapezoid(np.exp(log_prob), a) == pytest.approx(1, abs=2e-3)
    assert float(skill.mode(s, t)[0]) == pytest.approx(float(actions[10000, 0]), abs=1e-6)


def test_discrete_actions_are_refused():
    with pytest.raises(ValueError, match="SAC needs continuous actions"):
        build(Settings(env="point(discrete=True)", learner="sac"))


SMALL = Settings(similarity="mmd(scale=4)", skills=4, learner="sac", scenes=32, refill="shared", steps=32 * 50 * 60)


@pytest.mark.usefixtures("optimised")
def test_vendirl_learns_with_sac():
    """Four skills in the plane: of the attainable score nearly all, from a start of little more than 1."""
    sac = SAC(updates=32, batch=400, warmup=0, discount=0.99)
    skills = run(dataclasses.replace(SMALL, steps=32 * 50 * 90, sac=sac))
    assert skills.history[0]["vendi_score"] < 3.3
    assert float(skills.score().score) > 0.95 * skills.ceiling.score


def test_a_run_with_replay_resumes_bit_for_bit(tmp_path):
    sac = SAC(updates=4, batch=100, warmup=0, capacity=32 * 50 * 4, relabel=False)
    settings = dataclasses.replace(SMALL, steps=32 * 50 * 30, sac=sac)
    whole = run(settings)

    def stop(this, row):
        if this.done == 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(settings, tmp_path / "run", progress=stop)
    resumed = run(settings, tmp_path / "run", resume=True)
    for a, b in zip(
        *(jax.tree.leaves(eqx.filter(r.training.learner, eqx.is_array)) for r in (whole, resumed)), strict=True
    ):
        np.testing.assert_array_equal(a, b)
