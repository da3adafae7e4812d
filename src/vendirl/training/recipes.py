"""The settings of a run that was not told everything: what was asked for, else what the release of a method's published
form says (`methods.published`), else what suits the body (`bodies`) or the task (`tasks`); and what a run says of it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

from vendirl._text import written
from vendirl.algorithms import Algorithm
from vendirl.methods import Method, Published, parse_method, terms
from vendirl.training import bodies, tasks
from vendirl.training.settings import Settings, learner_of


def published_form(method: object) -> Published | None:
    """The published form that a method, or the text of one, is or is a sum of; None if there is none, or if the text
    means nothing, which is refused elsewhere."""
    if isinstance(method, str):
        try:
            method = parse_method(method)
        except ValueError:
            return None
    found = [term for _, term in terms(method) if isinstance(term, Published)] if isinstance(method, Method) else []
    if any(term.recipe != found[0].recipe for term in found):
        names = ", ".join(term.name for term in found)
        raise ValueError(f"{names} were published with different learners, so that their forms cannot be added")
    return found[0] if found else None


def recommended(method: object, asked: Mapping[str, Any], given: Collection[str] | None = None) -> dict[str, Any]:
    """Settings that were asked for and, for those that were not, what the method's release says, if it has one, or what
    suits the environment.

    Args:
        method: the method, or its text.
        asked: settings by name; those of a learner as an object, or as a dictionary of some of them.
        given: which of them were given explicitly, such as "scenes" or "sac.updates"; all of them if None.
    """
    form, settings = published_form(method), dict(asked)
    env, learner = (asked.get(name, getattr(Settings(), name)) for name in ("env", "learner"))
    if isinstance(env, str):
        settings["env"] = env = bodies.world_of(env)
    defaults = {**_suits(method, env, learner), **(form.run_settings() if form else {})}
    for name, theirs in defaults.items():
        mine = asked.get(name)
        if isinstance(theirs, Algorithm):
            settings[name] = _with_explicit(theirs, mine, name, given)
        elif name not in asked or (given is not None and name not in given):
            settings[name] = theirs
    return settings


def _suits(method: object, env: object, learner: object) -> dict[str, Any]:
    """What suits an environment: the task that it sets, if that is all that is rewarded, or else its body."""
    if isinstance(method, str):
        try:
            method = parse_method(method)
        except ValueError:
            return {}
    if not isinstance(method, Method):
        return {}
    if method.name == "environment":
        return tasks.suits(env, learner)
    if not isinstance(env, str):
        return {}
    return bodies.suits(env, published_form(method) is None, method.space(2).discrete)


def _with_explicit(theirs: Algorithm, mine: Any, name: str, given: Collection[str] | None) -> Algorithm:
    """A release's learner with the settings that were given explicitly."""
    if mine is None:
        return theirs
    if isinstance(mine, Mapping):
        return learner_of(theirs, mine, name)
    fields = [field.name for field in dataclasses.fields(theirs)]
    asked = [field for field in fields if given is None or f"{name}.{field}" in given]
    return dataclasses.replace(theirs, **{field: getattr(mine, field) for field in asked})


def said_of_defaults(method: Method, settings: Settings, learner: Algorithm) -> str | None:
    """In one sentence, which settings a run has because they suit its environment; None if there are none."""
    usual, found = Settings(), []
    for name, theirs in _suits(method, settings.env, learner.name).items():
        if isinstance(theirs, Algorithm):
            found += _as_there(theirs, learner, getattr(usual, name)) if learner.name == theirs.name else []
        elif getattr(settings, name) == theirs != getattr(usual, name):
            found.append(f"{name}={written(theirs)}")
    body = bodies.body_of(settings.env.partition("(")[0].rstrip())
    if body is not None and body.world and bodies.world_of(settings.env) == settings.env:
        found.insert(0, f"env={settings.env}")
    what = "the task" if method.name == "environment" else f"a body {body.kind}" if body else ""
    return f"settings that suit {what}, where nothing else was asked for: {', '.join(found)}" if found else None


def _as_there(theirs: Algorithm, mine: Algorithm, usual: Algorithm) -> list[str]:
    """The settings of a learner that are as suits an environment, and not as usual."""
    names = [field.name for field in dataclasses.fields(theirs)]
    triples = [(name, *(_plain(getattr(x, name)) for x in (theirs, mine, usual))) for name in names]
    return [f"{theirs.name}.{name}={written(a)}" for name, a, b, c in triples if a == b != c]


def said_of_form(method: Method, settings: Settings, learner: Algorithm) -> str | None:
    """In one sentence, which release a run follows, how much narrower its networks are, and what it has otherwise."""
    form = published_form(method)
    if form is None:
        return None
    differences = []
    for name, theirs in form.run_settings().items():
        if isinstance(theirs, Algorithm):
            if learner.name == theirs.name:
                differences += _otherwise(theirs, learner, f"{name}.")
        elif name == "learner":
            differences += [f"learner={learner.name} ({theirs} there)"] if learner.name != theirs else []
        elif getattr(settings, name) != theirs:
            differences.append(f"{name}={written(getattr(settings, name))} ({written(theirs)} there)")
    plain: Any = type(form)(shrink=form.shrink)
    differences += _otherwise(plain, form, "")
    narrow = f", with networks {form.shrink} times narrower" if form.shrink > 1 else ""
    but = f", but for {', '.join(differences)}" if differences else ""
    return f"{form.name} follows {form.recipe.release}{narrow}{but}"


def _otherwise(theirs: Any, mine: Any, prefix: str) -> list[str]:
    """The fields of a dataclass that differ from the release's, with both values."""
    names = [field.name for field in dataclasses.fields(theirs)]
    pairs = [(name, _plain(getattr(mine, name)), _plain(getattr(theirs, name))) for name in names]
    return [f"{prefix}{name}={written(a)} ({written(b)} there)" for name, a, b in pairs if a != b]


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list | tuple) else value
