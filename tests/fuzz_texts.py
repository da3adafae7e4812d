"""Texts and JSON that nobody means to give, each made from its number alone, and what counts as surviving them.

Surviving: a result with nothing in it that is not finite, or an error that this library raised on purpose, in one
line, within the limits of time and memory.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import linecache
import math
import random
import re
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import numpy as np

import vendirl
from vendirl import algorithms, methods, similarity
from vendirl.clusters import comparing
from vendirl.environments import parse_environment
from vendirl.training import checkpoint
from vendirl.training.reading import known_ceiling, read_history, read_settings
from vendirl.training.settings import Settings

OUTCOMES = ("accepted", "refused", "traceback", "hang", "memory", "silent NaN")
SECONDS = 1.0
_LONGEST_MESSAGE = 1500
_HOME = str(Path(vendirl.__file__).parent)


class Hang(BaseException):
    """Took too long. Not an Exception, so that nothing on the way catches it."""


class Silent(BaseException):
    """Was accepted, with something in it that is not finite or that does not read back."""


# ---- what counts as surviving --------------------------------------------------------------------------------------


@contextmanager
def in_time(seconds: float = SECONDS) -> Iterator[None]:
    """Raise `Hang` after so many seconds of the processor, or eight times as many of waiting."""
    late: list[Hang] = []
    seen = [time.process_time()]

    def stop(number: int, _: Any) -> None:
        seen.append(time.process_time())
        if number == signal.SIGALRM and seen[-1] - seen[-2] > seconds / 10:
            signal.setitimer(signal.ITIMER_REAL, 8 * seconds)  # it does not wait: others take the processor
            return
        late.append(Hang(f"longer than {seconds:g} s"))
        raise late[0]

    timers = ((signal.ITIMER_PROF, signal.SIGPROF, seconds), (signal.ITIMER_REAL, signal.SIGALRM, 8 * seconds))
    previous = [signal.signal(number, stop) for _, number, _ in timers]
    for timer, _, limit in timers:
        signal.setitimer(timer, limit)
    try:
        yield
    finally:
        for (timer, number, _), before in zip(timers, previous, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, before)
    if late:  # it was raised where Python lets nothing out, such as the end of an object
        raise late[0]


def outcome(call: Callable[[], Any], seconds: float = SECONDS) -> tuple[str, str]:
    """One of `OUTCOMES`, and what was said. A limit of memory is that of the process."""
    try:
        with in_time(seconds):
            call()
        return "accepted", ""
    except Hang as error:
        return "hang", str(error)
    except Silent as error:
        return "silent NaN", str(error)
    except MemoryError as error:
        return "memory", str(error)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        return ("refused" if on_purpose(error) else "traceback"), said


def on_purpose(error: Exception) -> bool:
    """Whether an error is a refusal in one line, raised by a `raise` of this library."""
    if not isinstance(error, ValueError | TypeError | OSError | ImportError):
        return False
    message, trace = str(error), error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or not message or "\n" in message or len(message) > _LONGEST_MESSAGE:
        return False
    where = trace.tb_frame.f_code.co_filename
    return where.startswith(_HOME) and linecache.getline(where, trace.tb_lineno).strip().startswith("raise")


_NOT_FINITE = re.compile(r"(?<![\w'=])-?(nan|inf)\b|=-?nan\b|(?<![\w.])0\*")


def sound_text(found: Any, parse: Callable[[str], Any]) -> None:
    """Refuse to call a similarity, method or learner sound that has weights that are not, or does not read back."""
    text = str(found)
    if _NOT_FINITE.search(re.sub(r"'[^']*'|\"[^\"]*\"", "''", text)):  # texts in it are read when they are bound
        raise Silent(text[:300])
    if len(text) < 2000 and str(parse(text)) != text:
        raise Silent(f"{text[:300]} reads back as {str(parse(text))[:300]}")


# ---- targets -------------------------------------------------------------------------------------------------------


def of_similarity(given: str, _: Path) -> None:
    sound_text(similarity.parse(given), similarity.parse)


def of_method(given: str, _: Path) -> None:
    sound_text(methods.parse_method(given), methods.parse_method)


def of_learner(given: str, _: Path) -> None:
    sound_text(algorithms.parse_learner(given), algorithms.parse_learner)


def of_environment(given: str, _: Path) -> None:
    world = parse_environment(given)
    if not 0 < world.episode_length < 2**31:
        raise Silent(repr(world))


def of_list(given: str, _: Path) -> None:
    comparing.check_similarities(comparing.split(given))


def of_settings(given: str, _: Path) -> None:
    """Settings as they come from Python or the command line, here as JSON; all that is checked before building."""
    checked(Settings.named(json.loads(given)))


def checked(settings: Settings) -> None:
    settings.check()
    _ = settings.algorithm
    settings.epochs(50)
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if isinstance(value, float) and not math.isfinite(value) and field.name != "order":
            raise Silent(f"{field.name}={value}")
    json.dumps(settings.to_json())


def of_settings_file(given: bytes, folder: Path) -> None:
    (folder / "settings.json").write_bytes(given)
    checked(read_settings(folder))


def of_metrics(given: bytes, folder: Path) -> None:
    (folder / "metrics.jsonl").write_bytes(given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a word about lines that were left out
        rows = read_history(folder, 100)
    for row in rows:
        scores = row["vendi_score"] if isinstance(row["vendi_score"], list) else [row["vendi_score"]]
        if not all(math.isfinite(value) for value in (row["epoch"], row["env_steps"], row["wall_seconds"], *scores)):
            raise Silent(str(row)[:300])


def of_ceiling(given: bytes, folder: Path) -> None:
    (folder / "attainable.json").write_bytes(given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a word that it will be computed again
        found = known_ceiling(folder, 8)
    if found is not None and not 0.9 < found.score < 9:
        raise Silent(str(found.score))


def of_checkpoint(given: bytes, folder: Path) -> None:
    """The list of a checkpoint that has no arrays: it is refused, whatever it says."""
    (folder / "10").mkdir(exist_ok=True)
    (folder / "10" / "d").write_bytes(b"")
    (folder / "10.json").write_bytes(given)
    like = {"w": jax.ShapeDtypeStruct((2, 3), np.float32), "b": jax.ShapeDtypeStruct((3,), np.float32)}
    checkpoint.load(folder, 10, like, ["mark"])
    raise Silent("a checkpoint without arrays was loaded")


# ---- texts ---------------------------------------------------------------------------------------------------------

_SIMILARITIES = [
    "0.5*cosine + 0.5*covariance(scale=200)",
    "mmd(scale=4)",
    "mmd(kernel='rbf', bandwidth=0.5).on(x, y)",
    "(cosine(center=[0.5, 0.5]) + 2*angle)*final_state.on('0:2')",
    "wasserstein(directions=8, quantiles=16, seed=3)*overlap(neighbours=5, measure='recall')",
    "alignment(scale=2, bandwidth=0.1).on(0, -1)",
]
_METHODS = [
    "diayn + 0.5*vendirl",
    "metra(dimension=3, dual=30).on(x, y)",
    "vendirl(similarity='mmd(scale=4)', q=2, refill='pool(4)', transform='log', episodes=2)",
    "diayn-sn(sharpness=2, clip=inf) + 0.1*environment",
    "0.5*(cic(neighbours=3, temperature=0.1) + disk)",
    "diayn-braxlines(hidden=[32, 32], learning_rate=3e-4)",
]
_LEARNERS = [
    "ppo",
    "sac(updates=8, hidden=[32, 32], learn_temperature=0)",
    "ppo(minibatches=4, epochs=2, clip=0.1, anneal=None)",
]
_WORLDS = ["point", "point(noise=0.01, start=(0.2, 0.5))", "rooms(step_size=0.1)", "open(discrete=True, moves=9)"]
_WORLDS += ["maze( episode_length = 100 )", "point(noise=1e-3, episode_length=10)"]
_LISTS = ["mmd(scale=4),overlap", "cosine, mmd.on(0, 1), 0.5*angle + mmd"]
_NUMBERS = [
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
_NUMBERS += [
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
_NUMBERS += ["18446744073709551616", "1e200*1e200*", "1e-200*1e-200*"]
_NUMBERS += ["'4'", "[4]", "(4,)", "{4}", "{4: 4}", "{[]: 4}"]
_ODD = [
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
_ODD += [
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
_ODD += [
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
_ODD += ["scale=", ".on('::0')", ".on(99999999999999999999)"]
_ODD += ["(" * 99, "[" * 150, "-" * 500, "not " * 300, "mmd+" * 90]


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
            text = text[:i] + rng.choice(_ODD) + text[i:]
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
                text = text[:a] + rng.choice(_NUMBERS) + text[b:]
        else:
            text = (
                text[:i]
                + rng.choice((" ", "(", "-", "x")) * rng.choice((1, 100, 3000 if rng.random() < 0.1 else 10))
                + text[i:]
            )
    return text


def _of(texts: list[str]) -> Callable[[random.Random], str]:
    return lambda rng: mutated(rng, rng.choice(texts), rng.choice(texts))


def expression(rng: random.Random, names: list[str], settings: list[str], depth: int = 4) -> str:
    """A text of the grammar, whose numbers and settings may be anything."""
    kind = rng.randrange(7) if depth else 0
    if kind <= 1:
        given = ", ".join(f"{rng.choice(settings)}={_value(rng)}" for _ in range(rng.choice((0, 0, 1, 1, 2, 3))))
        return rng.choice(names) + (f"({given})" if given else "")
    inner = expression(rng, names, settings, depth - 1)
    if kind == 2:
        return f"{_value(rng)}*{inner}"
    if kind == 3:
        features = ", ".join(rng.choice(("x", "y", "0", "-1", "'0:2'", "'::0'", "[0]", "1.5", "z")) for _ in range(2))
        return f"({inner}).on({features})"
    return f"({inner}) {rng.choice('+*+*-')} {expression(rng, names, settings, depth - 1)}"


def _value(rng: random.Random) -> str:
    if rng.random() < 0.6:
        return repr(
            rng.choice((1, 2, 4, 0.5, 16, True, None, (8, 8), "rbf", "f1", "mmd", 3e-4, 10 ** rng.randrange(-9, 9)))
        )
    return rng.choice(_NUMBERS)


def _known(known: Callable[[], dict[str, Any]], texts: list[str]) -> Callable[[random.Random], str]:
    settings = sorted({found for text in texts for found in re.findall(r"(\w+)=", text)} | {"scale", "hidden", "q"})
    names = sorted(known())

    def make(rng: random.Random) -> str:
        text = expression(rng, names, settings) if rng.random() < 0.4 else rng.choice(texts)
        return mutated(rng, text, rng.choice(texts)) if rng.random() < 0.8 else text

    return make


# ---- JSON ----------------------------------------------------------------------------------------------------------

_VALUES: list[Any] = [None, True, False, 0, 1, -1, 1.5, -0.0, 1e300]
_VALUES += [math.nan, math.inf, -math.inf, 2**31, 2**63, 2**64]
_VALUES += [
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
_VALUES += [
    {"a": 1},
    [10**400],
    [math.nan],
    {"minibatches": 0},
    {"minibatches": "x"},
    {"learning_rate": math.nan},
    [0],
    [-8],
]
_VALUES += [
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
_SETTINGS = json.loads(json.dumps(Settings().to_json()))
_WRITTEN = {"settings": _SETTINGS, "versions": {"vendirl": "0.1", "jax": "0.5.0"}}
_ROWS = [
    {"epoch": 10 * i, "env_steps": 5120 * i, "wall_seconds": 0.5 * i, "vendi_score": 1.0 + i / 9, "loss": 0.1}
    for i in (1, 2, 3)
]
_NOTHING = [0, hashlib.sha256(b"").hexdigest()]
_LIST = {
    "fingerprint": "mark",
    "arrays": {"['w']": [[2, 3], "float32"], "['b']": [[3], "float32"]},
    "files": {"d": _NOTHING},
}
_CEILINGS = [{"score": 3.97, "method": "ascent"}, {"score": 8.0, "method": "rank"}]


def _changed(rng: random.Random, node: Any, depth: int = 0) -> Any:
    """A copy of plain data in which one place is something else."""
    if isinstance(node, dict) and node and (depth == 0 or rng.random() < 0.6):
        key = rng.choice(list(node))
        what = rng.randrange(8)
        if what == 0:
            return {k: v for k, v in node.items() if k != key}
        if what == 1:
            return {**node, rng.choice((key + "x", "", "\ud800", "__class__", "self")): rng.choice(_VALUES)}
        return {**node, key: _changed(rng, node[key], depth + 1)}
    if isinstance(node, list) and node and rng.random() < 0.6:
        i = rng.randrange(len(node))
        return [*node[:i], _changed(rng, node[i], depth + 1), *node[i + 1 :]]
    return rng.choice(_VALUES)


def _written(rng: random.Random, data: Any) -> bytes:
    """JSON of what may have been changed, whose bytes may have been too."""
    for _ in range(rng.choice((0, 1, 1, 1, 2))):
        data = _changed(rng, data)
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
    return _bytes(rng, text.encode("utf-8", "surrogatepass"))


def _bytes(rng: random.Random, content: bytes) -> bytes:
    for _ in range(rng.choice((0, 0, 0, 1, 2, 4))):
        i = rng.randrange(len(content) + 1)
        j = min(len(content), i + rng.randrange(1, 9))
        run = rng.choice(
            (b"", b"\xff", b"\0", b"{", b"[", b'"', b"\n", b"\r\n", b"\xef\xbb\xbf", b"9", b"-", rng.randbytes(3))
        )
        content = rng.choice((content[:i], content[:i] + run + content[i:], content[:i] + run + content[j:]))
    return content


def _metrics(rng: random.Random) -> bytes:
    lines = [_written(rng, row) if rng.random() < 0.4 else json.dumps(row).encode() for row in _ROWS]
    return _bytes(rng, b"\n".join(lines) + rng.choice((b"\n", b"", b'{"epoch": ')))


def _named(rng: random.Random) -> str:
    names = rng.sample(sorted(_SETTINGS), rng.choice((1, 1, 2, 3)))
    given: dict[str, Any] = {name: _changed(rng, _SETTINGS[name], 1) for name in names}
    if rng.random() < 0.2:
        given["learner"] = mutated(rng, rng.choice(_LEARNERS), "sac")
    if rng.random() < 0.05:
        given[rng.choice(("scens", "", "\ud800", "a" * 5000))] = 1
    return json.dumps(given)


Given = str | bytes
TARGETS: dict[str, tuple[int, Callable[[random.Random], Given], Callable[[Any, Path], None]]] = {
    "similarity": (30, _known(similarity.known, _SIMILARITIES), of_similarity),
    "method": (20, _known(methods.known, _METHODS), of_method),
    "learner": (8, _known(algorithms.known, _LEARNERS), of_learner),
    "environment": (10, _of(_WORLDS), of_environment),
    "list": (4, _of(_LISTS), of_list),
    "settings": (10, _named, of_settings),
    "settings.json": (8, lambda rng: _written(rng, _WRITTEN), of_settings_file),
    "metrics.jsonl": (6, _metrics, of_metrics),
    "attainable.json": (4, lambda rng: _written(rng, rng.choice(_CEILINGS)), of_ceiling),
    "checkpoint.json": (4, lambda rng: _written(rng, _LIST), of_checkpoint),
}
"""What is fuzzed, how many of each hundred, how an input is made, and what it is given to."""
_TOTALS = [weight for weight, _, _ in TARGETS.values()]


def text(number: int, seed: int = 0) -> tuple[str, Given]:
    """A target and an input for it; the same for the same number and seed."""
    rng = random.Random(seed * 10**12 + number)
    (target,) = rng.choices(list(TARGETS), _TOTALS)
    return target, TARGETS[target][1](rng)


def tried(target: str, given: Given, folder: Path, seconds: float = SECONDS) -> tuple[str, str]:
    """What became of an input; see `outcome`."""
    return outcome(lambda: TARGETS[target][2](given, folder), seconds)


Plain = str | list[str | list[Any]]
"""An input as JSON holds it, bytes as Latin-1; where something is repeated often, [what, how often] in a list."""


def as_plain(target: str, given: Given) -> str:
    """A case as JSON can hold it."""
    return given if isinstance(given, str) else given.decode("latin-1")


def as_plain_runs(text: str) -> Plain:
    """The same, with what is repeated often said once."""
    parts: list[str | list[Any]] = []
    end = 0
    for run in re.finditer(r"(.{1,8}?)\1{29,}", text, re.DOTALL):
        parts += [text[end : run.start()], [run[1], (run.end() - run.start()) // len(run[1])]]
        end = run.end()
    return [part for part in (*parts, text[end:]) if part] if parts else text


def as_given(target: str, plain: Plain) -> Given:
    """An input as it was."""
    pieces = [plain] if isinstance(plain, str) else plain
    text = "".join(piece if isinstance(piece, str) else piece[0] * piece[1] for piece in pieces)
    return text.encode("latin-1") if "." in target else text
