"""One run over several processes, on one host or many: all are started alike, and train the same run together.

    VENDIRL_COORDINATOR=host:port VENDIRL_PROCESSES=2 VENDIRL_PROCESS=0 vendirl train --out runs/mmd
    VENDIRL_COORDINATOR=host:port VENDIRL_PROCESSES=2 VENDIRL_PROCESS=1 vendirl train --out runs/mmd

Tasks of Slurm and processes of Open MPI are found automatically (`srun -n 4 vendirl train ...`); VENDIRL_PROCESSES=1
says that each is to train a run of its own. Each process has its share of the devices, and thus of the scenes; all of
them hold the skills and do the same with them. The first one alone owns the folder: it reads, writes and reports, and
tells the others what they need, so that no disk is shared.

The processes agree before every block of epochs: whether somebody was asked to stop, and whether all have the same
skills, bit for bit, which unlike processors may not. One that is lost ends the others: those that wait for it notice at
once when its connection breaks, and after `LOST_AFTER` seconds when it does not.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

COORDINATOR, COUNT, INDEX = "VENDIRL_COORDINATOR", "VENDIRL_PROCESSES", "VENDIRL_PROCESS"
LOST_AFTER = 20
"""Seconds after which a process that is silent counts as lost."""
MOST = 10_000
_LAUNCHERS = {"Slurm": ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID"), "Open MPI": ("OMPI_COMM_WORLD_SIZE", None)}
"""Where launchers say how many processes they have started, and which of them this is."""

Said = TypeVar("Said")
Shared = TypeVar("Shared", bound=PyTree)


class LostError(ConnectionError):
    """Another process of the run is gone, or is no longer at the same point as this one."""


def join(environment: Mapping[str, str] = os.environ) -> None:
    """Join the other processes of this run, if the environment says that there are any; JAX must not be in use yet."""
    where = told(environment)
    if where is None or jax.distributed.is_initialized():
        return
    try:
        jax.distributed.initialize(**where, heartbeat_timeout_seconds=LOST_AFTER, shutdown_timeout_seconds=24 * 3600)
    except RuntimeError as error:
        raise RuntimeError(
            f"this process could not join the others of its run: {str(error).splitlines()[0]}. Begin the program with "
            "vr.devices.join_processes(), before JAX is used, and see that all processes were started"
        ) from None


def expect(environment: Mapping[str, str] = os.environ) -> None:
    """Refuse to train alone what the environment says several processes are to train."""
    if count() == 1 and told(environment) is not None:
        raise RuntimeError(
            "the environment says that this is one of several processes of a run, but it has not joined the others; "
            "begin the program with vr.devices.join_processes(), use `vendirl train`, or set "
            f"{COUNT}=1 if it is to train a run of its own"
        )


def told(environment: Mapping[str, str]) -> dict[str, Any] | None:
    """What the environment says of the processes of this run, as arguments of `jax.distributed.initialize`; None if it
    is the only one."""
    given = {name: environment[name] for name in (COORDINATOR, COUNT, INDEX) if environment.get(name)}
    if not given:
        several = [name for name, (size, _) in _LAUNCHERS.items() if _number(environment.get(size, "1")) > 1]
        return {} if several else None
    if given.get(COUNT) == "1":
        return None
    missing = [name for name in (COORDINATOR, COUNT, INDEX) if name not in given]
    if missing:
        raise ValueError(
            f"{', '.join(given)} is set, but {' and '.join(missing)} is not; a run over several processes "
            "needs all three"
        )
    count, index, address = _number(given[COUNT]), _number(given[INDEX]), given[COORDINATOR]
    if not 2 <= count <= MOST:
        raise ValueError(f"{COUNT} must be a number of processes from 1 to {MOST}, but is {given[COUNT]!r}")
    if not 0 <= index < count:
        raise ValueError(f"{INDEX} must be a number from 0 to {count - 1}, but is {given[INDEX]!r}")
    port = re.fullmatch(r"(?:[\w.-]+|\[[0-9a-fA-F:]+\]):([0-9]{1,5})", address)
    if not port or not 0 < int(port[1]) < 2**16:
        raise ValueError(f"{COORDINATOR} must be host:port of the first process, but is {address!r}")
    # It listens where the others look for it, and nowhere else.
    return {
        "coordinator_address": address,
        "num_processes": count,
        "process_id": index,
        "coordinator_bind_address": address,
    }


def _number(text: str) -> int:
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else -1


def count() -> int:
    """How many processes train this run."""
    return jax.process_count() if jax.distributed.is_initialized() else 1


def first() -> bool:
    """Whether this is the process that reads, writes and reports."""
    return count() == 1 or jax.process_index() == 0


def as_first_says(said: Said | None) -> Said:
    """What the first process says, in all of them: plain data that JSON can hold."""
    if count() == 1:
        return said  # type: ignore[return-value]
    text = np.frombuffer(json.dumps(said).encode(), np.uint8)
    length = int(_from_first(np.array(text.size, np.int32)))
    room = np.zeros(length, np.uint8)
    return json.loads(bytes(_from_first(text if first() else room)))


@contextlib.contextmanager
def refused_together() -> Iterator[None]:
    """What is refused in the first process within this is refused in all of them; the others do nothing here that could
    be refused."""
    error: BaseException | None = None
    try:
        yield
    except Exception as refused:
        error = refused
    why = as_first_says(None if error is None else str(error))
    if error is not None:
        raise error
    if why is not None:
        raise ValueError(f"the first process of the run refused it: {why}")


def of_first(tree: Shared) -> Shared:
    """The arrays that the first process has, in all of them, which have arrays of the same shapes."""
    if count() == 1:
        return tree
    return as_before(_from_first(raw(tree)), tree)


def agree(what: Mapping[str, Any]) -> None:
    """Refuse to train if the processes were asked for different things."""
    if count() == 1:
        return
    marks = {name: zlib.crc32(repr(value).encode()) for name, value in what.items()}
    each = _gathered(np.array(list(marks.values()), np.uint32))
    wrong = [name for name, column in zip(marks, each.T, strict=True) if len(set(column.tolist())) > 1]
    if wrong:
        raise ValueError(
            f"the processes of the run were started with different settings: {', '.join(wrong)}; start all alike"
        )


def meet(asked: int | None, policy: PyTree[Array]) -> int | None:
    """The signal that any of the processes was sent, if one was; all must have the same skills when they meet."""
    if count() == 1:
        return asked
    mark = 0
    for leaf in jax.tree.leaves(raw(policy)):
        mark = zlib.crc32(np.ascontiguousarray(leaf).tobytes(), mark)
    each = _gathered(np.array([asked or 0, mark], np.uint32))
    if len(set(each[:, 1].tolist())) > 1:
        raise LostError(
            "the processes of the run no longer have the same skills, as can happen where their processors or versions "
            "are not alike"
        )
    signals = [int(number) for number in each[:, 0] if number]
    return signals[0] if signals else None


def raw(tree: PyTree[Any]) -> PyTree[Any]:
    """Arrays of a tree as NumPy's, random keys as their data."""
    return jax.tree.map(np.asarray, data_of_keys(tree))


