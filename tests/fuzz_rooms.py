"""What `fuzz_texts` gives to the rooms that know many runs: tasks and ways of transfer, the space and the records of
sweeps, boards, and the record of the race.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import math
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz_judging import Silent, sound_text
from tests.fuzz_making import NUMBERS, changed, mutated, of_names, of_texts, written
from vendirl.boards import known_suites, read_board
from vendirl.boards.page import page
from vendirl.clusters import comparing, places, space
from vendirl.clusters.objectives import OBJECTIVES, curve_of, objective_of
from vendirl.clusters.samplers import Random
from vendirl.clusters.sweep import Plan
from vendirl.training.settings import Settings
from vendirl.transfer import cells, sets, task
from vendirl.transfer.ways import Used, known_ways, parse_way

_PATH = Path(__file__).parents[1] / "benchmarks" / "race_record.py"
_spec = importlib.util.spec_from_file_location("race_record", _PATH)
assert _spec is not None
assert _spec.loader is not None
race_record = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(race_record)

# ---- targets -------------------------------------------------------------------------------------------------------


def of_task(given: str, _: Path) -> None:
    sound_task(task.parse_task(given))


def sound_task(found: task.Task) -> None:
    """A task's text reads back as the task, and no weight in it is infinite."""
    text, parts = str(found), [found]
    while parts:
        part = parts.pop()
        parts += getattr(part, "tasks", ()) or ([part.inner] if isinstance(part, task.Weighted) else [])
        if isinstance(part, task.Weighted) and not 0 < part.weight < math.inf:
            raise Silent(text[:300])
    if len(text) < 2000 and task.parse_task(text) != found:
        raise Silent(f"{text[:300]} reads back as {str(task.parse_task(text))[:300]}")


def of_tasks(given: str, _: Path) -> None:
    """A set of tasks, as it comes from the command line."""
    for found in sets.tasks_of(comparing.split(given), "all"):
        sound_task(found)


def of_way(given: str, _: Path) -> None:
    sound_text(parse_way(given), parse_way)


def of_place(given: str, _: Path) -> None:
    places.parse_place(given)


def of_space(given: str, _: Path) -> None:
    """The space of a sweep, and the settings of its first trials, as far as they are checked before building."""
    found = space.parse_space(given)
    text = space.space_text(found)
    if len(text) < 2000 and space.space_text(space.parse_space(text)) != text:
        raise Silent(f"{text[:300]} reads back as {space.space_text(space.parse_space(text))[:300]}")
    usual = Settings()
    base = {field.name: getattr(usual, field.name) for field in dataclasses.fields(usual)}
    sampler = Random(found, 0)
    for number in range(3):
        settings = Settings.named(space.with_values(base, sampler.ask(number)))
        settings.check()
        json.dumps(settings.to_json())


def of_sweep_record(given: bytes, folder: Path) -> None:
    """The record of a sweep: another one is refused, and what is no record too."""
    (folder / "sweep.json").write_bytes(given)
    try:
        Plan(_OVER, Settings(), (), folder, trials=2)
    finally:
        (folder / "sweep.json").unlink()


def of_summary(given: bytes, folder: Path) -> None:
    """What a trial of a sweep came to."""
    (folder / "summary.json").write_bytes(given)
    (folder / "metrics.jsonl").write_bytes(given.replace(b"\n", b" ") + b"\n" + _ROW)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a word about lines that were left out
        curve_of(folder)
        for name in OBJECTIVES:
            if not math.isfinite(objective_of(name, folder)):
                raise Silent(name)


def of_board(given: bytes, folder: Path) -> None:
    (folder / "board.json").write_bytes(given)
    board = read_board(folder)
    for row in board.rows:
        if not all(map(math.isfinite, (row.fraction, row.score, row.low or 0.0, row.high or 0.0))):
            raise Silent(str(row))
    text = page(board.suite, board.rows)
    if "<script" in text or (not text.isprintable() and set(text) - {"\n"} - set(filter(str.isprintable, text))):
        raise Silent("the page holds markup or control codes")


def of_cell(given: bytes, folder: Path) -> None:
    """A cell of the table of a transfer: what it holds is as many numbers as were asked for."""
    path = folder / cells.FOLDER / _QUESTION.file
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(given)

    def never() -> Used:
        raise Silent("what is there was done again")

    used = cells.kept_or_done(_QUESTION, folder, never, 2, 2)
    points = len(used.steps)
    if used.returns.shape != (points, 2, 2) or not points or not np.isfinite(used.returns).all():
        raise Silent(str(used))
    if (np.diff(used.steps) <= 0).any() or used.steps[0] < 0:
        raise Silent(str(used.steps))
    if used.chosen is not None and used.chosen.shape != (2, 2):
        raise Silent(str(used.chosen))


def of_race(given: bytes, folder: Path) -> None:
    (folder / "race.json").write_bytes(given)
    found = race_record.read_record(folder / "race.json", _SENSES, 8.01)
    for trial in found["trials"]:
        if not all(math.isfinite(np.mean(scores)) for scores in trial["scores"].values()):
            raise Silent(str(trial))


# ---- what is right -------------------------------------------------------------------------------------------------

