"""Help texts, as `--help` shows them."""

import dataclasses
import inspect
import re

import pytest

from vendirl.cli import COMMANDS, command_named


def parts(kind):
    """A command and the groups of its arguments, such as the settings of a learner."""
    yield kind
    for field in dataclasses.fields(kind):
        usual = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        if dataclasses.is_dataclass(usual):
            yield from parts(type(usual))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_argument_has_a_help_text_whose_sentences_are_not_broken(name):
    for kind in parts(command_named(name)):
        documents = [inspect.cleandoc(base.__doc__) for base in kind.__mro__ if base.__module__.startswith("vendirl")]
        told = {found for text in documents for found in re.findall(r"^    (\w+): .", text, re.MULTILINE)}
        asked = {field.name for field in dataclasses.fields(kind) if "Suppress" not in str(field.type)}
        assert not asked - told, f"{kind.__name__} says nothing of {asked - told}"
        # A line that continues another, and does not begin with a letter, begins a paragraph in what is printed.
        broken = [line for text in documents for line in text.splitlines() if re.match(r"        \s*[^\sA-Za-z]", line)]
        assert not broken, broken
