"""Settings of all tests: hypothesis draws the same examples on every run, and a program is compiled once in a run."""

import contextlib
import ctypes
import gc
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.compiling import LEVEL, QUICKLY

os.environ.setdefault("JAX_NUM_CPU_DEVICES", "2")  # training spreads its scenes over them, as it does for a user
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # matrices are small; threads would only wait for each other

# Compiling is most of what the tests do. Programs are kept for this run of the tests, shared by its processes, and
# thrown away at its end, so that what is tested is always compiled from what is there.
_run = os.environ.setdefault("VENDIRL_TEST_RUN", str(os.getpid()))
CACHE = Path(tempfile.gettempdir()) / f"vendirl-tests-{_run}"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(CACHE))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # see vendirl._host
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {QUICKLY}".strip()

import jax  # noqa: E402  (after what it is told above)
from jaxtyping import install_import_hook  # noqa: E402

import tests.typecheck  # noqa: E402, F401  (so that the hook below finds it)

# Every annotation of a shape or type is checked at every call; whoever writes a false one is told.
install_import_hook("vendirl", "tests.typecheck.typecheck")

settings.register_profile(
    "deterministic",
    derandomize=True,
    deadline=None,  # compilation takes its time
    max_examples=20,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("deterministic")


MUCH = 1.2e9
"""Bytes that a process of the tests may hold before it forgets the programs that it has compiled."""
MORE = 0.3e9
"""Bytes by which it must have grown since it last forgot them: forgetting after every test would compile everything,
down to single additions, again for every test."""
_forgot_at = 0.0


def pytest_collection_modifyitems(items):
    """The documents come first: each of them takes minutes, and nobody should wait for the last one alone."""
    items.sort(key=lambda item: item.path.name != "test_documents.py")


def pytest_runtest_teardown():
    """A process that goes through hundreds of tests forgets the programs of earlier ones, which nobody calls again."""
    global _forgot_at
    if _held() > max(MUCH, _forgot_at + MORE):
        jax.clear_caches()
        gc.collect()
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL("libc.so.6").malloc_trim(0)  # gives back to the system what was freed
        _forgot_at = _held()


def _held() -> float:
    """The bytes of memory that this process holds; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0.0


@pytest.fixture
def optimised(monkeypatch):
    """Training is compiled as it is for users: for tests that train for longer than it takes to optimise."""
    monkeypatch.setenv("XLA_FLAGS", os.environ["XLA_FLAGS"].replace(LEVEL, ""))


def pytest_sessionfinish(session):
    """The first process, which started the others, throws the programs away."""
    if _run == str(os.getpid()):
        shutil.rmtree(CACHE, ignore_errors=True)
