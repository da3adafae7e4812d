"""Each method's loss and reward on small cases computed by hand."""

import itertools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.methods.batches import batch, linear
from vendirl.environments import Box, make
from vendirl.methods import Combined, known, parse_method
from vendirl.methods.becl import BeCL
from vendirl.methods.cic import CIC
from vendirl.methods.csf import CSF
from vendirl.methods.dads import DADS
from vendirl.methods.diayn import DIAYN
from vendirl.methods.diayn_sn import DIAYNSN
from vendirl.methods.eigenoptions import Eigenoptions, Laplacian
from vendirl.methods.fitted import Fit, firsts, network
from vendirl.methods.lsd import LSD
from vendirl.methods.metra import METRA, Encoder
from vendirl.methods.problem import Problem
from vendirl.methods.random import FromEnvironment, Random
from vendirl.methods.spectral import contracted, spectral_bound
from vendirl.methods.visr import APS, VISR, infer_skill
from vendirl.methods.wurl import WURL, Targets, transport
from vendirl.similarity import mmd
from vendirl.skills.policy import SkillPolicy
from vendirl.skills.statistics import RunningStatistics
from vendirl.training.problem import build
from vendirl.training.settings import Settings

KEY = jax.random.key(0)
POLICY = SkillPolicy(2, Box(2), 2, key=KEY, hidden=(4,))
TWO = [[[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]], [[0.0, 0.0], [0.0, 1.0], [0.0, 2.0]]]  # two scenes, two steps


def bound(method, skills=2, scenes=4, environment="point"):
    """A method put to a small problem."""
    world = make(environment)
    return method.bind(Problem(world, mmd(), method.space(skills), skills, scenes, steps=2, epochs=10))


