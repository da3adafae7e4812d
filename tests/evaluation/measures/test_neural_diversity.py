"""System Neural Diversity: how differently policies act in the same states."""

import dataclasses
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from vendirl.environments.spaces import Box, Discrete
from vendirl.evaluation.measures.neural_diversity import (
    discrete_neural_diversity,
    gaussian_neural_diversity,
    quantile_neural_diversity,
)
from vendirl.skills.neural_diversity import neural_diversity
from vendirl.skills.policy import SkillPolicy


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_gaussians_against_the_formula_for_covariances(rng):
    """W_2² = |m_1 - m_2|² + tr(C_1 + C_2 - 2 (C_1 C_2)^(1/2)), here for diagonal C."""
    means, stds = rng.normal(size=(4, 5, 3)), rng.uniform(0.1, 2, (4, 5, 3))
    total = []
    for i, j in itertools.combinations(range(4), 2):
        for s in range(5):
            C, E = np.diag(stds[i, s] ** 2), np.diag(stds[j, s] ** 2)
            square = np.sum((means[i, s] - means[j, s]) ** 2) + np.trace(C + E - 2 * np.sqrt(C @ E))
            total.append(np.sqrt(square))
    found = gaussian_neural_diversity(means, stds)
    assert found.value == pytest.approx(np.mean(total))
    assert found.settings == {
        "distance": "Wasserstein-2 of diagonal Gaussians", "skills": 4, "states": 5, "actions": 3
    }  # fmt: skip
    assert gaussian_neural_diversity(np.zeros((3, 2, 1)), np.array([1.0, 2.0, 4.0])[:, None, None]).value == 2


def test_discrete_actions(rng):
    certain = np.eye(3)[:, None]  # each skill has an action of its own
    assert discrete_neural_diversity(certain).value == 1
    assert discrete_neural_diversity(np.full((3, 2, 4), 0.25)).value == 0
    p = rng.dirichlet(np.ones(4), (3, 5))
    pairs = [1 - np.minimum(p[i], p[j]).sum(-1).mean() for i, j in itertools.combinations(range(3), 2)]
    assert discrete_neural_diversity(p).value == pytest.approx(np.mean(pairs))


def policy_of(rng, *args, **options):
    """A policy with random numbers everywhere, made without compiling how weights are drawn."""
    shapes = eqx.filter_eval_shape(lambda: SkillPolicy(*args, key=jax.random.key(0), **options))

    def fill(x):
        return jnp.asarray(rng.uniform(0.5, 1.5, x.shape) * rng.choice([-1, 1], x.shape), x.dtype)

    policy = jax.tree.map(lambda x: fill(x) if isinstance(x, jax.ShapeDtypeStruct) else x, shapes)
    plain = {"mean": jnp.zeros(2), "variance": jnp.ones(2)}
    return policy.with_statistics(dataclasses.replace(policy.statistics, **plain))


def actor(network, x, skill=None):
    """The outputs of the tanh network for inputs (S, inputs), in NumPy; `skill` picks one of separate networks."""
    layers = [(np.asarray(layer.weight), np.asarray(layer.bias)) for layer in network.layers]
    for i, (W, b) in enumerate(layers):
        W, b = (W, b) if skill is None else (W[skill], b[skill])
        x = x @ W.T + b
        x = x if i == len(layers) - 1 else np.tanh(x)
    return x


def test_of_a_policy_with_continuous_actions(rng):
    policy = policy_of(rng, 2, Box(2, low=-2.0, high=2.0), 3, hidden=(8,), separate=True)
    states = rng.normal(size=(4, 2))
    means = 2.0 * np.stack([actor(policy.actor, states, g) for g in range(3)])
    stds = 2.0 * np.exp(np.asarray(policy.log_std))[:, None]
    expected = gaussian_neural_diversity(means, stds).value
    assert neural_diversity(policy, states).value == pytest.approx(expected, rel=1e-5)


