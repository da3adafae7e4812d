"""The short form of `benchmarks/faults.py`."""

import os
import subprocess
import sys
from pathlib import Path

FAULTS = ["kill_in_checkpoint", "term", "failing_write"]


def test_what_was_saved_survives_kills_signals_and_failing_writes():
    script = Path(__file__).parents[2] / "benchmarks" / "faults.py"
    command = [sys.executable, str(script), "--times", "1", "--only", ",".join(FAULTS)]
    # Its own cache: a process that is killed while it writes to that of the tests would spoil it for the others.
    environment = {name: value for name, value in os.environ.items() if name != "JAX_COMPILATION_CACHE_DIR"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("| 1 | 1 | 0 |") == len(FAULTS), done.stdout
    assert "3 faults at commit" in done.stdout