_TASKS = [
    "0.5*tolerance(x_velocity, 4, inf, margin=4)",
    "tolerance(x, -inf, 2, margin=0.5, sigmoid='cosine', value_at_margin=0)",
    "goal(x, y, range=7.5, radius=3, every=50, goals=6) + environment",
    "goal(x, y, at=[0.9, 0.1], dense=True)",
    "goal(x, range=100, about=5)",
    "hurdles(x, first=3, gap=4, count=7)*(constant(1) + 2*value(height, -0.5))",
]
_WAYS = ["select", "select(rollouts=2)", "select(pulls=30)", "control(hold=5)", "finetune", "infer", "scratch"]
_PLACES = [
    "local",
    "ray(address='10.0.0.1:6379', cores=2)",
    "slurm(partition='gpu', minutes=60, setup='module load x')",
]
_PLACES += ["submitit-local(minutes=3)"]
_OVER = "skills=4,8; ppo.discount=0.9,0.97"
_SPACES = [
    _OVER,
    "ppo.learning_rate=1e-4..1e-2 log; ppo.discount=0.9,0.97,0.99; hidden=(32,32),(64,64); skills=4..16 in 4",
    "method=metra,metra(dimension=3),diayn; separate=true,false; order=1,2,inf",
    "env=point,maze(episode_length=20); steps=1e4..1e6 log; learner=ppo,sac(updates=4)",
    "ppo.entropy_coefficient=0..0.1 in 5; activation=tanh,relu; seed=0,1,2",
]
_NAMES = ["skills", "steps", "ppo.discount", "ppo.epochs", "hidden", "env", "separate", "order", "seed", "scenes", "x"]


def _space(rng: random.Random) -> str:
    """A space whose names and values may be anything."""
    if rng.random() < 0.6:
        return mutated(rng, rng.choice(_SPACES), rng.choice(_SPACES))
    parts = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        a, b = (rng.choice(NUMBERS) if rng.random() < 0.3 else repr(10 ** rng.uniform(-5, 7)) for _ in range(2))
        ends = rng.choice(("", " log", " in 5", " log in 3", " in 1000000", " in 0"))
        said = f"{a}..{b}{ends}" if rng.random() < 0.5 else ",".join(rng.choices((a, b, "(8,8)", "true", "x"), k=3))
        parts.append(f"{rng.choice(_NAMES)}={said}")
    return "; ".join(parts)


_SWEPT = Settings()
_RECORD = {
    "asked": {
        "over": _OVER,
        "sampler": "random",
        "objective": "score",
        "draw": 0,
        "together": None,
        "settings": json.loads(json.dumps(_SWEPT.to_json())),
    },
    "trials": [{"number": 0, "values": {"skills": 4}, "folder": "trial-0000-00000000", "objective": 3.1, "why": ""}],
}
_SUMMARY = {
    "epoch": 10,
    "env_steps": 5120,
    "wall_seconds": 0.5,
    "vendi_score": 3.2,
    "untrained": 1.1,
    "fraction_of_attainable": 0.8,
    "coverage": {"cells": [10, 12], "features": ["x"], "cell": 0.1, "exact": [True, True]},
}
_ROW = b'{"epoch": 20, "env_steps": 9999, "wall_seconds": 1, "vendi_score": [2.0, 2.5]}\n'
_SUITE = known_suites()["plane-maze-rooms-mini-v1"]


def _entry(method: str, seed: int) -> dict[str, Any]:
    return {
        "method": method,
        "world": "plane",
        "seed": seed,
        "scores": dict.fromkeys(_SUITE.senses, 1.5 + seed),
        "digest": f"{seed:064x}",
        "outside": method != "vendirl",
        "steps": 4e4,
        "seconds": 12.5,
        "settings": "settings(skills=4)",
        "versions": "jax 0.9",
        "trained_by": None,
    }


_BOARD = {
    "format": 1,
    "suite": _SUITE.name,
    "entries": [_entry("theirs", 0), _entry("theirs", 1), _entry("vendirl", 0)],
    "rows": [],
}
_QUESTION = cells.Question("select", {"name": "a", "seed": 0, "of": [2, 0]}, {"tasks": ["environment", "constant(1)"]})
_CELL = {
    "asked": _QUESTION.to_json(),
    "steps": [0, 400],
    "returns": [[[0.0, 1.0], [2.0, 3.5]], [[1.0, 1.0], [2.0, 4.0]]],
    "chosen": [[0, 1], [3, 2]],
    "note": None,
}
_SENSES = ("place", "extent")
_SCORES = {"place": [6.5, 6.25], "extent": [1.5, 1.25]}
_TRIAL = {"world": "plane", "method": "cic", "form": "untuned", "setting": "", "learner": "ppo", "scores": _SCORES}
_RACE = {
    "trials": [{**_TRIAL, "wall_seconds": 90.5}, {**_TRIAL, "wall_seconds": 1, "all": {"vendirl": _SCORES}}],
    "earlier": {"plane": {"vendirl": {"place": [7.5, 7.25, 7.75], "extent": [1.5, 1.25, 1.75]}}},
}


def _once(data: Any) -> Callable[[random.Random], bytes]:
    """JSON of which much stays right, so that readers get far."""
    return lambda rng: json.dumps(changed(rng, data)).encode() if rng.random() < 0.5 else written(rng, data)


Given = str | bytes
TARGETS: dict[str, tuple[int, Callable[[random.Random], Given], Callable[[Any, Path], None]]] = {
    "task": (12, of_names(task.known, _TASKS), of_task),
    "tasks": (4, of_texts([", ".join(_TASKS[:2]), "maze-goals, environment", "speeds", *_TASKS]), of_tasks),
    "way": (4, of_names(known_ways, _WAYS), of_way),
    "place": (2, of_texts(_PLACES), of_place),
    "space": (12, _space, of_space),
    "sweep.json": (4, _once(_RECORD), of_sweep_record),
    "summary.json": (4, _once(_SUMMARY), of_summary),
    "board.json": (6, _once(_BOARD), of_board),
    "cell.json": (5, _once(_CELL), of_cell),
    "race.json": (2, _once(_RACE), of_race),
}
"""As `fuzz_texts.TARGETS`."""
