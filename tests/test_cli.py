"""The command line, as a person meets it."""

import json
import subprocess
import sys

import pytest

from vendirl.cli import main

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


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "cache"))


def test_train_writes_a_run_and_prints_the_score(tmp_path, capsys):
    assert main(["train", "--env", "point", "--similarity", "cosine", "--out", str(tmp_path / "x"), *QUICK]) == 0
    printed = capsys.readouterr().out
    summary = json.loads((tmp_path / "x" / "summary.json").read_text())
    assert f"{summary['vendi_score']:.3f}" in printed
    assert "attainable" in printed
    assert main(["train", "--out", str(tmp_path / "x"), "--resume"]) == 0  # already done: says the same again


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--skills", "0"], "skills must be"),
        (["--env", "pint"], "point"),
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
    for name in ("cosine", "covariance", "overlap", "point", "maze", "vendirl"):
        assert name in printed


def test_help_is_there_for_a_newcomer():
    done = subprocess.run(
        [sys.executable, "-m", "vendirl.cli", "train", "--help"], capture_output=True, text=True, check=True
    )
    assert "--similarity" in done.stdout
    assert "vendirl list" in done.stdout
