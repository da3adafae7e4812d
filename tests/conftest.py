"""Settings of all tests: hypothesis draws the same examples on every run, and a program is compiled once in a run."""

import gc
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("JAX_NUM_CPU_DEVICES", "2")  # training spreads its scenes over them, as it does for a user
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # matrices are small; threads would only wait for each other

# Compiling is most of what the tests do. Programs are kept for this run of the tests, shared by its processes, and
# thrown away at its end, so that what is tested is always compiled from what is there.
_run = os.environ.setdefault("VENDIRL_TEST_RUN", str(os.getpid()))
CACHE = Path(tempfile.gettempdir()) / f"vendirl-tests-{_run}"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(CACHE))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.5")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # see vendirl._host

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


@pytest.fixture(scope="module", autouse=True)
def _let_go():
    """A process that goes through hundreds of tests forgets the programs of the last file, which nobody calls again."""
    yield
    jax.clear_caches()
    gc.collect()


def pytest_sessionfinish(session):
    """The first process, which started the others, throws the programs away."""
    if _run == str(os.getpid()):
        shutil.rmtree(CACHE, ignore_errors=True)
