"""The command line: `vendirl train`, `vendirl demo`, `vendirl list`."""

from __future__ import annotations

import dataclasses
import inspect
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from vendirl.training.settings import Settings


@dataclasses.dataclass(frozen=True)
class Train(Settings):
    """Learn a set of skills that are diverse in the sense you ask for.

    vendirl train --env point --skills 8 --similarity "mmd(scale=4)" --out runs/mmd
    """

    out: Path | None = None
    """Folder for the run: settings, metrics, checkpoints, trajectories, figure, summary. By default below runs/."""
    resume: bool = False
    """Go on with the run in --out, with its own settings, bit for bit as if it had never stopped."""


@dataclasses.dataclass
class Demo:
    """Learn the paper's skill sets (Figures 1 and 3) in the plane, print a table, and draw them. About two minutes."""

    out: Path = Path("demo")
    """Folder for the pictures and runs."""
    steps: float | None = None
    """Environment steps for each of the four, if not those of the defaults."""


@dataclasses.dataclass
class List:
    """List similarities, environments and methods, with one line each."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    try:
        command = tyro.cli(
            Annotated[Train, tyro.conf.subcommand("train")]
            | Annotated[Demo, tyro.conf.subcommand("demo")]
            | Annotated[List, tyro.conf.subcommand("list")],  # type: ignore[arg-type]
            prog="vendirl",
            description="Skills that are diverse in the sense you ask for. Start with: vendirl demo",
            args=arguments,
        )
        keep_compiled_programs()
        if isinstance(command, List):
            _list()
        elif isinstance(command, Demo):
            from vendirl.demo import demo

            demo(command.out, command.steps)
        else:
            _train(command)
    except KeyboardInterrupt as stop:
        print(f"\n{stop}" if str(stop) else "\nstopped", file=sys.stderr)
        return 130
    except (ValueError, TypeError, OSError, FloatingPointError) as error:
        if os.environ.get("VENDIRL_TRACEBACK"):
            raise
        print(f"vendirl: {error}", file=sys.stderr)
        return 2
    return 0


def keep_compiled_programs() -> None:
    """Keep compiled programs between runs, apart for each release of jaxlib, unless JAX was told where to already."""
    import jax
    import jaxlib

    if getattr(jax.config, "jax_compilation_cache_dir", None) is None:
        cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
        jax.config.update("jax_compilation_cache_dir", str(cache / "vendirl" / f"jaxlib-{jaxlib.__version__}"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.3)


def _train(command: Train) -> None:
    from vendirl.training import run as running

    settings = Settings(**{field.name: getattr(command, field.name) for field in dataclasses.fields(Settings)})
    out = command.out or Path("runs") / _slug(settings)
    if command.resume and settings == Settings():
        settings = running.read_settings(out)  # `--resume --out folder` needs nothing else
    with progress_bar() as report:
        result = running.run(settings, out, command.resume, report)
    summary = result.summary()
    console = Console()
    for seed, score in summary["seeds"].items():
        fraction = score / summary["attainable"]
        console.print(
            f"seed {seed}: Vendi Score [bold]{score:.3f}[/] of {summary['attainable']:.3f} attainable ({fraction:.1%})"
        )
    console.print(
        f"{summary['env_steps']:,} steps in {summary['wall_seconds']:.1f} s "
        f"({summary['steps_per_second']:,.0f} steps/s, compiled in {summary['compile_seconds']:.1f} s)"
    )
    console.print(f"saved in {out}: summary.json, trajectories.npz, figure.png", highlight=False)


class progress_bar:  # noqa: N801  (used like a function)
    """A bar with steps per second, the score against its ceiling, and the time left; nothing if not on a terminal."""

    def __init__(self, label: str = "learning"):
        self.label = label
        self.progress: Progress | None = None

    def __enter__(self):
        console = Console(stderr=True)
        if console.is_terminal:
            self.progress = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.percentage:>3.0f}%"),
                TextColumn("{task.fields[status]}"),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                console=console,
            )
            self.progress.start()
            self.task = self.progress.add_task(f"{self.label} (compiling)", total=None, status="")
        return self.report

    def report(self, run: Any, row: dict[str, Any]) -> None:
        if self.progress is None:
            return
        scores = row["vendi_score"] if isinstance(row["vendi_score"], list) else [row["vendi_score"]]
        score = sorted(scores)[len(scores) // 2]
        speed = run.env_steps * run.settings.seeds / max(run.wall_seconds, 1e-9)
        status = f"score {score:.3f} of {run.ceiling.score:.3f}  {speed / 1e3:,.0f}k steps/s"
        self.progress.update(self.task, description=self.label, total=run.epochs, completed=run.done, status=status)

    def __exit__(self, *_):
        if self.progress is not None:
            self.progress.stop()


def _slug(settings: Settings) -> str:
    text = f"{settings.env}-{settings.similarity}-{settings.skills}-seed{settings.seed}"
    return "".join(c if c.isalnum() or c in "-." else "_" for c in text)[:80]


def _list() -> None:
    import vendirl.environments as environments
    from vendirl.similarity import known

    console = Console()
    for title, rows in (
        ("Similarities", [(name, _first_line(factory)) for name, factory in known().items()]),
        ("Environments", [(name, environments.describe(name)) for name in environments.names()]),
        ("Methods", [("vendirl", "Algorithm 1 of the paper: reward the change in the Vendi Score of the skills")]),
    ):
        table = Table(title=title, title_justify="left", show_header=False, box=None, padding=(0, 2))
        for name, line in rows:
            table.add_row(f"[bold]{name}[/]", line)
        console.print(table)


def _first_line(factory: Any) -> str:
    return (inspect.getdoc(factory) or "").split("\n")[0]


if __name__ == "__main__":
    sys.exit(main())
