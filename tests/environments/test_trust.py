"""What may be built because a file names it: point worlds and known names, and the rest only with trust."""

from __future__ import annotations

import importlib.metadata
import time

import pytest

from vendirl.environments import Maze, built_in, parse_environment, refuse_untrusted, register
from vendirl.environments.registry import describe

SAFE = [
    "point",
    " maze(noise=0.1, start=(0.1, 0.1)) ",
    "envpool:HalfCheetah-v5(episode_length=100)",
    "gymnasium:Ant-v5(healthy_z_range=[0.2, 1.0], terminate_when_unhealthy=False)",
    "gymnasium:ALE/Pong-v5",
    "playground:CheetahRun",
    "brax:ant",
    "object:Line",
    "nothing-of-this-name",
]


@pytest.mark.parametrize("text", SAFE)
def test_plain_names_need_no_trust(text):
    refuse_untrusted(text, "a folder", "say so")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("gymnasium:evilmod:X-v0", "would import the module 'evilmod'"),
        ("gymnasium:a.b.c:X-v0(episode_length=3)", "would import the module 'a.b.c'"),
        ("gymnasium:a:b:X-v0", "would import the module 'a:b'"),
        ("gymnasium:Ant-v5(xml_file='/etc/x.xml')", "the setting 'xml_file', which is not a number"),
        ("gymnasium:Ant-v5(a=[1, ['x']])", "the setting 'a', which is not a number"),
        ("brax:ant(backend={'a': 1})", "the setting 'backend', which is not a number"),
    ],
)
def test_modules_and_text_need_trust(text, what):
    with pytest.raises(ValueError, match=r"a folder names the environment .*; if you trust whoever made") as refusal:
        refuse_untrusted(text, "a folder", "say so")
    assert what in str(refusal.value)
    assert str(refusal.value).endswith("say so")
    assert built_in(text) is None


def test_entry_points_need_trust_and_are_not_imported_to_describe_them(monkeypatch):
    point = importlib.metadata.EntryPoint("evil", "module_that_is_not_there:X", "vendirl.environments")
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [point])
    with pytest.raises(ValueError, match="would import 'module_that_is_not_there:X'"):
        refuse_untrusted("evil(noise=1)", "a folder", "say so")
    assert describe("evil") == "from module_that_is_not_there:X"
    assert built_in("evil") is None


def test_only_point_worlds_are_built_in(monkeypatch):
    assert isinstance(built_in("maze(noise=0.1)"), Maze)
    monkeypatch.setattr("vendirl.environments.registry._registry", {})
    register("mine", lambda: pytest.fail("it was built"), "one of this program's own")
    assert built_in("mine") is None
    assert built_in("point") is None
    assert built_in(["point"]) is None
    refuse_untrusted("mine", "a folder", "say so")
    with pytest.raises(ValueError, match="the setting 'file'"):
        refuse_untrusted("mine(file='x')", "a folder", "say so")


def test_a_world_of_another_file_here_is_built_in_too(monkeypatch):
    monkeypatch.setattr("vendirl.environments.registry._registry", {})
    monkeypatch.setattr(Maze, "__module__", "vendirl.environments.maze")
    register("labyrinth", "vendirl.environments.point:Maze", "said by its place")
    assert isinstance(built_in("labyrinth"), Maze)
    monkeypatch.setattr(Maze, "__module__", "vendirl_environments.maze")
    assert built_in("labyrinth") is None


def test_what_is_registered_by_its_place_is_imported_when_it_is_made(monkeypatch):
    monkeypatch.setattr("vendirl.environments.registry._registry", {})
    register("later", "module_that_is_not_there:World", "a world that comes later")
    assert describe("later") == "a world that comes later"
    with pytest.raises(ModuleNotFoundError, match="module_that_is_not_there"):
        parse_environment("later")
    register("now", "vendirl.environments.point:Maze", "a maze")
    assert parse_environment("now(noise=0.25)").noise == 0.25


@pytest.mark.parametrize("text", ["point" + " " * 32_000 + "x", "a" * 32_000 + " x", "(" * 1999, "point(a=1,,)"])
def test_long_texts_are_refused_at_once(text):
    start = time.perf_counter()
    with pytest.raises(ValueError, match=r"There is no environment|must be a text of at most"):
        parse_environment(text)
    assert time.perf_counter() - start < 1
