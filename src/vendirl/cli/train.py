"""`vendirl train`: learn skills."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from rich.console import Console

from vendirl._host import undisturbed
from vendirl._text import verbatim
from vendirl.algorithms import Algorithm
from vendirl.cli.command import Command
from vendirl.training.budget import Rounding
from vendirl.training.learned import learned
from vendirl.training.progress import progress_bar
from vendirl.training.settings import Settings


def _resume(words: list[str]) -> bool | Literal["auto"]:
    if len(words) > 1 or words[:1] not in ([], ["auto"], ["no"]):
        raise ValueError(f"--resume stands alone or before auto, not before {' '.join(words)}")
    return True if not words else "auto" if words == ["auto"] else False


RESUME = tyro.constructors.PrimitiveConstructorSpec[bool | Literal["auto"]](
    nargs="*",
    metavar="[auto]",
    instance_from_str=_resume,
    is_instance=lambda value: value in (True, False, "auto"),
    str_from_instance=lambda value: [] if value is True else ["auto" if value else "no"],
)
"""A word that may follow --resume."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Train(Settings, Command):
    """Learn a set of skills that are diverse in the sense you ask for.

    vendirl train --env point --skills 8 --similarity "mmd(scale=4)" --out runs/mmd

    Attributes:
        out: The folder for the run: settings, metrics, checkpoints, trajectories, figure and summary. By default it
            is made below runs/, and named after the settings.
        resume: Go on with the run in --out, with its own settings, bit for bit as if it had never stopped; outside of
            JAX, this holds where an environment's seed and actions decide all that it does. `--resume auto` goes on if
            there is a run, and else begins it. With more --steps than it had, it is trained longer.
        trust: With --resume alone, or --init, make the environment that a run names even if that imports a module,
            which runs its code. Use it for your own runs, and for those of people you trust.
    """

    out: Path | None = None
    resume: Annotated[bool | Literal["auto"], RESUME] = False
    trust: bool = False
    rounding: tyro.conf.Suppress[Rounding] = "down"
    extended: tyro.conf.Suppress[int] = 0

    def run(self) -> None:
        with undisturbed():
            from vendirl.training import driver, processes

        processes.join()
        settings = settings_of(self)
        out, longer = self.out or Path("runs") / folder_name(settings), False
        with processes.refused_together():
            if processes.first():
                settings, longer = self._as_asked(settings, out)
        said, longer = processes.as_first_says((settings.to_json(), longer))
        if not processes.first():
            theirs = Settings.from_json(said)
            driver.run(theirs, out, self.resume, progress=False, longer=longer, trust=self.trust)
            return
        with progress_bar() as report:
            result = driver.run(settings, out, self.resume, report, longer=longer, trust=self.trust)
        summary = result.summary()
        console = Console(highlight=False, soft_wrap=True)
        for seed, score in summary["seeds"].items():
            ceiling = summary["attainable"]
            of = f"{ceiling:.3f} attainable" if summary["attainable_method"] == "ascent" else f"at most {ceiling:.3f}"
            console.print(f"seed {seed}: Vendi Score [bold]{score:.3f}[/] of {of} ({score / ceiling:.1%})")
        scores = summary["vendi_score"], summary["untrained"]
        console.print(learned(*scores, len(summary["seeds"]), bool(result.settings.init)))
        refills = f" and {summary['refill_steps']:,} to refill memories" if summary["refill_steps"] else ""
        console.print(
            f"{summary['env_steps']:,} steps{refills} in {summary['wall_seconds']:.1f} s "
            f"({summary['steps_per_second']:,.0f} steps/s, compiled in {summary['compile_seconds']:.1f} s)"
        )
        if result.coverage is not None:
            console.print(verbatim(covered(result.coverage)))
        files = "trajectories.npz, untrained.npz and figure.png"
        if settings.seeds > 1:
            files = f"and in {', '.join(place.name for place in result.places)} {files}"
        console.print(verbatim(f"saved in {out}: summary.json, {files}"))

    def _as_asked(self, settings: Settings, out: Path) -> tuple[Settings, bool]:
        """The settings, of a run that goes on as they are in its folder; and whether it is given more steps."""
        from vendirl.environments import refuse_untrusted
        from vendirl.training import folder, going_on

        if not self.resume or (self.resume == "auto" and not (out / "settings.json").exists()):
            return settings, False
        settings = with_said(folder.read_settings(out), self)  # `--resume --out folder` needs nothing else
        if "env" not in self.given and not self.trust:
            refuse_untrusted(settings.env, out, going_on.TRUST)
        settings.check()
        return going_on.lengthened(settings, out)


def covered(coverage: dict[str, Any]) -> str:
    """What was visited in training, in one sentence."""
    cells = ", ".join(
        f"{cells:,}" if exact else f"at least {cells:,}"
        for cells, exact in zip(coverage["cells"], coverage["exact"], strict=True)
    )
    return f"Training visited {cells} cells of width {coverage['cell']:g} in {', '.join(coverage['features'])}."


def settings_of(command: Settings) -> Settings:
    """The settings in the arguments of a command; where nothing was said, what the release of a published form says, or
    what suits the environment."""
    from vendirl.training.recipes import recommended  # it knows the methods, which take long to import

    return Settings(
        **recommended(command.method, asked(command), command.given if isinstance(command, Command) else None)
    )


def asked(command: Settings) -> dict[str, Any]:
    """The settings in the arguments of a command, by name."""
    return {field.name: getattr(command, field.name) for field in dataclasses.fields(Settings)}


def with_said(theirs: Settings, command: Train) -> Settings:
    """Settings with those in place that the arguments of a command say, or that are not as usual in it."""
    from vendirl.training.bodies import same_world

    mine, usual, said = Settings(**asked(command)), Settings(), command.given
    for field in dataclasses.fields(Settings):
        name, value = field.name, getattr(mine, field.name)
        if isinstance(value, Algorithm):
            parts = [part.name for part in dataclasses.fields(value)]
            there, before = getattr(theirs, name), getattr(usual, name)
            new = [part for part in parts if f"{name}.{part}" in said or getattr(value, part) != getattr(before, part)]
            value = dataclasses.replace(there, **{part: getattr(value, part) for part in new})
        elif name not in said and value == getattr(usual, name):
            continue
        elif name == "env":
            value = same_world(theirs.env, value)
        theirs = dataclasses.replace(theirs, **{name: value})
    return theirs


def folder_name(settings: Settings) -> str:
    """A name for the folder of a run: its environment, method, similarity, number of skills and seed, however long."""
    text = f"{settings.env}-{settings.method}-{settings.similarity}-{settings.skills}-seed{settings.seed}"
    from vendirl.training.folder import name_for

    return name_for(text)
