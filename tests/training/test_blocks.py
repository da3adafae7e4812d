"""A block of epochs is compiled as it should be."""

from tests.compiling import LEVEL
from vendirl.training import blocks


def test_the_level_of_optimisation_is_that_of_xla_flags_if_it_is_there(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", LEVEL)
    assert blocks.LEVEL not in blocks.compiler_options()
    monkeypatch.setenv("XLA_FLAGS", "")
    assert blocks.compiler_options()[blocks.LEVEL] == 2


def test_the_fixture_for_long_trainings_asks_for_the_usual_level(optimised):
    assert blocks.compiler_options()[blocks.LEVEL] == 2
