"""Texts and JSON that nobody means to give, each made from its number alone, and what they are given to: parsers, and
the readers of a run's files. Those of boards, sweeps and transfer are in `fuzz_rooms`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import random
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from tests import fuzz_rooms
from tests.fuzz_judging import SECONDS, Silent, outcome, sound_text
from tests.fuzz_making import changed, mutated, of_names, of_texts, spoiled, written
from vendirl import algorithms, methods, similarity
from vendirl.clusters import comparing
from vendirl.environments import parse_environment
from vendirl.training import checkpoint
from vendirl.training.reading import known_ceiling, read_history, read_settings
from vendirl.training.settings import Settings

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


# ---- JSON ----------------------------------------------------------------------------------------------------------

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


def _metrics(rng: random.Random) -> bytes:
    lines = [written(rng, row) if rng.random() < 0.4 else json.dumps(row).encode() for row in _ROWS]
    return spoiled(rng, b"\n".join(lines) + rng.choice((b"\n", b"", b'{"epoch": ')))


def _named(rng: random.Random) -> str:
    names = rng.sample(sorted(_SETTINGS), rng.choice((1, 1, 2, 3)))
    given: dict[str, Any] = {name: changed(rng, _SETTINGS[name], 1) for name in names}
    if rng.random() < 0.2:
        given["learner"] = mutated(rng, rng.choice(_LEARNERS), "sac")
    if rng.random() < 0.05:
        given[rng.choice(("scens", "", "\ud800", "a" * 5000))] = 1
    return json.dumps(given)


Given = str | bytes
TARGETS: dict[str, tuple[int, Callable[[random.Random], Given], Callable[[Any, Path], None]]] = {
    "similarity": (30, of_names(similarity.known, _SIMILARITIES), of_similarity),
    "method": (20, of_names(methods.known, _METHODS), of_method),
    "learner": (8, of_names(algorithms.known, _LEARNERS), of_learner),
    "environment": (10, of_texts(_WORLDS), of_environment),
    "list": (4, of_texts(_LISTS), of_list),
    "settings": (10, _named, of_settings),
    "settings.json": (8, lambda rng: written(rng, _WRITTEN), of_settings_file),
    "metrics.jsonl": (6, _metrics, of_metrics),
    "attainable.json": (4, lambda rng: written(rng, rng.choice(_CEILINGS)), of_ceiling),
    "checkpoint.json": (4, lambda rng: written(rng, _LIST), of_checkpoint),
    **fuzz_rooms.TARGETS,
}
"""What is fuzzed, how many of some hundred, how an input is made, and what it is given to."""
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
