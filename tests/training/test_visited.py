"""State coverage over all of training: the cells that its episodes visit, counted as it goes on."""

import dataclasses
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vendirl.algorithms.ppo import PPO
from vendirl.cli.train import covered
from vendirl.data import Trajectories
from vendirl.environments import HostEnvironment
from vendirl.evaluation.measures.coverage import state_coverage
from vendirl.training.beginning import begin
from vendirl.training.host import HostLoop
from vendirl.training.problem import build
from vendirl.training.settings import Settings
from vendirl.training.visited import PLACES, Coverage, coverage_of

TINY = Settings(
    skills=2, scenes=4, refill="shared", steps=4 * 10 * 4, episode_length=10, hidden=(4,), method="random",
    ppo=PPO(minibatches=1, epochs=1), coverage=("x", "y"), cell=0.1, devices=1,
)  # fmt: skip


@partial(jax.jit, static_argnums=0)
def visit(coverage, batches):
    return coverage.metrics(
        jax.lax.scan(lambda v, batch: (coverage.visit(v, batch), None), coverage.start(), batches)[0]
    )


def counted(coverage, *batches):
    cells, exact = (float(x) for x in visit(coverage, jnp.asarray(batches)).values())
    return cells, exact


def test_a_walk_computed_by_hand():
    """Cells (0, 0), (1, 0), (-1, -1), and then (1, 0) again and (2, 0); the second feature is not looked at."""
    first = [[[0.0, 9.0, 0.0], [1.5, 9.0, 0.0]], [[-0.2, 9.0, -0.1], [1.0, 9.0, 0.9]]]
    then = [[[1.2, 0.0, 0.3], [2.0, 0.0, 0.3]], [[1.2, 0.0, 0.3], [2.0, 0.0, 0.3]]]
    coverage = Coverage((0, 2), 1.0)
    assert counted(coverage, first) == (3, 1)
    assert counted(coverage, first, then) == (4, 1)


@pytest.mark.parametrize(("k", "width"), [(1, 0.1), (2, 0.3), (4, 5.0)])
def test_it_is_the_state_coverage_of_all_that_was_seen(k, width):
    x = np.random.default_rng(0).normal(0, 8, (6, 40, 5)).astype(np.float32)
    expected = state_coverage(Trajectories.of(x), features=range(1, k + 1), bin=width).value
    coverage = Coverage(tuple(range(1, k + 1)), width)
    assert counted(coverage, *x) == (expected, 1)
    assert coverage.side**k <= PLACES


def test_where_cells_share_a_place_the_count_is_the_least_there_can_be():
    coverage = Coverage((0, 1), 1.0)
    side = coverage.side
    assert side == 1024
    assert counted(coverage, [[0.0, 0.0], [side - 1.0, 0.0]]) == (2, 1)
    assert counted(coverage, [[0.0, 0.0], [side + 0.0, 0.0]]) == (1, 0)
    assert counted(coverage, [[0.0, 0.0], [1e30, 0.0], [-1e30, 0.0]])[1] == 0


def everything(settings):
    """A run in training to its end, its last metrics, and all observations that it was given to learn from."""
    this, seen = begin(settings), []
    learn = type(this.loop).learn

    def watched(loop, learned, batch, epoch, key):
        jax.debug.callback(lambda *x: seen.extend(map(np.array, x)), batch.observation, batch.next_observation)
        return learn(loop, learned, batch, epoch, key)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(this.loop), "learn", watched)
        outside = isinstance(this.environment, HostEnvironment)
        scenes = HostLoop(this.loop, 1, settings.seed) if outside else None
        epoch = eqx.filter_jit(this.loop.epoch) if scenes is None else scenes.epoch
        while this.done < this.epochs:
            this.training, metrics = jax.block_until_ready(epoch(this.training))
        jax.effects_barrier()
        if scenes is not None:
            scenes.close()
    return this, metrics, Trajectories.of([x.reshape(-1, x.shape[-1]) for x in seen])


WORLDS = {
    "JAX": dataclasses.replace(TINY, updates=2),
    "outside": dataclasses.replace(TINY, env="gymnasium:Pendulum-v1", coverage=("cos_angle", "2"), cell=0.2, scenes=4),
}


@pytest.mark.parametrize("world", WORLDS)
def test_what_training_visits_is_counted(world):
    if world == "outside":
        pytest.importorskip("gymnasium", reason="gymnasium is not installed (vendirl[gymnasium])")
    settings = WORLDS[world]
    this, metrics, seen = everything(settings)
    expected = state_coverage(seen, this.loop.coverage.columns, settings.cell).value
    assert expected > 10
    assert (metrics["coverage"], metrics["coverage_exact"]) == (expected, 1)
    assert this.coverage["cells"] == [expected]


def test_it_is_said_in_one_sentence():
    coverage = {"cells": [1234, 7], "exact": [True, False], "features": ["x", "y"], "cell": 0.1}
    assert covered(coverage) == "Training visited 1,234, at least 7 cells of width 0.1 in x, y."


def test_without_it_nothing_is_kept():
    without, with_it = (begin(dataclasses.replace(TINY, coverage=c, method="vendirl")) for c in ((), ("x",)))
    assert without.training.visited is None
    assert without.coverage is None
    before, after = (eqx.filter_eval_shape(this.loop.epoch, this.training)[1] for this in (without, with_it))
    assert after.keys() - before.keys() == {"coverage", "coverage_exact"}
    assert before.keys() <= after.keys()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"coverage": ("x", "z")}, "no feature is called 'z'"),
        ({"coverage": ("x", "x")}, "chosen twice"),
        ({"coverage": "xy"}, "coverage must be a list of names"),
        ({"cell": 0.0}, "cell must be a finite number"),
    ],
)
def test_what_cannot_be_counted_is_refused(changes, says):
    with pytest.raises(ValueError, match=says):
        build(dataclasses.replace(TINY, **changes))


def test_at_most_four_features():
    with pytest.raises(ValueError, match="at most 4 features"):
        coverage_of(list("abcde"), 1.0, list("abcde"), "here")


def test_a_width_of_cells_without_features_to_count_in_is_refused():
    with pytest.raises(ValueError, match=r"cell=3 is the width .* no features are named: coverage="):
        Settings(cell=3.0).check_new()
