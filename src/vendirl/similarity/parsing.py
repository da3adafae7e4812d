"""Similarities as text: names, and expressions such as "0.5*cosine + 0.5*covariance(scale=200)".

The text is parsed into a syntax tree of which only sums, products, numbers, and calls of known names are understood;
nothing in it is ever evaluated.
"""

from __future__ import annotations

import ast
import difflib
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from vendirl.similarity.algebra import Similarity

Factory = TypeVar("Factory", bound=Callable[..., Similarity])

_LONGEST = 2000  # characters; deeper nesting than this allows has no use
_GREATEST = 10**300
_known: dict[str, Callable[..., Similarity]] = {}


def register(name: str, factory: Factory) -> Factory:
    """Make a similarity known by name to `parse` and the command line."""
    if not name.isidentifier():
        raise ValueError(f"a similarity's name must be an identifier, but is {name!r}")
    _known[name] = factory
    return factory


def known() -> dict[str, Callable[..., Similarity]]:
    """The similarities that have a name."""
    return dict(sorted(_known.items()))


def parse(text: str) -> Similarity:
    """The similarity that a text describes.

    Grammar: `name`, `name(setting=value, ...)`, `k.on(features)`, `weight*k`, `k*k`, `k + k`, and brackets. Features
    are names, indices or a slice in quotes: `.on(x, y)`, `.on(0, 1)`, `.on('0:2')`.

    Example:
        >>> import vendirl as vr
        >>> print(vr.similarity.parse("0.5*cosine + 0.5*covariance(scale=200)"))
        0.5*cosine + 0.5*covariance(scale=200)
    """
    if not isinstance(text, str):
        raise TypeError(f"a similarity's description must be text, but is {type(text).__name__}")
    if len(text) > _LONGEST:
        raise ValueError(f"the description of a similarity has {len(text)} characters; at most {_LONGEST} are read")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        found = _similarity(tree)
    except SyntaxError as error:
        raise ValueError(f"cannot read the similarity {text!r}: {error.msg} at character {error.offset}") from None
    except (RecursionError, MemoryError):
        raise ValueError("cannot read the similarity: it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"cannot read the similarity {_short(text)!r}: {error}") from None
    if not isinstance(found, Similarity):
        raise ValueError(f"cannot read the similarity {_short(text)!r}: it is a number, not a similarity")
    return found


def _similarity(node: ast.expr) -> Similarity | float:
    """A similarity, or a number that may weigh one."""
    match node:
        case ast.Constant(value=bool()) | ast.Constant(value=str()):
            raise ValueError(f"{node.value!r} is not a similarity")
        case ast.Constant(value=int() | float()):
            return float(_value(node))
        case ast.Name(id=name):
            return _call(name, [], [])
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords):
            return _call(name, arguments, keywords)
        case ast.Call(func=ast.Attribute(value=inner, attr="on"), args=arguments, keywords=[]):
            k = _similarity(inner)
            if not isinstance(k, Similarity):
                raise ValueError(".on() applies to a similarity, not to a number")
            return _built(k.on, [_value(argument, names=True) for argument in arguments], {})
        case ast.BinOp(left=left, op=ast.Add() | ast.Mult() as operation, right=right):
            a, b = _similarity(left), _similarity(right)
            if not (isinstance(a, Similarity) and isinstance(b, Similarity)):
                if isinstance(operation, ast.Add):
                    raise ValueError("a number cannot be added to a similarity; write weight*similarity")
                if not isinstance(a, Similarity) and not isinstance(b, Similarity):
                    return a * b
            return a + b if isinstance(operation, ast.Add) else a * b  # type: ignore[operator]
        case ast.UnaryOp(op=ast.USub()):
            raise ValueError("weights must be positive")
        case ast.Call(func=ast.Attribute(attr="on")):
            raise ValueError(".on() takes features, such as .on(0, 1) or .on(x, y), and no settings")
        case ast.Call(func=ast.Attribute(attr=name)):
            raise ValueError(f"similarities have .on(features), but not .{name}()")
    raise ValueError(
        f"{_short(ast.unparse(node))!r} is not understood; write names, numbers, +, *, brackets, and .on(features)"
    )


def _call(name: str, arguments: list[ast.expr], keywords: list[ast.keyword]) -> Similarity:
    if name not in _known:
        near = difflib.get_close_matches(name, _known, 1, cutoff=0.4)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"there is no similarity {name!r}; {hint}Known are {', '.join(known())}")
    factory = _known[name]
    settings = list(inspect.signature(factory).parameters)
    if arguments:
        raise ValueError(f"{name} takes its settings by name, such as {name}({settings[0] if settings else ''}=...)")
    values: dict[str, Any] = {}
    for keyword in keywords:
        if keyword.arg is None or keyword.arg not in settings:
            near = difflib.get_close_matches(keyword.arg or "", settings, 1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise ValueError(f"{name} has no setting {keyword.arg!r}; {hint}It has {', '.join(settings) or 'none'}")
        if keyword.arg in values:
            raise ValueError(f"{name}: setting {keyword.arg!r} is given twice")
        values[keyword.arg] = _value(keyword.value)
    return _built(factory, [], values)


def _built(factory: Callable[..., Similarity], arguments: list, settings: dict) -> Similarity:
    try:
        return factory(*arguments, **settings)
    except TypeError as error:  # a setting of the wrong type, such as text for a number
        raise ValueError(str(error)) from None


def _value(node: ast.expr, names: bool = False) -> Any:
    """A number, text, truth value, None, or a list of such; bare names are text where `names` is allowed."""
    match node:
        case ast.Constant(value=int() as value) if not -_GREATEST < value < _GREATEST:
            raise ValueError("a number has too many digits")
        case ast.Constant(value=int() | float() | str() | None as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)) if not isinstance(
            value, bool
        ):
            return -value
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return [_value(element, names) for element in elements]
        case ast.Name(id=name) if names:
            return name
        case ast.Name(id="inf"):
            return float("inf")
    raise ValueError(f"{_short(ast.unparse(node))!r} is not a number, a text or a list")


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."
