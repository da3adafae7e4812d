"""Published forms of methods (`methods.published`) and the settings of a run: what their releases say, what was asked
for, and where the two differ."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

from vendirl._text import written
from vendirl.algorithms import Algorithm
from vendirl.methods import Method, Published, parse_method, terms
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


def as_published(method: object, asked: Mapping[str, Any], given: Collection[str] | None = None) -> dict[str, Any]:
    """Settings that were asked for and, for those that were not, what the method's release says, if it has one.

    Args:
        method: the method, or its text.
        asked: settings by name; those of a learner as an object, or as a dictionary of some of them.
        given: which of them were given explicitly, such as "scenes" or "sac.updates"; all of them if None.
    """
    form = published_form(method)
    if form is None:
        return dict(asked)
    settings = dict(asked)
    for name, theirs in form.run_settings().items():
        mine = asked.get(name)
        if isinstance(theirs, Algorithm):
            settings[name] = _with_explicit(theirs, mine, name, given)
        elif name not in asked or (given is not None and name not in given):
            settings[name] = theirs
    return settings


def _with_explicit(theirs: Algorithm, mine: Any, name: str, given: Collection[str] | None) -> Algorithm:
    """A release's learner with the settings that were given explicitly."""
    if mine is None:
        return theirs
    if isinstance(mine, Mapping):
        return learner_of(theirs, mine, name)
    fields = [field.name for field in dataclasses.fields(theirs)]
    asked = [field for field in fields if given is None or f"{name}.{field}" in given]
    return dataclasses.replace(theirs, **{field: getattr(mine, field) for field in asked})


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
