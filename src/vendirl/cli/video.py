"""`vendirl video`: films of a run's skills."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import tyro
from rich.console import Console


@dataclasses.dataclass
class Video:
    """Film the skills of a run: an mp4 of each and one of all side by side. `vendirl report` shows them.

    vendirl video runs/cheetah
    """

    folder: tyro.conf.Positional[Path]
    """The folder of the run."""
    out: Path | None = None
    """Folder for the films; by default videos/ in that of the run."""
    seed: int | None = None
    """Of a run of several seeds, which to film; by default the best."""
    width: int = 320
    """Of a picture."""
    height: int = 240
    """Of a picture."""
    fps: float = 20.0
    """Pictures per second."""
    every: int = 1
    """Take a picture after so many steps."""

    def run(self) -> None:
        """Load, film, write."""
        import numpy as np

        from vendirl import video
        from vendirl.training.run import load

        this = load(self.folder)
        first = this.settings.seed
        seed = int(np.argmax(this.scores)) if self.seed is None else self.seed - first
        if not 0 <= seed < this.settings.seeds:
            raise ValueError(f"seed must be one of the run's, {first} to {first + this.settings.seeds - 1}")
        folder = self.out or self.folder / "videos"
        console = Console()
        with console.status("filming"):
            paths = video.write_all(this, folder, seed, self.width, self.height, self.fps, self.every)
        console.print(
            f"wrote {len(paths)} films in {folder}; {paths[-1]} has all skills side by side",
            highlight=False,
            soft_wrap=True,
        )
