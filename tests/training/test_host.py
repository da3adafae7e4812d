"""Runs in environments outside of JAX: what is resumed goes on as if it had never stopped."""

import equinox as eqx
import jax
import numpy as np
import pytest

from vendirl.training.beginning import begin
from vendirl.training.blocks import make_block
from vendirl.training.settings import Settings


def numbers(training):
    leaves = jax.tree.leaves(training)
    keys = [jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key) for leaf in leaves]
    return [np.asarray(jax.random.key_data(x) if key else x) for x, key in zip(leaves, keys, strict=True)]


def test_blocks_in_new_scenes_are_those_of_an_undisturbed_run():
    """Episodes are longer than epochs and refills rarer than blocks, so that both are interrupted in their midst."""
    pytest.importorskip("gymnasium", reason="gymnasium is not installed (vendirl[gymnasium])")
    settings = Settings(
        "gymnasium:Pendulum-v1(episode_length=20)",
        "mmd(scale=1)",
        skills=2,
        scenes=8,
        steps=2 * 10 * 8 * 6,
        epoch=0.3,
        refill="off",
        synchronise=7,
        hidden=(8,),
    )
    run = begin(settings)
    block = make_block(run.loop, run.training, 1, settings.seed)
    first, _ = block(eqx.filter(run.training, eqx.is_array))
    undisturbed, row = block(first)
    block.close()  # all that is not in a checkpoint is gone, as at the end of the process
    resumed, again = block(first)
    block.close()
    for ours, theirs in zip(numbers(undisturbed), numbers(resumed), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert row["vendi_score"] == again["vendi_score"]
    assert any((a != b).any() for a, b in zip(numbers(first), numbers(resumed), strict=True))
