"""Settings of all tests: hypothesis draws the same examples on every run, and a program is compiled once in a run."""

import contextlib
import ctypes
import gc
import os
import resource
import shutil
import signal
import sys
import tempfile
from collections import OrderedDict
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

# Dozens of processes are started, and each would parse JAX anew where Python is told to keep no bytecode beside the
# source: two of three seconds of starting. It is kept for this run of the tests as well.
if sys.dont_write_bytecode:
    sys.dont_write_bytecode, sys.pycache_prefix = False, str(CACHE / "bytecode")
    os.environ.update(PYTHONDONTWRITEBYTECODE="", PYTHONPYCACHEPREFIX=sys.pycache_prefix)

os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {QUICKLY}".strip()

# Whoever runs the tests in the background of a shell has Ctrl-C ignored, and so would all that is tested.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

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


MUCH = 1e9
"""Bytes that a process of the tests may hold before it forgets the programs that it has compiled."""
MORE, MORE_BETWEEN_FILES = 0.2e9, 0.1e9
"""Bytes by which it must have grown since it last forgot them: forgetting after every test would compile everything,
down to single additions, again for every test. The programs of a file are hardly called in another."""
_forgot_at = 0.0


ALONE = ("tests/test_documents.py", "tests/methods/test_learning.py")
"""Files of which each test takes long, and has nothing in common with the others."""
LONG = [Path(name).stem for name in ALONE] + ["test_run", "test_sac", "test_kernels", "test_cli", "test_loop"]
LONG += ["test_score", "test_playground", "test_ppo", "test_objects", "test_policy", "test_reward", "test_devices"]
LONG += ["test_brax", "test_border", "test_wrapped_stable_baselines3", "test_figures_of_the_paper"]
LONG += ["test_wrapped_brax", "test_transferring", "test_executors", "test_processes", "test_faults"]
"""The files that take longest, in that order."""


def pytest_collection_modifyitems(items):
    """Those that take long come first, so that nobody waits for the last one alone."""
    items.sort(key=lambda item: LONG.index(item.path.stem) if item.path.stem in LONG else len(LONG))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Each file is tested by one process, which compiles and trains once for all of its tests; and there is only one
    browser at a time. Groups, by which pytest-xdist would be told, are not seen by it under this release of pytest."""
    from xdist.scheduler import LoadFileScheduling

    class Files(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.split("::")[0]
            return nodeid if file in ALONE else "browser" if "browser" in file else file

    config.option.loadscopereorder = False
    return Files(config, log)


def pytest_collection_finish():
    """What is imported by now stays: looking through it for garbage again and again takes a tenth of tracing."""
    gc.collect()
    gc.freeze()


_most: dict[str, float] = {}
"""By test, the most memory that a process held until its end, where it was more than at any time before."""


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    _most.update(getattr(node, "workeroutput", {}).get("most", {}))


def pytest_terminal_summary(terminalreporter):
    """How much memory a process of the tests held at most; 2 GB should do."""
    for test, held in sorted(_most.items(), key=lambda one: -one[1])[:3]:
        terminalreporter.write_line(f"a process held {held / 1e9:.2f} GB at most by the end of {test}")


def pytest_runtest_teardown(item, nextitem):
    """A process that goes through hundreds of tests forgets the programs of earlier ones, which nobody calls again."""
    global _forgot_at
    most = 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # in kB, where this runs
    if most > max(_most.values(), default=0.0):
        _most[item.nodeid] = most
    goes_on = nextitem is not None and nextitem.path == item.path
    if _held() > max(MUCH, _forgot_at + (MORE if goes_on else MORE_BETWEEN_FILES)):
        jax.clear_caches()
        for name in ("vendirl.training.beginning:_starts", "vendirl.training.blocks:_blocks"):
            module, _, shared = name.partition(":")
            if module in sys.modules:
                getattr(sys.modules[module], shared).programs.clear()
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


@pytest.fixture(autouse=True)
def names_are_forgotten():
    """What a test makes known by a name is not known to the tests after it, whichever process they run in."""
    before = [(registry, set(registry)) for registry in _registries()]
    yield
    for registry, names in before:
        for name in set(registry) - names:
            if not getattr(registry[name], "__module__", "").startswith(
                "vendirl"
            ):  # what the library itself imports late stays
                del registry[name]


def _registries():
    """The names of similarities, methods, learners and measures: what the documents show how to add."""
    from vendirl.algorithms import algorithm
    from vendirl.evaluation.measures import registry as measures
    from vendirl.methods import registry as methods
    from vendirl.similarity import parsing

    known = (parsing._similarities, methods._methods, algorithm._algorithms)
    return [*(expressions._known for expressions in known), measures._answers]


@pytest.fixture(scope="module")
def without_ceiling():
    """What a run could attain is not sought, which takes longer than small runs do: for tests of other things."""
    from vendirl.training.attainable import Attainable

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vendirl.training.ceilings.attainable", lambda *_, **__: Attainable(3.0, None, "rank"))
        patch.setattr(
            "vendirl.training.ceilings._ceilings", OrderedDict()
        )  # nor is what was found here believed elsewhere
        yield


@pytest.fixture
def optimised(monkeypatch):
    """Training is compiled as it is for users: for tests that train for longer than it takes to optimise."""
    monkeypatch.setenv("XLA_FLAGS", os.environ["XLA_FLAGS"].replace(LEVEL, ""))


def pytest_sessionfinish(session):
    """The others say how much memory they held; the first process, which started them, throws the programs away."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["most"] = _most
    if _run == str(os.getpid()):
        sys.dont_write_bytecode = True  # by what is imported from here on
        shutil.rmtree(CACHE, ignore_errors=True)