def data_of_keys(tree: PyTree[Any]) -> PyTree[Any]:
    """Arrays of a tree, random keys as their data."""
    return jax.tree.map(lambda x: jax.random.key_data(x) if _is_key(x) else x, tree)


def as_before(data: PyTree[Any], like: PyTree[Any]) -> PyTree[Any]:
    """Arrays with random keys where there are such in a tree like it: `data_of_keys` undone."""
    return jax.tree.map(
        lambda l, x: jax.random.wrap_key_data(jnp.asarray(x)) if _is_key(l) else jnp.asarray(x), like, data
    )


def _is_key(x: Any) -> bool:
    return jnp.issubdtype(x.dtype, jax.dtypes.prng_key)


def _from_first(tree: PyTree[Any]) -> PyTree[Any]:
    from jax.experimental import multihost_utils

    with lost():
        return jax.tree.map(np.asarray, multihost_utils.broadcast_one_to_all(tree))


def _gathered(x: np.ndarray) -> np.ndarray:
    from jax.experimental import multihost_utils

    with lost():
        return np.asarray(multihost_utils.process_allgather(x))


@contextlib.contextmanager
def lost() -> Iterator[None]:
    """Whatever goes wrong in an exchange with other processes is said in one line."""
    try:
        yield
    except (ValueError, RuntimeError) as error:  # JAX raises both
        if count() == 1 or "Gloo" not in str(error):
            raise
        raise LostError("another process of the run has ended, or cannot be reached") from None


def leave(code: int) -> NoReturn:
    """End this process without waiting for others that are lost: JAX would wait for them, and then abort."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
