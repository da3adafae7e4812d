"""Texts and JSON that nobody means to give, made by chance of right ones, or of a grammar."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable
from typing import Any

# ---- texts ---------------------------------------------------------------------------------------------------------

NUMBERS = [
    "0",
    "1",
    "-1",
    "1e999",
    "-1e999",
    "0x",
    "0xff",
    "1_000",
    "1_",
    "٣",
    "2**9999",
    "9" * 400,
    "9" * 5000,
    "nan",
]
NUMBERS += [
    "inf",
    "1e-400",
    "1e308",
    "1e-320",
    "1j",
    "0.1e",
    ".",
    "..",
    "True",
    "None",
    "1.5",
    "1e9",
    "2147483648",
    "-0.0",
]
NUMBERS += ["18446744073709551616", "1e200*1e200*", "1e-200*1e-200*"]
NUMBERS += ["'4'", "[4]", "(4,)", "{4}", "{4: 4}", "{[]: 4}"]
ODD = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "'",
    '"',
    "\\",
    "\n",
    "\r",
    "\0",
    "\ud800",
    "\u202e",
    "\u2028",
    ";",
    "#",
    ":=",
    "=",
    ",",
]
ODD += [
    " ",
    "\t",
    "lambda: ",
    "f'{x}'",
    "...",
    "-",
    "+",
    "*",
    "**",
    "/",
    "@",
    "not ",
    "await ",
    "if ",
    "else ",
    ".on(",
    ".on()",
]
ODD += [
    ".__class__",
    "__import__('os')",
    "*[]",
    "**{}",
    "'\\d'",
    "1if 1else 2",
    "mmd",
    "diayn",
    "ppo",
    "point",
    "ｍｍｄ",
    "é",
]
ODD += ["scale=", ".on('::0')", ".on(99999999999999999999)"]
ODD += ["(" * 99, "[" * 150, "-" * 500, "not " * 300, "mmd+" * 90]


def mutated(rng: random.Random, text: str, other: str) -> str:
    """A text with a few things done to it."""
    for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3, 5))):
        n = len(text)
        i = rng.randrange(n + 1)
        j = min(n, i + rng.randrange(1, 9))
        what = rng.randrange(9)
        if what == 0:
            text = text[:i] + text[j:]
        elif what <= 2:
            text = text[:i] + rng.choice(ODD) + text[i:]
        elif what == 3:
            text = text[:i] + text[i:j] * rng.choice((2, 3, 50, 5000 if rng.random() < 0.05 else 5)) + text[j:]
        elif what == 4:
            k = rng.randrange(len(other) + 1)
            text = text[:i] + other[k : k + rng.randrange(1, 20)] + text[i:]
        elif what == 5:
            text = (
                text[:i]
                + chr(rng.choice((rng.randrange(32, 127), rng.randrange(0x3000), rng.randrange(0x110000))))
                + text[j:]
            )
        elif what <= 7:
            places = [found.span() for found in re.finditer(r"\d+(\.\d+)?(e-?\d+)?", text[:3000])]
            if places:
                a, b = rng.choice(places)
                text = text[:a] + rng.choice(NUMBERS) + text[b:]
        else:
            text = (
                text[:i]
                + rng.choice((" ", "(", "-", "x")) * rng.choice((1, 100, 3000 if rng.random() < 0.1 else 10))
                + text[i:]
            )
    return text


def of_texts(texts: list[str]) -> Callable[[random.Random], str]:
    return lambda rng: mutated(rng, rng.choice(texts), rng.choice(texts))


def expression(rng: random.Random, names: list[str], settings: list[str], depth: int = 4) -> str:
    """A text of the grammar, whose numbers and settings may be anything."""
    kind = rng.randrange(7) if depth else 0
    if kind <= 1:
        given = ", ".join(f"{rng.choice(settings)}={value(rng)}" for _ in range(rng.choice((0, 0, 1, 1, 2, 3))))
        return rng.choice(names) + (f"({given})" if given else "")
    inner = expression(rng, names, settings, depth - 1)
    if kind == 2:
        return f"{value(rng)}*{inner}"
    if kind == 3:
        features = ", ".join(rng.choice(("x", "y", "0", "-1", "'0:2'", "'::0'", "[0]", "1.5", "z")) for _ in range(2))
        return f"({inner}).on({features})"
    return f"({inner}) {rng.choice('+*+*-')} {expression(rng, names, settings, depth - 1)}"


def value(rng: random.Random) -> str:
    if rng.random() < 0.6:
        return repr(
            rng.choice((1, 2, 4, 0.5, 16, True, None, (8, 8), "rbf", "f1", "mmd", 3e-4, 10 ** rng.randrange(-9, 9)))
        )
    return rng.choice(NUMBERS)


def of_names(known: Callable[[], dict[str, Any]], texts: list[str]) -> Callable[[random.Random], str]:
    settings = sorted({found for text in texts for found in re.findall(r"(\w+)=", text)} | {"scale", "hidden", "q"})
    names = sorted(known())

    def make(rng: random.Random) -> str:
        text = expression(rng, names, settings) if rng.random() < 0.4 else rng.choice(texts)
        return mutated(rng, text, rng.choice(texts)) if rng.random() < 0.8 else text

    return make


# ---- JSON ----------------------------------------------------------------------------------------------------------

VALUES: list[Any] = [None, True, False, 0, 1, -1, 1.5, -0.0, 1e300]
VALUES += [math.nan, math.inf, -math.inf, 2**31, 2**63, 2**64]
VALUES += [
    10**400,
    -(10**400),
    1e-320,
    "",
    "x",
    "1",
    "nan",
    "\ud800",
    "\0",
    "a" * 5000,
    [],
    [[]],
    {},
    [None],
    [1, "a"],
]
VALUES += [
    {"a": 1},
    [10**400],
    [math.nan],
    {"minibatches": 0},
    {"minibatches": "x"},
    {"learning_rate": math.nan},
    [0],
    [-8],
]
VALUES += [
    "((((",
    "mmd(scale=1e999)",
    "pool(0)",
    "pool(99999999999999999999)",
    "١",
    [64] * 200,
    [True],
    {"": 0},
    [[64, 64]],
]


def changed(rng: random.Random, node: Any, depth: int = 0) -> Any:
    """A copy of plain data in which one place is something else."""
    if isinstance(node, dict) and node and (depth == 0 or rng.random() < 0.6):
        key = rng.choice(list(node))
        what = rng.randrange(8)
        if what == 0:
            return {k: v for k, v in node.items() if k != key}
        if what == 1:
            return {**node, rng.choice((key + "x", "", "\ud800", "__class__", "self")): rng.choice(VALUES)}
        return {**node, key: changed(rng, node[key], depth + 1)}
    if isinstance(node, list) and node and rng.random() < 0.6:
        i = rng.randrange(len(node))
        return [*node[:i], changed(rng, node[i], depth + 1), *node[i + 1 :]]
    return rng.choice(VALUES)


def written(rng: random.Random, data: Any) -> bytes:
    """JSON of what may have been changed, whose bytes may have been too."""
    for _ in range(rng.choice((0, 1, 1, 1, 2))):
        data = changed(rng, data)
    try:
        text = json.dumps(data, ensure_ascii=rng.random() < 0.7)
    except ValueError:  # a number that Python itself does not write
        text = json.dumps(None)
    if rng.random() < 0.1:
        text = text.replace(
            ": ", ": " + rng.choice(("[" * 9000, '{"a":' * 3000, "1" * 5000, "1e999, ", "-", "0x1", "NaN, ")), 1
        )
    if rng.random() < 0.1:
        text = text.replace("{", '{"epoch": 1, "score": 2, "settings": {}, ', 1)  # names twice
    return spoiled(rng, text.encode("utf-8", "surrogatepass"))


def spoiled(rng: random.Random, content: bytes) -> bytes:
    for _ in range(rng.choice((0, 0, 0, 1, 2, 4))):
        i = rng.randrange(len(content) + 1)
        j = min(len(content), i + rng.randrange(1, 9))
        run = rng.choice(
            (b"", b"\xff", b"\0", b"{", b"[", b'"', b"\n", b"\r\n", b"\xef\xbb\xbf", b"9", b"-", rng.randbytes(3))
        )
        content = rng.choice((content[:i], content[:i] + run + content[i:], content[:i] + run + content[j:]))
    return content
