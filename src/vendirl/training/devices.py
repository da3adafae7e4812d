"""Scenes spread over devices: GPUs, or the cores of a processor.

Training is made of operations so small that XLA runs them on little more than one core. Where every core is a device
of its own, each has its share of the scenes and does with them all there is to do (`benchmarks/throughput.py` has
both).

What belongs to a scene is split by scenes (`spread`), all else is the same on all devices, and XLA finds out what has
to be exchanged. Only gradients are averaged by hand (`averaged`), as one vector: exchanging each array of weights by
itself takes longer than the gradient.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import TypeVar

import equinox as eqx
import jax
import numpy as np
from jax.flatten_util import ravel_pytree
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import PyTree

from vendirl._host import cores
from vendirl.training import processes
from vendirl.training.processes import join as join_processes

__all__ = ["averaged", "fitting", "join_processes", "offer_cores", "replicated", "spread"]

SCENES = "scenes"
LEAST_SHARE = 8
"""Scenes of a minibatch that a device should have, for its work to be worth the exchange of gradients."""
MOST_CORES = 8
"""Cores that become devices without being asked for."""

Result = TypeVar("Result", bound=PyTree)


def offer_cores(least: int = 1) -> None:
    """Make each core of the processor, eight at most, a device of JAX's; or more of them, if more are asked for.

    Nothing happens if JAX has already been used in this process, or has been told how many devices to make.
    """
    told = "xla_force_host_platform_device_count" in os.environ.get("XLA_FLAGS", "")
    if not told and getattr(jax.config, "jax_num_cpu_devices", None) == -1:
        with contextlib.suppress(RuntimeError):  # in use: it stays as it is
            jax.config.update("jax_num_cpu_devices", max(least, min(cores(), MOST_CORES)))


def fitting(share: int, pools: int) -> int:
    """The largest number of cores over which the scenes of a minibatch and the pools of memories can be spread evenly,
    if each is to have enough to do. Of GPUs, one is enough for what few scenes do. Of several processes each takes part
    with as many devices as the others: at least one, however little it has to do."""
    several = processes.count()
    if jax.default_backend() != "cpu":
        return several
    most = min(jax.local_device_count(), max(1, share // LEAST_SHARE // several)) * several
    return max((d for d in range(several, most + 1, several) if fits(d, share, pools)), default=several)


def fits(devices: int, share: int, pools: int) -> bool:
    """Whether the scenes of a minibatch and the pools of memories can be spread evenly over devices, and these over
    the processes of the run."""
    return share % devices == 0 and pools % devices == 0 and devices % processes.count() == 0


def all_devices() -> list[jax.Device]:
    """The devices of this process or, of a run over several, those of all of them."""
    return jax.local_devices() if processes.count() == 1 else jax.devices()


def replicated(devices: int) -> NamedSharding:
    """Where arrays are that all devices hold whole."""
    return NamedSharding(_mesh(devices), PartitionSpec())


def spread(tree: Result, devices: int) -> Result:
    """Arrays whose first axis is that of the scenes, each device with its share of it."""
    if devices == 1:
        return tree
    sharding = NamedSharding(_mesh(devices), PartitionSpec(SCENES))
    arrays, rest = eqx.partition(tree, eqx.is_array)
    return eqx.combine(jax.lax.with_sharding_constraint(arrays, sharding), rest)


def averaged(devices: int, function: Callable[[PyTree, PyTree], Result]) -> Callable[[PyTree, PyTree], Result]:
    """f(x, batch) of each device's share of the batch, averaged over the devices; x is the same on all of them."""
    if devices == 1:
        return function

    def of_share(x, batch):
        flat, unravel = ravel_pytree(function(x, batch))
        return unravel(jax.lax.pmean(flat, SCENES))

    specs = PartitionSpec(), PartitionSpec(SCENES)
    # Without the check JAX would sum the gradients by itself, each array on its own.
    return jax.shard_map(of_share, mesh=_mesh(devices), in_specs=specs, out_specs=PartitionSpec(), check_vma=False)


def _mesh(devices: int) -> Mesh:
    each = devices // processes.count()
    there = [device for of_process in _by_process() for device in of_process[:each]]
    if devices > len(there):
        raise ValueError(
            f"the scenes are spread over {devices} devices, but JAX has {len(there)} here; begin the program with "
            f'jax.config.update("jax_num_cpu_devices", {devices}), or run it by `vendirl train`'
        )
    return Mesh(np.array(there), (SCENES,))


def _by_process() -> list[list[jax.Device]]:
    """The devices of each process of the run."""
    devices = all_devices()
    return [[d for d in devices if d.process_index == p] for p in sorted({d.process_index for d in devices})]
