"""Compiled programs that outlast the process."""

from __future__ import annotations

import os
from pathlib import Path

# For every program that it finds in the cache, XLA reports at length that features of AVX-512 processors are missing
# which are no features but preferences (openxla/xla#44565). What it shows is settled when JAX is imported.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def keep_compiled_programs() -> None:
    """Keep compiled programs between runs, apart for each release of jaxlib, unless JAX was told where to already."""
    import jax
    import jaxlib

    if getattr(jax.config, "jax_compilation_cache_dir", None) is None:
        cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
        jax.config.update("jax_compilation_cache_dir", str(cache / "vendirl" / f"jaxlib-{jaxlib.__version__}"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.3)
