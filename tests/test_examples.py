"""The examples in the docstrings run and say what they say."""

import doctest
import importlib
import pkgutil

import pytest

import vendirl

MODULES = ["vendirl", *(module.name for module in pkgutil.walk_packages(vendirl.__path__, "vendirl."))]


@pytest.mark.parametrize("name", [name for name in MODULES if not name.endswith("__main__")])
def test_examples(name):
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        if (error.name or "").startswith("vendirl"):
            raise
        pytest.skip(f"needs {error.name}, which is optional")
    assert doctest.testmod(module, raise_on_error=False).failed == 0


def test_there_are_examples():
    found = doctest.DocTestFinder().find(vendirl.vendi_score)
    assert sum(len(test.examples) for test in found) > 1
