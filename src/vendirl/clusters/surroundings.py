"""What a process that trains a run is told of its surroundings, so that its numbers are those of any other.

Over how many devices a run is spread enters its results, and so may how many threads share out a sum: XLA splits long
products among its threads, BLAS its decompositions. So whoever asks for runs decides all that, by what it has itself,
and no process decides for itself. It is also told where compiled programs are kept, and what the user told JAX.
"""

from __future__ import annotations

import os

import jax

from vendirl._host import cores, keep_compiled_programs
from vendirl.training.devices import offer_cores

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""Threads of BLAS spin while they wait, so that processes that share cores take each other's time."""
TOLD = ("JAX_", "XLA_", "VENDIRL_", "TF_CPP_", "MUJOCO_", "XDG_CACHE_HOME", "MINARI_DATASETS_PATH")
"""What the names of variables begin with that are handed on to processes on other machines."""
CONFIGURED = ("jax_compilation_cache_dir", "jax_enable_x64", "jax_default_matmul_precision", "jax_platforms")
"""What of JAX's configuration may have been set in Python."""


def surroundings() -> dict[str, str]:
    """The variables of the environment of a process that trains a run."""
    offer_cores()
    keep_compiled_programs()
    told = {name: value for name, value in os.environ.items() if name.startswith(TOLD)}
    for name in CONFIGURED:
        value = getattr(jax.config, name, None)
        if value not in (None, ""):
            told[name.upper()] = str(value)
    told |= dict.fromkeys(ONE_THREAD, "1")
    told["PJRT_NPROC"] = os.environ.get("PJRT_NPROC") or os.environ.get("NPROC") or str(cores())
    if jax.default_backend() == "cpu":
        told["JAX_NUM_CPU_DEVICES"] = str(jax.local_device_count())
    else:
        told.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # several processes share an accelerator
    return told
