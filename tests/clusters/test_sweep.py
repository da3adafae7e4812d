"""Sweeps whose runs are made up: what is asked for, what is found, and that they go on."""

import dataclasses
import json

import pytest

import vendirl as vr
from vendirl.cli import main
from vendirl.clusters import sweep as sweeps
from vendirl.clusters.objectives import objective_of
from vendirl.clusters.sweep import Plan
from vendirl.clusters.task import Outcome
from vendirl.show.sweep import STYLE, page
from vendirl.training.owner import AlreadyOwnedError, owning
from vendirl.training.settings import Settings

BASE = {"skills": 3, "scenes": 8, "steps": 8e3, "hidden": (8,), "devices": 1, "similarity": "overlap"}


@pytest.fixture
def carried(monkeypatch):
    """Runs come to a score by their settings at once; those of order 3 are refused. The tasks are listed."""
    listed = []

    def carry_out(tasks, executor=None, **how):
        outcomes = {}
        for task in tasks:
            listed.append(task)
            outcomes[task.name] = Outcome("refused", "it became <NaN>") if task.settings.order == 3 else Outcome("done")
            task.folder.mkdir(parents=True, exist_ok=True)
            score = task.settings.skills - abs(task.settings.ppo.discount - 0.9)
            summary = {"vendi_score": score, "untrained": 1.0, "fraction_of_attainable": score / task.settings.skills}
            (task.folder / "summary.json").write_text(json.dumps(summary))
            (task.folder / "settings.json").write_text(json.dumps({"settings": task.settings.to_json()}))
            row = {"epoch": 10, "env_steps": 400, "wall_seconds": 1.0, "vendi_score": [score - 1, score - 0.5]}
            later = {**row, "epoch": 20, "env_steps": 800, "vendi_score": [score, score]}
            (task.folder / "metrics.jsonl").write_text(json.dumps(row) + "\n" + json.dumps(later) + "\n")
        return outcomes

    monkeypatch.setattr(sweeps, "carry_out", carry_out)
    return listed


def swept(out, over="ppo.discount=0.8,0.9,0.97; order=1,3", **how):
    return vr.sweep(over, out=out, say=lambda line: None, **{"sampler": "grid", **BASE, **how})


def test_the_best_is_found_and_what_failed_is_said(tmp_path, carried):
    found = swept(tmp_path / "s")
    assert found.best.values == {"ppo.discount": 0.9, "order": 1.0}
    assert found.best.objective == 3.0
    assert [trial.number for trial in found.finished] == [2, 4, 0]
    assert {trial.why for trial in found.trials if trial.objective is None} == {"it became <NaN>"}
    assert found.best.curve == [(400, 2.25), (800, 3.0)]
    written = json.loads((tmp_path / "s" / "sweep.json").read_text())
    assert (written["best"], len(written["trials"]), written["over"]) == (2, 6, "ppo.discount=0.8,0.9,0.97; order=1,3")
    assert {task.settings.devices for task in carried} == {1}
    text = page(found)
    assert "it became &lt;NaN&gt;" in text
    assert "<NaN>" not in text
    assert "<script" not in text
    assert text.count('<polyline class="faint"') == 2  # and the best in colour
    assert found.page() == tmp_path / "s" / "report.html"


def test_a_terminal_has_the_title_in_one_line_and_all_digits(tmp_path, carried, capsys):
    small = ["--skills", "3", "--scenes", "8", "--steps", "8e3", "--hidden", "8", "--devices", "1"]
    asked = ["sweep", "--over", "ppo.discount=0.8,0.9", "--sampler", "grid", "--out", str(tmp_path / "s"), *small]
    assert main(asked) == 0
    said = capsys.readouterr().out
    assert said.startswith("point: 2 trials, the best by score\n")
    assert "3.000" in said
    assert "2.900" in said


def test_a_dot_of_any_kind_has_a_colour():
    for kind in ("best", "usual", "faint"):
        assert f"circle.{kind} {{ fill: var(--" in STYLE


def test_a_sweep_goes_on_with_the_same_runs_and_with_more_trials(tmp_path, carried):
    range_, how = "ppo.discount=0.5..1", {"sampler": "tpe", "together": 3}
    first = swept(tmp_path / "s", range_, trials=7, **how)
    folders = [task.folder for task in carried]
    carried.clear()
    more = swept(tmp_path / "s", range_, trials=12, **how)
    assert [task.folder for task in carried][:7] == folders
    assert more.trials[:7] == first.trials
    assert len({trial.folder for trial in more.trials}) == 12
    with pytest.raises(ValueError, match=r"holds another sweep \(objective='score'\)"):
        swept(tmp_path / "s", range_, objective="gain", **how)
    with pytest.raises(ValueError, match="holds another sweep"):
        swept(tmp_path / "s", range_, **how, order=2)


def test_objectives(tmp_path, carried):
    by = {name: swept(tmp_path / name, objective=name).best.objective for name in ("score", "fraction", "gain", "area")}
    assert by == {"score": 3.0, "fraction": 1.0, "gain": 2.0, "area": 2.625}


