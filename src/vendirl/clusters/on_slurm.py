"""Runs as Slurm jobs, by submitit: what is asked for together is one array, and what is preempted is queued again.

Slurm asks a job to end by SIGUSR2 or SIGTERM before it ends it: the run is saved, and a job that was preempted, or has
used up its time, is queued again and goes on. submitit can also run jobs on this machine, as Slurm would.

submitit passes calls and what they give as pickles in files, which run code when they are read. So they lie in a folder
that is made anew for each executor, and that nobody else may write in. Its processes find no modules in the current
folder, which may hold files of others.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import stat
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from concurrent.futures import wait as wait_for
from pathlib import Path
from typing import Any

from vendirl.clusters.process import end_all, let_jobs_be_interrupted, wait_for_all

QUEUES_AGAIN = 1000
"""How often a job may use up its time and be queued again."""


class Call:
    """A call that may be made again if its job is queued again: submitit asks for what it is then to call."""

    def __init__(self, function: Callable[..., Any], *args: Any, **kwargs: Any):
        self.function, self.args, self.kwargs = function, args, kwargs

    def __call__(self) -> Any:
        return self.function(*self.args, **self.kwargs)

    def checkpoint(self) -> Any:
        """Let the run save and end, and say what to call next: the same."""
        from submitit.helpers import DelayedSubmission

        end_all()
        wait_for_all()
        return DelayedSubmission(self)


class SubmititExecutor(Executor):
    """Jobs by submitit.

    Args:
        folder: where its files lie, those of each executor in a folder of their own; all machines must reach it.
        cluster: "slurm" or "local".
        settings: the parameters of submitit's `AutoExecutor.update_parameters`.
        every: seconds between two looks at whether jobs have ended.
    """

    def __init__(self, folder: Path, cluster: str, settings: dict[str, Any], every: float):
        try:
            import submitit
        except ImportError as error:
            raise ImportError(f"submitit is not installed ({error}); use: pip install 'vendirl[slurm]'") from None
        folder = private(folder)
        told: dict[str, Any] = {f"{cluster}_python": f"{shlex.quote(sys.executable)} -P"}
        told |= {"slurm_max_num_timeout": QUEUES_AGAIN} if cluster == "slurm" else {}
        try:
            self.submitit = submitit.AutoExecutor(folder, cluster=cluster, **told)
        except RuntimeError as error:  # there is no sbatch here
            raise ChildProcessError(f"Slurm cannot be used: {error}") from None
        self.submitit.update_parameters(**settings)
        if cluster == "local":
            let_jobs_be_interrupted()
        self.every = every
        self.lock = threading.Lock()
        self.due: list[tuple[Future[Any], Call]] = []
        self.jobs: dict[Future[Any], Any] = {}
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._watch, name="submitit", daemon=True)
        self.thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """A future of what the function gives, called in a job. What is submitted within a moment is one array."""
        future: Future[Any] = Future()
        with self.lock:
            self.due.append((future, Call(fn, *args, **kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        with self.lock:
            running = dict(self.jobs)
            if cancel_futures:
                for future, _ in self.due:
                    future.cancel()
                self.due = []
                for job in running.values():
                    with contextlib.suppress(Exception):  # it may have ended meanwhile
                        job.cancel()
        if wait:
            wait_for(running)
        self.over.set()

    def _watch(self) -> None:
        """Submit what is due, and look which jobs have ended."""
        seen = 0
        while not self.over.wait(0.05 if self.due else self.every):
            with self.lock:
                due, self.due = (self.due, []) if len(self.due) == seen else ([], self.due)  # no more came meanwhile
                seen = len(self.due)
            if due:
                self._start(due)
            with self.lock:
                jobs = dict(self.jobs)
            for future, job in jobs.items():
                if _ended(job):
                    _settle(future, job)
                    with self.lock:
                        del self.jobs[future]

    def _start(self, due: list[tuple[Future[Any], Call]]) -> None:
        try:
            with _safe_path():
                jobs = self.submitit.submit_array([call for _, call in due])
        except Exception as error:
            for future, _ in due:
                future.set_exception(error)
            return
        with self.lock:
            self.jobs |= {future: job for (future, _), job in zip(due, jobs, strict=True)}


@contextlib.contextmanager
def _safe_path() -> Iterator[None]:
    """Processes that are begun meanwhile, such as submitit's own, do not look for modules in the current folder."""
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


def private(folder: Path) -> Path:
    """A new folder in one that is made if it is not there; both are this user's, and nobody else may write in them."""
    if read := re.search(r"%[%\w]", str(folder.absolute())):
        raise ValueError(
            f"{folder} has {read[0]!r} in its path, which Slurm reads as the number or name of something; choose "
            "another --out"
        )
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode):
        raise ValueError(f"{folder} is no folder, and files of submitit's can only lie in one; remove it")
    if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
        raise PermissionError(
            f"{folder} belongs to another user, who could put files there that run code; choose another --out"
        )
    folder.chmod(0o700)
    return Path(tempfile.mkdtemp(dir=folder))


def _ended(job: Any) -> bool:
    with contextlib.suppress(Exception):  # the queue may be out of reach for a while
        return bool(job.done())
    return False


def _settle(future: Future[Any], job: Any) -> None:
    try:
        future.set_result(job.result())
    except Exception as error:
        future.set_exception(error)
