"""Sets of skills used for tasks in every way that is asked for: what each earns, beside random actions and the oracle.

Everything that may be wrong is looked at first. Then there is a cell for each way and set of skills (`cells`), and a
table of them all (`result`).
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from vendirl._checks import finite_number, seed_number, shown, truth_value, whole_number
from vendirl._files import drop_leftovers, refuse_links, write_atomically
from vendirl._text import printable
from vendirl.data import Trajectories
from vendirl.environments import AnyEnvironment, as_environment
from vendirl.evaluation import effective_number
from vendirl.similarity import Similarity
from vendirl.similarity.parsing import as_similarity
from vendirl.training.beginning import load
from vendirl.training.carrying import check_same_body
from vendirl.training.folder import fingerprint
from vendirl.training.owner import owning
from vendirl.training.run import Run
from vendirl.training.stopping import leaving
from vendirl.transfer.cells import FOLDER, Question, kept_or_done
from vendirl.transfer.result import NOTHING, Row, Transfer
from vendirl.transfer.rewards import check_tasks, returns_of
from vendirl.transfer.sets import Part, tasks_of
from vendirl.transfer.settings import Learning
from vendirl.transfer.task import Task, parse_task
from vendirl.transfer.useful import useful_skills
from vendirl.transfer.ways import Asked, Used, Way, parse_way
from vendirl.transfer.ways.oracle import Oracle
from vendirl.transfer.ways.random import Random
from vendirl.transfer.ways.scratch import Scratch
from vendirl.transfer.ways.select import stored_episodes

Say = Callable[[str, float], None]
"""(what is being done, the fraction of it that is done)"""
ALWAYS: tuple[Way, ...] = (Random(), Oracle(), Scratch())
"""What every table has beside the ways that are asked for."""


def transfer(
    runs: Run | str | Path | Sequence[Run | str | Path] | Any,
    tasks: str | Task | Sequence[Any] | Any = "maze-goals",
    adapt: str | Way | Sequence[str | Way] | Any = ("select", "control", "finetune"),
    *,
    steps: float = 1e5,
    seeds: int = 5,
    seed: int = 0,
    out: str | Path | None = None,
    part: Part | Any = "held-out",
    env: str | AnyEnvironment | Any | None = None,
    similarities: Sequence[Similarity | str] | Any = (),
    learning: Learning | Any = Learning(),  # noqa: B008  (it is frozen)
    progress: bool | Say | Any = True,
    trust: bool = False,
) -> Transfer:
    """Use sets of skills for tasks, and compare what they earn with random actions, the oracle, and learning without
    skills.

    Args:
        runs: runs, or their folders, all of the same body; one of them, or a list.
        tasks: the name of a set of tasks, or tasks, as objects, texts or functions; one of them, or a list.
        adapt: ways of using skills: select, control, finetune, ..., with settings such as "control(hold=5)".
        steps: how many steps of the body each task has in each way and with each seed; what choosing a skill costs is
            counted.
        seeds, seed: how often each way is tried, and the first seed. If a run has several seeds, they are dealt to
            these.
        out: a folder to keep what is done in (cells/, transfer.json, transfer.csv); if it is asked for again, it goes
            on there. For tasks that are functions, and for runs that were not saved, no cells are kept.
        part: which part of the sets of tasks is used: "held-out", "train" or "all".
        env: where the tasks are done, if not where the skills were learned; an environment of the same body.
        similarities: senses of diversity to score the runs in, beside their own.
        learning: how tasks are learned from reward.
        progress: True for lines on standard error; False for silence; or a function (what, fraction).
        trust: whether environments that run folders name may be made whatever they are; see `vr.load`.

    Example:
        >>> import vendirl as vr
        >>> run = vr.train("point", "mmd(scale=4)", skills=4, steps=1e5, progress=False)
        >>> table = vr.transfer(run, "plane-goals", "select", steps=2e4, seeds=1, progress=False)
        >>> table.row("vendirl", "select").score > table.row("-", "random").score
        True
    """
    senses = {str(k): k for k in map(as_similarity, similarities)}
    sets = _sets_of_skills(runs, trust)
    asked, ways, name = asked_of(
        sets, tasks, adapt, steps=steps, seeds=seeds, seed=seed, part=part, env=env, learning=learning
    )
    environment, chosen = asked.environment, asked.tasks
    rest = {
        "env": f"{name} {environment!r}"[:2000],
        "tasks": [str(task) for task in chosen],
        **{key: getattr(asked, key) for key in ("steps", "seeds", "seed")},
        "learning": dataclasses.asdict(learning),
    }
    folder = None if out is None else Path(out)
    with contextlib.ExitStack() as held:
        held.enter_context(leaving(lambda: _stopped(folder)))
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            refuse_links(folder / FOLDER, folder)
            held.enter_context(owning(folder, "transfer.*"))
            drop_leftovers(folder / FOLDER, "*.json")
        found = _found(asked, name, sets, ways, senses, rest, folder, _say(progress))
        if folder is not None:
            write_atomically(folder / "transfer.json", json.dumps(found.to_json(), indent=1) + "\n")
            write_atomically(folder / "transfer.csv", found.to_csv())
    return found


def _stopped(folder: Path | None) -> str:
    kept = "nothing was saved, since there is no folder (out=...)"
    return f"stopped; {kept if folder is None else f'what is done is kept in {folder}, and the same command goes on'}"


def _found(
    asked: Asked,
    name: str,
    sets: dict[str, Run],
    ways: Sequence[Way],
    senses: dict[str, Similarity],
    rest: dict[str, Any],
    folder: Path | None,
    say: Say,
) -> Transfer:
    """Do what is not done yet, and make the table of it all."""
    chosen, steps = asked.tasks, asked.steps
    cells = folder if all(map(_is_text, chosen)) else None  # another function may have the same name

    def cell(way: Way, of: str = NOTHING) -> Used:
        asking = dataclasses.replace(
            asked, report=lambda done: say(str(way) if of == NOTHING else f"{way} of {of}", done)
        )
        if of == NOTHING:
            return kept_or_done(Question(str(way), {}, rest), cells, lambda: way.use(asking), asked.seeds, len(chosen))
        return _of_run(way, of, sets[of], asking, rest, cells)

    without = {way: cell(way) for way in dict.fromkeys((*ALWAYS, *(way for way in ways if not way.uses_skills)))}
    floor, ceiling = (without[way].returns[-1].mean(0) for way in ALWAYS[:2])
    tells = ceiling - floor > 1e-6 * np.maximum(1.0, np.abs(ceiling))
    if not tells.any():
        raise ValueError(
            "random actions earn as much as the oracle in all of these tasks, so they tell us nothing; the oracle is "
            f"{without[ALWAYS[1]].note}"
        )
    earned = [(NOTHING, way, used) for way, used in without.items()]
    earned += [(of, way, cell(way, of)) for of in sets for way in ways if way.uses_skills]
    rows = []
    for of, way, used in earned:
        telling = dataclasses.replace(used, returns=used.returns[..., tells])
        rows.append(Row.of(of, str(way), telling, floor[tells], ceiling[tells], steps, asked.seed))
    scale = (ceiling - floor)[tells]
    diversity, useful = {}, {}
    for of, run in sets.items():
        stored = [stored_episodes(dataclasses.replace(asked, run=run, run_seed=s)) for s in range(run.settings.seeds)]
        diversity[of] = _diversity(run, stored, senses)
        profiles = [(returns_of(chosen, data).profile[:, tells] - floor[tells]) / scale for data in stored]
        useful[of] = float(np.median([useful_skills(profile) for profile in profiles]))
    return Transfer(
        name,
        tuple(str(task) for task, t in zip(chosen, tells, strict=True) if t),
        steps,
        asked.seeds,
        tuple(rows),
        diversity,
        useful,
        tuple(str(task) for task, t in zip(chosen, tells, strict=True) if not t),
    )


def asked_of(
    sets: dict[str, Run],
    tasks: Any,
    adapt: Any,
    *,
    steps: float,
    seeds: int,
    seed: int,
    part: Part | Any,
    env: str | AnyEnvironment | Any | None,
    learning: Learning | Any,
) -> tuple[Asked, tuple[Way, ...], str]:
    """What is asked of sets of skills, in which ways, and what the environment is called; refused if it cannot be. Of
    the runs it is enough that they could be trained."""
    chosen = tasks_of(tasks, part)
    ways = _ways_of(adapt)
    finite_number(steps, "steps", above=0, most=1e15)
    whole_number(seeds, "seeds", most=10**6)
    seed_number(seed)
    if not isinstance(learning, Learning):
        raise TypeError(f"learning must be a Learning, but is {type(learning).__name__}")
    learning.check()
    environment, name = _environment(sets, env)
    check_tasks(chosen, environment.feature_names, f"the environment {name}")
    asked = Asked(environment, chosen, float(steps), seeds, seed, learning)
    for way in ways:
        for run in sets.values() if way.uses_skills else ():
            way.check(dataclasses.replace(asked, run=_in(run, environment)))
    return asked, ways, name


def _of_run(way: Way, name: str, run: Run, asked: Asked, rest: dict[str, Any], folder: Path | None) -> Used:
    """What a way earns by a run; its seeds are dealt to those of the way."""
    own = run.settings.seeds
    parts: list[Used] = []
    for run_seed in range(min(own, asked.seeds)):
        mine = len(range(run_seed, asked.seeds, own))
        first = (asked.seed + 1000 * run_seed) % 2**31
        skills = {
            "name": name,
            "folder": None if run.folder is None else printable(run.folder),
            "settings": fingerprint(run.settings),
            "epoch": run.done,
            "seed": run.settings.seed + run_seed,
            "of": [mine, first],
        }
        asking = dataclasses.replace(
            asked, run=_in(run, asked.environment), home=run, run_seed=run_seed, seeds=mine, seed=first
        )
        keep = folder if run.folder is not None else None  # an unsaved run cannot be told from another
        question, use = Question(str(way), skills, rest), partial(way.use, asking)
        parts.append(kept_or_done(question, keep, use, mine, len(asked.tasks)))
    chosen = None if parts[0].chosen is None else np.concatenate([p.chosen for p in parts if p.chosen is not None])
    returns: Float[np.ndarray, "points seeds tasks"] = np.concatenate([part.returns for part in parts], 1)
    return Used(parts[0].steps, returns, chosen, parts[0].note)


def _is_text(task: Task) -> bool:
    """Whether the text of a task says all of it, as it does not of functions."""
    try:
        return parse_task(str(task)) == task
    except ValueError:
        return False


def _ways_of(adapt: Any) -> tuple[Way, ...]:
    listed = list(adapt) if isinstance(adapt, list | tuple) else [adapt]
    if not listed:
        raise ValueError("adapt is empty: name at least one way of using skills, such as select")
    found = [way if isinstance(way, Way) else parse_way(way) for way in listed]
    if len(set(map(str, found))) < len(found):
        raise ValueError(f"a way is named twice: {', '.join(map(str, found))}")
    return tuple(found)


def _sets_of_skills(runs: Any, trust: bool) -> dict[str, Run]:
    """The runs by name: that of the folder, or of the method; refused if they are of different bodies."""
    truth_value(trust, "trust")
    listed = list(runs) if isinstance(runs, list | tuple) else [runs]
    if not listed:
        raise ValueError("runs is empty: give at least one run, or the folder of one")
    found: dict[str, Run] = {}
    for one in listed:
        if not isinstance(one, Run | str | Path):
            raise TypeError(f"a run must be a Run or its folder, but is {shown(one)}")
        run = one if isinstance(one, Run) else load(one, trust=trust)
        name = run.settings.method if run.folder is None else printable(run.folder.resolve().name)
        if name in found and run.folder is not None:
            name = printable(run.folder)
        if name in found:
            raise ValueError(f"two runs are called {name}; save them in folders of different names")
        if found:
            first, other = next(iter(found.items()))
            check_same_body(other.environment, run.environment, f"the run {name}, unlike {first},")
        found[name] = run
    return found


def _environment(sets: dict[str, Run], env: Any) -> tuple[AnyEnvironment, str]:
    """Where the tasks are done, and what it is called."""
    if env is not None:
        environment = as_environment(env)
        for name, run in sets.items():
            check_same_body(environment, run.environment, f"the run {name}")
        return environment, env if isinstance(env, str) else f"object:{type(env).__name__}"
    first = next(iter(sets.values()))
    for name, run in sets.items():
        mine, theirs = ((r.settings.env, r.environment.episode_length) for r in (first, run))
        if mine != theirs:
            raise ValueError(
                f"the runs act in different environments, {mine[0]} and {theirs[0]} ({name}), with episodes of "
                f"{mine[1]} and {theirs[1]} steps; say where the tasks are to be done: env=..."
            )
    return first.environment, first.settings.env


def _in(run: Run, environment: AnyEnvironment) -> Run:
    """The run with its skills in an environment; if that is another one, without what is saved with it."""
    if environment is run.environment or environment == run.environment:
        return run
    problem = dataclasses.replace(run.loop.problem, environment=environment)
    return dataclasses.replace(run, loop=dataclasses.replace(run.loop, problem=problem), folder=None)


def _diversity(
    run: Run, stored: Sequence[Trajectories], senses: dict[str, Similarity]
) -> dict[str, tuple[float, float]]:
    """The Vendi Score of stored episodes and its ceiling in each sense, that of the run itself first."""
    found = {}
    for name, k in {str(run.similarity): run.similarity, **senses}.items():
        score = float(np.median([effective_number(data, k) for data in stored]))
        own = run.found_ceiling if name == str(run.similarity) else None
        limit = k.ceiling(run.settings.skills, run.environment.observation_size)
        found[name] = (score, float(own.score if own is not None else limit))
    return found


def _say(progress: Any) -> Say:
    if callable(progress):
        return progress
    truth_value(progress, "progress")
    if not progress:
        return lambda what, fraction: None
    from vendirl.transfer.saying import lines

    return lines()
