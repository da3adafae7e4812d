"""Going on: runs that are given more steps, settings that need not be said again, and runs that are not finished."""

import dataclasses
import json
import shutil

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vendirl as vr
from tests.training.test_objects import Line, same
from vendirl.cli import main
from vendirl.training.beginning import begin
from vendirl.training.driver import run
from vendirl.training.going_on import lengthened
from vendirl.training.settings import Settings

EACH = 8 * 50  # steps of an epoch
TINY = {
    "skills": 3,
    "scenes": 8,
    "hidden": (8,),
    "devices": 1,
    "refill": "shared",
    "ppo": {"minibatches": 2, "epochs": 1},
}


def count(this):
    """The gradient steps of the optimiser, by which the learning rate falls."""
    whole = [leaf for leaf in jax.tree.leaves(this.training.learner) if jnp.issubdtype(leaf.dtype, jnp.integer)]
    return {int(leaf) for leaf in whole}


def stop(*_):
    raise KeyboardInterrupt


@pytest.fixture(scope="module", autouse=True)
def without_ceiling_and_figure(without_ceiling):
    """Neither matters here, and both take longer than all else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vr.Run, "figure", lambda self, seed=None: None)
        patch.setattr("vendirl.training.run.write_figure", lambda figure, path: path.touch())
        yield


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run of five epochs; whoever goes on with it takes a copy."""
    folder = tmp_path_factory.mktemp("finished") / "run"
    this = vr.train(Line(), "mmd(scale=4)", **TINY, steps=5 * EACH, out=folder)
    assert this.loop.block == 5
    return this


@pytest.fixture
def copied(finished, tmp_path):
    shutil.copytree(finished.folder, tmp_path / "run")
    return tmp_path / "run"


def test_more_steps_train_a_finished_run_longer_and_need_nothing_else(finished, copied):
    longer = vr.train(Line(), out=copied, resume=True, steps=12 * EACH + 7)
    assert (longer.done, longer.epochs, longer.loop.block) == (12, 12, 7)  # 7 more, though 12 would be blocks of 6
    assert longer.settings == dataclasses.replace(finished.settings, steps=12 * EACH + 7, extended=5)
    assert [row["epoch"] for row in longer.history] == [5, 12]
    assert longer.history[0] == finished.history[0]
    assert count(longer) == {12 * 2}  # what has been learned is kept, and so is the optimiser
    # The learning rate and the entropy bonus are those of a run of 12 epochs at its sixth.
    assert longer.loop.algorithm.anneal == 12
    # All is written down, and the checkpoint of then is still one.
    written = json.loads((copied / "settings.json").read_text())
    assert Settings.from_json(written["settings"]) == longer.settings
    assert [(entry["steps"], entry["until_epoch"]) for entry in written["earlier"]] == [(5 * EACH, 5)]
    assert json.loads((copied / "summary.json").read_text())["env_steps"] == 12 * EACH
    assert json.loads((copied / "until-5" / "summary.json").read_text())["env_steps"] == 5 * EACH
    assert same(longer, vr.load(copied, env=Line()))
    shutil.rmtree(copied / "checkpoints" / "12")
    (copied / "checkpoints" / "12.json").unlink()
    then = vr.load(copied, env=Line())
    assert then.done == 5
    assert same(finished, then)
    # Resumed from there, it ends bit for bit the same.
    assert same(longer, vr.train(Line(), out=copied, resume=True, steps=12 * EACH + 7))
    with pytest.raises(ValueError, match=r"a run of 4807 steps, which can be given more of them, but not fewer"):
        vr.train(Line(), out=copied, resume=True, steps=5 * EACH)
    with pytest.raises(ValueError, match=r"not an epoch of 400 steps more than the 4,800 .* use at least 5200"):
        vr.train(Line(), out=copied, resume=True, steps=12 * EACH + 8)


def test_what_is_said_anew_must_be_as_it_was(copied):
    with pytest.raises(ValueError, match=r"other settings: skills=3 \(not 8\); resume it with its own"):
        vr.train(Line(), out=copied, resume=True, skills=8, steps=10 * EACH)  # eight are usual, but they were said
    with pytest.raises(ValueError, match=r"was an object.*vr.train\(env=..., out=folder, resume=True\)"):
        vr.train(out=copied, resume=True)
    before = (copied / "settings.json").read_bytes()
    with pytest.raises(ValueError, match=r"other settings: env='object:Line' \(not 'point'\)"):
        vr.train("point", out=copied, resume=True, steps=10 * EACH)
    assert (copied / "settings.json").read_bytes() == before
    assert (copied / "summary.json").exists()


def test_more_steps_are_not_given_where_they_cannot_be(copied):
    (copied / "checkpoints" / "5.json").write_text("{}")
    with pytest.raises(ValueError, match="damaged"):
        vr.train(Line(), out=copied, resume=True, steps=10 * EACH)
    folder = copied.parent / "disk"
    settings = Settings.named({**TINY, "method": "disk", "steps": 5 * EACH})
    with pytest.raises(KeyboardInterrupt):
        run(settings, folder, progress=stop)
    with pytest.raises(ValueError, match="disk has divided its epochs among the skills"):
        vr.train(out=folder, resume=True, steps=10 * EACH)


