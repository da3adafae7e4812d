"""Expressions as text: names with settings, sums, products and chosen features. Nothing in them is ever evaluated.

Similarities ("0.5*cosine + 0.5*covariance(scale=200)") and methods ("metra + 0.1*environment") are written alike:
the text is parsed into a syntax tree of which only sums, products, numbers, and calls of known names are understood.
"""

from __future__ import annotations

import ast
import dataclasses
import html
import inspect
import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeGuard, TypeVar, runtime_checkable

import jax
import numpy as np

from vendirl._checks import as_float, check_settings, nearest, shown, some_of

if TYPE_CHECKING:
    from rich.text import Text

T = TypeVar("T")
Factory = TypeVar("Factory", bound=Callable[..., Any])

_MOST = 100  # sums and products in one expression
_LONGEST = 2000  # characters; deeper nesting than this allows has no use


@runtime_checkable
class Choosing(Protocol):
    """What can be restricted to chosen features."""

    def on(self, *features: Any) -> Any: ...


class Expressions(Generic[T]):
    """A small language of known names.

    Args:
        noun: what its expressions are called in messages.
        kind: the type of what they mean, which may add, multiply by numbers, and have `.on(features)`.
        positional: whether names take settings by place too, `tolerance(x_velocity, 4, inf)`; bare names among them are
            text, such as the names of features.
    """

    def __init__(self, noun: str, kind: type, positional: bool = False):
        self.noun = noun
        self.kind = kind
        self.positional = positional
        self._known: dict[str, Callable[..., T]] = {}

    def register(self, name: str, factory: Factory) -> Factory:
        """Make a name known; `factory(**settings)` is what it means."""
        if not name.replace("-", "_").isidentifier():
            raise ValueError(f"a {self.noun}'s name must be an identifier, but is {name!r}")
        self._known[name] = factory
        return factory

    def _is_one(self, x: Any) -> TypeGuard[T]:
        return isinstance(x, self.kind)

    def known(self) -> dict[str, Callable[..., T]]:
        """What has a name."""
        return dict(sorted(self._known.items()))

    def parse(self, text: str | Any, usual: Callable[[str], T | None] = lambda name: None) -> T:
        """What a text means.

        Grammar: `name`, `name(setting=value, ...)`, `k.on(features)`, `weight*k`, `k*k`, `k + k`, and brackets.
        Features are names, indices or a slice in quotes: `.on(x, y)`, `.on(0, 1)`, `.on('0:2')`. Text needs no quotes
        if it is a name: `finetune(carry=trunk)`.

        Args:
            text: the expression.
            usual: gives, for a name, a dataclass whose settings hold where the text does not say otherwise; None to use
                the defaults of the factory.
        """
        if not isinstance(text, str):
            raise TypeError(f"a {self.noun}'s description must be text, but is {type(text).__name__}")
        if len(text) > _LONGEST:
            raise ValueError(
                f"the description of a {self.noun} has {len(text)} characters; at most {_LONGEST} are read"
            )
        try:
            tree = syntax(self._without_hyphens(text.strip()))
            if sum(isinstance(node, ast.BinOp) for node in ast.walk(tree)) > _MOST:
                raise ValueError(f"it adds and multiplies more than {_MOST} times")
            found = self._expression(tree, usual)
        except SyntaxError as error:
            raise ValueError(
                f"cannot read the {self.noun} {short(text)!r}: {error.msg} at character {error.offset}"
            ) from None
        except (RecursionError, MemoryError):
            raise ValueError(f"cannot read the {self.noun}: it is nested too deeply") from None
        except ValueError as error:
            raise ValueError(f"cannot read the {self.noun} {short(text)!r}: {error}") from None
        if not self._is_one(found):
            raise ValueError(f"cannot read the {self.noun} {short(text)!r}: it is a number, not a {self.noun}")
        return found

    def _without_hyphens(self, text: str) -> str:
        for name in sorted(self._known, key=len, reverse=True):  # a name may begin with another
            if "-" in name:
                text = text.replace(name, name.replace("-", "_"))
        return text

    def _expression(self, node: ast.expr, usual: Callable[[str], T | None]) -> Any:
        """A meaning, or a number that may weigh one."""
        match node:
            case ast.Constant(value=bool()) | ast.Constant(value=str()):
                raise ValueError(f"{node.value!r} is not a {self.noun}")
            case ast.Constant(value=int() | float()):
                return float(_value(node))
            case ast.Name(id=name):
                return self._call(name, [], [], usual)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords):
                return self._call(name, arguments, keywords, usual)
            case ast.Call(func=ast.Attribute(value=inner, attr="on"), args=arguments, keywords=[]):
                k = self._expression(inner, usual)
                if not self._is_one(k):
                    raise ValueError(f".on() applies to a {self.noun}, not to a number")
                if not isinstance(k, Choosing):
                    raise ValueError(f"a {self.noun} does not look at features, so .on() means nothing for it")
                return _built(k.on, [_value(argument, names=True) for argument in arguments], {})
            case ast.BinOp(left=left, op=ast.Add() | ast.Mult() as operation, right=right):
                a, b = self._expression(left, usual), self._expression(right, usual)
                if not (self._is_one(a) and self._is_one(b)):
                    if isinstance(operation, ast.Add):
                        raise ValueError(f"a number cannot be added to a {self.noun}; write weight*{self.noun}")
                    for weight in (a, b):
                        if not self._is_one(weight) and not 0 < weight < math.inf:
                            raise ValueError(
                                f"the weight of a {self.noun} must be positive and finite, but is {weight:g}"
                            )
                    if not self._is_one(a) and not self._is_one(b):
                        return a * b
                try:
                    return a + b if isinstance(operation, ast.Add) else a * b
                except TypeError:
                    what = "added" if isinstance(operation, ast.Add) else "multiplied"
                    raise ValueError(f"{self.noun}s cannot be {what}") from None
            case ast.UnaryOp(op=ast.USub()):
                raise ValueError("weights must be positive")
            case ast.Call(func=ast.Attribute(attr="on")):
                raise ValueError(".on() takes features, such as .on(0, 1) or .on(x, y), and no settings")
            case ast.Call(func=ast.Attribute(attr=name)):
                raise ValueError(f"a {self.noun} has .on(features), but not .{name}()")
        raise ValueError(
            f"{short(ast.unparse(node))!r} is not understood; write names, numbers, +, *, brackets, and .on(features)"
        )

    def _call(
        self,
        name: str,
        arguments: list[ast.expr],
        keywords: list[ast.keyword],
        usual: Callable[[str], T | None],
    ) -> T:
        names = {known.replace("-", "_"): known for known in self._known}
        if name not in names:
            near = nearest(name, self._known, cutoff=0.4)
            hint = f"did you mean {near!r}? " if near else ""
            raise ValueError(f"there is no {self.noun} {short(name)!r}; {hint}Known are {', '.join(self.known())}")
        factory = self._known[names[name]]
        parameters = inspect.signature(factory).parameters.values()
        settings = [parameter.name for parameter in parameters if parameter.kind != parameter.VAR_POSITIONAL]
        if arguments and not self.positional:
            raise ValueError(
                f"{name} takes its settings by name, such as {name}({settings[0] if settings else ''}=...)"
            )
        values: dict[str, Any] = {}
        for keyword in keywords:
            if keyword.arg is None or keyword.arg not in settings:
                near = nearest(keyword.arg or "", settings)
                hint = f"did you mean {near!r}? " if near else ""
                raise ValueError(
                    f"{name} has no setting {shown(keyword.arg)}; {hint}It has {', '.join(settings) or 'none'}"
                )
            if keyword.arg in values:
                raise ValueError(f"{name}: setting {keyword.arg!r} is given twice")
            values[keyword.arg] = _setting(keyword.value)
        made = inspect.unwrap(factory)
        if hasattr(made, "bounds"):  # it says what its settings may be
            check_settings(made, f"{name}: ", values)
        base: Any = usual(names[name])
        places = [_setting(argument) for argument in arguments]
        return _built(factory if base is None else partial(dataclasses.replace, base), places, values)


