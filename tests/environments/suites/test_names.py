"""Environments by name: those of other packages, and what the command line tells about one."""

import importlib
import importlib.metadata

import numpy as np
import pytest

from vendirl import environments
from vendirl.cli import main
from vendirl.environments import Maze, parse_environment
from vendirl.show import figures


def offered(group):
    assert group == "vendirl.environments"
    return [importlib.metadata.EntryPoint("labyrinth", "vendirl.environments:Maze", group)]


def test_packages_offer_environments_by_entry_points(monkeypatch):
    monkeypatch.setattr(importlib.metadata, "entry_points", offered)
    assert environments.names()[-1] == "labyrinth"
    assert isinstance(parse_environment("labyrinth(noise=0.1)"), Maze)
    assert environments.describe("labyrinth") == "from vendirl.environments:Maze"  # it is not imported for that
    with pytest.raises(ValueError, match="Did you mean 'labyrinth'"):
        parse_environment("labyrint")


def test_the_command_line_tells_features_and_actions(capsys):
    assert main(["list", "--env", "point(episode_length=30)"]) == 0
    told = " ".join(capsys.readouterr().out.split())  # without the line ends of a narrow terminal
    assert "has episodes of 30 steps. An action is a vector of 2 numbers." in told
    assert "x, y" in told
    assert main(["list", "--env", "pont"]) == 2
    assert "Did you mean 'point'" in capsys.readouterr().err


def test_suites_are_told_whichever_of_them_are_imported(capsys):
    importlib.import_module("vendirl.environments.suites.bodies")
    assert list(environments.known_suites()) == ["envpool", "gymnasium", "playground", "brax"]
    assert main(["list"]) == 0
    told = capsys.readouterr().out
    assert all(f"{suite}:..." in told for suite in environments.known_suites())


def test_bodies_are_drawn_from_above_or_by_time():
    points = np.arange(2 * 1 * 4 * 3.0).reshape(2, 1, 4, 3)
    shown, axes, names = figures.view(points, ("height", "x", "y"))
    assert axes == (1, 2)
    assert names == ("x", "y")
    shown, axes, names = figures.view(points, ("height", "x", "pitch"))
    assert shown[0, 0, :, axes[0]].tolist() == [1, 2, 3, 4]
    assert shown[0, 0, :, axes[1]].tolist() == points[0, 0, :, 1].tolist()
    assert names == ("step", "x")
    shown, axes, names = figures.view(points[..., :1], ("speed",))
    assert names == ("step", "speed")
    assert figures.view(points[..., :2], ("x", "y"))[1:] == ((0, 1), None)
