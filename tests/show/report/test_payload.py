"""What a report shows: from files and run folders to plain data and a page."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import vendirl as vr
from vendirl.data import write_npz
from vendirl.show.report import payload, render, write_report

FEW = {"resamples": 5, "shuffles": 5}


def fan(path, seed=0, episodes=3, T=10, D=2):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(4, episodes, T, D)) + 5 * np.arange(4)[:, None, None, None]
    return write_npz(path, vr.Trajectories.of(x))


def a_run(folder, seed=0):
    """A folder such as a finished run leaves, without training."""
    folder.mkdir()
    settings = vr.Settings(similarity="mmd(scale=4)", skills=4, seed=seed).to_json()
    (folder / "settings.json").write_text(json.dumps({"settings": settings, "versions": {}}))
    rows = [{"env_steps": 10 * i, "vendi_score": 1.0 + i} for i in range(3)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "attainable.json").write_text(json.dumps({"score": 3.997, "method": "ascent"}))
    fan(folder / "trajectories.npz", seed)
    return folder


def test_a_file_and_a_run(tmp_path):
    found = payload([a_run(tmp_path / "run"), fan(tmp_path / "x.npz")], **FEW)
    run, file = found["sets"]
    assert [r["similarity"] for r in run["results"]] == ["mmd(scale=4)", "overlap"]
    assert run["results"][0]["attainable"] == 3.997
    assert run["results"][1]["attainable"] is None
    assert run["curve"] == {"steps": [0, 10, 20], "scores": [[1.0], [2.0], [3.0]], "ceiling": 3.997}
    assert run["world"]["bounds"] is not None
    assert run["settings"]["skills"] == 4
    assert file["curve"] is file["settings"] is file["world"] is None
    assert len(file["episodes"]) == 12
    assert np.shape(file["episodes"][0]["points"]) == (10, 2)
    assert found["comparison"]["methods"][1] == str(tmp_path / "x.npz")
    json.dumps(found, allow_nan=False)
    assert "</html>" in render(found)


def test_seeds_of_a_run_are_shown_one_by_one_and_compared_together(tmp_path):
    folder = a_run(tmp_path / "run")
    (folder / "trajectories.npz").unlink()
    for seed in range(3):
        (folder / f"seed-{seed}").mkdir()
        fan(folder / f"seed-{seed}" / "trajectories.npz", seed)
    found = payload([folder], ["mmd"], **FEW)
    assert [s["name"].rsplit("/", 1)[1] for s in found["sets"]] == ["seed-0", "seed-1", "seed-2"]
    assert len(found["comparison"]["methods"]) == 1
    assert "3 seed" in found["comparison"]["note"]


def test_large_sets_are_thinned_and_say_so(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules["vendirl.show.report.payload"], "POINTS", 60)  # the function hides its module
    found = payload([fan(tmp_path / "x.npz", episodes=4, T=40)], ["mmd"], **FEW)["sets"][0]
    drawn = sum(len(e["points"]) for e in found["episodes"])
    assert drawn <= 120
    assert "of 16 episodes" in found["thinned"]


def test_damaged_extras_of_a_run_are_left_out_not_fatal(tmp_path):
    folder = a_run(tmp_path / "run")
    (folder / "metrics.jsonl").write_text("{broken")
    (folder / "attainable.json").write_text("[]")
    found = payload([folder], ["mmd"], **FEW)["sets"][0]
    assert found["curve"] is None
    assert found["results"][0]["attainable"] is None


@pytest.mark.parametrize("kind", [str, Path])
def test_one_source_is_one_source_not_its_letters(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    fan(tmp_path / "one.npz")
    assert [s["name"] for s in payload(kind("one.npz"), "mmd", **FEW)["sets"]] == ["one.npz"]
    assert vr.write_report(kind("one.npz"), similarities="mmd", **FEW) == Path("report.html")
    assert "one.npz" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_report_is_written_whole_or_not_at_all(tmp_path):
    file = fan(tmp_path / "x.npz")
    out = write_report([file], tmp_path / "new" / "report.html", ["mmd"], **FEW)
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>") or "<html" in out.read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="is a folder; name a file"):
        write_report([file], tmp_path, ["mmd"], **FEW)
    with pytest.raises(ValueError, match="no similarity"):
        write_report([file], tmp_path / "bad.html", ["nothing"], **FEW)
    assert not (tmp_path / "bad.html").exists()
