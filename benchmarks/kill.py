"""kill -9 at random moments, twenty times, resume each time: the final parameters must be those of an unbroken run."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import equinox as eqx
import jax
import numpy as np

import vendirl as vr
from vendirl.training import checkpoint
from vendirl.training.driver import run
from vendirl.training.settings import Settings

TIMES = 20
PROGRAM = """
import json, sys, vendirl.training.driver as r
from vendirl.cli import keep_compiled_programs
from vendirl.training.settings import Settings
keep_compiled_programs()
r.CHECKPOINT_SECONDS = 0.2
settings = Settings.from_json(json.loads(sys.argv[1]))
r.run(settings, sys.argv[2], resume=sys.argv[3] == "resume")
"""


def _wait_for_progress(process: subprocess.Popen, metrics: Path, epoch: int) -> None:
    """Until it has gone on beyond an epoch, or has ended."""
    while process.poll() is None:
        text = metrics.read_text() if metrics.exists() else ""
        if any(int(found) > epoch for found in re.findall(r'"epoch": (\d+),', text[-10_000:])):
            return
        time.sleep(0.02)


def main() -> None:
    settings = Settings("point", "mmd(scale=4)", skills=4, scenes=64, devices=2, refill="pool(2)", steps=64 * 50 * 2000)
    whole = run(settings)
    chance = random.Random(0)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "run"
        killed = 0
        while True:
            mode = "resume" if (folder / "settings.json").exists() else "new"
            command = [sys.executable, "-c", PROGRAM, json.dumps(settings.to_json()), str(folder), mode]
            before = (checkpoint.epochs(folder / "checkpoints") or [0])[-1]
            process = subprocess.Popen(command)
            if killed < TIMES:
                if killed % 4:  # three of four while it learns and saves, the others whatever it does
                    _wait_for_progress(process, folder / "metrics.jsonl", before)
                try:
                    process.wait(timeout=chance.uniform(0.0, 2.0 if killed % 4 else 12.0))
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                    killed += 1
                    after = (checkpoint.epochs(folder / "checkpoints") or [0])[-1]
                    assert after >= before, "a checkpoint was lost"
                    print(f"killed {killed}: at epoch {after}", flush=True)
                    continue
            else:
                process.wait()
            assert process.returncode == 0, f"exit code {process.returncode}"
            break
        resumed = vr.load(folder)
    pairs = zip(*(jax.tree.leaves(eqx.filter(r.training, eqx.is_array)) for r in (whole, resumed)), strict=True)
    same = all(
        np.array_equal(*(jax.random.key_data(x) if x.dtype == whole.training.key.dtype else x for x in p))
        for p in pairs
    )
    print(f"killed {killed} times; parameters and all other state bit-identical: {same}")
    sys.exit(not same)


if __name__ == "__main__":
    main()
