"""A task: the settings of a run and its folder. Carrying it out goes on with what is there, so doing it again is safe.

Whoever carries it out trains the run to its end, or says why not:

    done        the run is finished
    refused     it cannot be trained, whoever tries: settings that do not go together, rewards that became NaN
    lost        it may well be trained by another try: a full disk, too little memory, an environment that died
    stopped     it was asked to stop, and is saved
"""

from __future__ import annotations

import dataclasses
import json
import time
import traceback
from pathlib import Path
from typing import Any, Literal

from threadpoolctl import threadpool_limits

from vendirl.environments import EnvironmentFailure
from vendirl.training.attainable import Attainable
from vendirl.training.driver import Progress, run
from vendirl.training.owner import AlreadyOwnedError, NoLocksError
from vendirl.training.settings import Settings

REFUSED = (ValueError, TypeError, KeyError, FloatingPointError, FileExistsError, NotADirectoryError, ImportError)
"""What another try would only meet again."""
PATIENCE = 60.0
"""Seconds for which a folder may still be written by a process that was lost, and is about to end."""

End = Literal["done", "refused", "lost", "stopped"]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How carrying out a task ended.

    Attributes:
        end: one of the words above.
        why: the reason in one line; empty if the task is done.
    """

    end: End
    why: str = ""


@dataclasses.dataclass(frozen=True)
class Task:
    """A run to train.

    Attributes:
        name: what the task is called in messages.
        settings: the settings of the run, with what was decided for it already, such as over how many devices it is
            spread.
        folder: the folder of the run.
        ceiling: the attainable score, if it is known.
        imports: modules to import first, which make known what the settings name.
    """

    name: str
    settings: Settings
    folder: Path
    ceiling: Attainable | None = None
    imports: tuple[str, ...] = ()

    def to_text(self) -> str:
        """The task as a line of JSON, for another process."""
        ceiling = None if self.ceiling is None else [self.ceiling.score, self.ceiling.method]
        table = {
            "name": self.name,
            "settings": self.settings.to_json(),
            "folder": str(self.folder.resolve()),
            "ceiling": ceiling,
            "imports": self.imports,
            "place": str(Path.cwd()),
        }
        return json.dumps(table)

    @classmethod
    def from_text(cls, text: str) -> Task:
        """The task in a line of JSON."""
        found: dict[str, Any] = json.loads(text)
        ceiling = None if found["ceiling"] is None else Attainable(found["ceiling"][0], None, found["ceiling"][1])
        settings = Settings.from_json(found["settings"])
        return cls(found["name"], settings, Path(found["folder"]), ceiling, tuple(found["imports"]))

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do. A run that was given other settings is refused when it is carried out."""
        return (self.folder / "summary.json").exists()


def carried_out_here(task: Task, progress: Progress | None = None) -> Outcome:
    """Train the run of a task in this process. Ctrl-C and its like save it, and are raised as ever.

    Matrices are small, and threads of BLAS would only wait for each other; that they are as many wherever a run is
    trained also makes its numbers the same.
    """
    try:
        with threadpool_limits(1, "blas"):
            _patiently(task, progress)
    except REFUSED as error:
        return Outcome("refused", _said(error))
    except NoLocksError as error:
        return Outcome("refused", str(error))
    except (OSError, MemoryError, EnvironmentFailure) as error:
        return Outcome("lost", _said(error))
    except Exception as error:
        traceback.print_exc()
        return Outcome("lost", _said(error))
    return Outcome("done")


def _patiently(task: Task, progress: Progress | None) -> None:
    """Train, but wait first for a process that was lost and still has the folder."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            run(task.settings, task.folder, "auto", progress, ceiling=task.ceiling)
            return
        except AlreadyOwnedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def _said(error: Exception) -> str:
    """An exception in one line."""
    return " ".join(str(error).split()) or type(error).__name__
