import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vendirl.environments.spaces import Box, Discrete
from vendirl.skills.policy import SkillPolicy

KEY = jax.random.key(0)
SPACES = [Discrete(4), Box(2), Box(3, -2.0, 6.0), Box(1, -np.inf, np.inf)]
KINDS = [{}, {"separate": True}, {"time": True}, {"separate": True, "time": True}]


@eqx.filter_jit
def a_policy(actions, *, skills=3, jitter=0.3, **options):
    """A policy away from its first weights, whose last layer is nearly zero."""
    policy = SkillPolicy(2, actions, skills, key=KEY, hidden=(16, 16), **options)
    weights, rest = eqx.partition((policy.actor, policy.critic), eqx.is_array)
    leaves, structure = jax.tree.flatten(weights)
    keys = jax.random.split(KEY, len(leaves))
    leaves = [leaf + jitter * jax.random.normal(key, leaf.shape) for leaf, key in zip(leaves, keys, strict=True)]
    networks = eqx.combine(jax.tree.unflatten(structure, leaves), rest)
    policy = eqx.tree_at(lambda p: (p.actor, p.critic), policy, networks)
    return policy.with_statistics(policy.statistics.update(jax.random.normal(KEY, (50, 2)) * 3 + 1))


def reference_output(policy, network, observation, skill, time):
    """A network in float64: [normalised observation, time, one-hot skill] through the tanh layers."""
    f64 = lambda x: np.asarray(x, np.float64)  # noqa: E731
    x = (f64(observation) - f64(policy.statistics.mean)) / np.sqrt(f64(policy.statistics.variance))
    x = np.append(x, time) if policy.time else x
    if policy.separate:
        network = jax.tree.map(lambda p: p[skill], network)
    else:
        x = np.concatenate([x, np.eye(policy.skills)[skill]])
    for i, layer in enumerate(network.layers):
        x = f64(layer.weight) @ x + f64(layer.bias)
        x = np.tanh(x) if i < len(network.layers) - 1 else x
    return x


@pytest.mark.parametrize("options", KINDS)
def test_networks_are_the_reference(options):
    policy = a_policy(Discrete(4), **options)
    observation, time = jnp.array([0.3, -1.2]), 0.7
    evaluate = jax.jit(lambda skill: jax.vmap(lambda a: policy.evaluate(observation, skill, time, a))(jnp.arange(4)))
    mode = jax.jit(lambda skill: policy.mode(observation, skill, time))
    for skill in range(3):
        log_probs, _, value = evaluate(skill)
        expected = reference_output(policy, policy.critic, observation, skill, time)[0]
        np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-5)
        logits = reference_output(policy, policy.actor, observation, skill, time)
        np.testing.assert_allclose(log_probs, logits - np.log(np.exp(logits).sum()), rtol=1e-4, atol=1e-5)
        assert mode(skill) == logits.argmax()


@pytest.mark.parametrize("actions", [space for space in SPACES if isinstance(space, Box)])
def test_normal_density_is_that_of_the_units_of_the_box(actions):
    policy = a_policy(actions, log_std=-1.0)
    observation = jnp.array([0.3, -1.2])
    half, centre = (
        ((actions.high - actions.low) / 2, (actions.high + actions.low) / 2) if np.isfinite(actions.low) else (1, 0)
    )
    mean = centre + half * reference_output(policy, policy.actor, observation, 1, 0.0)
    std = half * np.exp(-1.0)
    np.testing.assert_allclose(policy.mode(observation, 1, 0.0), mean, rtol=1e-4, atol=1e-5)
    action = mean + np.linspace(-1, 2, actions.size)
    log_prob, entropy, _ = policy.evaluate(observation, 1, 0.0, jnp.asarray(action, jnp.float32))
    expected = (-0.5 * ((action - mean) / std) ** 2 - np.log(std) - 0.5 * np.log(2 * np.pi)).sum()
    assert float(log_prob) == pytest.approx(expected, rel=1e-4)
    assert float(entropy) == pytest.approx(actions.size * (np.log(std) + 0.5 * np.log(2 * np.pi * np.e)), rel=1e-4)


