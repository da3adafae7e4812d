"""A module that has moved says where it is; a name that has left one is still found there, or says what to use."""

import importlib
import subprocess
import sys

import pytest

import vendirl as vr
from vendirl._moved import LEFT, MOVED, REPLACED, no_more
from vendirl.training.problem import build
from vendirl.training.settings import Settings


def run(code: str) -> str:
    """What a program prints that asks before anything else is imported."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("name", MOVED)
def test_a_module_that_moved_says_where_it_is_now(name):
    with pytest.raises(ModuleNotFoundError, match=f"vendirl.{name} is now vendirl.{MOVED[name]}$"):
        importlib.import_module(f"vendirl.{name}")
    importlib.import_module(f"vendirl.{MOVED[name]}")


def test_names_that_left_a_module_are_still_found_there():
    code = """
import importlib
from vendirl._moved import LEFT
for left, names in LEFT.items():
    for name, place in names.items():
        where, _, there = place.partition(":")
        old, new = (importlib.import_module(f"vendirl.{module}") for module in (left, where))
        assert name not in vars(old), f"{left}.{name} is there, and need not be looked for"
        assert getattr(old, name) is vars(new)[there], f"{left}.{name}"
from vendirl.training.run import train
from vendirl.score import PSD
print(train.__module__)
"""
    assert run(code) == "vendirl.training.driver\n"
    assert len(LEFT) > 5


def test_names_that_are_no_more_say_what_to_use():
    code = """
import importlib
from vendirl._moved import REPLACED
for left, names in REPLACED.items():
    module = importlib.import_module(f"vendirl.{left}")
    for name, use in names.items():
        try:
            exec(f"from vendirl.{left} import {name}")
        except ImportError as error:
            assert str(error) == f"vendirl.{left}.{name} is no more; use {use}", error
        else:
            raise AssertionError(f"{left}.{name} is there")
print(hasattr(module, "never_there"))
"""
    assert run(code) == "False\n"


def test_what_to_use_is_there():
    for names in REPLACED.values():
        for use in names.values():
            place = use.partition(",")[0].replace("vr.", "vendirl.")
            module, _, name = place.rpartition(".")
            if module != "jax.numpy":
                found = importlib.import_module(module)
                assert hasattr(found, name) or importlib.import_module(place), use


def test_members_that_are_no_more_say_what_to_use():
    settings = Settings(similarity="mmd(scale=4)", devices=1)
    _, loop = build(settings)
    said = {
        settings: {"build": "problem.build", "policy": "new_policy"},
        loop: {"scenes": "loop.problem.scenes", "learner": "loop.algorithm"},
        loop.method: {"resolve": r"bind\(problem\)", "whole": "whole_stretches", "skills": "problem.skills"},
        vr.methods.parse_method("2*random"): {"relabel": "reward"},
    }
    for thing, members in said.items():
        for name, use in members.items():
            with pytest.raises(AttributeError, match=rf"\.{name} is no more; use .*{use}"):
                getattr(thing, name)
        with pytest.raises(AttributeError, match="has no attribute 'never_there'"):
            getattr(thing, "never_there")  # noqa: B009


def test_an_error_within_a_property_stays_what_it_was():
    @no_more(old="new")
    class Thing:
        @property
        def new(self):
            return self.missing

    with pytest.raises(AttributeError, match="'missing'"):
        _ = Thing().new
    with pytest.raises(AttributeError, match=r"Thing.old is no more; use new"):
        _ = Thing().old
