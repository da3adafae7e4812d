"""A run before it trains: with skills that have learned nothing, those of another run, or those of its checkpoint."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vendirl._programs import Program, Shared, plain
from vendirl.algorithms import Algorithm
from vendirl.environments import AnyEnvironment, refuse_untrusted
from vendirl.methods import Method
from vendirl.similarity import Similarity
from vendirl.training import carrying, checkpoint
from vendirl.training import folder as folders
from vendirl.training.going_on import TRUST
from vendirl.training.loop import Loop, Training
from vendirl.training.problem import Begun, Objects, build, described, new_policy
from vendirl.training.run import Run
from vendirl.training.settings import Settings

_starts = Shared()


def load(
    folder: str | Path,
    env: AnyEnvironment | Callable[..., Any] | object | None = None,
    similarity: Similarity | str | object | None = None,
    method: Method | str | object | None = None,
    learner: Algorithm | str | object | None = None,
    *,
    trust: bool = False,
) -> Run:
    """A saved run, at its newest checkpoint.

    Args:
        folder: of the run.
        env, similarity, method, learner: what the run was given as an object that its text cannot rebuild, such as an
            environment of your own or `mmd().on(lambda observation: ...)`.
        trust: whether the environment that the folder names may be made whatever it is. Otherwise one that would
            import a module, such as "gymnasium:module:Name-v0", is refused; see SECURITY.md.
    """
    folder = Path(folder)
    settings = folders.read_settings(folder)
    if env is None and not trust:
        refuse_untrusted(settings.env, folder, TRUST)
    given, _ = described(
        settings.env if env is None else env,
        settings.similarity if similarity is None else similarity,
        settings.method if method is None else method,
        settings.learner if learner is None else learner,
        settings.episode_length,
    )
    this = begin(settings, given)
    this.folder = folder
    restore(this, folder)
    return this


def begin(settings: Settings, objects: Objects = Objects()) -> Run:  # noqa: B008
    """A run at its first epoch, without a folder."""
    return first(*build(settings, objects))


def beginning(settings: Settings, objects: Objects, trust: bool) -> Begun | None:
    """What turns new skills into those that a run begins with; None if it begins with the new ones."""
    if objects.begun is not None or not settings.init:
        return objects.begun
    initial = carrying.named(settings.init, load, trust, settings.env)
    return carrying.beginning_with(initial, settings.carry, settings.init)


def first(settings: Settings, loop: Loop, begun: Begun | None = None) -> Run:
    """A run at its first epoch. Its skills are new, or what `begun` turns new ones into."""

    def start(key):
        policy_key, key = jax.random.split(key)
        policy = new_policy(settings, loop, policy_key)
        return loop.start(policy if begun is None else begun(policy, loop), key)

    # One program, not a hundred; a seed at a time, since batches of LAPACK's decompositions, which make the first
    # weights, have been seen to wait for each other for ever on two cores.
    of_any_seed = dataclasses.replace(settings, seed=0, seeds=1)
    known = plain((of_any_seed, loop)) if begun is None else None  # the skills to begin with are part of the program
    compiled = _starts.get(known, lambda: Program(start))
    keys = [jax.random.key(settings.seed + i) for i in range(settings.seeds)]
    try:
        each = [jax.block_until_ready(compiled(key)) for key in keys]
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        sizes = f"skills={settings.skills}, hidden={list(settings.hidden)}, scenes={settings.scenes}"
        raise MemoryError(f"there is not enough memory to begin a run of {sizes}; ask for less of them") from None
    training = each[0] if settings.seeds == 1 else _stacked(each)
    return Run(settings, loop, training, training.policy)


def restore(this: Run, folder: Path, put_aside: bool = False) -> None:
    """Bring a run to where its newest checkpoint left it; only the folder's owner may put aside what is damaged."""
    this.found_ceiling = folders.known_ceiling(folder, this.settings.skills)
    if this.settings.init:
        this.first = carrying.kept(folder, this.first, this.settings)
        this.training = eqx.tree_at(lambda training: training.policy, this.training, this.first)

    def wrong(epoch: int, arrays: Training) -> str | None:
        theirs = np.unique(np.asarray(arrays.epoch)).tolist()
        if theirs != [epoch]:
            return f"it is named after epoch {epoch}, but was made at epoch {theirs[0]}"
        if epoch > this.epochs:
            return f"it was made at epoch {epoch}, but the run has {this.epochs}"
        return "its weights are not numbers" if has_nan(arrays) else None

    arrays, static = eqx.partition(this.training, eqx.is_array)
    known = folders.fingerprints(folder, this.settings)
    found = checkpoint.newest(folder / "checkpoints", arrays, known, wrong, put_aside)
    if found is not None:
        this.training = eqx.combine(found, static)
        this.saved_epoch = this.done
        this.history = folders.read_history(folder, this.done)
        this.wall_seconds = this.history[-1]["wall_seconds"] if this.history else 0.0


def has_nan(arrays: Training) -> bool:
    """Whether a weight of the skills is not a number."""
    weights = jax.tree.leaves(eqx.filter(arrays.policy, eqx.is_inexact_array))
    return any(bool(np.isnan(np.asarray(leaf)).any()) for leaf in weights)


def _stacked(each: list[Training]) -> Training:
    """The seeds' states of training as one, whose arrays have a leading axis of seeds."""
    arrays, static = zip(*(eqx.partition(training, eqx.is_array) for training in each), strict=True)
    return eqx.combine(jax.tree.map(lambda *leaves: jnp.stack(leaves), *arrays), static[0])
