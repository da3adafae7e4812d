"""`vendirl video`: films of a run's skills."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import tyro
from rich.console import Console

from vendirl._files import refuse_links
from vendirl._text import verbatim
from vendirl.cli.command import Command


@dataclasses.dataclass(frozen=True, kw_only=True)
class Video(Command):
    """Film the skills of a run: an mp4 of each and one of all side by side. `vendirl report` shows them.

    vendirl video runs/cheetah

    Attributes:
        folder: The folder of the run.
        out: The folder for the films. By default it is videos/ in the folder of the run.
        seed: Which seed to film, if the run has several. By default it is the best.
        width: The width of a picture.
        height: The height of a picture.
        fps: How many pictures are shown in a second.
        every: After how many steps a picture is taken.
        trust: Make the environment that the run names even if that imports a module, which runs its code. Use it
            for your own runs, and for those of people you trust.
    """

    folder: tyro.conf.Positional[Path]
    out: Path | None = None
    seed: int | None = None
    width: int = 320
    height: int = 240
    fps: float = 20.0
    every: int = 1
    trust: bool = False

    def run(self) -> None:
        from vendirl.show import films
        from vendirl.training.beginning import load

        folder = self.out or self.folder / "videos"
        if self.out is None:
            refuse_links(folder, self.folder)
        this = load(self.folder, trust=self.trust)
        first = this.settings.seed
        seed = this.best if self.seed is None else self.seed - first
        if not 0 <= seed < this.settings.seeds:
            raise ValueError(f"seed must be one of the run's, {first} to {first + this.settings.seeds - 1}")
        console = Console()
        with console.status("filming"):
            paths = films.write_all(this, folder, seed, self.width, self.height, self.fps, self.every)
        line = f"wrote {len(paths)} films in {folder}; {paths[-1]} has all skills side by side"
        console.print(verbatim(line), soft_wrap=True)
