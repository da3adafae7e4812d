"""The command line, as a person meets it."""

import dataclasses
import json
import os
import re
import subprocess
import sys
import time

import numpy as np
import pytest

from vendirl.cli import main
from vendirl.cli.compare import Compare
from vendirl.cli.train import Train, folder_name, learned
from vendirl.clusters import comparing
from vendirl.training.folder import name_for
from vendirl.training.settings import Settings

QUICK = [
    "--skills",
    "3",
    "--scenes",
    "8",
    "--refill",
    "shared",
    "--steps",
    "4e3",
    "--hidden",
    "8",
    "--ppo.minibatches",
    "2",
]


def test_train_writes_a_run_and_prints_the_score(tmp_path, capsys):
    assert main(["train", "--env", "point", "--similarity", "cosine", "--out", str(tmp_path / "x"), *QUICK]) == 0
    printed = capsys.readouterr().out
    summary = json.loads((tmp_path / "x" / "summary.json").read_text())
    assert f"{summary['vendi_score']:.3f}" in printed
    assert "attainable" in printed
    assert f"Untrained skills score {summary['untrained']:.3f} (both without noise), so it " in printed
    assert f"4,000 steps and {summary['refill_steps']:,} to refill memories in" in printed
    assert main(["train", "--out", str(tmp_path / "x"), "--resume"]) == 0  # already done: says the same again


@pytest.mark.parametrize(
    ("score", "untrained", "seeds", "sentence"),
    [
        (5.5, 1.4, 1, "Untrained skills score 1.400 (both without noise), so it learned 4.10 effective skills more."),
        (1.4, 1.4, 1, "Untrained skills score 1.400 (both without noise), so it learned nothing that counts here."),
        (2.0, 2.5, 5, "without noise, in the median of 5 seeds), so it lost 0.50 effective skills in training."),
    ],
)
def test_one_sentence_says_whether_anything_was_learned(score, untrained, seeds, sentence):
    assert learned(score, untrained, seeds).endswith(sentence)


def test_skills_of_another_run_are_not_called_untrained():
    sentence = learned(3.9, 3.0, begun=True)
    assert sentence.startswith("The skills that it began with score 3.000 (both")
    assert sentence.endswith("so it learned 0.90 effective skills more.")


def test_a_run_that_is_terminated_saves_says_how_to_go_on_and_exits_cleanly(tmp_path):
    out = tmp_path / "x"
    command = [
        sys.executable,
        "-m",
        "vendirl.cli",
        "train",
        "--out",
        str(out),
        *QUICK,
        "--steps",
        "1e9",
        "--resume",
        "auto",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        while process.poll() is None and not (out / "metrics.jsonl").exists():
            time.sleep(0.02)
        process.terminate()
        _, said = process.communicate(timeout=120)
    assert process.returncode == 143
    line = r"vendirl: stopped at epoch (\d+) of \d+ and saved there. Go on with: vendirl train --resume --out .*x\n"
    rest = [said for said in said.splitlines(keepends=True) if not said.startswith("learning: ")]  # progress
    assert len(rest) == 1, rest
    epoch = re.fullmatch(line, rest[0])[1]
    assert (out / "checkpoints" / f"{epoch}.json").exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], False),
        (["--resume"], True),
        (["--resume", "auto"], "auto"),
        (["--resume=auto"], "auto"),
        (["--no-resume"], False),
    ],
)
def test_resume_stands_alone_or_before_auto(monkeypatch, arguments, expected):
    asked = []
    monkeypatch.setattr(Train, "run", lambda self: asked.append((self.resume, self.skills)))
    assert main(["train", *arguments, "--skills", "3"]) == 0
    assert asked == [(expected, 3)]


@pytest.mark.parametrize("seeds", [1, 2])
def test_train_names_the_files_that_it_wrote(tmp_path, capsys, seeds):
    out = tmp_path / "x"
    seeded = ["--seed", "3", "--seeds", str(seeds)]
    assert main(["train", "--similarity", "cosine", "--method", "random", "--out", str(out), *QUICK, *seeded]) == 0
    line = capsys.readouterr().out.strip().splitlines()[-1]
    shared, each = re.fullmatch(rf"saved in {re.escape(str(out))}: (.*?\.json), (.*)", line).groups()
    places = re.findall(r"seed-\d+", each)
    assert places == ([] if seeds == 1 else ["seed-3", "seed-4"])
    files = re.findall(r"\w+\.\w+", each)
    assert files == ["trajectories.npz", "untrained.npz", "figure.png"]
    assert (out / shared).is_file()
    for place in places or ["."]:
        for file in files:
            assert (out / place / file).is_file(), f"{place}/{file}"


