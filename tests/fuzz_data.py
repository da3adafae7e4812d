"""Files and arguments that nobody means to give, each made from its number alone, and what counts as surviving them.

Surviving: a sound result, or a ValueError, TypeError or OSError whose message names the file or the argument, within
the limits of time and memory, without a warning, and without unpickling anything.
"""

from __future__ import annotations

import contextlib
import math
import os
import resource
import shutil
import signal
import socket
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from tests import fuzz_minari
from tests.fuzz_minari import DATA_SETS
from tests.fuzz_npz import FILES, arrays, good, pick
from vendirl.data import Trajectories

SECONDS = 5.0
MEMORY = 3 * 2**30
ACCEPTED = (ValueError, TypeError, OSError)
ARGUMENTS = ("observations", "skill", "lengths", "features", "feature", "actions", "rewards", "episodes", "source")


class Hang(BaseException):
    """Took too long. Not an Exception, so that nothing on the way catches it."""


# ---- what counts as surviving --------------------------------------------------------------------------------------


@contextlib.contextmanager
def limits(seconds: float, memory: int) -> Iterator[None]:
    """Raise `Hang` after some seconds, and MemoryError when so many bytes more than now are asked for.

    The seconds are those of the processor, which other processes do not prolong; waiting may take eight times as long.
    """

    late: list[Hang] = []
    seen = [time.process_time()]

    def stop(number, _):
        seen.append(time.process_time())
        if number == signal.SIGALRM and seen[-1] - seen[-2] > seconds / 10:
            signal.setitimer(signal.ITIMER_REAL, 8 * seconds)  # it does not wait: others take the processor
            return
        late.append(Hang(f"longer than {seconds:g} s"))
        raise late[0]

    timers = ((signal.ITIMER_PROF, signal.SIGPROF, seconds), (signal.ITIMER_REAL, signal.SIGALRM, 8 * seconds))

    pages = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc/self/statm").exists() else None
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    previous = [signal.signal(number, stop) for _, number, _ in timers]
    for timer, _, limit in timers:
        signal.setitimer(timer, limit)
    try:
        if pages is not None:
            resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + memory, hard))
        yield
    finally:
        for (timer, number, _), before in zip(timers, previous, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    if late:  # it was raised where Python lets nothing out, such as the end of an object
        raise late[0]


def outcome(
    call: Callable[[], Any], names: tuple[str, ...], seconds: float = SECONDS, memory: int = MEMORY
) -> tuple[str, str]:
    """("result" or "refused" or "FAILED", what was said)."""
    try:
        with limits(seconds, memory), warnings.catch_warnings():
            warnings.simplefilter("error")
            found = call()
            if isinstance(found, Trajectories):
                sound(found)
        return "result", ""
    except ACCEPTED as error:
        said = f"{type(error).__name__}: {error}"
        return ("refused" if any(name in str(error) for name in names) else "FAILED"), said
    except (Exception, Hang) as error:
        return "FAILED", f"{type(error).__name__}: {error}"


def sound(data: Trajectories) -> None:
    """Everything fits together, and can be used."""
    steps, D = data.observations.shape
    assert data.observations.dtype in (np.float32, np.float64), data.observations.dtype
    assert data.observations.dtype.isnative
    assert len(data.lengths) == len(data.skill) == len(data)
    assert data.lengths.min() > 0
    assert data.lengths.sum() == steps
    assert len(data.features) == len(set(data.features)) == D > 0
    assert sorted(set(data.skill.tolist())) == list(range(data.n))
    assert len(set(data.labels)) == data.n > 0
    assert data.actions is None or (data.actions.ndim == 2 and len(data.actions) == steps)
    assert data.rewards is None or data.rewards.shape == (steps,)
    assert sum(len(mine) for mine in data.by_skill) == len(data)
    data.check_finite()


# ---- files ---------------------------------------------------------------------------------------------------------


SPECIAL = ["folder", "pipe", "socket", "missing", "loop", "below a file", "long", "nul", "unreadable", "", "."]
SPECIAL += ["/dev/zero", "/dev/full", "/dev/urandom", "/dev/null", "/dev/stdin", "/proc/self/mem", "/proc/self/status"]
SPECIAL += ["minari:", "minari:nobody/nothing-v0", "minari:\0"]


def special(rng, path: Path) -> str:
    """A path to something that is not a file of bytes."""
    what = pick(rng, SPECIAL)
    if what == "folder":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "socket":
        with socket.socket(socket.AF_UNIX) as end, contextlib.suppress(OSError):
            end.bind(str(path))
    elif what == "loop":
        path.symlink_to(path)
    elif what == "unreadable":
        path.write_bytes(good(rng))
        path.chmod(0)
    elif what == "below a file":
        path.write_bytes(b"x")
        return str(path / "below.npz")
    elif what == "long":
        return str(path) + "a" * 5000
    elif what == "nul":
        return str(path) + "\0"
    return str(path) if what.isalpha() else what  # those that are there already are only ever read


KINDS: dict[str, int] = {
    **{kind: weight for kind, (weight, _) in FILES.items()},
    **{kind: weight for kind, (weight, _) in DATA_SETS.items()},
    "not files": 4,
}
"""Kinds of files, and how many of each hundred or two."""
RIGHT = ("right", "Minari, right")


def file(folder: Path, number: int, seed: int = 0) -> tuple[str, str]:
    """The kind and path of a file or data set, written to the folder; the same for the same number and seed."""
    rng = np.random.default_rng([seed, number])
    weights = np.array(list(KINDS.values()), float)
    kind = list(KINDS)[rng.choice(len(KINDS), p=weights / weights.sum())]
    path = folder / f"input-{number}.npz"
    if kind in FILES:
        path.write_bytes(FILES[kind][1](rng, folder / "trap"))
    elif kind in DATA_SETS:
        fuzz_minari.write(path, DATA_SETS[kind][1], rng)
    else:
        return kind, str(special(rng, path))
    return kind, str(path)


def remove(folder: Path, number: int) -> None:
    """Remove what `file` wrote to the folder, and nothing else: its path may lead to a device."""
    path = folder / f"input-{number}.npz"
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


ODD_FEATURES: list[Any] = [[0], ["x"], [1, "2"], [-1], [], [99], ["nobody"], "x", 5, [None], [0, 0], [1.5], [[0]]]
ODD_FEATURES += [[True], {"x"}]


def chosen_features(number: int, seed: int = 0) -> Any:
    """What to ask of the file: mostly all features."""
    rng = np.random.default_rng([seed, number, 1])
    return None if rng.random() < 0.6 else pick(rng, ODD_FEATURES)


# ---- arguments -----------------------------------------------------------------------------------------------------


def junk(rng: np.random.Generator) -> Any:
    """Anything at all."""
    loop: list[Any] = []
    loop.append(loop)
    deep: Any = 1.0
    for _ in range(int(rng.integers(1, 200))):
        deep = [deep]
    shape = rng.integers(0, 7, size=rng.integers(0, 6))
    values = rng.integers(-3, 9, size=shape)
    single = [None, 0, -1, 1.5, math.nan, True, 10**400, 1j, "", "text", b"bytes", ..., NotImplemented, int]
    lists = [[], [[]], [[[]]], (), {}, {"a": 1}, {1, 2}, [None], [""], [1, "a"], [[1], [2, 3]], [10**400]]
    others = [range(5), iter([1]), object(), len, loop, deep, memoryview(b"abc"), bytearray(6), [loop, 1]]
    types = ["f2", "f4", "f8", ">f8", "g", "i1", "u8", "?", "c8", "S3", "U3", "O", "M8[s]"]
    things: list[Callable[[], Any]] = [
        lambda: pick(rng, single),
        lambda: pick(rng, lists),
        lambda: pick(rng, others),
        lambda: values,
        lambda: values.astype(pick(rng, types)),
        lambda: values.tolist(),
        lambda: [values, values.ravel()[:1], values.tolist()],
        lambda: [rng.normal(size=(rng.integers(4), rng.integers(4))) for _ in range(rng.integers(5))],
        lambda: np.ma.masked_less(values, 0),
        lambda: np.zeros(shape, [("a", "f4")]),
        lambda: jnp.asarray(values.astype(np.float32)),
        lambda: np.array([values, None, "x"], object),
        lambda: np.where(rng.random(shape) < 0.1, np.nan, values),
        lambda: np.broadcast_to(np.float32(1), (3, 4, 5)),
    ]
    return pick(rng, things)()


def arguments(number: int, seed: int = 0) -> dict[str, Any]:
    """Arguments of `Trajectories.of`: right ones, of which up to two were exchanged for something else."""
    rng = np.random.default_rng([seed, number, 2])
    given: dict[str, Any] = arrays(rng)
    if "feature_names" in given:
        given["features"] = given.pop("feature_names").tolist()
    if rng.random() < 0.2:
        given = {"observations": given["observations"]}
    if rng.random() < 0.3:
        given["observations"] = [list, np.ndarray.tolist, np.float32, jnp.asarray][rng.integers(3)](
            given["observations"]
        )
    for name in rng.choice(["observations", "skill", "lengths", "features", "actions", "rewards"], rng.integers(0, 3)):
        given[str(name)] = junk(rng)
    given["source"] = "the data"
    return given
