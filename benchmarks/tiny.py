"""Tiny runs, as cheap as a run can be that writes all that a run writes.

They are forked from a process that has imported everything and computed nothing. The program of a block of epochs is
compiled in the first of each kind, and handed to the others as it is. What has no part in what is kept is left out: the
attainable score, and most of the figure.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import pickle
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from forked import PLACE, LostError  # before JAX, which it tells how to compute

# isort: split
import equinox as eqx
import jax
import numpy as np
import orbax.checkpoint  # noqa: F401  (so that no process has to import it)
from jax.experimental import serialize_executable
from matplotlib.figure import Figure

import vendirl as vr
from vendirl import cli
from vendirl.algorithms.ppo import PPO
from vendirl.clusters import comparing
from vendirl.clusters.sweep import Plan
from vendirl.environments.host import HostEnvironment
from vendirl.training import blocks, ceilings, checkpoint, driver
from vendirl.training import run as runs
from vendirl.training.attainable import Attainable
from vendirl.training.devices import replicated
from vendirl.training.settings import Settings
from vendirl.transfer.settings import Learning

BLOCKS = 6
TINY = Settings(
    skills=3,
    scenes=8,
    devices=1,
    refill="shared",
    hidden=(8,),
    steps=8 * 50 * 10 * BLOCKS,
    ppo=PPO(minibatches=2, epochs=1, discount=1.0),
)
OUTSIDE: dict[str, Any] = {"skills": 2, "scenes": 2, "hidden": (8,), "steps": 2 * 5 * 10 * BLOCKS, "ppo": TINY.ppo}
"""Settings of a run in an environment outside of JAX."""

TASK = "goal(x, y, at=[0.9, 0.5], dense=True)"

for name in cli.COMMANDS:
    cli.command_named(name)
ceilings.attainable = lambda *_, **__: Attainable(3.0, None, "rank")


def _figure(this: runs.Run, seed: int | None = None) -> Figure:
    figure = Figure((1, 1))
    figure.subplots().plot([row["epoch"] for row in this.history])
    return figure


runs.Run.figure = _figure  # type: ignore[method-assign]


class Handed(blocks.CompiledBlock):
    """A block of epochs whose program was compiled by an earlier process."""

    def __init__(self, loop: Any, training: Any, seeds: int):
        arrays = eqx.filter(training, eqx.is_array)
        shapes = [(leaf.shape, str(leaf.dtype)) for leaf in jax.tree.leaves(arrays)]
        known = hashlib.sha256(repr((loop.method, loop.devices, seeds, shapes)).encode()).hexdigest()
        path = PLACE / f"program-{known}"
        if path.exists():
            program, metrics = pickle.loads(path.read_bytes())
            trees = jax.tree.structure(((arrays,), {})), jax.tree.structure((arrays, metrics))
            devices = jax.local_devices()[: loop.devices]
            self.everywhere = None if loop.devices == 1 else replicated(loop.devices)
            self.program = serialize_executable.deserialize_and_load(program, *trees, execution_devices=devices)
        else:
            super().__init__(loop, training, seeds)
            program, _, results = serialize_executable.serialize(self.program)
            metrics = jax.tree.unflatten(results, [0] * results.num_leaves)[1]
            path.with_suffix(".new").write_bytes(pickle.dumps((program, metrics)))
            path.with_suffix(".new").rename(path)


blocks.CompiledBlock = Handed  # type: ignore[misc]
blocks.compiled = lambda lowered, options: lowered.compile()  # without options of its own, as XLA_FLAGS say


# What a forked process does. Each writes down what its run came to, if it came to its end.


def train(folder: Path, pause: float = 0.0, every: float = 0.0, first: float = 0.0, **changes: Any) -> int:
    """`vendirl train --resume auto`: begin a run or go on with it, saving after each block."""
    settings = dataclasses.replace(TINY, **changes)
    return _command(lambda: driver.run(settings, folder, "auto", lambda *_: time.sleep(pause)), every, first)


def train_outside(folder: Path, world: HostEnvironment) -> int:
    """The same in an environment outside of JAX."""
    return _command(lambda: vr.train(world, out=folder, resume="auto", progress=False, **OUTSIDE))


def compare(out: Path, methods: tuple[str, ...], pause: float = 0.03) -> int:
    """The part of `vendirl compare` that trains."""
    _save_every(0.0, 0.0)
    entrants = [comparing.Contestant(method, dataclasses.replace(TINY, method=method)) for method in methods]
    for folder in comparing.train_all(entrants, out, lambda _: lambda *_: time.sleep(pause)).values():
        write_state(vr.load(folder))
    return 0


def sweep(out: Path, seeds: tuple[int, ...], pause: float = 0.03) -> int:
    """The part of `vendirl sweep` that trains."""

    def run() -> None:
        given = {field.name for field in dataclasses.fields(TINY)}
        plan = Plan(f"seed={','.join(map(str, seeds))}", TINY, given, out, sampler="grid")
        found = plan.carried_out(say=lambda _: None, progress=lambda _: lambda *_: time.sleep(pause))
        for trial in found.trials:
            write_state(vr.load(trial.folder))

    return _as_command(run)


def transfer(out: Path, skills: Path) -> int:
    """The part of `vendirl transfer` that does the tasks."""
    blocks.CompiledBlock = Handed.__base__  # type: ignore[misc,assignment]  (here is more than one kind of world)
    ways, how = ["select(rollouts=1)", "finetune"], Learning(scenes=4, hidden=(8,), episodes=2)
    return _as_command(
        lambda: vr.transfer(skills, TASK, ways, steps=400, seeds=1, out=out, learning=how, progress=False)
    )


def _command(run: Callable[[], runs.Run], every: float = 0.0, first: float = 0.0) -> int:
    return _as_command(lambda: write_state(run()), every, first)


def _as_command(run: Callable[[], Any], every: float = 0.0, first: float = 0.0) -> int:
    """What the command line makes of what it does: its exit code, and what it says."""
    _save_every(every, first)
    cli.command_named("train").run = lambda _: run()  # type: ignore[method-assign]
    return cli.main(["train"])


def _save_every(seconds: float, first: float) -> None:
    driver.CHECKPOINT_SECONDS, driver.FIRST_CHECKPOINT_SECONDS = seconds, first


# What a run came to.


def digest(this: runs.Run) -> str:
    """A digest of the weights and all other state of a run."""
    found = hashlib.sha256()
    for path, leaf in jax.tree.leaves_with_path(eqx.filter(this.training, eqx.is_array)):
        data = jax.random.key_data(leaf) if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf
        found.update(jax.tree_util.keystr(path).encode() + np.asarray(data).tobytes())
    return found.hexdigest()


def write_state(this: runs.Run) -> None:
    """Write down what a run has in memory when it ends."""
    assert this.folder is not None
    _state(this.folder).write_text(json.dumps({"epoch": this.done, "digest": digest(this)}))


def state_of(folder: Path) -> dict[str, Any]:
    """What a run came to in memory, and what is in its folder, whose newest checkpoint must be whole."""
    found = json.loads(_state(folder).read_text())
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    found["rows"] = [{name: value for name, value in row.items() if "seconds" not in name} for row in rows]
    found["results"] = [name for name in ("summary.json", "figure.png", "trajectories.npz") if (folder / name).exists()]
    found["saved"] = checkpoint.epochs(folder / "checkpoints")[-1:]
    for epoch in checkpoint.epochs(folder / "checkpoints"):
        files = json.loads((folder / "checkpoints" / f"{epoch}.json").read_text())["files"]
        for name, (size, sha) in files.items():
            content = (folder / "checkpoints" / str(epoch) / name).read_bytes()
            if (len(content), hashlib.sha256(content).hexdigest()) != (size, sha):
                raise LostError(f"the checkpoint of epoch {epoch}")
    return found


def _state(folder: Path) -> Path:
    return PLACE / f"state-{hashlib.sha256(str(folder).encode()).hexdigest()[:16]}"


def rows_in(folder: Path) -> int:
    """How many blocks of epochs a run has written down."""
    path = folder / "metrics.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0
