"""Scenes spread over devices: the same numbers as on one device, whatever is exchanged between them."""

import dataclasses
import json
import os
import subprocess
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vendirl.algorithms.ppo import PPO, shuffled
from vendirl.training.beginning import begin
from vendirl.training.devices import LEAST_SHARE, averaged, fitting, replicated, spread
from vendirl.training.driver import run
from vendirl.training.folder import claimed
from vendirl.training.problem import build
from vendirl.training.settings import Settings

# One gradient step on all scenes: shuffling, which each device does for itself, cannot make a difference.
WHOLE = PPO(minibatches=1, epochs=2, discount=1.0, gae_lambda=1.0, entropy_coefficient=0.01)
SMALL = Settings(skills=3, scenes=8, hidden=(8,), steps=8 * 50 * 20, refill="pool(4)", ppo=WHOLE)


def leaves(tree):
    return jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array))


def test_the_average_over_devices_is_that_over_the_whole():
    batch = jax.random.normal(jax.random.key(0), (8, 5))

    def gradient(w, batch):
        return jax.grad(lambda w: jnp.mean(jnp.tanh(batch @ w)))(w), {"mean": batch.mean()}

    w = jnp.arange(5.0)
    found, metrics = jax.jit(averaged(2, gradient))(w, batch)
    expected, _ = gradient(w, batch)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert float(metrics["mean"]) == pytest.approx(float(batch.mean()), rel=1e-5)


def test_each_device_holds_its_share_of_the_scenes():
    x = jax.jit(lambda x: spread({"x": x, "name": "kept"}, 2)["x"])(jnp.arange(8.0))
    assert [shard.data.tolist() for shard in x.addressable_shards] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert replicated(2).is_fully_replicated


@pytest.mark.parametrize(
    "changes",
    [
        {"refill": "shared", "similarity": "0.5*cosine + 0.5*covariance(scale=200)"},
        {"refill": "off", "synchronise": 2, "updates": 2},
        {"seeds": 2, "separate": True, "method": "vendirl + 0.1*environment"},
        {"method": "diayn(hidden=(8,))", "learner": "sac(updates=2, batch=16, warmup=800, hidden=(8,))", "steps": 4000},
    ],
    ids=str,
)
def test_two_devices_learn_what_one_learns(changes):
    one, two = (run(dataclasses.replace(SMALL, **changes, devices=devices)) for devices in (1, 2))
    assert (one.loop.devices, two.loop.devices) == (1, 2)
    assert all(len(leaf.devices()) == 1 for leaf in leaves(two.training))  # at rest, as if there were no other
    for a, b in zip(leaves(one.training), leaves(two.training), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-4)
    for x, y in zip(one.history, two.history, strict=True):
        name = "score" if "score" in x else "vendi_score"  # rivals have no score that they are rewarded by
        assert y[name] == pytest.approx(x[name], rel=1e-3)


@pytest.mark.parametrize("devices", [1, 2])
def test_each_scene_is_used_once_in_an_epoch_by_the_device_that_has_it(devices):
    """A gradient that marks the scenes it is given, over the minibatches that PPO makes."""
    marks = jnp.eye(16)

    def mark(_, share):
        data, scenes = share
        return data[scenes].sum(0)

    order = shuffled(jax.random.key(0), 16, epochs=3, minibatches=4, devices=devices)
    assert order.shape == (12, 4)
    step = jax.jit(averaged(devices, mark))
    used = np.stack([devices * step(0.0, (marks, scenes)) for scenes in order])
    np.testing.assert_array_equal(used.reshape(3, 4, 16).sum(1), np.ones((3, 16)))
    assert (used.reshape(12, devices, -1).sum(-1) == 4 // devices).all()  # of each minibatch, all have as many
    assert not np.array_equal(used[:4], used[4:8])  # no two epochs alike


def test_as_many_devices_as_have_enough_to_do():
    assert fitting(share=2 * LEAST_SHARE, pools=16) == 2
    assert fitting(share=LEAST_SHARE, pools=16) == 1  # too few scenes
    assert fitting(share=2 * LEAST_SHARE, pools=3) == 1  # a memory cannot be halved
    assert fitting(share=32, pools=0) == 2  # nothing to deal out


def test_the_number_that_was_found_is_kept(tmp_path):
    settings, _ = build(Settings(skills=2))
    assert settings.devices == 2
    with claimed(tmp_path / "run", settings):
        pass
    saved = json.loads((tmp_path / "run" / "settings.json").read_text())["settings"]
    assert saved["devices"] == 2
    del saved["devices"]
    assert Settings.from_json(saved).devices == 1  # runs from before there was a choice
    assert begin(Settings(skills=2, scenes=16)).settings.devices == 1
    assert begin(Settings(skills=2, method="diayn", hidden=(8,))).settings.devices == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"devices": -1}, "or 0 for as many as help"),
        ({"devices": 3}, "use one of 1, 2, 4"),
        ({"devices": 8}, "use one of 1, 2, 4"),  # four memories
        ({"devices": 2, "env": "gymnasium:Pendulum-v1"}, "its steps are made outside JAX"),
    ],
    ids=str,
)
def test_what_cannot_be_spread_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        build(dataclasses.replace(SMALL, **changes))


def test_devices_that_are_not_there_are_refused_with_the_remedy():
    begin(dataclasses.replace(SMALL, devices=4))  # to look at it, one is enough
    with pytest.raises(ValueError, match=r'4 devices, but JAX has 2 here.*"jax_num_cpu_devices", 4'):
        run(dataclasses.replace(SMALL, devices=4))


@pytest.mark.parametrize(
    ("before", "flags", "asked", "expected"),
    [
        ("", "", 1, "cores"),
        ("", "", 5, 5),
        ("jax.devices()", "", 5, 1),  # too late
        ("jax.config.update('jax_num_cpu_devices', 3)", "", 5, 3),
        ("", "--xla_force_host_platform_device_count=4", 1, 4),
    ],
)
def test_cores_become_devices_unless_jax_was_told_or_used(before, flags, asked, expected):
    program = f"import jax; {before or None}; from vendirl.training.devices import offer_cores; offer_cores({asked})"
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    environment.pop("JAX_NUM_CPU_DEVICES")
    command = [sys.executable, "-c", f"{program}; print(jax.local_device_count())"]
    found = int(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)
    assert found == (min(8, len(os.sched_getaffinity(0))) if expected == "cores" else expected)