def test_what_is_impossible_is_refused_by_trial_and_else_at_once(tmp_path, carried):
    found = swept(tmp_path / "s", "learner=ppo,sac(updates=0)")
    assert [trial.objective is None for trial in found.trials] == [False, True]
    with pytest.raises(ValueError, match="there is no learner"):
        swept(tmp_path / "t", "learner=dqn,a2c")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"objective": "scores"}, "did you mean 'score'"),
        ({"objective": "coverage"}, "coverage needs features"),
        ({"trials": 0}, "trials must be"),
        ({"together": 0}, "together must be"),
        ({"draw": -1}, "draw must be"),
        ({"skils": 3}, "did you mean 'skills'"),
        ({"env": object()}, "env must be text"),
        ({"on": "rey"}, "did you mean 'ray'"),
        ({"on": "ray(cors=2)"}, "did you mean 'cores'"),
        ({"on": "slurm(minutes=0)"}, "minutes must be"),
        ({"jobs": 0}, "jobs must be"),
    ],
)
def test_a_sweep_is_refused_before_anything_is_trained(tmp_path, carried, how, message):
    with pytest.raises((ValueError, TypeError), match=message):
        swept(tmp_path / "s", **how)
    assert not carried


def test_published_forms_have_their_settings_but_for_what_is_swept(tmp_path, carried):
    plan = Plan(
        "method=metra,metra-published; ppo.discount=0.9,1.0",
        Settings(**BASE),
        set(BASE),
        tmp_path / "s",
        sampler="grid",
    )
    tasks, refused = plan._tasks({number: plan.sampled.ask(number) for number in range(4)}, ())
    assert not refused
    assert [task.settings.learner for _, _, task in tasks] == ["ppo", "ppo", "sac", "sac"]


def test_a_folder_has_one_sweep_at_a_time_and_no_leftovers(tmp_path, carried):
    out = tmp_path / "s"
    out.mkdir()
    (out / ".sweep.json.123").write_text("half")
    with owning(out), pytest.raises(AlreadyOwnedError, match="is being written by process"):
        swept(out)
    assert not carried
    swept(out)
    assert not (out / ".sweep.json.123").exists()


def test_the_folder_is_a_sweeps_from_its_first_trial_on(tmp_path, carried, monkeypatch):
    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        dying.setattr(sweeps, "carry_out", killed)
        with pytest.raises(KeyboardInterrupt):
            swept(tmp_path / "s")
    with pytest.raises(ValueError, match="holds another sweep"):
        swept(tmp_path / "s", "order=1,2")
    assert swept(tmp_path / "s").best.objective == 3.0


def test_a_record_that_is_large_is_read_and_one_that_is_a_link_is_not(tmp_path, carried):
    swept(tmp_path / "s")
    path = tmp_path / "s" / "sweep.json"
    written = json.loads(path.read_text())
    path.write_text(json.dumps({**written, "trials": written["trials"] * 6000}))
    assert path.stat().st_size > 2**22
    swept(tmp_path / "s")
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match="is a link"):
        swept(tmp_path / "s")


def test_a_trial_that_is_a_link_is_not_trained(tmp_path, carried):
    swept(tmp_path / "s", "seed=0,1")
    (folder, _) = sorted((tmp_path / "s").glob("trial-*"))
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    found = swept(tmp_path / "s", "seed=0,1")
    assert "is a link, and links in a folder are not followed" in found.trials[0].why
    assert [trial.number for trial in found.finished] == [1]


@pytest.mark.parametrize(
    ("change", "objective", "said"),
    [
        ({"vendi_score": None}, "score", "vendi_score must be a finite number"),
        ({"untrained": "x"}, "gain", "untrained must be a finite number"),
        ({"coverage": {"cells": [1, [2]]}}, "coverage", "coverage: cells must be"),
        ({"coverage": []}, "coverage", "coverage must have the cells of each seed"),
    ],
)
def test_a_summary_that_is_damaged_is_named(tmp_path, change, objective, said):
    summary = {"vendi_score": 3.0, "untrained": 1.0, "fraction_of_attainable": 0.5}
    (tmp_path / "summary.json").write_text(json.dumps({**summary, **change}))
    with pytest.raises(ValueError, match=f"summary.json says nothing of the objective {objective}: {said}"):
        objective_of(objective, tmp_path)
    with pytest.raises(ValueError, match="there are no metrics"):
        objective_of("area", tmp_path)


def test_the_page_shows_what_others_wrote_as_text(tmp_path, carried):
    found = swept(tmp_path / "s")
    hostile = "</title><img src=x onerror=alert(1)>\x1b[31m"
    trial = dataclasses.replace(
        found.trials[0], values={**found.trials[0].values, "ppo.discount": hostile}, why=hostile
    )
    worse = dataclasses.replace(
        found, trials=(dataclasses.replace(trial, objective=None), *found.trials[1:]), sampler=hostile
    )
    text = page(worse)
    assert "<img" not in text
    assert "\x1b" not in text
    assert "&lt;img src=x" in text