def log_softmax(x):
    x = np.asarray(x, float)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def test_diayn_rewards_the_log_posterior_over_the_prior():
    rows = batch(TWO, [0, 1])
    model = linear([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    after = np.asarray(rows.next_observation)
    logits = np.concatenate([after, np.zeros((2, 2, 1))], -1)
    expected = np.stack([log_softmax(logits)[0, :, 0], log_softmax(logits)[1, :, 1]]) + math.log(3)
    np.testing.assert_allclose(DIAYN().rewards(model, rows), expected, rtol=1e-5)
    loss, metrics = DIAYN().loss(model, rows, KEY)
    assert float(loss) == pytest.approx(-(expected - math.log(3)).mean(), rel=1e-5)
    assert float(metrics["accuracy"]) == 1
    first = np.asarray(DIAYN(current=True).rewards(model, rows))[0, 0]  # of the state before: all logits are 0
    assert first == pytest.approx(0, abs=1e-6)
    clipped = DIAYN(clip=0.0).rewards(model, rows)
    np.testing.assert_allclose(clipped, 0, atol=1e-6)


def test_spectral_norms_are_at_most_one_and_smaller_weights_are_kept():
    big = network(5, (16, 16), 3, KEY, gain=4.0)
    for layer in contracted(big).layers:
        assert np.linalg.norm(np.asarray(layer.weight), 2) <= 1
    small = eqx.tree_at(lambda n: [x.weight for x in n.layers], big, [0.01 * x.weight for x in big.layers])
    for a, b in zip(contracted(small).layers, small.layers, strict=True):
        np.testing.assert_array_equal(a.weight, b.weight)
    x, y = jax.random.normal(KEY, (2, 100, 5))
    f = jax.vmap(contracted(big))
    gap = np.linalg.norm(f(x) - f(y), axis=-1) / np.linalg.norm(x - y, axis=-1)
    assert gap.max() <= 1 + 1e-6


@pytest.mark.parametrize("shape", [(64, 64), (3, 64), (64, 2), (1, 1)])
def test_the_bound_on_the_spectral_norm_is_close(shape):
    for scale in (1e-3, 1.0, 1e3):
        W = scale * jax.random.normal(KEY, shape)
        exact = np.linalg.norm(np.asarray(W, np.float64), 2)
        assert exact * (1 - 1e-5) <= float(spectral_bound(W)) <= exact * 1.01
    assert float(spectral_bound(jnp.zeros(shape))) < 1


@pytest.mark.parametrize("method", [DIAYNSN(), LSD()], ids=["diayn-sn", "lsd"])
def test_what_is_learned_stays_contracted(method):
    method = bound(method, 4, 8)
    state = method.start(POLICY, KEY)
    goals = method.space(4).sample(KEY, 8)
    rows = batch(np.random.default_rng(0).normal(size=(8, 3, 2)) * 9, goals)
    for _ in range(5):
        state, _ = method.learn(state, rows, KEY)
    assert max(np.linalg.norm(np.asarray(layer.weight), 2) for layer in state.model.layers) <= 1


def test_firsts_are_the_beginnings_of_episodes():
    x = np.arange(5.0)[None, :, None]
    rows = batch(x, [0], ended=[[False, True, False, False]])
    np.testing.assert_array_equal(np.asarray(firsts(rows))[0, :, 0], [0, 0, 2, 2])


def test_dads_contrasts_with_the_marginal_over_all_skills():
    rows = batch(TWO, [0, 1])
    model = linear([[0.0, 0.0, 3.0, 0.0], [0.0, 0.0, 0.0, 3.0]])  # predicts 3 along the skill's own axis
    change = np.asarray(rows.next_observation - rows.observation)
    change = change / change.std((0, 1))
    log_q = np.stack([-0.5 * ((change - 3 * np.eye(2)[g]) ** 2).sum(-1) for g in range(2)], -1)
    own = np.stack([log_q[0, :, 0], log_q[1, :, 1]])
    marginal = np.log(np.exp(log_q).mean(-1))
    np.testing.assert_allclose(bound(DADS()).rewards(model, rows), own - marginal, rtol=1e-4)
    assert float(bound(DADS()).loss(model, rows, KEY)[0]) == pytest.approx(-own.mean(), rel=1e-4)
    np.testing.assert_allclose(bound(DADS(clip=0.1)).rewards(model, rows), 0.1, rtol=1e-5)


def test_metra_pays_progress_along_z_and_its_dual_follows_the_constraint():
    z = np.array([[1.0, 0.0], [0.0, 1.0]])
    rows = batch(TWO, z)
    model = Encoder(linear(2 * np.eye(2)), jnp.log(30.0))
    np.testing.assert_allclose(bound(METRA()).rewards(model, rows), 2.0)
    gradient = jax.grad(lambda m: bound(METRA()).loss(m, rows, KEY)[0])(eqx.filter(model, eqx.is_inexact_array))
    assert float(gradient.log_dual) == pytest.approx(1 - 4, rel=1e-5)  # steps of 2 are too long: the dual must rise
    short = Encoder(linear(0.5 * np.eye(2)), jnp.log(30.0))
    gradient = jax.grad(lambda m: bound(METRA()).loss(m, rows, KEY)[0])(eqx.filter(short, eqx.is_inexact_array))
    assert float(gradient.log_dual) == pytest.approx(METRA().slack, rel=1e-5)  # within: falls, but by the slack only
    loss = bound(METRA()).loss(model, rows, KEY)[0]
    assert float(loss) == pytest.approx(np.log(30) * (1 - 4) - (2 + 30 * (1 - 4)), rel=1e-5)
    mean = bound(METRA(mean_norm=True)).loss(model, rows, KEY)[1]["step_norm"]
    assert float(mean) == pytest.approx(2)


def test_discrete_metra_uses_centred_vectors():
    rows = batch(TWO, [0, 1])
    model = Encoder(linear(np.eye(2)), jnp.log(30.0))
    np.testing.assert_allclose(bound(METRA(discrete=True)).rewards(model, rows), 1.0)  # z = (1, -1) and (-1, 1)


def test_lsd_pays_progress_along_z():
    rows = batch(TWO, np.array([[3.0, 0.0], [0.0, -1.0]]))
    np.testing.assert_allclose(bound(LSD()).rewards(linear(np.eye(2)), rows), [[3, 3], [-1, -1]])


def test_csf_contrasts_with_fresh_directions():
    z = np.array([[1.0, 0.0], [0.0, 1.0]])
    rows = batch(TWO, z)
    loss, metrics = CSF(samples=20_000).loss(linear(np.eye(2)), rows, KEY)
    bessel = np.mean(np.exp(np.cos(np.linspace(0, 2 * np.pi, 1000, endpoint=False))))  # E exp(u·z') on the circle
    assert float(metrics["contrast"]) == pytest.approx(np.log(bessel), rel=0.02)
    assert float(loss) == pytest.approx(5 * np.log(bessel) - 1, rel=0.05)


def test_visr_and_aps():
    z = np.array([[1.0, 0.0], [0.0, 1.0]])
    rows = batch(TWO, z)
    model = linear(np.eye(2))
    np.testing.assert_allclose(VISR().rewards(model, rows), 1.0, rtol=1e-5)
    extra = APS(neighbours=2, particles=4).rewards(model, rows) - VISR().rewards(model, rows)
    φ = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    distances = np.sort(np.linalg.norm(φ[:, None] - φ[None], axis=-1), 1)[:, :2]
    np.testing.assert_allclose(np.asarray(extra).ravel(), np.log1p(distances.mean(1)), atol=1e-5)
    features = np.random.default_rng(0).normal(size=(30, 2))
    found = infer_skill(jnp.asarray(features), jnp.asarray(features @ [0.6, -0.8]))
    np.testing.assert_allclose(found, [0.6, -0.8], atol=1e-4)


def test_methods_say_which_skill_reaches_a_goal():
    """From (1, 0) to (1, 2) with φ the identity, φ(goal) - φ(s) = (0, 2); and φ(goal) = (1, 2)."""
    s, goal, identity = jnp.array([1.0, 0.0]), jnp.array([1.0, 2.0]), linear(np.eye(2))

    def found(method, model, state=None, seen=2):
        here = bound(method)
        fit = Fit(model, None, RunningStatistics.empty(seen))
        return np.asarray(here.goal_skill(fit if state is None else state(fit), s, goal))

    assert found(DIAYN(), linear([[1.0, 0.0], [0.0, 1.0], [0.9, 0.9]])) == 2  # logits 1, 2 and 2.7
    assert found(DIAYN().on("x"), linear([[1.0], [2.0], [-1.0]]), seen=1) == 1
    np.testing.assert_allclose(found(METRA(), Encoder(identity, jnp.zeros(()))), [0, 1])
    assert found(METRA(discrete=True), Encoder(identity, jnp.zeros(()))) == 1
    np.testing.assert_allclose(found(CSF(), identity), [0, 1])
    np.testing.assert_allclose(found(LSD(), identity), [0, math.sqrt(math.pi / 2)], rtol=1e-6)  # E|z| of two dimensions
    np.testing.assert_allclose(found(VISR(), identity), np.array([1, 2]) / math.sqrt(5), rtol=1e-6)
    assert found(Random() + DIAYN(), linear([[0.0, 1.0], [1.0, 0.0]]), lambda fit: (None, fit)) == 0
    assert not bound(Random()).knows_goals
    with pytest.raises(ValueError, match="random has no model"):
        found(Random(), identity)


def test_becl_is_a_softmax_over_one_state_of_each_skill():
    rows = batch(TWO, [0, 1])  # all states of a skill have the same direction, so the draw does not matter
    model = linear(np.eye(2))
    share = log_softmax([1 / 0.5, 0.0])[0]
    np.testing.assert_allclose(bound(BeCL()).rewards(model, rows), math.exp(share), rtol=1e-5)
    assert float(bound(BeCL()).loss(model, rows, KEY)[0]) == pytest.approx(-share, rel=1e-5)
    more = bound(BeCL(), skills=5)  # three skills that no scene follows do not count
    np.testing.assert_allclose(more.rewards(model, rows), math.exp(share), rtol=1e-5)


def test_cic_contrasts_a_transition_with_the_skills_of_all_scenes():
    rows = batch(TWO, np.array([[1.0, 0.0], [0.0, 1.0]]))
    f = linear([[-1.0, 0.0, 1.0, 0.0], [0.0, -1.0, 0.0, 1.0]])  # s' - s
    method = CIC(embedding=2, neighbours=1, particles=4, weight=1.0)
    share = log_softmax([1 / 0.5, 0.0])[0]
    assert float(method.loss((f, linear(np.eye(2))), rows, KEY)[0]) == pytest.approx(-share, rel=1e-5)
    np.testing.assert_allclose(method.rewards((f, linear(np.eye(2))), rows), share, atol=1e-5)  # its own neighbour


def test_sliced_transport_is_the_best_assignment_in_one_dimension():
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=(2, 6, 1))
    best = min(((x[:, 0] - y[list(p), 0]) ** 2).sum() for p in itertools.permutations(range(6)))
    costs = transport(jnp.asarray(x), jnp.asarray(y), jnp.ones((1, 1)))
    assert float(costs.sum()) == pytest.approx(best, rel=1e-5)
    plan = min(itertools.permutations(range(6)), key=lambda p: ((x[:, 0] - y[list(p), 0]) ** 2).sum())
    np.testing.assert_allclose(costs, (x[:, 0] - y[list(plan), 0]) ** 2, rtol=1e-4)


def test_wurl_pays_transport_to_the_nearest_other_skill():
    states = jnp.array([[[1.0], [2.0]], [[1.5], [2.5]], [[9.0], [9.0]]])
    state = Targets(states, jnp.array([1.0, 1.0, 1.0]), jnp.ones((1, 1)))
    rows = batch([[[0.0], [1.0], [2.0]]], [0])
    np.testing.assert_allclose(WURL().reward(state, rows)[1], [[0.25, 0.25]])
    alone = Targets(states, jnp.array([1.0, 0.0, 0.0]), jnp.ones((1, 1)))
    np.testing.assert_allclose(WURL().reward(alone, rows)[1], 0)


def test_eigenoptions_go_up_and_down_the_eigenvectors_after_the_constant_one():
    rows = batch([TWO[0]] * 4, [0, 1, 2, 3])
    model = Laplacian(linear([[9.0, 9.0], [1.0, 0.0], [0.0, 1.0]]), jnp.zeros((3, 3)))
    np.testing.assert_allclose(Eigenoptions().rewards(model, rows)[:, 0], [1, -1, 0, 0])


def test_a_sum_of_methods_pays_the_weighted_sum():
    method = parse_method("diayn + 0.5*environment")
    assert isinstance(method, Combined)
    method = bound(method)
    rows = batch(TWO, [0, 1], reward=np.ones((2, 2)))
    state = method.start(POLICY, KEY)
    _, rewards, metrics = method.reward(state, rows)
    own = DIAYN().reward(state[0], rows)[1]
    np.testing.assert_allclose(rewards, own + 0.5, rtol=1e-5)
    assert float(metrics["reward_environment"]) == 1


def test_chosen_features_are_all_that_a_model_sees():
    method = bound(parse_method("diayn.on(y)"))
    state = method.start(POLICY, KEY)
    assert state.model.layers[0].weight.shape[1] == 1
    rows = batch(TWO, [0, 1])
    moved = eqx.tree_at(lambda b: b.next_observation, rows, rows.next_observation + jnp.array([5.0, 0.0]))
    np.testing.assert_array_equal(method.reward(state, rows)[1], method.reward(state, moved)[1])
    with pytest.raises(ValueError, match="no feature is called 'height'"):
        bound(parse_method("diayn.on(height)"))
    with pytest.raises(ValueError, match="feature 7 is out of range"):
        bound(parse_method("metra.on(7)"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("diyan", "did you mean 'diayn'"),
        ("metra(dimensions=3)", "did you mean 'dimension'"),
        ("random.on(x)", "does not look at features"),
        ("metra*diayn", "cannot be multiplied"),
        ("2", "it is a number"),
    ],
)
def test_text_that_is_no_method_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        parse_method(text)


def test_methods_with_different_skill_spaces_cannot_be_added():
    with pytest.raises(ValueError, match="different skill spaces"):
        build(Settings(method="metra + cic"))
    with pytest.raises(ValueError, match="counts its skills"):
        build(Settings(method="metra + vendirl"))
    with pytest.raises(ValueError, match="separate networks need skills that are numbers"):
        build(Settings(method="metra", separate=True))


def test_all_the_named_methods_are_there():
    names = "vendirl diayn diayn-sn vic rvic dads lsd metra csf visr aps becl cic disk wurl eigenoptions random"
    assert set(names.split()) <= set(known())
    assert isinstance(parse_method("random"), Random)
    assert isinstance(parse_method("diayn-sn-braxlines + diayn-sn"), Combined)  # a name that begins with another
    assert isinstance(parse_method("environment"), FromEnvironment)
