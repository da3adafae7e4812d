"""The machine that this process runs on: its cores, and compiled programs that outlast the process."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

# For every program that it finds in the cache, XLA reports at length that features of AVX-512 processors are missing
# which are no features but preferences (openxla/xla#44565). What it shows is settled when JAX is imported, so this must
# be said before. JAX itself says "1", which shows them.
_SAID_IN_TIME = "jax" not in sys.modules or os.environ.get("TF_CPP_MIN_LOG_LEVEL") == "3"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def keep_compiled_programs() -> None:
    """Keep compiled programs between processes, apart for each release of jaxlib.

    Nothing happens if JAX was told already where to keep them, or was imported before VendiRL: then every program that
    is found again would be announced by a screenful of false alarms.
    """
    import jax
    import jaxlib

    if _SAID_IN_TIME and getattr(jax.config, "jax_compilation_cache_dir", None) is None:
        cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
        jax.config.update("jax_compilation_cache_dir", str(cache / "vendirl" / f"jaxlib-{jaxlib.__version__}"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.3)


def python() -> list[str]:
    """How another Python is begun, which finds modules in the current folder only if this one does: files of others may
    lie there. By `-m` it would look there before it looks anywhere else, also for modules of Python's own."""
    looks_here = False
    with contextlib.suppress(OSError):  # the current folder may be gone
        here = os.path.realpath(os.getcwd())
        looks_here = any(os.path.realpath(place) == here for place in sys.path)
    return [sys.executable, *([] if looks_here else ["-P"])]


def cores() -> int:
    """The cores of the processor that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Python does not look for garbage meanwhile. Importing and tracing make much that stays and little garbage, and
    looking through it again and again takes a tenth of their time."""
    looked = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if looked:
            gc.enable()
