"""Training from settings to a folder of results, with progress, checkpoints and a way to go on."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vendirl._host import keep_compiled_programs
from vendirl.algorithms import Algorithm
from vendirl.environments import AnyEnvironment, EnvironmentFailure, refuse_untrusted
from vendirl.methods import Method
from vendirl.similarity import Similarity, SkillSet, Sum
from vendirl.training import checkpoint
from vendirl.training import folder as folders
from vendirl.training.blocks import CompiledBlock, HostBlock, make_block
from vendirl.training.loop import OBSERVATIONS, Training
from vendirl.training.problem import Objects, build, described, new_policy
from vendirl.training.programs import Program
from vendirl.training.progress import progress_bar, silent
from vendirl.training.run import Run
from vendirl.training.settings import BLOCK, Settings

Progress = Callable[[Run, dict[str, Any]], None]

CHECKPOINT_SECONDS = 10.0
TRUST = "say so with --trust on the command line, or trust=True in Python"


class NonFiniteRewardError(FloatingPointError):
    """Training produced rewards or losses that are not finite."""


class Interrupted(KeyboardInterrupt):
    """Training was stopped by the user, after saving."""


def train(
    env: str | AnyEnvironment | Callable[..., Any] | object = "point",
    similarity: Similarity | str | object = "mmd(scale=4)",
    skills: int = 8,
    *,
    method: Method | str | object = "vendirl",
    learner: Algorithm | str | object = "ppo",
    out: str | Path | None = None,
    resume: bool = False,
    progress: bool | Progress | None = True,
    **settings: Any,
) -> Run:
    """Learn skills that are diverse in the sense of a similarity (Algorithm 1).

    Args:
        env: name of the environment, or a name with settings such as "point(noise=0.01)"; or an object, your own
            `Environment`, or a function that makes a Gymnasium environment.
        similarity: k, or its text.
        skills: n.
        method: what is rewarded, or its text.
        learner: the algorithm of choice, or its text.
        out: a folder to save the run in; nothing is saved if None.
        resume: continue the run in that folder, bit for bit as if it had never stopped; in environments outside of JAX
            as far as the same seed and actions lead them to the same observations.
        progress: True for a bar in terminals and notebooks, and a line every few seconds elsewhere; False for silence;
            or a function that is called with the run and the newest metrics after every block of epochs.
        settings: anything else in `Settings`.

    Whatever else is given for one of these is refused in words.

    Example:
        >>> import vendirl as vr
        >>> run = vr.train("point", "mmd(scale=4)", skills=4, steps=1e5)
        >>> run.rollout().shape
        (4, 1, 50, 2)
    """
    objects, texts = described(env, similarity, method, learner, settings.get("episode_length"))
    return run(Settings.named({**settings, **texts, "skills": skills}), out, resume, progress, objects)


def run(
    settings: Settings,
    out: str | Path | None = None,
    resume: bool = False,
    progress: bool | Progress | None = True,
    objects: Objects = Objects(),  # noqa: B008  (it is frozen)
) -> Run:
    """Train as the settings say; see `train`. Objects take the place of what the settings name."""
    if progress is True:
        with progress_bar() as report:
            return run(settings, out, resume, report, objects)
    report = progress if callable(progress) else silent
    keep_compiled_programs()
    this = begin(settings, None if out is None else Path(out), resume, objects)
    if this.folder is not None and resume:
        folders.check_versions(this.folder)
        folders.truncate_history(this.folder, this.done)
    start = time.perf_counter()
    block = make_block(this.loop, this.training, settings.seeds, settings.seed)
    this.compile_seconds = time.perf_counter() - start
    try:
        _train(this, block, report)
    except KeyboardInterrupt:
        this.save_checkpoint()
        raise Interrupted(f"stopped at epoch {this.done} of {this.epochs}{_how_to_resume(this, 'there')}") from None
    except EnvironmentFailure as failure:
        this.save_checkpoint()
        where = _how_to_resume(this, f"at epoch {this.done}")
        raise EnvironmentFailure(f"{failure}. Training stopped{where}") from failure.__cause__
    finally:
        block.close()
    this.save_results()
    return this


def _train(this: Run, block: CompiledBlock | HostBlock, report: Progress) -> None:
    """Train a run to its end, and save it now and then."""
    static = eqx.filter(this.training, eqx.is_array, inverse=True)
    saved = time.perf_counter()
    while this.done < this.epochs:
        start = time.perf_counter()
        arrays, metrics = jax.block_until_ready(block(eqx.filter(this.training, eqx.is_array)))
        amiss = [name for name, finite in metrics.pop("finite").items() if not np.all(finite)]
        metrics.pop(OBSERVATIONS)
        if amiss:
            this.save_checkpoint()
            _stop(this, amiss)
        this.training = eqx.combine(arrays, static)
        this.wall_seconds += time.perf_counter() - start
        row = {"epoch": this.done, "env_steps": this.env_steps, "wall_seconds": round(this.wall_seconds, 3)}
        row |= {name: np.asarray(value).tolist() for name, value in metrics.items()}
        this.history.append(row)
        folders.log(this.folder, row)
        report(this, row)
        if time.perf_counter() - saved > CHECKPOINT_SECONDS or this.done == this.epochs:
            this.save_checkpoint()
            saved = time.perf_counter()


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
    return begin(settings, folder, True, given)


def begin(
    settings: Settings,
    folder: Path | None = None,
    resume: bool = False,
    objects: Objects = Objects(),  # noqa: B008
) -> Run:
    """A run at its first epoch, or where its newest checkpoint left it."""
    settings, loop = build(settings, objects)
    if folder is not None:
        folders.claim(folder, settings, resume)

    def start(key):
        policy_key, key = jax.random.split(key)
        return loop.start(new_policy(settings, loop, policy_key), key)

    # One program, not a hundred; a seed at a time, since batches of LAPACK's decompositions, which make the first
    # weights, have been seen to wait for each other for ever on two cores.
    compiled = Program(start)
    keys = [jax.random.key(settings.seed + i) for i in range(settings.seeds)]
    each = [jax.block_until_ready(compiled(key)) for key in keys]
    training = each[0] if settings.seeds == 1 else _stacked(each)
    this = Run(settings, loop, training, [], folders.known_ceiling(folder, settings.skills), folder)
    if folder is not None and resume and (found := checkpoint.epochs(folder / "checkpoints")):
        arrays, static = eqx.partition(training, eqx.is_array)
        fingerprints = folders.fingerprints(folder, settings)
        this.training = eqx.combine(checkpoint.load(folder / "checkpoints", found[-1], arrays, fingerprints), static)
        this.history = folders.read_history(folder, this.done)
        this.wall_seconds = this.history[-1]["wall_seconds"] if this.history else 0.0
    return this


def _stacked(each: list[Training]) -> Training:
    """The seeds' states of training as one, whose arrays have a leading axis of seeds."""
    arrays, static = zip(*(eqx.partition(training, eqx.is_array) for training in each), strict=True)
    return eqx.combine(jax.tree.map(lambda *leaves: jnp.stack(leaves), *arrays), static[0])