def test_of_a_policy_with_discrete_actions_that_sees_the_time(rng):
    policy = policy_of(rng, 2, Discrete(3), 2, hidden=(8,), time=True)
    states, times = rng.normal(size=(4, 2)), np.linspace(0, 1, 4)
    inputs = [np.column_stack([states, times, np.tile(np.eye(2)[g], (4, 1))]) for g in range(2)]
    p = scipy.special.softmax(np.stack([actor(policy.actor, x) for x in inputs]), -1)
    found = neural_diversity(policy, states, times).value
    assert found == pytest.approx(discrete_neural_diversity(p).value, rel=1e-4)
    assert 0.01 < found < 1
    with pytest.raises(ValueError, match="sees the time"):
        neural_diversity(policy, states)
    with pytest.raises(ValueError, match="times has 1"):
        neural_diversity(policy, states, [0.0])


def test_quantiles_of_normal_actions_give_their_distance():
    """Of N(0, 1) and N(3, 1), W_2 is 3 whatever the levels; of N(0, 1) and N(0, 4), 1 as the levels become many."""
    level = scipy.special.ndtri((np.arange(2000) + 0.5) / 2000)
    assert quantile_neural_diversity(np.stack([level, 3 + level])[:, None, None]).value == pytest.approx(3)
    assert quantile_neural_diversity(np.stack([level, 2 * level])[:, None, None]).value == pytest.approx(1, abs=1e-2)
    both = np.stack([np.stack([level, level]), np.stack([3 + level, 4 + level])])  # two components: 3 and 4 apart
    assert quantile_neural_diversity(both[:, None]).value == pytest.approx(5)
    with pytest.raises(ValueError, match="must not fall"):
        quantile_neural_diversity(np.stack([level, -level])[:, None, None])


def test_of_a_policy_with_squashed_actions(rng):
    policy = policy_of(rng, 2, Box(2, low=-2.0, high=2.0), 3, hidden=(8,), squashed=True)
    states = rng.normal(size=(4, 2))
    inputs = [np.column_stack([states, np.tile(np.eye(3)[g], (4, 1))]) for g in range(3)]
    out = np.stack([actor(policy.actor, x) for x in inputs])
    mean, std = out[..., :2, None], np.exp(-5 + 3.5 * (np.tanh(out[..., 2:, None]) + 1))
    level = scipy.special.ndtri((np.arange(16) + 0.5) / 16)
    expected = quantile_neural_diversity(2.0 * np.tanh(mean + std * level)).value
    assert neural_diversity(policy, states).value == pytest.approx(expected, rel=1e-4)


def test_of_a_policy_whose_skills_are_vectors(rng):
    policy = policy_of(rng, 2, Box(2), 2, hidden=(8,), numbered=False)
    states, z = rng.normal(size=(4, 2)), rng.normal(size=(3, 2)).astype(np.float32)
    means = np.stack([actor(policy.actor, np.column_stack([states, np.tile(one, (4, 1))])) for one in z])
    expected = gaussian_neural_diversity(means, 0.0).value  # the deviations are alike
    assert neural_diversity(policy, states, skills=jnp.asarray(z)).value == pytest.approx(expected, rel=1e-4)
    with pytest.raises(ValueError, match="are vectors"):
        neural_diversity(policy, states)


def test_refusals():
    assert "one skill" in gaussian_neural_diversity(np.zeros((1, 2, 2)), 1.0).note
    for means, stds, says in (
        (np.zeros((2, 2)), 1.0, r"\(n, S, A\)"),
        (np.zeros((2, 2, 2)), -1.0, "negative"),
        (np.zeros((2, 2, 2)), np.ones(3), "do not fit"),
        (np.full((2, 2, 2), np.inf), 1.0, "finite"),
    ):
        with pytest.raises(ValueError, match=says):
            gaussian_neural_diversity(means, stds)
    with pytest.raises(ValueError, match="sum to 1"):
        discrete_neural_diversity(np.ones((2, 2, 2)))
