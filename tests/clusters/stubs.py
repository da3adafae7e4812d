"""Processes that train nothing, and start at once."""

import json
import os
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SURROUNDINGS = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]), "TOLD": "so"}


@pytest.fixture
def stubbed(monkeypatch):
    """What is carried out is `tests.clusters.stub`, in this process and those that it starts."""
    monkeypatch.setattr("vendirl.clusters.process.WORKER", "tests.clusters.stub")


def task(folder, *tries):
    """A task that ends as is said, one word for each try."""
    folder.mkdir(parents=True, exist_ok=True)
    return json.dumps({"folder": str(folder), "tries": list(tries)})


def appears(path, seconds=60.0):
    """Wait for a file that says something."""
    until = time.monotonic() + seconds
    while not (path.exists() and path.read_text()):
        assert time.monotonic() < until, f"{path} does not appear"
        time.sleep(0.01)
    return path.read_text()


def gone(pid, seconds=60.0):
    """Wait until a process has ended."""
    until = time.monotonic() + seconds
    while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0]:
        assert time.monotonic() < until, f"{pid} lives"
        time.sleep(0.01)


def booby_trapped(folder):
    """A folder of somebody who waits for a process that looks for modules in its current folder."""
    trap = "import pathlib\npathlib.Path(__file__).with_name('sprung').touch()\nraise ImportError(__file__)\n"
    folder.mkdir(parents=True, exist_ok=True)
    for module in ("contextlib", "cloudpickle", "vendirl"):
        (folder / f"{module}.py").write_text(trap)
    return folder


def carried_out_by_stub(asked, surroundings):
    """The same, for processes of a cluster, which find this file by PYTHONPATH."""
    from vendirl.clusters import process

    process.WORKER = "tests.clusters.stub"
    return process.carried_out(asked, surroundings)
