"""`vendirl benchmark`, as a person meets it; what it does is tested in tests/boards."""

import pytest

from tests.boards.walks import MINI, save, walks
from vendirl.cli import main


def test_a_row_is_added_and_shown(tmp_path, capsys):
    path, out = str(save(tmp_path / "skills.npz", walks())), str(tmp_path / "board")
    asked = ["benchmark", "--suite", MINI.name, "--add", path, "--as", "theirs", "--world", "plane", "--out", out]
    assert main([*asked, "--seed", "3", "--settings", "lr 1"]) == 0
    printed = capsys.readouterr().out
    assert "theirs" in printed
    assert "(from outside)" in " ".join(printed.split())
    assert "index.html" in printed
    assert {path.name for path in (tmp_path / "board").iterdir()} >= {"index.html", "board.json", "board.csv"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--add", "x.npz", "--world", "plane"], "--add needs --as, the name of the method"),
        (["--add", "x.npz", "--as", "theirs"], "--add needs --world, where the skills act"),
        (["--add", "x.npz", "--as", "a", "--world", "plane", "--methods", "diayn"], "--methods is for training"),
        (["--world", "plane"], "--world says something of skills that are added, so it needs --add"),
        (["--suite", "mine"], "there is no suite 'mine'"),
    ],
)
def test_what_contradicts_itself_is_refused(tmp_path, capsys, arguments, message):
    assert main(["benchmark", "--out", str(tmp_path / "board"), *arguments]) == 2
    assert message in capsys.readouterr().err
