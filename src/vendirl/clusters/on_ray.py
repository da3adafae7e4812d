"""Runs on Ray: a running cluster, or one that is started on this machine and ends with this process.

Ray listens on all addresses of a machine, whatever it is told: on a machine that others reach, let a firewall keep
them out.
"""

from __future__ import annotations

import contextlib
import logging
import os
import warnings
from collections.abc import Callable
from concurrent.futures import Executor, Future
from concurrent.futures import wait as wait_for
from typing import Any

from vendirl.clusters.process import let_jobs_be_interrupted

STARTS = 3
"""How often a cluster is begun here, before that is given up."""


class RayExecutor(Executor):
    """A Ray task for each run, which takes as many cores as the run has devices.

    Args:
        address: the address of a running cluster, or "auto" to look for one; None for what RAY_ADDRESS says or, if it
            says nothing, a cluster that is begun here.
        cores: how many cores Ray counts for each run.
    """

    def __init__(self, address: str | None, cores: float):
        try:
            import ray
        except ImportError as error:
            raise ImportError(f"Ray is not installed ({error}); use: pip install 'vendirl[ray]'") from None
        self.ray, self.cores = ray, cores
        self.began = not ray.is_initialized()
        if self.began:
            let_jobs_be_interrupted()
            _begin(ray, address)
        self.functions: dict[Callable[..., Any], Any] = {}
        self.running: dict[Future[Any], Any] = {}

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """A future of what the function gives, called in a worker of Ray's. Ray itself tries nothing again, since it
        would not say why."""
        if fn not in self.functions:
            self.functions[fn] = self.ray.remote(num_cpus=self.cores, max_retries=0)(fn)
        reference = self.functions[fn].remote(*args, **kwargs)
        future = reference.future()
        self.running[future] = reference
        future.add_done_callback(lambda ended: self.running.pop(ended, None))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        running = dict(self.running)
        if cancel_futures:
            for reference in running.values():
                with contextlib.suppress(Exception):  # it may have ended meanwhile
                    self.ray.cancel(reference)  # interrupts what calls the function, which asks its process to end
        if wait:
            wait_for(running)
        if self.began and self.ray.is_initialized():
            self.ray.shutdown()


def _begin(ray: Any, address: str | None) -> None:
    """Join a cluster, or start one here; on a busy machine that may take longer than Ray waits."""
    from ray.job_config import JobConfig

    class OfNoFolder(JobConfig):
        """Ray's workers would look for modules in the current folder first, which may hold files of others; all that
        they are to find is installed."""

        def _runtime_env_has_working_dir(self) -> bool:
            return True

    address = address or os.environ.get("RAY_ADDRESS")
    here = {} if address else {"_node_ip_address": "127.0.0.1"}
    for left in reversed(range(STARTS)):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it forks while JAX has threads, and begins another program at once
                ray.init(
                    address or "local",
                    job_config=OfNoFolder(),
                    include_dashboard=False,
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                    **here,
                )
            return
        except Exception as error:
            line = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
            if left == 0 or not here:
                what = "Ray could not be begun here" if here else f"no cluster of Ray's at {address}"
                raise ConnectionError(f"{what}: {line}") from None
            ray.shutdown()
