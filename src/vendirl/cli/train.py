"""`vendirl train`: learn skills."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from rich.console import Console

from vendirl.cli.progress import progress_bar
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

    def run(self) -> None:
        """Train, with progress, and say what came of it and where it is."""
        from vendirl.training import folder
        from vendirl.training import run as running

        settings = Settings(**{field.name: getattr(self, field.name) for field in dataclasses.fields(Settings)})
        out = self.out or Path("runs") / _slug(settings)
        if self.resume and settings == Settings():
            settings = folder.read_settings(out)  # `--resume --out folder` needs nothing else
        with progress_bar() as report:
            result = running.run(settings, out, self.resume, report)
        summary = result.summary()
        console = Console()
        for seed, score in summary["seeds"].items():
            ceiling = summary["attainable"]
            of = f"{ceiling:.3f} attainable" if summary["attainable_method"] == "ascent" else f"at most {ceiling:.3f}"
            line = f"seed {seed}: Vendi Score [bold]{score:.3f}[/] of {of} ({score / ceiling:.1%})"
            console.print(line)
        console.print(
            f"{summary['env_steps']:,} steps in {summary['wall_seconds']:.1f} s "
            f"({summary['steps_per_second']:,.0f} steps/s, compiled in {summary['compile_seconds']:.1f} s)"
        )
        console.print(f"saved in {out}: summary.json, trajectories.npz, figure.png", highlight=False, soft_wrap=True)


def _slug(settings: Settings) -> str:
    text = f"{settings.env}-{settings.method}-{settings.similarity}-{settings.skills}-seed{settings.seed}"
    return "".join(c if c.isalnum() or c in "-." else "_" for c in text)[:80]
