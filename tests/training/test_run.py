"""Runs: learning for real, folders, resuming bit for bit, and what is refused."""

import dataclasses
import json
import os
import re
import shutil

import equinox as eqx
import jax
import numpy as np
import pytest

import vendirl as vr
from vendirl.algorithms.ppo import PPO
from vendirl.training import checkpoint
from vendirl.training.driver import NonFiniteRewardError, run
from vendirl.training.folder import fingerprint
from vendirl.training.owner import AlreadyOwnedError, owning
from vendirl.training.problem import build
from vendirl.training.run import KEPT
from vendirl.training.settings import Settings

TINY = Settings(
    skills=3, scenes=8, refill="shared", steps=8 * 50 * 40, hidden=(8,), ppo=PPO(minibatches=2, epochs=1, discount=1.0)
)


def weights(this):
    return jax.tree.leaves(eqx.filter(this.training.policy, eqx.is_array))


def assert_identical(a, b):
    for x, y in zip(weights(a), weights(b), strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize(
    ("similarity", "steps", "attainable", "fraction"),
    [
        ("mmd(scale=4)", 1.0e6, 7.773, 0.99),
        ("angle(scale=4, center=0.5)", 1.3e6, 7.241, 0.97),
        ("covariance(scale=200)", 4e6, 4.920, 0.95),
    ],
)
def test_skills_become_as_diverse_as_they_can_be(similarity, steps, attainable, fraction):
    """The short version of `benchmarks/training.py`; `attainable` is what `vr.attainable` finds for eight skills."""
    this = vr.train("point", similarity, skills=8, steps=steps)
    assert float(this.score().score) >= fraction * attainable


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run for all that is done to a folder after it was trained; whoever writes in it takes a copy."""
    folder = tmp_path_factory.mktemp("trained") / "run"
    return run(dataclasses.replace(TINY, hidden=[8], seed=np.int64(3)), folder, resume="auto")


def test_a_run_leaves_a_folder_that_can_be_loaded(trained):
    this, folder = trained, trained.folder
    summary = json.loads((folder / "summary.json").read_text())
    expected = {"vendi_score", "attainable", "fraction_of_attainable", "env_steps", "wall_seconds", "steps_per_second"}
    assert expected | {"compile_seconds", "seed", "versions", "refill_steps"} <= summary.keys()
    assert summary["env_steps"] == 8 * 50 * 40
    assert this.note is None
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [row["epoch"] for row in rows] == [10, 20, 30, 40]
    with np.load(folder / "trajectories.npz", allow_pickle=False) as data:
        assert data["observations"].shape == (3 * KEPT, 50, 2)
        assert data["skill"].tolist() == [s for s in range(3) for _ in range(KEPT)]
    assert (folder / "figure.png").read_bytes().startswith(b"\x89PNG")
    again = vr.load(folder)
    assert_identical(this, again)
    np.testing.assert_array_equal(again.rollout(), this.rollout())
    # The skills before training, as the seed made them, from the same beginnings, and how diverse they were.
    untrained, first = (
        vr.data.read_untrained(folder),
        again.episodes(episodes=KEPT, deterministic=False, untrained=True),
    )
    np.testing.assert_array_equal(untrained.observations, first.observations)
    np.testing.assert_array_equal(untrained.first_observations, vr.data.read(folder).first_observations)
    assert summary["untrained"] == again.untrained_scores[0] != summary["vendi_score"]
    assert again.rollout(skills=[2, 0], episodes=4, deterministic=False).shape == (2, 4, 50, 2)


@pytest.mark.parametrize("devices", [1, 2])
def test_resuming_is_bit_for_bit(tmp_path, devices):
    settings = dataclasses.replace(TINY, devices=devices, coverage=("x", "y"), cell=0.1)
    whole = run(settings)

    class EnoughError(Exception):
        pass

    def stop(this, row):
        if this.done == 20:
            this.save_checkpoint()
            raise EnoughError

    with pytest.raises(EnoughError):
        run(settings, tmp_path / "run", progress=stop)
    resumed = run(settings, tmp_path / "run", resume=True)
    assert_identical(whole, resumed)
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [row["epoch"] for row in rows] == [10, 20, 30, 40]
    # What training visited is counted on, and who loads the run knows it.
    np.testing.assert_array_equal(resumed.training.visited.places, whole.training.visited.places)
    cells = [row["coverage"] for row in rows]
    assert 0 < cells[0] <= cells[1] <= cells[2] <= cells[3]
    expected = {"cells": [cells[3]], "exact": [True], "features": ["x", "y"], "cell": 0.1}
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["coverage"] == expected
    assert vr.load(tmp_path / "run").coverage == whole.coverage == expected


def test_seeds_at_once_are_each_reported(tmp_path):
    this = run(dataclasses.replace(TINY, seeds=3, steps=8 * 50 * 10, coverage=("x",), cell=0.01), tmp_path / "run")
    assert this.scores.shape == (3,)
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert list(summary["seeds"]) == ["0", "1", "2"]
    assert len(set(summary["seeds"].values())) == 3
    assert summary["coverage"]["cells"] == this.history[-1]["coverage"]
    assert len(summary["coverage"]["cells"]) == 3
    assert (tmp_path / "run" / "seed-2" / "trajectories.npz").exists()
    assert_identical(this, vr.load(tmp_path / "run"))


def test_an_interrupted_run_saves_and_says_how_to_go_on(tmp_path):
    def interrupt(this, row):
        if this.done == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"vendirl train --resume --out"):
        run(TINY, tmp_path / "run", progress=interrupt)
    assert_identical(run(TINY, tmp_path / "run", resume=True), run(TINY))


def files(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_who_loads_a_run_writes_nothing_and_is_not_fooled(trained, tmp_path):
    folder, settings = tmp_path / "run", trained.settings
    shutil.copytree(trained.folder, folder)
    (folder / "attainable.json").unlink()
    before = files(folder)
    with owning(folder):  # someone is writing: who reads is not kept from it
        loaded = vr.load(folder)
        assert loaded.ceiling.score == trained.ceiling.score
        assert loaded.figure()
        with pytest.raises(AlreadyOwnedError, match=f"process {os.getpid()} on"):
            run(settings, folder, resume=True)
        with pytest.raises(AlreadyOwnedError):
            loaded.save_results()
    assert files(folder) == before
    # Forged: another epoch, one that is none, and weights that are not numbers.
    mark = fingerprint(settings)
    nan = eqx.tree_at(lambda t: t.policy, trained.training, jax.tree.map(_nan, trained.training.policy))
    for epoch, training, why in ((30, trained.training, "epoch 40"), (-5, trained.training, ""), (40, nan, "numbers")):
        shutil.rmtree(folder / "checkpoints")
        checkpoint.save(folder / "checkpoints", epoch, eqx.filter(training, eqx.is_array), mark)
        if epoch < 0:
            assert vr.load(folder).done == 0  # it is no checkpoint
            continue
        with pytest.raises(ValueError, match=f"damaged: .*{why}"):
            vr.load(folder)


def test_going_on_without_a_checkpoint_does_not_repeat_metrics(trained, tmp_path):
    def stop(this, row):
        raise KeyboardInterrupt

    shutil.copytree(trained.folder, tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    with pytest.raises(KeyboardInterrupt):
        run(trained.settings, tmp_path / "run", resume="auto", progress=stop)
    (row,) = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert {**row, "wall_seconds": 0} == {**trained.history[0], "wall_seconds": 0}


def _nan(leaf):
    return leaf * jax.numpy.nan if eqx.is_inexact_array(leaf) else leaf


@vr.similarity.moments(order=1)
def explodes(a, b, scale=1.0):
    return jax.numpy.where(a.mean[0] > 0.4, jax.numpy.inf, 1.0) * jax.numpy.where(a.mean[0] == b.mean[0], 1, 0.5)


def test_non_finite_rewards_stop_the_run_and_name_the_similarity(tmp_path):
    settings = dataclasses.replace(TINY, similarity="0.5*mmd + 0.5*explodes")
    with pytest.raises(NonFiniteRewardError, match="explodes"):
        run(settings, tmp_path / "run")
    assert (tmp_path / "run" / "checkpoints" / "0.json").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"skills": 0}, "skills must be"),
        ({"scenes": 0}, "scenes must be"),
        ({"steps": 0}, "steps must be"),
        ({"seed": 2**64}, "seed must be a whole number of at least 0 and at most 4294967295"),
        ({"seed": -1}, "seed must be"),
        ({"seed": 2**32 - 1, "seeds": 2}, "seed must be at most 2**32 - 2"),
        ({"env": "pont"}, "point"),
        ({"env": "point(noise=-1)"}, "noise"),
        ({"similarity": "cosin"}, "did you mean 'cosine'"),
        ({"similarity": "mmd.on(5)"}, "out of range"),
        ({"similarity": "mmd.on(z)"}, "no feature is called 'z'"),
        ({"refill": "pool(3)"}, "dealt evenly"),
        ({"refill": "often"}, "refill must be"),
        ({"updates": 3}, "does not divide"),
        ({"epoch": 0.001}, "less than one step"),
        ({"reward": "more"}, "reward must be"),
        ({"order": -1.0}, "order must be"),
        ({"ppo": PPO(minibatches=3)}, "minibatches=3 does not divide"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_before_compiling(changes, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        build(dataclasses.replace(TINY, **changes))


def test_folders_of_others_are_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="not empty"):
        run(TINY, tmp_path)
    short = run(dataclasses.replace(TINY, steps=3.9 * 8 * 50), tmp_path / "run")
    assert short.env_steps == 3 * 8 * 50  # never more than asked for
    assert [row["epoch"] for row in short.history] == [3]
    assert "3 epochs of 400 steps" in short.note
    with pytest.raises(FileExistsError, match="holds another run"):
        run(TINY, tmp_path / "run")
    with pytest.raises(ValueError, match="other settings: steps"):
        run(TINY, tmp_path / "run", resume=True)
    with pytest.raises(FileNotFoundError, match="no run to resume"):
        run(TINY, tmp_path / "nothing", resume=True)
    with pytest.raises(FileNotFoundError, match="no run"):
        vr.load(tmp_path / "nothing")


def test_losses_that_are_not_finite_stop_the_run_and_name_the_method(tmp_path):
    settings = dataclasses.replace(TINY, method="diayn(learning_rate=1e38)")
    with pytest.raises(NonFiniteRewardError, match=r"discriminator_loss.*between steps 0 and .* of the method diayn"):
        run(settings, tmp_path / "run")
    assert (tmp_path / "run" / "checkpoints").exists()


def test_a_run_evaluates_itself_with_its_policies_at_hand():
    this = run(dataclasses.replace(TINY, steps=8 * 50 * 10))
    found = this.evaluate(["mmd"], episodes=3, resamples=3, shuffles=3)
    assert found.data.features == ("x", "y")
    by_name = {measure.name: measure for measure in found.measures}
    assert len(by_name) == len(found.measures)
    assert by_name["System Neural Diversity"].settings["states"] == len(found.data.observations)  # those of all skills
    assert "has no model that tells which skill" in by_name["zero-shot goals hit"].note
    data = found.data
    assert vr.effective_number(data, vr.similarity.mmd()) == pytest.approx(found["mmd"].vendi_score)
    assert vr.kernel_matrix(vr.similarity.mmd().on("x"), data).shape == (3, 3)
