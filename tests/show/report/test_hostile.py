"""A report on a stranger's run: nothing is imported or built, no other file gets into the page, nothing hangs."""

from __future__ import annotations

import json
import os
import sys

import numpy as np
import pytest

import vendirl as vr
from vendirl.cli import main
from vendirl.show.report import of_run, payload, write_report

FEW = {"resamples": 2, "shuffles": 2, "measures": False}
EVIL = "gymnasium:evil_module:X-v0"


@pytest.fixture
def stranger(tmp_path, monkeypatch):
    """A run whose settings name a module that says so if it is imported, and that can be."""
    (tmp_path / "evil_module.py").write_text("import pathlib\npathlib.Path(__file__).with_name('ran').touch()\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "run"
    folder.mkdir()
    settings = vr.Settings(similarity="mmd(scale=4)", skills=2, env=EVIL).to_json()
    (folder / "settings.json").write_text(json.dumps({"settings": settings, "versions": {}}))
    (folder / "metrics.jsonl").write_text(json.dumps({"env_steps": 1, "vendi_score": 1.5}) + "\n")
    (folder / "attainable.json").write_text(json.dumps({"score": 1.9, "method": "ascent"}))
    x = np.random.default_rng(0).normal(size=(4, 5, 2))
    np.savez(folder / "trajectories.npz", observations=x, skill=[0, 0, 1, 1])
    yield folder
    assert "evil_module" not in sys.modules
    assert not (tmp_path / "ran").exists()


def test_what_only_reads_imports_nothing_that_a_file_names(stranger, capsys):
    (found,) = payload(stranger, **FEW)["sets"]
    assert found["world"] is None
    assert found["settings"]["env"] == EVIL
    write_report(stranger, stranger / "report.html", **FEW)
    assert main(["score", str(stranger), "--resamples", "2", "--shuffles", "2"]) == 0
    assert main(["list"]) == 0
    vr.evaluate(stranger, "mmd", **FEW)
    assert vr.data.read(stranger).n == 2


@pytest.mark.parametrize("depth", [30, 900, 960, 980])
def test_settings_that_are_nested_deeply_are_not_shown(stranger, depth):
    """They could be read, and ended the report in a RecursionError when they were written."""
    settings = json.loads((stranger / "settings.json").read_text())["settings"]
    text = json.dumps({"settings": settings}).replace('"env"', f'"deep": {"[" * depth + "]" * depth}, "env"')
    (stranger / "settings.json").write_text(text)
    assert of_run.run_of(str(stranger)) is None


def test_metrics_that_are_no_rows_are_not_read_to_their_end(stranger, monkeypatch):
    read = []
    usual = json.loads
    monkeypatch.setattr(of_run.json, "loads", lambda text, **how: read.append(text) or usual(text, **how))
    (stranger / "metrics.jsonl").write_text("1\n" * 1000)
    run, data = of_run.run_of(str(stranger)), vr.data.read(stranger)
    read.clear()
    assert of_run.curve_of(run, None, data) is None
    assert len(read) == 1


def test_a_page_about_a_file_whose_name_is_no_text_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr("vendirl.show.report.payload", lambda *_, **__: {"title": "odd \udcff"})
    monkeypatch.setattr("vendirl.show.report.render", lambda payload: payload["title"])
    assert write_report([], tmp_path / "page.html").read_bytes() == b"odd ?"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_what_acts_asks_for_trust_and_says_what_it_would_import(stranger, capsys):
    said = r"names the environment 'gymnasium:evil_module:X-v0', and making it would import the module 'evil_module'"
    with pytest.raises(ValueError, match=f"{said}.*trust=True"):
        vr.load(stranger)
    for command in (["video", str(stranger)], ["train", "--resume", "--out", str(stranger)]):
        assert main(command) == 2
        told = capsys.readouterr().err
        assert "would import the module 'evil_module'" in told
        assert "--trust" in told


def test_an_unfinished_run_is_scored_by_those_who_trust_it(stranger, capsys):
    """Its skills have to act, so that its environment is made, as `vr.load` makes it."""
    (stranger / "trajectories.npz").unlink()
    with pytest.raises(ValueError, match="would import the module 'evil_module'"):
        payload(stranger, **FEW)
    for command in ("score", "report"):
        assert main([command, str(stranger)]) == 2
        assert "would import the module 'evil_module'" in capsys.readouterr().err
    with pytest.raises(ValueError, match="no trajectories yet"):
        vr.data.read(stranger)  # which never makes anything


def test_trust_builds_what_a_run_names(stranger, capsys):
    (stranger.parent / "evil_module.py").write_text("raise ValueError('it was imported')\n")
    with pytest.raises(ValueError, match="it was imported"):
        vr.load(stranger, trust=True)
    assert main(["video", str(stranger), "--trust"]) == 2
    assert main(["train", "--resume", "--out", str(stranger), "--trust"]) == 2
    assert capsys.readouterr().err.count("it was imported") == 2


def test_a_film_that_is_a_link_does_not_get_into_the_page(stranger):
    (stranger.parent / "secret").write_text("secret")
    (stranger / "videos").mkdir()
    (stranger / "videos" / "skill-0.mp4").symlink_to(stranger.parent / "secret")
    with pytest.raises(ValueError, match=r"skill-0\.mp4 is a link, and links in a folder are not followed"):
        payload(stranger, **FEW)
    (stranger / "videos" / "skill-0.mp4").unlink()
    (stranger / "videos").rmdir()
    (stranger.parent / "films").mkdir()
    (stranger.parent / "films" / "skill-0.mp4").write_text("secret")
    (stranger / "videos").symlink_to(stranger.parent / "films")
    with pytest.raises(ValueError, match="videos is a link"):
        payload(stranger, **FEW)


def test_a_film_that_is_a_pipe_does_not_hang(stranger):
    (stranger / "videos").mkdir()
    os.mkfifo(stranger / "videos" / "skill-0.mp4")
    with pytest.raises(ValueError, match=r"skill-0\.mp4 is a pipe"):
        payload(stranger, **FEW)


def test_films_beyond_the_limit_are_left_out_and_it_is_said(stranger, monkeypatch):
    monkeypatch.setattr(of_run, "VIDEO_BYTES", 2_000_000)
    (stranger / "videos").mkdir()
    for i, size in enumerate((1_500_000, 600_000)):
        (stranger / "videos" / f"skill-{i}.mp4").write_bytes(bytes(size))
    with pytest.warns(UserWarning, match="the page holds 1 of the films in .* more than 2 MB"):
        (found,) = payload(stranger, **FEW)["sets"]
    assert [film["skill"] for film in found["videos"]] == [0]


@pytest.mark.parametrize("name", ["metrics.jsonl", "attainable.json", "settings.json"])
@pytest.mark.parametrize("kind", ["pipe", "/dev/zero", "secret"])
def test_files_of_a_run_that_are_no_files_are_left_out(stranger, name, kind):
    secret = stranger.parent / "secret"
    secret.write_text((stranger / name).read_text())
    (stranger / name).unlink()
    if kind == "pipe":
        os.mkfifo(stranger / name)
    else:
        (stranger / name).symlink_to(secret if kind == "secret" else kind)
    (found,) = payload(stranger, "mmd(scale=4)", **FEW)["sets"]
    assert (found["settings"] is None) == (name == "settings.json")
    assert (found["curve"] is None) == (name != "attainable.json")
    assert (found["results"][0]["attainable"] is None) == (name != "metrics.jsonl")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("metrics.jsonl", '{"env_steps": Infinity, "vendi_score": 1}'),
        ("metrics.jsonl", '{"env_steps": 1, "vendi_score": NaN}'),
        ("metrics.jsonl", '{"env_steps": 1, "vendi_score": [[1]]}'),
        ("metrics.jsonl", '{"env_steps": 1, "vendi_score": [1]}\n{"env_steps": 2, "vendi_score": [1, 2]}'),
        ("metrics.jsonl", "[" * 100_000),
        ("metrics.jsonl", "[]"),
        ("attainable.json", '{"score": NaN, "method": "ascent"}'),
        ("attainable.json", '{"score": "<b>", "method": "ascent"}'),
        ("attainable.json", '{"score": -1, "method": "ascent"}'),
        ("attainable.json", '{"score": 1e300, "method": "ascent"}'),
        ("attainable.json", "[" * 100_000),
        ("settings.json", "[" * 100_000),
        ("settings.json", '{"settings": {"similarity": "mmd", "env": "point(start=(1' + "0" * 400 + ', 0))"}}'),
        ("settings.json", '{"settings": {"similarity": "mmd", "env": {"point": 1}}}'),
        ("settings.json", '{"settings": {"similarity": "mmd"}}'),
        ("settings.json", "\xff"),
    ],
)
def test_what_cannot_be_shown_is_left_out(stranger, name, text):
    (stranger / name).write_text(text, encoding="latin-1")
    (found,) = payload(stranger, "mmd(scale=4)", **FEW)["sets"]
    assert found["world"] is None
    assert (found["curve"] is None) == (name == "metrics.jsonl" or (name == "settings.json" and text[0] != "{"))
    assert (found["results"][0]["attainable"] is None) == (name != "metrics.jsonl")
