"""Processes that step scenes: they end with the process that started them, whatever they do, and load little."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.clusters.stubs import booby_trapped
from vendirl._host import python
from vendirl.environments import parse_environment

pytest.importorskip("gymnasium", reason="gymnasium is not installed (vendirl[gymnasium])")

STUCK = """
import threading, time
import gymnasium, numpy as np
from vendirl.environments.suites.gymnasium import GymnasiumEnvironment

class Stuck(gymnasium.Env):
    observation_space = action_space = gymnasium.spaces.Box(-1, 1, (1,))
    steps = 0

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.steps += 1
        while self.steps == 2:
            time.sleep(60)
        return np.zeros(1, np.float32), 0.0, False, False, {}

scenes = GymnasiumEnvironment(Stuck, episode_length=5, workers=2).open(2)
scenes.reset(np.ones(2, bool))
scenes.step(np.zeros((2, 1), np.float32))
print(*(process.pid for process in scenes._scenes.processes), flush=True)
threading.Timer(0.3, lambda: print("stuck", flush=True)).start()
try:
    scenes.step(np.zeros((2, 1), np.float32))
finally:
    scenes.close()
"""


def alive(pid):
    """Whether a process runs; one that nobody has yet asked how it ended does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
@pytest.mark.parametrize(
    ("end", "code"),
    [
        (lambda process: process.kill(), -signal.SIGKILL),
        (lambda process: os.killpg(process.pid, signal.SIGINT), -signal.SIGINT),  # as Ctrl-C in a terminal
    ],
    ids=["kill -9", "Ctrl-C"],
)
def test_processes_stuck_in_a_step_end_with_the_one_that_started_them(end, code):
    command = [sys.executable, "-c", STUCK]
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, start_new_session=True, **quiet) as process:
        workers = [int(pid) for pid in process.stdout.readline().split()]
        assert process.stdout.readline() == "stuck\n"
        assert len(workers) == 2
        assert all(map(alive, workers))
        end(process)
        deadline = time.monotonic() + 2.0
        while any(map(alive, [*workers, process.pid])) and time.monotonic() < deadline:
            time.sleep(0.02)
        left = [pid for pid in (*workers, process.pid) if alive(pid)]
        for pid in left:
            os.kill(pid, signal.SIGKILL)
    assert not left
    assert process.returncode == code


def test_processes_load_no_jax():
    code = (
        "import sys, vendirl.environments.suites.worker, vendirl.environments.suites.gymnasium, "
        "vendirl.environments.suites.envpool; print([name for name in ('jax', 'equinox') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_processes_find_no_modules_in_the_current_folder(tmp_path, monkeypatch):
    """They ran whatever lay there under a name such as contextlib.py, also for the command `vendirl`."""
    monkeypatch.chdir(booby_trapped(tmp_path))
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    scenes = parse_environment("gymnasium:CartPole-v1(workers=1)").open(1)
    assert scenes.reset(np.ones(1, bool)).shape == (1, 4)
    scenes.close()
    assert not (tmp_path / "sprung").exists()
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    assert "-P" not in python()  # who looks there anyway finds there what it always found
