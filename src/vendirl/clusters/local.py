"""Runs in processes on this machine, a given number at a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from vendirl.clusters.process import end_all


class LocalExecutor(ThreadPoolExecutor):
    """Threads that wait, each for a process that carries out a task. A process whose task is cancelled is asked to save
    and end."""

    def __init__(self, jobs: int):
        super().__init__(jobs, thread_name_prefix="run")

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        if cancel_futures:
            super().shutdown(wait=False, cancel_futures=True)
            end_all()
        super().shutdown(wait=wait)