def test_a_budget_goes_on_where_the_run_is(tmp_path):
    asked = dataclasses.replace(Settings(), scenes=8, steps=20.0 * EACH)
    for extended, steps, expected in ((0, 20, 20), (5, 20, 20), (7, 20, 17), (7, 30, 27), (3, 8, 8), (10, 1000, 1000)):
        settings = dataclasses.replace(asked, extended=extended, steps=float(steps * EACH))
        assert settings.epochs(50) == expected, (extended, steps)
        assert expected <= steps
    with pytest.raises(ValueError, match="extended must be"):
        dataclasses.replace(asked, extended=-1).check()
    (tmp_path / "settings.json").write_text(json.dumps({"settings": {**asked.to_json(), "rounding": "nearest"}}))
    same_steps = dataclasses.replace(asked, rounding="nearest")
    assert lengthened(same_steps, tmp_path) == (same_steps, False)
    more = dataclasses.replace(same_steps, steps=21.0 * EACH)
    assert lengthened(more, tmp_path) == (more, True)  # nothing is trained yet
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "10.json").touch()
    assert lengthened(more, tmp_path) == (dataclasses.replace(more, extended=10, rounding="down"), True)


QUICK = [f"--{name}={value}" for name, value in (("skills", 3), ("scenes", 8), ("hidden", 8), ("refill", "shared"))]


def test_the_command_line_goes_on_and_scores_what_is_not_finished(tmp_path, capsys):
    out = ["--out", str(tmp_path / "run")]
    train = ["train", *QUICK, "--ppo.minibatches", "2", "--devices=1", "--method", "random"]
    with pytest.MonkeyPatch.context() as interrupted:
        interrupted.setattr("vendirl.cli.train.progress_bar.__call__", stop)
        assert main([*train, *out, "--steps", str(10 * EACH), "--epoch", "0.5"]) == 130
    assert not (tmp_path / "run" / "trajectories.npz").exists()
    capsys.readouterr()
    with pytest.warns(UserWarning, match="run is not finished: what is scored are its skills at epoch 10 of 20"):
        assert main(["score", out[1], "--resamples", "2", "--shuffles", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[out[1]].keys() == {"mmd(scale=4)", "overlap"}
    assert not (tmp_path / "run" / "trajectories.npz").exists()
    assert main(["train", "--resume", *out, "--steps", "4e6", "--skills", "8"]) == 2  # usual, but said
    assert "other settings: skills=3 (not 8)" in capsys.readouterr().err
    assert main(["train", "--resume", *out, "--ppo.minibatches", "4"]) == 2
    assert "other settings: ppo=" in capsys.readouterr().err
    assert main(["train", "--resume", *out, "--ppo.minibatches", "2", "--steps", str(15 * EACH)]) == 0
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["env_steps"] == 15 * EACH
    assert vr.load(tmp_path / "run").settings.extended == 10
    assert main(["policy", out[1], "--skill", "2", "--out", str(tmp_path / "skill.npz")]) == 0
    assert "Policy of skill 2 in point: 2 features and time -> 2 numbers" in " ".join(capsys.readouterr().out.split())
    assert vr.load_policy(tmp_path / "skill.npz")(np.zeros(2)).shape == (2,)
    assert main(["policy", out[1], "--skill", "0.6,0.8", "--out", str(tmp_path / "other.npz")]) == 2
    assert "these skills are numbered, and there is nothing between two of them" in capsys.readouterr().err
    assert main(["policy", out[1], "--skill", "x"]) == 2
    assert "--skill must be a number, a vector such as 0.6,0.8, or a mixture" in capsys.readouterr().err


def test_policies_of_a_run_are_its_skills_their_vectors_and_mixtures():
    this = begin(Settings.named({**TINY, "method": "metra", "skills": 4, "steps": 10 * EACH}))
    x = np.array([0.3, 0.6], np.float32)
    clipped = [np.clip(np.asarray(this.skill(i).mode(x, 0.5)), -1, 1) for i in range(2)]
    np.testing.assert_allclose(this.policy(1)(x, step=25), clipped[1], atol=1e-6)
    np.testing.assert_array_equal(this.policy(np.asarray(this.goals)[1])(x), this.policy(1)(x))
    half = np.sqrt(0.5)
    between = this.policy([half, half])  # of (1, 0) and (0, 1), on the circle
    np.testing.assert_allclose(this.policy({0: 1, 1: 1})(x), between(x), atol=1e-7)
    np.testing.assert_allclose(this.policy({0: 5.0, 2: 0.0})(x), this.policy(0)(x), atol=1e-7)
    for skill, error in (
        (4, "a number from 0 to 3, but is 4"),
        (-1, "a number from 0 to 3, but is -1"),
        ([1.0], r"vectors of 2 numbers, but the skill given has shape \(1,\)"),
        ([np.nan, 0.0], "skill must be finite"),
        ({}, "at least one skill"),
        ({0: -1.0, 1: 2.0}, "at least 0, and not all 0"),
        ({0: 0.5, 2: 0.5}, "these skills are opposite"),
        ({7: 1.0}, "from 0 to 3, but is 7"),
    ):
        with pytest.raises(ValueError, match=error):
            this.policy(skill)
    numbered = begin(Settings.named({**TINY, "steps": 10 * EACH}))
    with pytest.raises(ValueError, match="but is a mixture: these skills are numbered"):
        numbered.policy({0: 0.5, 1: 0.5})
    assert numbered.policy(np.int64(2)).features == ("x", "y")
    arrays = eqx.filter(this.skills, eqx.is_array)
    assert jax.tree.all(jax.tree.map(lambda leaf: bool(jnp.isfinite(leaf).all()), arrays))