LONG = " + ".join(f"0.1*mmd(scale={scale}).on(x, y)" for scale in range(1, 11))


def test_folders_of_long_settings_differ_and_have_short_names():
    first, second = (folder_name(Settings(similarity=LONG, seed=seed)) for seed in (0, 1))
    assert first != second
    assert max(len(first), len(second)) <= 80
    assert first[:60] == second[:60]  # what can be read of them is the same, so that cutting alone would not do
    assert re.fullmatch(r"[\w.=-]+", first)


def test_long_names_differ_where_texts_do_and_short_ones_stay():
    texts = [LONG, f"{LONG} ", f"{LONG}/", LONG[:-1]]
    names = [name_for(text) for text in texts]
    assert len(set(names)) == len(texts)
    assert max(map(len, names)) <= 80
    assert name_for("vendirl [mmd(scale=4)]") == "vendirl__mmd_scale=4"


def test_a_module_of_ones_own_makes_a_similarity_known(skills, tmp_path, capsys):
    lines = ["import jax.numpy as jnp", "import vendirl as vr", "", "", "@vr.similarity.moments(psd=True, order=1)"]
    lines += ["def my_pace(a, b, scale=1.0):", "    return jnp.exp(-scale * jnp.abs(a.mean[0] - b.mean[0]))", ""]
    (tmp_path / "my_module.py").write_text("\n".join(lines))
    asked = ["score", skills, "--similarity", "my_pace(scale=2)", "--json"]
    assert main(asked) == 2
    assert "there is no similarity 'my_pace'" in capsys.readouterr().err
    # -P: as the installed command, which does not look in the current folder either
    command = [sys.executable, "-P", "-m", "vendirl.cli", *asked, "--import", "my_module"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)[skills]["my_pace(scale=2)"]
    assert 3.9 < found["vendi_score"] <= 4  # four skills, nine apart