@pytest.mark.parametrize(
    ("actions", "options"), [*((space, {}) for space in SPACES), *((Box(2), kind) for kind in KINDS[1:])]
)
def test_acting_and_evaluating_agree(actions, options):
    policy = a_policy(actions, **options)
    observation, time = jnp.array([0.3, -1.2]), jnp.array(0.7)

    @jax.jit
    def act_then_evaluate(skill, key):
        action, log_prob, value = policy.action_and_value(observation, skill, time, key)
        return log_prob, value, policy.evaluate(observation, skill, time, action)

    log_prob, value, again = jax.vmap(act_then_evaluate)(jnp.arange(30) % 3, jax.random.split(KEY, 30))
    np.testing.assert_allclose(again[0], log_prob, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(again[2], value, rtol=1e-4, atol=1e-5)


def test_discrete_actions_are_drawn_as_often_as_likely():
    policy = a_policy(Discrete(4))
    observation = jnp.array([0.3, -1.2])
    draw = jax.jit(jax.vmap(lambda key: policy.action_and_value(observation, 2, 0.0, key)[0]))
    counts = np.bincount(draw(jax.random.split(KEY, 20_000)), minlength=4)
    likely = np.exp([policy.evaluate(observation, 2, 0.0, action)[0] for action in range(4)])
    np.testing.assert_allclose(counts / 20_000, likely, atol=0.015)
    entropy = policy.evaluate(observation, 2, 0.0, 0)[1]
    assert float(entropy) == pytest.approx(-(likely * np.log(likely)).sum(), rel=1e-4)


def test_continuous_actions_have_the_stated_mean_and_spread_and_are_not_clipped():
    policy = a_policy(Box(2, -1.0, 1.0), log_std=0.5)
    observation = jnp.array([0.3, -1.2])
    draw = jax.jit(jax.vmap(lambda key: policy.action_and_value(observation, 2, 0.0, key)[0]))
    drawn = draw(jax.random.split(KEY, 20_000))
    np.testing.assert_allclose(drawn.std(0), np.exp(0.5), rtol=0.03)
    np.testing.assert_allclose(drawn.mean(0), policy.mode(observation, 2, 0.0), atol=0.05)
    assert jnp.abs(drawn).max() > 1.5


@pytest.mark.parametrize("actions", [Discrete(4), Box(2)])
@pytest.mark.parametrize("options", KINDS)
def test_scenes_are_evaluated_as_single_steps_are(actions, options):
    policy = a_policy(actions, **options)
    skills = jnp.array([2, 0, 1, 2, 2])
    observations, times = jax.random.normal(KEY, (5, 7, 2)), jax.random.uniform(KEY, (5, 7))
    taken = (
        jax.random.randint(KEY, (5, 7), 0, 4) if isinstance(actions, Discrete) else jax.random.normal(KEY, (5, 7, 2))
    )

    def one_by_one(policy):
        steps = jax.vmap(policy.evaluate, in_axes=(0, None, 0, 0))
        return jax.vmap(steps)(observations, skills, times, taken)

    def at_once(policy):
        return policy.evaluate_scenes(skills, observations, times, taken)

    for found, expected in zip(jax.jit(at_once)(policy), jax.jit(one_by_one)(policy), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    loss = lambda how: lambda policy: sum(x.sum() for x in how(policy))  # noqa: E731
    found, expected = (jax.tree.leaves(jax.jit(jax.grad(loss(how)))(policy)) for how in (at_once, one_by_one))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("separate", [False, True])
def test_skills_differ_and_separate_ones_share_nothing(separate):
    policy = a_policy(Box(2), separate=separate)
    observation = jnp.array([0.3, -1.2])
    modes = np.stack([policy.mode(observation, skill, 0.0) for skill in range(3)])
    assert np.abs(modes[0] - modes[1]).max() > 1e-3
    gradient = jax.grad(lambda policy: policy.mode(observation, 1, 0.0).sum())(policy)
    if separate:
        moved = [bool((leaf[i] != 0).any()) for leaf in jax.tree.leaves(gradient.actor) for i in range(3)]
        assert moved == [False, True, False] * (len(moved) // 3)
    else:
        first = gradient.actor.layers[0].weight[:, -3:]
        assert (first[:, [0, 2]] == 0).all()
        assert (first[:, 1] != 0).any()


def test_time_matters_only_where_it_is_an_input():
    observation = jnp.array([0.3, -1.2])
    blind, timed = a_policy(Box(2)), a_policy(Box(2), time=True)
    assert (blind.mode(observation, 0, 0.1) == blind.mode(observation, 0, 0.9)).all()
    assert (timed.mode(observation, 0, 0.1) != timed.mode(observation, 0, 0.9)).any()


@pytest.mark.parametrize("separate", [False, True])
def test_first_weights_are_orthogonal_and_first_actions_central(separate):
    policy = SkillPolicy(2, Box(2, 0.0, 4.0), 5, key=KEY, separate=separate)
    hidden = policy.actor.layers[1].weight
    for weight in hidden if separate else hidden[None]:
        np.testing.assert_allclose(weight @ weight.T, 2 * np.eye(64), atol=1e-4)
    np.testing.assert_allclose(policy.mode(jnp.array([1.0, 2.0]), 3, 0.0), 2.0, atol=0.2)
    assert policy.log_std.shape == ((5, 2) if separate else (2,))


def test_refuses_what_makes_no_policy():
    with pytest.raises(ValueError, match="skills=0 must be at least 1"):
        SkillPolicy(2, Box(2), 0, key=KEY)
    with pytest.raises(ValueError, match=r"hidden=\(\) must name at least one layer"):
        SkillPolicy(2, Box(2), 1, key=KEY, hidden=())


def test_noise_of_one_deviation_is_added_after_tanh_and_kept_inside_the_box():
    policy = SkillPolicy(1, Box(1, -2.0, 2.0), 1, key=jax.random.key(0), hidden=(4,), squashed=True, deviation=0.5)
    skill, s, t = policy.skill(0), jnp.ones(1), jnp.array(0.0)
    middle = float(skill.mode(s, t)[0])
    assert middle == pytest.approx(2 * math.tanh(float(policy.actor.layers[-1](_hidden(policy, s, t))[0])), rel=1e-5)
    action, log_prob = skill.act(s, t, jnp.array([0.3]))
    assert float(action[0]) == pytest.approx(middle + 2 * 0.5 * 0.3, rel=1e-5)
    assert float(log_prob) == 0
    assert float(skill.act(s, t, jnp.array([9.0]))[0][0]) == 2
    assert float(jax.grad(lambda x: skill.act(x, t, jnp.array([9.0]))[0][0])(s)[0]) != 0


def _hidden(policy, s, t):
    """The hidden layer of the actor, for skill 0 of one, by hand."""
    layer = policy.actor.layers[0]
    return jnp.tanh(layer(jnp.concatenate([s, jnp.ones(1)])))


def test_networks_with_relu_are_the_same_one_by_one_and_over_scenes():
    from vendirl.skills.networks import Network

    sizes = (3, 5, 4, 2)
    network = Network(sizes, 1.0, jax.random.normal(jax.random.key(0), (Network.size(sizes),)), "relu")
    x, z = jax.random.normal(jax.random.key(1), (2, 4, 6)), jax.random.normal(jax.random.key(2), (1, 4))
    h = np.concatenate([np.asarray(x), np.broadcast_to(np.asarray(z)[:, :, None], (1, 4, 6))]).reshape(3, -1).T
    for i, layer in enumerate(network.layers):
        h = h @ np.asarray(layer.weight).T + np.asarray(layer.bias)
        h = np.maximum(h, 0) if i < 2 else h
    np.testing.assert_allclose(network.of_scenes(x, z.T, 1).reshape(2, -1).T, h, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(network(jnp.array([x[0, 0, 0], x[1, 0, 0], z[0, 0]])), h[0], rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="activation"):
        Network(sizes, 1.0, jnp.zeros(Network.size(sizes)), "sine")


def test_many_skills_are_looked_up_and_few_are_multiplied(monkeypatch):
    """What comes out is the same bit for bit, and so are the derivatives but for the order of sums."""
    from vendirl.skills import networks

    n, sizes = 7, (9, 5, 2)
    normals = jax.random.normal(jax.random.key(0), (networks.Network.size(sizes),))
    x, skill = jax.random.normal(jax.random.key(1), (2, 4, 6)), jnp.array([6, 0, 3, 6])

    def found():
        network = networks.Network(sizes, 1.0, normals)
        value, slope = jax.value_and_grad(lambda f: jnp.sum(f.of_scenes(x, skill, n) ** 2))(network)
        return network.of_scenes(x, skill, n), network.skill_bias(3, n), value, slope

    multiplied = found()
    monkeypatch.setattr(networks, "LOOKED_UP", 1)
    looked_up = found()
    for a, b in zip(multiplied[:2], looked_up[:2], strict=True):
        np.testing.assert_array_equal(a, b)
    assert float(jnp.abs(looked_up[3].layers[0].weight[:, -n:][:, 6]).sum()) > 0
    for a, b in zip(jax.tree.leaves(multiplied[2:]), jax.tree.leaves(looked_up[2:]), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
    vectors = jax.nn.one_hot(skill, n)  # skills that are vectors are multiplied, however many numbers they have
    network = networks.Network(sizes, 1.0, normals)
    np.testing.assert_allclose(network.of_scenes(x, vectors, n), looked_up[0], rtol=1e-6)
