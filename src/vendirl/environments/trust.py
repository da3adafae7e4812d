"""Which environments may be built because a file names them.

The text of an environment in somebody's run is data, but building what it names may not be: a module is imported, and
what is imported runs. So there are three kinds of texts:

    built in      a world of this package, which may be built to draw its walls
    known         a name that this program registered itself, or a plain id of a suite, such as "envpool:Ant-v5", with
                  settings that are numbers; it runs what is installed for this purpose, and nothing that the text chose
    all others    "gymnasium:module:Name-v0", which imports the module; what another package offers by an entry point;
                  settings that are text, which could name a file or a module

What only reads builds nothing but what is built in. What acts, such as `vr.load`, builds what is known, and the others
only for those who say that they trust the folder.
"""

from __future__ import annotations

from typing import Any

from vendirl.environments.environment import Environment
from vendirl.environments.registry import offered, parse_environment, parse_text, registered


def built_in(text: Any) -> Environment | None:
    """The world of this package that a text names. Anything else gives None, and is neither imported nor built."""
    if not isinstance(text, str) or not _is_built_in(parse_text(text)[0]):
        return None
    world = parse_environment(text)
    return world if isinstance(world, Environment) else None


def refuse_untrusted(text: str, where: object, how: str) -> None:
    """Refuse to build an environment that is neither built in nor known, and say what that would run.

    Args:
        text: the environment.
        where: the file or folder that names it.
        how: what to do for those who trust it.
    """
    if (what := _danger(text)) is not None:
        raise ValueError(
            f"{where} names the environment {text!r}, and making it {what}; if you trust whoever made {where}, {how}"
        )


def _is_built_in(name: str) -> bool:
    factory = registered(name)
    return factory is not None and getattr(factory, "__module__", "").startswith("vendirl.environments.")


def _danger(text: str) -> str | None:
    """What making an environment would do beyond what is installed for it, in words; None if it would not."""
    name, settings = parse_text(text)
    if _is_built_in(name):
        return None
    _, _, id_ = name.partition(":")
    if ":" in id_:
        return f"would import the module {id_.rpartition(':')[0]!r}, which runs the code in it"
    if registered(name) is None and (value := offered(name)) is not None:
        return f"would import {value!r}, which an installed package offers by that name"
    words = [key for key, value in settings.items() if not _of_numbers(value)]
    if words:
        return f"would give it the setting {words[0]!r}, which is not a number and could name a file or a module"
    return None


def _of_numbers(value: Any) -> bool:
    """Whether a setting is a number, truth value or None, or a list of such."""
    if isinstance(value, list | tuple):
        return all(map(_of_numbers, value))
    return value is None or isinstance(value, int | float)