def test_a_program_from_the_cache_is_loaded_in_silence(tmp_path):
    """XLA's false alarm about processors is not shown; where it does not raise it this cannot fail. Only where a run is
    may be said, to whoever waits for long."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    for name in ("TF_CPP_MIN_LOG_LEVEL", "JAX_COMPILATION_CACHE_DIR"):
        environment.pop(name)
    for run in ("first", "second"):
        command = [sys.executable, "-m", "vendirl.cli", "train", "--out", str(tmp_path / run), *QUICK]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        assert [line for line in done.stderr.splitlines() if not line.startswith("learning: ")] == []
    assert list((tmp_path / "vendirl").rglob("*cache*"))


def test_nothing_is_imported_before_it_is_needed():
    program = "import sys, vendirl as vr; assert 'jax' not in sys.modules; vr.vendi_score; assert 'jax' in sys.modules"
    subprocess.run([sys.executable, "-c", f"{program}; assert 'vendirl.skills.policy' not in sys.modules"], check=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--skills", "0"], "skills must be"),
        (["--env", "pint"], "point"),
        (["--seed", "18446744073709551616"], "seed must be a whole number of at least 0 and at most 4294967295"),
        (["--similarity", "mdm"], "mmd"),
        (["--similarity", "mmd.on(7)"], "out of range"),
    ],
)
def test_mistakes_are_one_line_with_the_fix(tmp_path, capsys, arguments, message):
    assert main(["train", "--out", str(tmp_path / "x"), *QUICK, *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
    assert not (tmp_path / "x").exists()


def test_list_names_everything(capsys):
    assert main(["list"]) == 0
    printed = capsys.readouterr().out
    for name in ("cosine", "covariance", "overlap", "point", "maze", "vendirl", "diayn-sn", "metra"):
        assert name in printed


def test_help_is_there_for_a_newcomer():
    done = subprocess.run(
        [sys.executable, "-m", "vendirl.cli", "train", "--help"], capture_output=True, text=True, check=True
    )
    assert "--similarity" in done.stdout
    assert "vendirl list" in done.stdout


@pytest.fixture
def skills(tmp_path):
    """An npz file as any method could write it."""
    generator = np.random.default_rng(0)
    x = generator.normal(size=(8, 12, 2)) + 9 * np.repeat(np.arange(4), 2)[:, None, None]
    np.savez(tmp_path / "skills.npz", observations=x, skill=np.repeat(np.arange(4), 2))
    return str(tmp_path / "skills.npz")


def test_score_prints_a_table_and_json(skills, capsys):
    assert main(["score", skills, "--similarity", "overlap", "--similarity", "mmd(scale=4)"]) == 0
    printed = capsys.readouterr().out
    assert "Vendi Score" in printed
    assert "4 skills, 8 episodes" in printed
    assert main(["score", skills, "--similarity", "overlap", "--similarity", "mmd(scale=4)", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)[skills]
    assert set(found) == {"overlap", "mmd(scale=4)"}
    for result in found.values():
        wanted = {"vendi_score", "interval", "repetition", "limit", "null", "ceiling", "negative_mass", "profile"}
        assert wanted <= set(result)
        assert 1 <= result["vendi_score"] <= result["ceiling"] == 4


def test_score_of_two_files_shows_their_difference_and_of_one_it_does_not(skills, tmp_path, capsys):
    x = np.random.default_rng(0).normal(size=(8, 8, 3, 2))
    for name, apart in (("a", 1.0), ("b", 0.1)):
        every = (x + apart * np.arange(8)[:, None, None, None]).reshape(64, 3, 2)
        np.savez(tmp_path / f"{name}.npz", observations=every, skill=np.repeat(np.arange(8), 8))
    a, b = str(tmp_path / "a.npz"), str(tmp_path / "b.npz")
    assert main(["score", a, b, "--similarity", "mmd"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert f"{a} minus {b}" in printed
    assert "95% interval [" in printed
    assert "from the episodes of two sets" in printed
    assert main(["score", skills, "--similarity", "mmd"]) == 0
    assert "minus" not in capsys.readouterr().out


def test_score_says_what_cannot_be_decided_and_uses_the_similarity_of_a_run(skills, tmp_path, capsys):
    folder = tmp_path / "run"
    folder.mkdir()
    generator = np.random.default_rng(0)
    x = generator.normal(size=(6, 5, 2)) + 9 * np.repeat(np.arange(3), 2)[:, None, None]
    np.savez(folder / "trajectories.npz", observations=x, skill=np.repeat(np.arange(3), 2))
    (folder / "settings.json").write_text(json.dumps({"settings": {"similarity": "mmd(scale=4)"}}))
    for source in (folder, folder / "trajectories.npz"):
        assert main(["score", str(source), "--json"]) == 0
        assert set(json.loads(capsys.readouterr().out)[str(source)]) == {"mmd(scale=4)", "overlap"}
    (folder / "seed-3").mkdir()
    (folder / "trajectories.npz").rename(folder / "seed-3" / "trajectories.npz")
    for source in (folder, folder / "seed-3"):
        assert main(["score", str(source), "--json"]) == 0
        assert set(json.loads(capsys.readouterr().out)[str(folder / "seed-3")]) == {"mmd(scale=4)", "overlap"}
    assert main(["score", str(folder), "--similarity", "mmd"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "cannot be decided with so few episodes" in printed
    assert "at random" not in printed


def test_scoring_what_is_not_skill_data_is_one_line(tmp_path, capsys):
    (tmp_path / "x.npz").write_bytes(b"not an archive")
    for arguments in (["score", str(tmp_path / "x.npz")], ["score", str(tmp_path / "none.npz")], ["score"]):
        code = None
        try:
            code = main(arguments)
        except SystemExit as stop:  # tyro's own, for arguments that are missing
            code = stop.code
        assert code == 2
        error = capsys.readouterr().err
        assert "Traceback" not in error
        assert error


def test_report_writes_a_page(skills, tmp_path, capsys):
    assert main(["report", skills, "--similarity", "mmd", "--out", str(tmp_path / "r.html")]) == 0
    assert "wrote" in capsys.readouterr().out
    assert (tmp_path / "r.html").stat().st_size > 1e6


def test_compare_trains_scores_and_takes_up_what_is_there(tmp_path, capsys, without_ceiling):
    out = tmp_path / "cmp"
    arguments = ["compare", "--methods", "random,vendirl", "--similarities", "mmd(scale=4),cosine", "--skills", "3"]
    arguments += ["--seeds", "2", "--scenes", "8", "--steps", "3e3", "--out", str(out)]
    assert main(arguments) == 0
    printed, said = capsys.readouterr()
    assert "random" in printed
    assert "2 seeds, 2,800 steps each" in printed
    assert "beside these: 1,050 for vendirl [mmd(scale=4)], 1,050 for vendirl [cosine]" in printed
    assert said.count("3,000 steps are 7 epochs of 400 steps; fewer scenes") == 1
    table = json.loads((out / "comparison.json").read_text())
    assert table["methods"] == ["random", "vendirl [mmd(scale=4)]", "vendirl [cosine]"]
    assert np.shape(table["iqm"]) == (3, 2)
    assert len(table["scores"]["random"]["cosine"]) == 2
    text = (out / "report.html").read_text(encoding="utf-8")
    shown = json.loads(text.split('id="payload">')[1].split("</script>")[0])
    assert [group["name"] for group in shown["groups"]] == table["methods"]
    assert [len(group["sets"]) for group in shown["groups"]] == [2, 2, 2]  # every seed
    assert len(shown["sets"]) == 6
    assert all("learned" in group["learned"] or "lost" in group["learned"] for group in shown["groups"])
    kept = table["evaluations"]["random"][0]["results"]["cosine"]
    assert (kept["resamples"], kept["interval"]) == (0, None)  # nothing would be made of it
    before = {path: path.stat().st_mtime_ns for path in out.glob("*/summary.json")}
    assert len(before) == 3
    assert main(arguments) == 0  # all is done: nothing is trained again
    assert before == {path: path.stat().st_mtime_ns for path in out.glob("*/summary.json")}
    assert main([*arguments[:-1], str(out), "--steps", "8e3"]) == 2
    assert "other settings" in capsys.readouterr().err


def test_compare_takes_every_setting_of_train():
    theirs, ours = ({field.name: field for field in dataclasses.fields(kind)} for kind in (Train, Compare))
    assert set(theirs) - set(ours) == {"resume", "trust"}  # it goes on with what is there, if it was asked for the same
    for name in set(theirs) - {"resume", "trust", "method", "similarity", "out", "seeds", "steps"}:
        assert (ours[name].type, ours[name].default) == (theirs[name].type, theirs[name].default), name


def test_settings_of_compare_reach_the_contestants(tmp_path, monkeypatch):
    entered = []

    def train_all(entrants, out, progress, **how):
        entered.extend(entrants)
        raise ValueError("nothing is trained here")

    monkeypatch.setattr(comparing, "train_all", train_all)
    arguments = ["--methods", "random,vendirl", "--similarities", "cosine,overlap", "--learner", "sac(updates=2)"]
    arguments += ["--hidden", "8", "16", "--episode-length", "30", "--order", "2", "--no-time", "--sac.batch", "32"]
    assert main(["compare", "--out", str(tmp_path / "cmp"), "--scenes", "16", *arguments]) == 2
    assert [one.name for one in entered] == ["random", "vendirl [cosine]", "vendirl [overlap]"]
    for one in entered:
        settings = one.settings
        assert (settings.learner, settings.hidden, settings.scenes) == ("sac(updates=2)", (8, 16), 16)
        assert (settings.episode_length, settings.order, settings.time) == (30, 2.0, False)
        assert (settings.algorithm.name, settings.algorithm.updates, settings.algorithm.batch) == ("sac", 2, 32)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["--methods", "random,diyan"], "did you mean 'diayn'"),
        (["--similarities", "mdm"], "did you mean 'mmd'"),
        (["--methods", "random,random"], "named twice"),
        (["--learner", "dqn"], "there is no learner 'dqn'"),
    ],
)
def test_compare_refuses_before_it_trains(tmp_path, capsys, changes, message):
    assert main(["compare", "--out", str(tmp_path / "cmp"), *changes]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "cmp").exists()
