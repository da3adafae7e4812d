"""Runs that were saved by an earlier version load, go on, and are what they were."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import vendirl as vr

RUNS = Path(__file__).parent / "runs_of_before"


@pytest.mark.parametrize("name", ["vendirl", "becl"])
def test_a_run_that_was_saved_before_loads(name):
    run = vr.load(RUNS / name)
    summary = json.loads((RUNS / name / "summary.json").read_text())
    assert run.done == 20
    assert run.env_steps == summary["env_steps"]
    assert run.scores[0] == pytest.approx(summary["vendi_score"], rel=1e-5)
    assert vr.evaluate(RUNS / name, "mmd", measures=False).results


@pytest.mark.filterwarnings("ignore:.*was begun with")  # where the tests run with other versions than it was made with
def test_a_run_that_was_saved_before_goes_on(tmp_path):
    folder = shutil.copytree(RUNS / "becl", tmp_path / "run")
    (folder / "trajectories.npz").unlink()
    before = vr.load(folder)
    run = vr.train("point", "mmd(scale=4)", **_settings(folder), out=folder, resume=True)
    np.testing.assert_allclose(run.rollout(), before.rollout(), atol=1e-6)  # it was at its end
    assert (folder / "trajectories.npz").exists()


def _settings(folder):
    asked = json.loads((folder / "settings.json").read_text())["settings"]
    return {name: value for name, value in asked.items() if name not in ("env", "similarity", "sac")}