def _built(factory: Callable[..., T], arguments: list[Any], settings: dict[str, Any]) -> T:
    try:
        return factory(*arguments, **settings)
    except TypeError as error:  # a setting of the wrong type, such as text for a number
        raise ValueError(str(error)) from None


def _setting(node: ast.expr) -> Any:
    """The value of a setting; a bare name is text."""
    return _value(node, names=not (isinstance(node, ast.Name) and node.id == "inf"))


def _value(node: ast.expr, names: bool = False) -> Any:
    """A number, text, truth value, None, or a list of such; bare names are text where `names` is allowed."""
    match node:
        case ast.Constant(value=int() as value) if math.isnan(as_float(value)):
            raise ValueError("a number has too many digits")
        case ast.Constant(value=int() | float() | str() | None as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float()) as positive) if not isinstance(
            positive.value, bool
        ):
            return -_value(positive)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Name(id="inf")):
            return -math.inf
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return [_value(element, names) for element in elements]
        case ast.Name(id=name) if names:
            return name
        case ast.Name(id="inf"):
            return float("inf")
    raise ValueError(f"{short(ast.unparse(node))!r} is not a number, a text or a list")


def syntax(text: str) -> ast.expr:
    """The syntax tree of an expression; nothing in it is evaluated, and what Python only warns of is not our matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text, mode="eval").body


def short(text: str, most: int = 80) -> str:
    """A text as a message shows it."""
    return text if len(text) <= most else text[: most - 3] + "..."


def settings_text(name: str, settings: Any) -> str:
    """`name(setting=value, ...)` with the fields of a dataclass that differ from their defaults."""
    changed = {
        field.name: value
        for field in dataclasses.fields(settings)
        if field.init and not _same(value := getattr(settings, field.name), field.default)
    }
    return name + (f"({', '.join(f'{key}={written(value)}' for key, value in changed.items())})" if changed else "")


def _same(value: Any, default: Any) -> bool:
    return value is default or (isinstance(value, int | float | str | tuple) and bool(value == default))


def written(value: Any) -> str:
    """A setting as text that `Expressions.parse` reads back exactly."""
    if isinstance(value, np.generic | np.ndarray) or (
        isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer)
    ):
        value = value.tolist()
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value and f"{value:g}" != "-0" else repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(written(v) for v in value)}]"
    return repr(value)


def percent(share: float) -> str:
    """A share with all the digits that it was given with, so that what is less than all is not said to be all.

    >>> percent(0.95), percent(0.995)
    ('95%', '99.5%')
    """
    return f"{100 * share:.10g}%"


def preformatted(text: str) -> str:
    """Text as HTML, line by line as it is, for notebooks."""
    return f"<pre>{html.escape(text)}</pre>"


def printable(text: object) -> str:
    r"""Text from anywhere as one line that a terminal shows and does not obey: what is not a visible character or a
    space is written as in Python.

    >>> print(printable("two\nlines"))
    two\nlines
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in str(text))


def verbatim(text: object, style: str = "") -> Text:
    """Text from anywhere, for Rich to print as it is: brackets in it are not markup, and colons are no pictures."""
    from rich.text import Text

    return Text(printable(text), style=style)


def drawn(text: object) -> str:
    """Text from anywhere for Matplotlib to write as it is: what stands between dollars in it is no formula."""
    return printable(text).replace("$", r"\$")


def counted(count: int, noun: str) -> str:
    """So many of something.

    >>> counted(1, "seed"), counted(2000, "step")
    ('1 seed', '2,000 steps')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def divisors(n: int) -> str:
    """The divisors of n, for a message."""
    return some_of([str(d) for d in divisors_of(n)], 40)


def divisors_of(n: int) -> list[int]:
    """The divisors of n, in order. Of numbers beyond 10^12, those that are at most 10^6, and n by each of them."""
    small = [d for d in range(1, min(math.isqrt(n), 10**6) + 1) if n % d == 0]
    return sorted({*small, *(n // d for d in small)})
