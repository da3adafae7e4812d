"""Where many runs are carried out, as text: "local", "ray", "ray(address='10.0.0.1:6379')", "slurm(partition='gpu')".

A place opens an executor (see `clusters.many`). What is common to all, such as how many runs there are at a time, is
said beside it.
"""

from __future__ import annotations

import abc
import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, ClassVar

from vendirl._checks import Bounds, check_settings, whole_number
from vendirl._text import Expressions


@dataclasses.dataclass(frozen=True)
class Place(abc.ABC):
    """Where runs are carried out."""

    name: ClassVar[str]
    bounds: ClassVar[Mapping[str, Bounds]] = {}

    def __post_init__(self) -> None:
        check_settings(self, f"{self.name}: ")

    @abc.abstractmethod
    def open(self, jobs: int, devices: int, folder: Path) -> Executor | None:
        """Its executor; None for this very process.

        Args:
            jobs: how many runs are trained at a time.
            devices: how many devices a run has, at most.
            folder: a folder for files of its own, if it needs some.
        """


@dataclasses.dataclass(frozen=True)
class Local(Place):
    """This machine: one run after the other in this process or, with more than one job, each in one of its own."""

    name: ClassVar[str] = "local"

    def open(self, jobs: int, devices: int, folder: Path) -> Executor | None:
        from vendirl.clusters.local import LocalExecutor

        return LocalExecutor(jobs) if jobs > 1 else None


@dataclasses.dataclass(frozen=True)
class Ray(Place):
    """Ray: as many runs at a time as it has cores for, whatever --jobs says.

    Attributes:
        address: the address of a running cluster, or 'auto' to look for one; by default what RAY_ADDRESS says, or else
            a cluster that is begun on this machine.
        cores: how many cores Ray counts for each run; 0 for as many as it has devices.
    """

    name: ClassVar[str] = "ray"
    bounds: ClassVar[Mapping[str, Bounds]] = {"cores": (0, 10**4)}

    address: str | None = None
    cores: int = 0

    def open(self, jobs: int, devices: int, folder: Path) -> Executor:
        from vendirl.clusters.on_ray import RayExecutor

        return RayExecutor(self.address, self.cores or devices)


@dataclasses.dataclass(frozen=True)
class Slurm(Place):
    """Slurm, by submitit: an array of jobs, of which as many run at a time as --jobs says, or all of them.

    Attributes:
        partition, account, qos, constraint: what sbatch is told of the jobs under these names.
        minutes: how many minutes a job has before it is saved and queued again.
        cores: how many cores a job has; 0 for as many as its run has devices.
        gpus: how many GPUs a job has.
        memory: how much memory a job has, in GB; 0 for what Slurm gives by default.
        setup: a line of the shell that runs before each job begins, such as 'module load cuda'.
    """

    name: ClassVar[str] = "slurm"
    bounds: ClassVar[Mapping[str, Bounds]] = {
        "minutes": (1, 10**6),
        "cores": (0, 10**4),
        "gpus": (0, 100),
        "memory": (0, 10**5),
    }

    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    minutes: int = 240
    cores: int = 0
    gpus: int = 0
    memory: int = 0
    setup: str | None = None

    def open(self, jobs: int, devices: int, folder: Path) -> Executor:
        from vendirl.clusters.on_slurm import SubmititExecutor

        named = {name: getattr(self, name) for name in ("partition", "account", "qos", "constraint")}
        settings: dict[str, Any] = {f"slurm_{name}": value for name, value in named.items() if value is not None}
        settings |= {"timeout_min": self.minutes, "tasks_per_node": 1, "name": "vendirl"}
        settings |= {"cpus_per_task": self.cores or devices, "slurm_signal_delay_s": 120}
        settings |= {"gpus_per_node": self.gpus} if self.gpus else {}
        settings |= {"mem_gb": self.memory} if self.memory else {}
        settings |= {"slurm_setup": [self.setup]} if self.setup else {}
        settings |= {"slurm_array_parallelism": jobs} if jobs > 1 else {}
        return SubmititExecutor(folder, "slurm", settings, every=2.0)


@dataclasses.dataclass(frozen=True)
class SubmititLocal(Place):
    """submitit's jobs on this machine, all at once, to try without Slurm what runs on it.

    Attributes:
        minutes: how many minutes a job has before it is saved and begins again.
    """

    name: ClassVar[str] = "submitit-local"
    bounds: ClassVar[Mapping[str, Bounds]] = {"minutes": (1, 10**6)}

    minutes: int = 240

    def open(self, jobs: int, devices: int, folder: Path) -> Executor:
        from vendirl.clusters.on_slurm import SubmititExecutor

        return SubmititExecutor(folder, "local", {"timeout_min": self.minutes}, every=0.1)


_places: Expressions[Place] = Expressions("place", Place)
for kind in (Local, Ray, Slurm, SubmititLocal):
    _places.register(kind.name, kind)


def parse_place(text: str) -> Place:
    """The place that a text names.

    >>> parse_place("ray(cores=2)").cores
    2
    """
    return _places.parse(text)


@contextlib.contextmanager
def opened(place: Place | str | Executor, jobs: int, devices: int, folder: Path) -> Iterator[Executor | None]:
    """The executor of a place, as long as it is needed; one that was given is used, and not closed."""
    if isinstance(place, Executor):
        yield place
        return
    whole_number(jobs, "jobs", most=10**6)
    found = parse_place(place) if isinstance(place, str) else place
    if not isinstance(found, Place):
        raise TypeError(f"on must be a place such as 'local' or 'ray', or an executor, but is {type(place).__name__}")
    executor = found.open(jobs, devices, folder)
    try:
        yield executor
    finally:
        if executor is not None:
            executor.shutdown(wait=True, cancel_futures=True)
