"""What a command prints of files and arguments is shown as it is: it is neither markup nor an order to the terminal."""

from __future__ import annotations

import io
import json
import warnings

import numpy as np
import pytest
from rich.console import Console

import vendirl as vr
from vendirl._text import printable, verbatim
from vendirl.cli import main
from vendirl.evaluation.comparison import Comparison
from vendirl.show.comparison import table_of
from vendirl.training.progress import progress_bar

MARKED = ["run[red]x", "[/x]", "a:smile:b", "[link=file:///x]y", "end\\"]
NAMES = [*MARKED, "\x1b[31mred", "\x9b31m", "two\nlines", "\u202eleft"]


@pytest.mark.parametrize("name", NAMES)
def test_text_is_printed_as_it_is(name):
    page = io.StringIO()
    Console(file=page, force_terminal=True, width=200).print(verbatim(name))
    assert page.getvalue() == printable(name) + "\n"
    assert printable(name).isprintable()
    assert (printable(name) == name) == name.isprintable()


@pytest.mark.parametrize("name", NAMES)
def test_paths_are_announced_as_they_are(tmp_path, capsys, name):
    folder = tmp_path / name.replace("/", "|")
    folder.mkdir()
    path = folder / "trajectories.npz"
    np.savez(path, observations=np.random.default_rng(0).normal(size=(4, 5, 2)), skill=[0, 0, 1, 1])
    assert main(["score", str(folder), "--similarity", "mmd", "--resamples", "2", "--shuffles", "2"]) == 0
    told = capsys.readouterr().out
    assert told.startswith(printable(folder) + ": Vendi Score of 2 skills")
    path.write_bytes(b"PK")
    assert main(["score", str(folder)]) == 2
    told = capsys.readouterr().err
    assert "\x1b" not in told
    assert told.startswith("vendirl: ")


def test_what_an_error_quotes_of_a_file_is_no_order_to_the_terminal(tmp_path, capsys):
    settings = {"env": "gymnasium:\x1b[31mX", "similarity": "mmd", "x\x1b]0;title\x07": 1}
    (tmp_path / "settings.json").write_text(json.dumps({"settings": settings}))
    assert main(["video", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert all(c.isprintable() or c == "\n" for c in told)


def test_films_do_not_go_where_a_link_in_the_folder_leads(tmp_path, capsys):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "videos").symlink_to(tmp_path)
    assert main(["video", str(tmp_path / "run")]) == 2
    assert "videos is a link, and links in a folder are not followed" in capsys.readouterr().err


def test_labels_of_skills_in_a_score_are_no_order_to_the_terminal():
    walks = np.random.default_rng(0).normal(size=(2, 5, 3))
    found = vr.evaluate(vr.data.Trajectories.of(walks, skill=["\x1b[2J", "b"]), "mmd", measures=False, shuffles=2)
    assert r"skill \x1b[2J has" in str(found)
    assert "\x1b" not in repr(found)


def test_names_in_a_comparison_are_no_markup():
    scores = {name: {"mmd[/x]": np.ones(2)} for name in ("[/x]", "b\x1b[1m")}
    table = Comparison(
        tuple(scores), ("mmd[/x]",), scores, np.ones((2, 1)), np.ones((2, 1, 2)), np.ones((2, 2, 1)), 0.95
    )
    page = io.StringIO()
    Console(file=page, width=200).print(table_of(table, "a [/title]"))
    for text in ("a [/title]", "mmd[/x]", "[/x]", "b\\x1b[1m", "1.00 [1.00, 1.00]"):
        assert text in page.getvalue()


def test_labels_of_progress_are_no_markup(monkeypatch):
    bar = progress_bar("[/x] \x1b[31m")
    bar.console = Console(file=io.StringIO(), force_terminal=True, width=120)
    bar.__enter__()
    bar.__exit__()
    assert "[/x] \\x1b[31m" in bar.console.file.getvalue()


def test_warnings_are_one_line_without_orders_to_the_terminal(monkeypatch, capsys):
    def warn(self):
        print(warnings.formatwarning("a\x1b[31mb", UserWarning, "file.py", 1), end="")

    monkeypatch.setattr("vendirl.cli.listing.List.run", warn)
    before = warnings.formatwarning
    assert main(["list"]) == 0
    assert capsys.readouterr().out == "vendirl: warning: a\\x1b[31mb\n"
    assert warnings.formatwarning is before
