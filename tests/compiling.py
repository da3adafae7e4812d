"""How programs are compiled in the tests.

Compiling takes most of the time of all tests, and most of that is spent on making programs faster that run once. The
tests thus ask LLVM not to optimise, for one module instead of many that are compiled at once, and not for the emitters
that fuse operations. What a user's programs compute must not depend on that, so where a fast path is compared with its
reference at the size of a real batch, `compiled_as_for_users` compiles it with XLA's own defaults. Tests that train for
long use the fixture `optimised`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

LEVEL = "--xla_backend_optimization_level=0"
QUICKLY = f"{LEVEL} --xla_cpu_parallel_codegen_split_count=1 --xla_cpu_use_fusion_emitters=false"
DEFAULTS: dict[str, Any] = {
    "xla_backend_optimization_level": 3,
    "xla_cpu_parallel_codegen_split_count": 32,
    "xla_cpu_use_fusion_emitters": True,
}


def compiled_as_for_users(function: Callable[..., Any], **how: Any) -> Any:
    """`jax.jit(function, **how)` with XLA's defaults."""
    import jax

    return jax.jit(function, compiler_options=DEFAULTS, **how)
