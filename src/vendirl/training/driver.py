"""Training from settings to a folder of results, with progress, checkpoints and a way to go on."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os
import shlex
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import equinox as eqx
import jax
import numpy as np

from vendirl._host import keep_compiled_programs
from vendirl.algorithms import Algorithm
from vendirl.environments import AnyEnvironment, EnvironmentFailure
from vendirl.methods import Method
from vendirl.similarity import Similarity
from vendirl.training import carrying, checkpoint, processes
from vendirl.training import folder as folders
from vendirl.training.amiss import feature_at_fault, similarity_at_fault
from vendirl.training.attainable import Attainable
from vendirl.training.beginning import beginning, first, has_nan, restore
from vendirl.training.blocks import CompiledBlock, HostBlock, make_block
from vendirl.training.going_on import as_asked
from vendirl.training.loop import OBSERVATIONS
from vendirl.training.notes import note_of
from vendirl.training.owner import AlreadyOwnedError, NoLocksError
from vendirl.training.problem import Objects, build, new_policy
from vendirl.training.progress import progress_bar, silent
from vendirl.training.run import Run
from vendirl.training.settings import Settings
from vendirl.training.stopping import Asked, Interrupted, Stopping, Terminated

Progress = Callable[[Run, dict[str, Any]], None]

Resume = bool | Literal["auto"]

CHECKPOINT_SECONDS = 10.0
FIRST_CHECKPOINT_SECONDS = 1.0


class NonFiniteRewardError(FloatingPointError):
    """Training produced rewards or losses that are not finite."""


def train(
    env: str | AnyEnvironment | Callable[..., Any] | object | None = None,
    similarity: Similarity | str | object | None = None,
    skills: int | None = None,
    *,
    method: Method | str | object | None = None,
    learner: Algorithm | str | object | None = None,
    init: Run | str | Path | object | None = None,
    out: str | Path | None = None,
    resume: Resume = False,
    progress: bool | Progress | None = True,
    trust: bool = False,
    **settings: Any,
) -> Run:
    """Learn skills that are diverse in the sense of a similarity (Algorithm 1).

    Args:
        env: name of the environment, or a name with settings such as "point(noise=0.01)"; or an object, your own
            `Environment`, or a function that makes a Gymnasium environment. By default "point".
        similarity: k, or its text; by default "mmd(scale=4)".
        skills: n, by default 8.
        method: what is rewarded, or its text; by default "vendirl".
        learner: the algorithm of choice, or its text; by default "ppo" or, for a published form of a method such as
            "metra-published", what its release has. Other settings that are not given follow the release too.
        init: a run, or its folder, whose skills this one begins with: of the same body, whatever its reward, method,
            similarity or environment. `carry` says how much of them; see `training.carrying`.
        out: a folder to save the run in; nothing is saved if None.
        resume: continue the run in that folder, bit for bit as if it had never stopped; in environments outside of JAX
            as far as the same seed and actions lead them to the same observations. "auto" does so if there is a run,
            and else begins it. What is not given is that of the run. More `steps` than it had train it longer: see
            docs/survival.md.
        progress: True for a bar in terminals and notebooks, and a line every few seconds elsewhere; False for silence;
            or a function that is called with the run and the newest metrics after every block of epochs.
        trust: whether the environment that the folder names may be made whatever it is, if none is given; see `load`.
        settings: anything else in `Settings`.

    Whatever else is given for one of these is refused in words. Ctrl-C, SIGTERM and SIGHUP save a run that has a
    folder.

    Example:
        >>> import vendirl as vr
        >>> run = vr.train("point", "mmd(scale=4)", skills=4, steps=1e5)
        >>> run.rollout().shape
        (4, 1, 50, 2)
    """
    parts = {"env": env, "similarity": similarity, "skills": skills, "method": method, "learner": learner}
    given = {**settings, **{name: part for name, part in parts.items() if part is not None}}
    if init is not None:
        given["init"] = carrying.name_of(init)
    asked, objects, longer = as_asked(given, None if out is None or not resume else Path(out), trust)
    if isinstance(init, Run):
        objects = dataclasses.replace(objects, begun=carrying.beginning_with(init, asked.carry, asked.init))
    return run(asked, out, resume, progress, objects, longer, trust=trust)


def run(
    settings: Settings,
    out: str | Path | None = None,
    resume: Resume = False,
    progress: bool | Progress | None = True,
    objects: Objects = Objects(),  # noqa: B008  (it is frozen)
    longer: bool = False,
    ceiling: Attainable | None = None,
    trust: bool = False,
) -> Run:
    """Train as the settings say; see `train`. Objects take the place of what the settings name. A run that is resumed
    has just these settings or, if `longer`, fewer steps; see `going_on`. A ceiling that is known is not sought."""
    if not isinstance(resume, bool) and resume != "auto":
        raise ValueError(f'resume must be True, False or "auto", but is {resume!r}')
    if resume is True and out is None:
        raise ValueError("resume needs the folder of the run: out=...")
    if progress is True and processes.first():
        with progress_bar() as bar:
            return run(settings, out, resume, bar, objects, longer, ceiling, trust=trust)
    report = progress if callable(progress) else silent
    keep_compiled_programs()
    processes.expect()
    folder, there, leads = None if out is None else Path(out), False, processes.first()
    if folder is not None and resume and not longer:
        settings = Settings.from_json(
            processes.as_first_says(folders.as_begun(settings, folder).to_json() if leads else None)
        )
    if folder is None or not (folder / "settings.json").exists():
        settings.check_new()
    processes.agree(settings.to_json())
    asked = settings.scenes
    settings, loop = build(settings, objects)
    if longer and settings.extended and loop.method.plans_ahead:
        raise ValueError(f"{settings.method} has divided its epochs among the skills, so it cannot be given more steps")
    known = processes.as_first_says(folder is not None and carrying.has_begun(folder, settings))
    begun = None if known else beginning(settings, objects, trust)
    if begun is not None:  # refuses what does not fit before anything is written or compiled
        eqx.filter_eval_shape(lambda key: begun(new_policy(settings, loop, key), loop), jax.random.key(0))
    with contextlib.ExitStack() as held:
        if folder is not None:
            with processes.refused_together(), _saving(folder):
                if leads:
                    there = held.enter_context(
                        folders.claimed(folder, settings, "auto" if resume == "auto" else bool(resume), longer)
                    )
            there = processes.as_first_says(there)
        stopping = held.enter_context(Stopping())
        this = first(settings, loop, begun)
        if not there:
            this.note = note_of(settings, asked, loop)
        if isinstance(report, progress_bar):
            report.begin(this)
        if folder is not None and leads:
            this.folder, this.owner = folder, True
            held.callback(setattr, this, "owner", False)
            if settings.init and begun is not None:
                with _saving(folder):
                    carrying.keep(folder, this.first, folders.fingerprint(settings))
        if folder is not None and there:
            with processes.refused_together():
                if leads:
                    _go_on(this, folder, longer)
            arrays, static = eqx.partition(this.training, eqx.is_array)
            this.training = eqx.combine(processes.of_first(arrays), static)
        this.found_ceiling = this.found_ceiling or ceiling
        start = time.perf_counter()
        block = make_block(loop, this.training, settings.seeds, settings.seed)
        this.compile_seconds = time.perf_counter() - start
        try:
            _train(this, block, report, stopping)
            with _saving(folder):
                this.save_results()
        except (Asked, KeyboardInterrupt):
            raise _stopped(this, stopping) from None
        except processes.LostError as error:
            _save(this)
            where = _how_to_resume(this, f"at epoch {this.done}")
            raise processes.LostError(f"{error}. Training stopped{where}") from None
        except EnvironmentFailure as failure:
            if stopping.signal is not None:  # whoever ends the run ends its environment too
                raise _stopped(this, stopping) from None
            _save(this)
            where = _how_to_resume(this, f"at epoch {this.done}")
            raise EnvironmentFailure(f"{failure}. Training stopped{where}") from failure.__cause__
        except (MemoryError, jax.errors.JaxRuntimeError) as error:
            if not isinstance(error, MemoryError) and "RESOURCE_EXHAUSTED" not in str(error):
                raise
            where = _how_to_resume(this, "at its last checkpoint")
            raise MemoryError(f"there is not enough memory at epoch {this.done}. Training stopped{where}") from None
        finally:
            block.close()
        if stopping.signal is not None:
            raise stopping.left(f"stopped after its last epoch, and saved in {this.folder}")
    return this


def _go_on(this: Run, folder: Path, longer: bool) -> None:
    """Bring a run to where it was, and its folder with it; if `longer`, to train for more steps."""
    folders.check_versions(folder)
    with _saving(folder):
        restore(this, folder, put_aside=True)
        if longer and this.done != this.settings.extended:
            raise ValueError(
                f"the newest checkpoint in {folder} cannot be read, so that the run is at epoch {this.done}; "
                f"go on with it as it was first, and give it more steps then: {_command(folder)}"
            )
        if longer:
            folders.lengthen(folder, this.settings)
        if this.done + this.loop.block <= this.epochs:
            folders.put_results_aside(folder, this.settings.extended)
        folders.truncate_history(folder, this.done)


def _train(this: Run, block: CompiledBlock | HostBlock, report: Progress, stopping: Stopping) -> None:
    """Train a run to its end, and save it now and then."""
    static = eqx.filter(this.training, eqx.is_array, inverse=True)
    began = saved = time.perf_counter()
    ceiling = this.found_ceiling
    # A run that was given more steps, and then fell back behind that point, may end less than a block too early.
    while this.done + this.loop.block <= this.epochs:
        start = time.perf_counter()
        stopping.signal = processes.meet(stopping.signal, eqx.filter(this.training.policy, eqx.is_array))
        with stopping.at_once(isinstance(block, HostBlock)):
            arrays, metrics = jax.block_until_ready(block(eqx.filter(this.training, eqx.is_array)))
        amiss = [name for name, finite in metrics.pop("finite").items() if not np.all(finite)]
        metrics.pop(OBSERVATIONS)
        if amiss or has_nan(arrays):
            _save(this)
            _stop(this, amiss or ["weights"])
        this.training = eqx.combine(arrays, static)
        this.wall_seconds += time.perf_counter() - start
        row = {"epoch": this.done, "env_steps": this.env_steps, "wall_seconds": round(this.wall_seconds, 3)}
        row |= {name: np.asarray(value).tolist() for name, value in metrics.items()}
        this.history.append(row)
        with _saving(this.folder):
            folders.log(this.folder, row)
        report(this, row)
        if this.folder is not None and this.found_ceiling is not None and this.found_ceiling is not ceiling:
            ceiling = this.found_ceiling
            with _saving(this.folder):
                folders.write_ceiling(this.folder, ceiling)
        now = time.perf_counter()
        # At first what is new is worth as much as all that was saved before.
        due = min(CHECKPOINT_SECONDS, max(FIRST_CHECKPOINT_SECONDS, saved - began))
        if now - saved > due or this.done + this.loop.block > this.epochs:
            _save(this)
            saved = time.perf_counter()


def _stopped(this: Run, stopping: Stopping) -> Interrupted | Terminated | Asked:
    """Save a run that was asked to stop: what to raise."""
    stopping.saving = True
    _save(this)
    message = f"stopped at epoch {this.done} of {this.epochs}{_how_to_resume(this, 'there')}"
    return stopping.left(message)


def _save(this: Run) -> None:
    with _saving(this.folder):
        this.save_checkpoint()


@contextlib.contextmanager
def _saving(folder: Path | None) -> Iterator[None]:
    """Say in one line what could not be written, and how to go on."""
    try:
        yield
    except (FileExistsError, FileNotFoundError, NotADirectoryError, AlreadyOwnedError, NoLocksError):
        raise  # these say it themselves
    except OSError as error:
        if folder is None or error.errno is None:
            raise
        full = error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
        name = f"{Path(os.fsdecode(error.filename)).name} in " if error.filename else ""
        kept = checkpoint.epochs(folder / "checkpoints")
        whole = f"the checkpoint of epoch {kept[-1]} is whole" if kept else "there is no checkpoint yet"
        told = OSError(
            f"{name}{folder} could not be written: {os.strerror(error.errno)}; {whole}. "
            f"{'Make room' if full else 'Mend that'}, and go on with: {_command(folder)}"
        )
        told.errno = error.errno
        raise told from None


def _stop(this: Run, amiss: list[str]) -> None:
    """Say what became infinite or NaN, where it came from, and how to go on."""
    done, steps = this.env_steps, this.settings.scenes * this.loop.steps_of_an_epoch * this.loop.block
    when = f"between steps {done:,} and {done + steps:,}"
    if OBSERVATIONS in amiss:  # how to go on is said where all failures of environments arrive
        raise EnvironmentFailure(
            f"the environment {this.settings.env} returned NaN or infinity {when}{feature_at_fault(this)}"
        )
    names = ", ".join(name for name in amiss)
    raise NonFiniteRewardError(
        f"{names} became infinite or NaN {when} of the method {this.settings.method}{similarity_at_fault(this)}. "
        f"Training stopped{_how_to_resume(this, 'at the last good epoch')}"
    )


def _how_to_resume(this: Run, where: str) -> str:
    if this.folder is None:
        return "; nothing was saved, since the run has no folder (out=...)"
    return f" and saved {where}. Go on with: {_command(this.folder)}"


def _command(folder: Path) -> str:
    return f"vendirl train --resume --out {shlex.quote(str(folder))}"
