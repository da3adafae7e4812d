"""What a report shows: from files and run folders to plain data and a page."""

import dataclasses
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import vendirl as vr
from vendirl.data import write_npz
from vendirl.evaluation.comparison import interval
from vendirl.show.comparison import table_of
from vendirl.show.report import payload, payload_of_methods, render, write_report
from vendirl.training.learned import learned

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
    curve = run["curve"]
    assert (curve["steps"], curve["scores"]) == ([0, 10, 20], [[1.0], [2.0], [3.0]])
    assert (curve["ceiling"], curve["similarity"]) == (3.997, "mmd(scale=4)")
    assert run["acted"] == "acting with noise"
    assert file["acted"] is None
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
    assert "3 seeds" in found["comparison"]["note"]
    assert found["groups"][0]["sets"] == [0, 1, 2]
    ((interval,),), ((scores,),) = found["comparison"]["intervals"], found["comparison"]["scores"]
    assert len(scores) == 3
    assert interval[0] <= np.mean(scores) <= interval[1]


def test_one_seed_has_no_interval_over_seeds(tmp_path):
    found = payload([fan(tmp_path / "a.npz"), fan(tmp_path / "b.npz", 1)], ["mmd"], **FEW)["comparison"]
    assert found["intervals"] == [[None], [None]]
    assert "no intervals" in found["note"]
    assert found["differences"][0].startswith(f"{tmp_path / 'a.npz'} minus {tmp_path / 'b.npz'}, mmd: ")
    table = vr.compare({"a": {"mmd": [3.0]}, "b": {"mmd": [2.0, 2.5]}})
    assert table.interval_of("a", "mmd") is None
    assert table.to_json()["intervals"][0] == [None]
    assert table.interval_of("b", "mmd") == tuple(table.to_json()["intervals"][1][0])
    for scores, words in (
        ([3.0], ["3.00 │", "one seed each"]),
        ([2.0, 2.5], ["2.25 [2.00, 2.50]", "95% intervals over"]),
    ):
        with (console := Console(width=120)).capture() as printed:
            console.print(table_of(vr.compare({"a": {"mmd": scores}}), "title"))
        assert all(word in " ".join(printed.get().split()) for word in words)


def test_it_is_said_that_few_seeds_have_too_narrow_intervals():
    draws = np.random.default_rng(0).normal(size=(200, 3))
    ends = [interval(scores, resamples=300, seed=i) for i, scores in enumerate(draws)]
    held = np.mean([low <= 0 <= high for low, high in ends])
    assert 0.6 < held < 0.85  # and not 95 %
    sets = [vr.evaluate(draws[None, :2, :, None] + 9, "mmd", resamples=0, measures=False) for _ in range(2)]
    note = payload_of_methods({"a": sets}, "title")["comparison"]["note"]
    assert note.endswith("With fewer than ten seeds bootstrap intervals are narrower than they say.")


def learned_run(folder, apart=5.0):
    """A run that kept its untrained skills, which are all alike, and its summary."""
    a_run(folder)
    x = np.random.default_rng(1).normal(size=(4, 10, 10, 2))
    for name, gap in (("untrained.npz", 0.0), ("trajectories.npz", apart)):
        write_npz(
            folder / name, vr.Trajectories.of(x + gap * np.arange(4)[:, None, None, None], terminated=[False] * 40)
        )
    summary = {"vendi_score": 3.9, "untrained": 1.1, "seeds": {"0": 3.9}}
    (folder / "summary.json").write_text(json.dumps(summary))
    return folder


def test_a_run_says_whether_it_learned_anything_and_what_it_scored_before(tmp_path):
    found = payload(
        learned_run(tmp_path / "run"), ["mmd(scale=4)", "cosine"], resamples=50, shuffles=20, measures=False
    )
    (group,), (shown,) = found["groups"], found["sets"]
    assert group["learned"] == learned(3.9, 1.1)
    mmd, cosine = shown["results"]
    untrained = vr.data.read_untrained(tmp_path / "run")
    assert mmd["untrained"] == pytest.approx(vr.effective_number(untrained, "mmd(scale=4)"), abs=1e-5)
    assert mmd["noise_free"] == 3.9
    assert cosine["noise_free"] is cosine["attainable"] is None  # it was not trained in that sense
    gap = group["differences"]["mmd(scale=4)"]
    assert gap["difference"] == pytest.approx(mmd["vendi_score"] - mmd["untrained"])
    assert shown["curve"]["note"] is None  # every episode went on to its end
    render(found)


def test_pages_of_runs_that_kept_nothing_of_it_still_work(tmp_path):
    folder = learned_run(tmp_path / "run")
    (folder / "summary.json").unlink()  # it is being trained
    (group,) = payload(folder, ["mmd"], **FEW, measures=False)["groups"]
    assert group["learned"] is None
    assert "mmd" in group["differences"]
    (folder / "untrained.npz").write_bytes(b"broken")
    with pytest.warns(UserWarning, match=r"untrained\.npz.* the page says nothing of untrained skills"):
        (group,) = payload(folder, ["mmd"], **FEW, measures=False)["groups"]
    (folder / "untrained.npz").unlink()  # it is old
    found = payload(folder, ["mmd"], **FEW, measures=False)
    assert found["groups"][0]["differences"] == {}
    assert "did not keep" in found["groups"][0]["untrained_note"]
    assert found["sets"][0]["results"][0]["untrained"] is None


def test_other_episodes_in_the_folder_of_a_run_are_not_taken_for_its_own(tmp_path):
    found = payload(learned_run(tmp_path / "run") / "untrained.npz", ["mmd(scale=4)"], **FEW, measures=False)
    assert found["groups"][0]["learned"] is None
    assert found["sets"][0]["curve"] is found["sets"][0]["results"][0]["noise_free"] is None
    assert found["sets"][0]["settings"]["skills"] == 4


def test_the_curve_says_where_its_episodes_are_not_as_they_were(tmp_path):
    folder = a_run(tmp_path / "run")
    data = vr.data.read(folder)
    for ended, said in ((None, True), (False, False), (True, True)):
        known = None if ended is None else np.array([ended] * len(data))
        write_npz(folder / "trajectories.npz", dataclasses.replace(data, terminated=known))
        note = payload(folder, ["mmd"], **FEW, measures=False)["sets"][0]["curve"]["note"]
        assert (note is not None) == said
    assert "another follows it in the same row" in note


def test_methods_that_were_evaluated_are_shown_with_all_their_seeds(tmp_path):
    for seed in range(2):
        learned_run(tmp_path / f"seed-{seed}")
    found = [vr.evaluate(tmp_path / f"seed-{s}", "mmd", resamples=0, shuffles=5, measures=False) for s in range(2)]
    shown = payload_of_methods({"ours": found, "theirs": found[:1]}, "Methods")
    assert [group["name"] for group in shown["groups"]] == ["ours", "theirs"]
    assert [group["sets"] for group in shown["groups"]] == [[0, 1], [2]]
    assert [s["name"].rsplit("/", 1)[1] for s in shown["sets"]] == ["seed-0", "seed-1", "seed-0"]
    assert shown["comparison"]["intervals"][1] == [None]
    assert shown["groups"][0]["differences"]["mmd"]["scores"][0] == pytest.approx(found[0]["mmd"].vendi_score)
    render(shown)


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
