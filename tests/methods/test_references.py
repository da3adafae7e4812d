"""Every loss and reward, of default and published forms, is what plain NumPy in float64 makes of the equations."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.methods import references
from tests.methods.batches import batch
from tests.methods.test_methods import POLICY
from vendirl.environments import make
from vendirl.methods import Problem, Published, known, parse_method
from vendirl.methods.fitted import Fitted
from vendirl.methods.wurl import Targets
from vendirl.similarity import mmd

# A method's name, its settings here, and the name of its reference. Each method is there as it is by default and, where
# skills may be numbers or vectors, as both.
FORMS = [
    ("diayn", "", "diayn"),
    ("diayn-original", "", "diayn"),
    ("diayn-braxlines", "clip=0.5", "diayn"),
    ("diayn-urlb", "", "diayn"),
    ("diayn-sn", "", "diayn_sn"),
    ("diayn-sn-braxlines", "", "diayn_sn"),
    ("vic", "", "vic"),
    ("rvic", "", "rvic"),
    ("dads", "", "dads"),
    ("dads", "dimension=2, samples=5, clip=0.3", "dads"),
    ("dads-published", "samples=5", "dads_published"),
    ("metra", "dual=3.0, slack=0.9", "metra"),  # so that the constraint holds in some steps and not in others
    ("metra-published", "slack=0.9", "metra"),
    ("metra-published", "discrete=True, slack=0.9", "metra"),
    ("lsd", "", "lsd"),
    ("lsd-published", "", "lsd"),
    ("lsd-published", "discrete=True", "lsd"),
    ("csf", "samples=7", "csf"),
    ("csf-published", "samples=7", "csf"),
    ("visr", "", "visr"),
    ("visr-published", "", "visr"),
    ("aps", "neighbours=3", "aps"),
    ("aps-published", "neighbours=3, shrink=64", "aps_published"),
    ("cic", "neighbours=3, weight=0.7", "cic"),
    ("cic-published", "neighbours=3, dimension=3, embedding=4, shrink=64", "cic_published"),
    ("becl", "", "becl"),
    ("becl-published", "dimension=5", "becl_published"),
    ("eigenoptions", "", "eigenoptions"),
]
UNFITTED = {
    "environment": "here",
    "random": "here",
    "wurl": "here",
    "disk": "test_disk.py",
    "disk-published": "test_disk.py",
    "vendirl": "tests/memory/test_reward.py",
}
"""Methods that fit no model, and where their rewards are compared."""


def case(name, settings, ended=None):
    """A method with random weights, and a batch of eight scenes of three steps, a whole episode each or as it is said
    which steps ended one."""
    narrow = "hidden=[4]" if not isinstance(parse_method(name), Published) else "shrink=256"
    given = [part for part in (settings, "" if "shrink" in settings else narrow) if part]
    method = parse_method(f"{name}({', '.join(given)})")
    problem = Problem(make("point"), mmd(), method.space(4), 4, scenes=8, steps=3, epochs=10)
    method = method.bind(problem)
    state = method.start(POLICY, jax.random.key(1))
    weights, rest = eqx.partition(state.model, eqx.is_inexact_array)
    generator = np.random.default_rng(2)
    weights = jax.tree.map(lambda x: jnp.asarray(x + 0.3 * generator.normal(size=x.shape), jnp.float32), weights)
    state = eqx.tree_at(lambda s: s.model, state, eqx.combine(weights, rest))
    rows = batch(generator.normal(size=(8, 4, 2)), problem.space.sample(jax.random.key(3), 8), ended)
    beside = method.counted(state, rows)
    return references.Case(
        method, eqx.tree_at(lambda s: s.beside, state, beside, is_leaf=lambda x: x is None), rows, jax.random.key(4)
    )


@pytest.mark.parametrize(("name", "settings", "reference"), FORMS)
def test_loss_and_rewards_are_those_of_the_reference(name, settings, reference):
    compare(case(name, settings), getattr(references, reference), close=5e-3 if "neighbours" in settings else None)


@pytest.mark.parametrize("name", ["vic", "rvic"])
def test_skills_that_act_for_several_episodes_are_paid_at_the_end_of_each(name):
    ended = np.zeros((8, 3), bool)
    ended[::2, 0] = ended[1::3, 1] = ended[:, -1] = True
    compare(case(name, "", ended), getattr(references, name))


def compare(c, reference, close=None):
    """The method's loss and rewards with the reference's.

    Args:
        close: how near rewards must be, if not as near as the loss: the distance from a state to itself is 0, of which
            float32 makes the root of a small number.
    """
    loss, rewards = reference(c)
    rough = 1e-2 if getattr(c.method, "always", False) else 2e-4  # where singular values are found by iteration
    found = eqx.filter_jit(c.method.loss)(c.state.model, c.rows, c.key)[0]
    np.testing.assert_allclose(float(found), loss, rtol=rough, atol=rough / 10)
    rough = close or rough
    np.testing.assert_allclose(eqx.filter_jit(c.method.paid)(c.state, c.rows), rewards, rtol=rough, atol=rough / 2)


def test_every_method_has_a_reference():
    fitted = {name for name in known() if isinstance(parse_method(name), Fitted)}
    assert fitted == {name for name, _, _ in FORMS}
    assert set(known()) - fitted == set(UNFITTED)


def test_wurl_pays_each_state_its_share_of_the_transport_to_the_nearest_other_skill():
    generator = np.random.default_rng(0)
    states, directions = generator.normal(size=(4, 6, 2)), references.unit(generator.normal(size=(5, 2)))
    rows = batch(generator.normal(size=(8, 7, 2)), generator.integers(0, 4, 8))
    problem = Problem(make("point"), mmd(), parse_method("wurl").space(4), 4, scenes=8, steps=6, epochs=10)
    method = parse_method("wurl(projections=5)").bind(problem)
    seen = np.array([1.0, 1.0, 0.0, 1.0])  # the third skill has not acted yet
    found = method.reward(Targets(*(jnp.asarray(x, jnp.float32) for x in (states, seen, directions))), rows)[1]
    np.testing.assert_allclose(found, references.wurl(rows, states, seen, directions), rtol=1e-4, atol=1e-6)


def test_random_pays_nothing_and_environment_what_the_environment_pays():
    pay = np.random.default_rng(0).normal(size=(2, 3))
    rows = batch(np.zeros((2, 4, 2)), [0, 1], reward=pay)
    problem = Problem(make("point"), mmd(), parse_method("random").space(2), 2, scenes=2, steps=3, epochs=10)
    for name, expected in (("random", 0 * pay), ("environment", pay), ("random + 2*environment", 2 * pay)):
        method = parse_method(name).bind(problem)
        found = method.reward(method.start(POLICY, jax.random.key(0)), rows)[1]
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["visr-published", "csf-published"])
def test_cumulants_are_the_vectors_whose_successor_features_are_learned(name):
    c = case(name, "")
    model = c.state.model
    expected = references.net(model, c.s)
    if name == "csf-published":
        expected = references.net(model, c.after) - expected
    np.testing.assert_allclose(c.method.cumulants(model, c.rows), expected, rtol=2e-4, atol=2e-5)


def test_running_statistics_are_of_all_distances_so_far():
    c = case("cic-published", "neighbours=3, dimension=3, embedding=4")
    x = references.net(c.state.model[0], c.after)
    near = references.sorted_distances(x, x.reshape(-1, 4), 3)
    assert float(c.state.beside.count) == near.size
    assert float(c.state.beside.variance[0]) == pytest.approx(near.var(), rel=1e-4)
