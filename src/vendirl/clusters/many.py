"""Many runs, carried out by an executor like those of `concurrent.futures`, and tried again if they are lost.

Whatever has `submit(function, *arguments)` that gives a future will do: threads, each with a process of its own
(`clusters.local`), Ray, Slurm, or an executor of another library. What it is given to call is
`process.carried_out(task, surroundings)`. Since a task goes on with what it finds in its folder, a retry is all that
is needed when a process was killed, a disk was full for a while, or a machine was lost; how often, and why, is
written to `attempts.jsonl` beside the runs.
"""

from __future__ import annotations

import dataclasses
import json
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from pathlib import Path
from typing import Any

from vendirl._checks import whole_number
from vendirl._files import add_line, open_regular
from vendirl.clusters.process import carried_out
from vendirl.clusters.surroundings import surroundings
from vendirl.clusters.task import Outcome, Task, carried_out_here
from vendirl.training.ceilings import ceiling_of
from vendirl.training.driver import Progress
from vendirl.training.problem import build
from vendirl.training.reading import known_ceiling
from vendirl.training.stopping import Asked, leaving

RETRIES = 3
"""How often a run that was lost is tried again, unless something else is asked for."""
PAUSE = 0.5
"""Seconds before the first of them; each later one waits twice as long as the one before."""

Said = Callable[[str], None]


class UnfinishedError(ChildProcessError):
    """Some runs were not finished, though each was tried as often as was asked for."""


def carry_out(
    tasks: Sequence[Task],
    executor: Executor | None = None,
    *,
    retries: int = RETRIES,
    progress: Callable[[Task], Progress | None] | None = None,
    say: Said = lambda line: None,
    log: Path | None = None,
) -> dict[str, Outcome]:
    """Train the runs of all tasks that are not finished: how each of them ended, by name.

    Args:
        tasks: tasks whose names differ.
        executor: what carries them out; None for this process, one after the other.
        retries: how often a run that was lost is tried again.
        progress: called with a task, it returns what is called after every block of epochs; only of use in this
            process.
        say: called with a line for each run that is done, lost or refused.
        log: the file to which every attempt is added.
    """
    whole_number(retries, "retries", least=0, most=1000)
    if log is not None and os.path.lexists(log):  # what is amiss with it is said before anything is trained
        open_regular(log, log.parent).close()
    outcomes: dict[str, Outcome] = {task.name: Outcome("done") for task in tasks if task.finished}
    due = [task for task in tasks if not task.finished]
    campaign = _Campaign(executor, retries, progress, say, log)
    with leaving(lambda: f"stopped with {len(outcomes)} of {len(tasks)} runs finished; the same command goes on"):
        for task in due if executor is None else []:
            outcomes[task.name] = campaign.here(task)
        if executor is not None and due:
            campaign.elsewhere(_with_ceilings(due), executor, outcomes)
    return {task.name: outcomes[task.name] for task in tasks}


def refuse_unfinished(outcomes: dict[str, Outcome]) -> None:
    """Say which runs were not finished, if there are any, and why."""
    amiss = {name: outcome for name, outcome in outcomes.items() if outcome.end != "done"}
    if amiss:
        reasons = "; ".join(f"{name}: {outcome.why}" for name, outcome in amiss.items())
        kind = ValueError if all(outcome.end == "refused" for outcome in amiss.values()) else UnfinishedError
        raise kind(f"{len(amiss)} of {len(outcomes)} runs were not finished: {reasons}")


@dataclasses.dataclass
class _Campaign:
    """All attempts at some tasks."""

    executor: Executor | None
    retries: int
    progress: Callable[[Task], Progress | None] | None
    say: Said
    log: Path | None

    def here(self, task: Task) -> Outcome:
        """Carry a task out in this process."""
        for attempt in range(self.retries + 1):
            report = None if self.progress is None else self.progress(task)
            start = time.time()
            outcome = carried_out_here(task, report)
            if not self._again(task, attempt, outcome, start):
                break
            time.sleep(PAUSE * 2**attempt)
        return outcome

    def elsewhere(self, tasks: Sequence[Task], executor: Executor, outcomes: dict[str, Outcome]) -> None:
        """Carry tasks out by an executor, as many at once as it likes, and add how they ended."""
        told, before = surroundings(), len(outcomes)
        waiting: dict[Future[Any], tuple[Task, int, float]] = {}
        later: list[tuple[float, Task, int]] = []

        def submit(task: Task, attempt: int) -> None:
            waiting[executor.submit(carried_out, task.to_text(), told)] = task, attempt, time.time()

        try:
            for task in tasks:
                submit(task, 0)
            while waiting or later:
                for entry in [entry for entry in later if entry[0] <= time.monotonic()]:
                    later.remove(entry)
                    submit(*entry[1:])
                if not waiting:
                    time.sleep(0.05)
                    continue
                ended, _ = wait(waiting, timeout=0.1 if later else None, return_when=FIRST_COMPLETED)
                for future in ended:
                    task, attempt, start = waiting.pop(future)
                    outcome = _outcome_of(future)
                    if self._again(task, attempt, outcome, start):
                        later.append((time.monotonic() + PAUSE * 2**attempt, task, attempt + 1))
                    else:
                        outcomes[task.name] = outcome
                        self._tell(task, outcome, len(outcomes) - before, len(tasks))
        except (Asked, KeyboardInterrupt):
            executor.shutdown(wait=True, cancel_futures=True)
            raise

    def _again(self, task: Task, attempt: int, outcome: Outcome, start: float) -> bool:
        """Write an attempt down, and tell whether there will be another."""
        seconds = round(time.time() - start, 3)
        row = {"run": task.name, "attempt": attempt + 1, **dataclasses.asdict(outcome), "seconds": seconds}
        if self.log is not None:
            self.log.parent.mkdir(parents=True, exist_ok=True)
            add_line(self.log, json.dumps(row))
        again = outcome.end in ("lost", "stopped") and attempt < self.retries
        if again:
            self.say(f"{task.name} was {outcome.end}: {outcome.why}; try {attempt + 2} of {self.retries + 1} goes on")
        return again

    def _tell(self, task: Task, outcome: Outcome, count: int, of: int) -> None:
        why = f": {outcome.why}" if outcome.why else ""
        self.say(f"{count} of {of}: {task.name} {outcome.end}{why}")


def _outcome_of(future: Future[Any]) -> Outcome:
    """The outcome that a future holds; if it was cancelled or failed, its worker was lost, and cannot say why."""
    if future.cancelled():
        return Outcome("lost", "it was cancelled")
    error = future.exception()
    if error is not None:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return Outcome("lost", f"{type(error).__name__}{': ' + lines[0][:300] if lines else ''}")
    found = future.result()
    return Outcome(found["end"], found["why"])


def _with_ceilings(tasks: Sequence[Task]) -> list[Task]:
    """The tasks with their attainable scores, each of which is sought once, and not by every process again."""
    found = []
    for task in tasks:
        ceiling = task.ceiling or known_ceiling(task.folder, task.settings.skills)
        if ceiling is None:
            settings, loop = build(task.settings)
            ceiling = ceiling_of(settings, loop.problem)
        found.append(dataclasses.replace(task, ceiling=ceiling))
    return found
