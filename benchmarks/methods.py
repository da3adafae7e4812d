"""The race: VendiRL and its rivals, same learner, worlds, budget and care, scored in four senses.

Each method gets the same tuning: six settings of learning rate, discount, entropy and its own main knob, on plane and
maze with tuning seeds; the best by the mean fraction of the attainable score over the four senses then gets five fresh
seeds on plane, maze and rooms. VendiRL, which is trained once for each sense, gets the same six. What comes of each
training is a trial in benchmarks/race.json, from which the tables of docs/methods.md and the README are made.

python benchmarks/methods.py                         everything that is missing, which takes hours; it goes on
                                                     where it stopped, and may be stopped at any time
python benchmarks/methods.py plane untuned diayn     some worlds, forms and methods only
python benchmarks/methods.py tables                  only makes the tables again
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from race_tables import write_tables
from vendirl._files import write_atomically
from vendirl.boards.suite import known_suites
from vendirl.cli import keep_compiled_programs
from vendirl.clusters.comparing import contestants, train_all
from vendirl.data import read, sources_in
from vendirl.evaluation import effective_number
from vendirl.training.folder import name_for, versions
from vendirl.training.reading import read_table
from vendirl.training.settings import Settings

RECORD = Path(__file__).parent / "race.json"
SUITE = known_suites()["plane-maze-rooms-v1"]
SENSES = {name: SUITE.senses[name] for name in ("place", "direction", "extent", "overlap")}
SEEDS, TUNING_SEEDS, FIRST_TUNING_SEED = 5, 2, 1000
STEPS = 1e6
FORMS = ("untuned", "tuning", "tuned", "published")

# What all methods are tuned by, and of each its own main knob, at two values beside the usual one.
COMMON = ["ppo", "ppo(learning_rate=5e-4)", "ppo(discount=0.99, gae_lambda=0.95)", "ppo(entropy_coefficient=0.001)"]
KNOBS = {
    "vendirl": ("transform='raw'", "transform='log'"),
    "random": (),  # it learns nothing
    "diayn": ("learning_rate=3e-4", "learning_rate=3e-3"),
    "diayn-sn": ("sharpness=1", "sharpness=16"),
    "vic": ("learning_rate=3e-4", "learning_rate=3e-3"),
    "rvic": ("learning_rate=3e-4", "learning_rate=3e-3"),
    "dads": ("learning_rate=3e-4", "learning_rate=3e-3"),
    "lsd": ("dimension=4", "discrete=True"),
    "metra": ("dual=3", "discrete=True"),
    "csf": ("contrast=1", "contrast=10"),
    "visr": ("dimension=4", "learning_rate=3e-4"),
    "aps": ("neighbours=4", "dimension=4"),
    "becl": ("temperature=0.1", "temperature=1"),
    "cic": ("weight=0.25", "weight=4"),
    "disk": ("consistency=0.05", "consistency=0.8"),
    "wurl": ("projections=4", "projections=64"),
    "eigenoptions": ("barrier=0.5", "barrier=8"),
}
MADE_WITH_FAULTS = ("cic", "aps", "disk", "rvic")
"""Whose rows of an earlier version were made with faults that are mended: they come first, and those rows are gone."""
PUBLISHED = [f"{name}-published" for name in ("metra", "csf", "visr", "lsd", "dads", "aps", "cic", "becl", "disk")]
PUBLISHED += ["diayn-urlb"]
SHRINK = 8


@dataclasses.dataclass(frozen=True)
class Trial:
    """A training to do: of which method, in which world, in what form, and with what settings."""

    world: str
    method: str
    form: str
    setting: str = ""
    learner: str = "ppo"

    @property
    def key(self) -> dict[str, str]:
        """What tells it from the others in the record."""
        return dataclasses.asdict(self)


def settings_of(method: str) -> list[tuple[str, str]]:
    """The six settings of a method: what is said in its own brackets, and the learner."""
    if method == "random":
        return [("", "ppo")]
    return [("", learner) for learner in COMMON] + [(knob, "ppo") for knob in KNOBS[method]]


def trials(record: dict[str, Any]) -> Iterator[Trial]:
    """All that is to be done, what is wanted most first; tuned ones once their tuning is in the record."""
    ordered = [*MADE_WITH_FAULTS, "vendirl", *(name for name in KNOBS if name not in (*MADE_WITH_FAULTS, "vendirl"))]
    for world in ("plane", "maze"):
        for method in ordered:
            yield Trial(world, method, "untuned")
    for world in ("plane", "maze"):
        for method in ordered:
            for setting, learner in settings_of(method):
                yield Trial(world, method, "tuning", setting, learner)
    for world in SUITE.worlds:
        for method in ordered:
            if (best := best_setting(record, method)) is not None:
                yield Trial(world, method, "tuned", *best)
    for method in ordered:
        yield Trial("rooms", method, "untuned")
    for world in SUITE.worlds:
        for method in PUBLISHED:
            yield Trial(world, method, "published", f"shrink={SHRINK}", "its own")


def best_setting(record: dict[str, Any], method: str) -> tuple[str, str] | None:
    """The setting with the highest mean fraction over senses, plane and maze; None before all of them were tried."""
    means = {}
    for setting, learner in settings_of(method):
        found = [find(record, Trial(world, method, "tuning", setting, learner)) for world in ("plane", "maze")]
        if any(trial is None for trial in found):
            return None
        means[setting, learner] = np.mean([mean_fraction(trial) for trial in found])
    return max(means, key=lambda key: means[key])


def mean_fraction(trial: dict[str, Any]) -> float:
    """Of the attainable scores, over senses and seeds."""
    attainable = SUITE.attainable[trial["world"]]
    return float(np.mean([np.mean(scores) / attainable[sense] for sense, scores in trial["scores"].items()]))


def find(record: dict[str, Any], trial: Trial) -> dict[str, Any] | None:
    """What the record has of a trial."""
    wanted = trial.key
    return next((row for row in record["trials"] if all(row[name] == wanted[name] for name in wanted)), None)


def method_text(trial: Trial, similarity: str) -> str:
    """The method with its settings; VendiRL is told its similarity, by which it is trained once for each sense."""
    said = [f"similarity='{similarity}'"] if trial.method == "vendirl" else []
    said += [trial.setting] if trial.setting else []
    return f"{trial.method}({', '.join(said)})" if said else trial.method


def run(trial: Trial, out: Path) -> dict[str, Any]:
    """Train and score; of VendiRL in each sense the skills that were trained by it, and in the others too (`all`)."""
    seeds = TUNING_SEEDS if trial.form == "tuning" else SEEDS
    first = FIRST_TUNING_SEED if trial.form == "tuning" else 0
    learner = {} if trial.form == "published" else {"learner": trial.learner}
    settings = Settings(env=SUITE.worlds[trial.world], skills=8, steps=STEPS, seed=first, seeds=seeds, **learner)
    senses = list(SENSES.values())
    texts = list(dict.fromkeys(method_text(trial, k) for k in senses))
    entrants = contestants(texts, senses[:1], settings, {"steps", "seeds", "seed", "skills"})
    place = "defaults" if trial.form == "untuned" else f"{trial.form}/{name_for(trial.learner)}"
    folders = train_all(entrants, out / trial.world / place)
    each = {text: scores_in(folder) for text, folder in zip(texts, folders.values(), strict=True)}
    own = {sense: each[method_text(trial, k)][sense] for sense, k in SENSES.items()}
    took = [read_table(folder / "summary.json") for folder in folders.values()]
    found = {
        **trial.key,
        "scores": own,
        "seeds": seeds,
        "first_seed": first,
        "episodes": SUITE.episodes,
        "steps": max(summary["env_steps"] for summary in took),
        "wall_seconds": round(sum(summary["wall_seconds"] for summary in took), 1),
        "versions": versions(),
    }
    return found | ({"all": each} if len(texts) > 1 and trial.form != "tuning" else {})


def scores_in(folder: Path) -> dict[str, list[float]]:
    """By sense, the Vendi Score of each seed of a run: of all its episodes, with noise."""
    data = [read(source).by_skill for source in sources_in(folder)]
    return {sense: [round(float(effective_number(x, k)), 4) for x in data] for sense, k in SENSES.items()}


def read_record() -> dict[str, Any]:
    return json.loads(RECORD.read_text()) if RECORD.exists() else {"trials": [], "earlier": {}}


def race(words: list[str], out: Path = Path("runs/race")) -> None:
    """Do what is missing of what some words choose, and write each trial down as soon as it is done."""

    def wanted(trial: Trial) -> bool:
        chosen = [(trial.world, SUITE.worlds), (trial.form, FORMS), (trial.method, [*KNOBS, *PUBLISHED])]
        return all(value in words or not set(words) & set(known) for value, known in chosen)

    if unknown := set(words) - {*SUITE.worlds, *FORMS, *KNOBS, *PUBLISHED}:
        raise SystemExit(f"{', '.join(sorted(unknown))}: there is no such world, form or method")
    while True:
        record = read_record()
        missing = [trial for trial in trials(record) if wanted(trial) and find(record, trial) is None]
        if not missing:
            return
        print(f"{len(missing)} to do; now {missing[0]}", flush=True)
        found = run(missing[0], out)
        record = read_record()  # which may have been made again meanwhile
        record["trials"].append(found)
        write_atomically(RECORD, json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:] != ["tables"]:
        keep_compiled_programs()
        race(sys.argv[1:])
    planned = [trial.key for trial in trials(read_record())]
    write_tables(read_record(), planned, list(SENSES), SUITE)
