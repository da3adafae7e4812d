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
from vendirl.similarity import mmd

# By the name of a method: its settings here, and the reference if it is not called as the method is.
FORMS = {
    "diayn": ("", None),
    "diayn-original": ("", "diayn"),
    "diayn-braxlines": ("clip=0.5", "diayn"),
    "diayn-urlb": ("", "diayn"),
    "diayn-sn": ("", None),
    "diayn-sn-braxlines": ("", "diayn_sn"),
    "vic": ("", None),
    "rvic": ("", None),
    "dads": ("dimension=2, samples=5", None),
    "dads-published": ("samples=5", None),
    "metra": ("dual=3.0", None),
    "metra-published": ("discrete=True", "metra"),
    "lsd": ("", None),
    "lsd-published": ("", "lsd"),
    "csf": ("samples=7", None),
    "csf-published": ("samples=7", "csf"),
    "visr": ("", None),
    "visr-published": ("", "visr"),
    "aps": ("neighbours=3", None),
    "aps-published": ("neighbours=3, shrink=64", None),
    "cic": ("neighbours=3, weight=0.7", None),
    "cic-published": ("neighbours=3, dimension=3, embedding=4, shrink=64", None),
    "becl": ("", None),
    "becl-published": ("dimension=5", None),
    "eigenoptions": ("", None),
}


def case(name, settings):
    """A method with random weights, and a batch of eight scenes of three steps, a whole episode each."""
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
    rows = batch(generator.normal(size=(8, 4, 2)), problem.space.sample(jax.random.key(3), 8))
    beside = method.counted(state, rows)
    return references.Case(
        method, eqx.tree_at(lambda s: s.beside, state, beside, is_leaf=lambda x: x is None), rows, jax.random.key(4)
    )


@pytest.mark.parametrize("name", FORMS)
def test_loss_and_rewards_are_those_of_the_reference(name):
    settings, reference = FORMS[name]
    c = case(name, settings)
    loss, rewards = getattr(references, (reference or name).replace("-", "_"))(c)
    rough = 1e-2 if getattr(c.method, "always", False) else 2e-4  # where singular values are found by iteration
    found = c.method.loss(c.state.model, c.rows, c.key)[0]
    np.testing.assert_allclose(float(found), loss, rtol=rough, atol=rough / 10)
    # the distance from a state to itself is 0, of which float32 makes the root of a small number
    rough = 5e-3 if "neighbours" in settings else rough
    np.testing.assert_allclose(c.method.paid(c.state, c.rows), rewards, rtol=rough, atol=rough / 2)


def test_every_method_that_fits_a_model_has_a_reference():
    fitted = {name for name in known() if isinstance(parse_method(name), Fitted)}
    assert fitted == set(FORMS)


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