def _stop(this: Run, amiss: list[str]) -> None:
    """Say what became infinite or NaN, where it came from, and how to go on."""
    done, steps = this.env_steps, this.settings.scenes * this.loop.steps_of_an_epoch * BLOCK
    when = f"between steps {done:,} and {done + steps:,}"
    saved = _how_to_resume(this, "at the last good epoch")
    if OBSERVATIONS in amiss:
        raise EnvironmentFailure(
            f"the environment {this.settings.env} returned NaN or infinity {when}{_feature_at_fault(this)}. Training "
            f"stopped{saved}"
        )
    names = ", ".join(name for name in amiss)
    raise NonFiniteRewardError(
        f"{names} became infinite or NaN {when} of the method {this.settings.method}{_similarity_at_fault(this)}. "
        f"Training stopped{saved}"
    )


def _feature_at_fault(this: Run) -> str:
    """The first feature that is not finite when the skills act as they do now, if there is one."""
    points = this.rollout(deterministic=False)
    for feature, name in enumerate(this.environment.feature_names):
        if not np.isfinite(points[..., feature]).all():
            return f", first seen in the feature {name!r}"
    return ""


def _similarity_at_fault(this: Run) -> str:
    """The part of the similarities whose kernel matrix is not finite for the current skills."""
    points = SkillSet(jnp.asarray(this.rollout(deterministic=False)))
    for similarity in this.loop.method.similarities:
        for part in similarity.terms if isinstance(similarity, Sum) else (similarity,):
            if not np.isfinite(part.matrix(part.summaries(points))).all():
                return f", from the similarity {part}"
    return ", though its similarity is finite for the skills as they are now" if this.loop.method.similarities else ""


def _how_to_resume(this: Run, where: str) -> str:
    if this.folder is None:
        return "; nothing was saved, since the run has no folder (out=...)"
    return f" and saved {where}. Go on with: vendirl train --resume --out {this.folder}"
