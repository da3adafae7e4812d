"""A run: training from settings to a folder of results, with progress, checkpoints and a way to go on.

settings.json        exactly what was asked for, and the versions that ran it
metrics.jsonl        one line for every block of epochs
checkpoints/         the state of training (see `checkpoint`)
trajectories.npz     observations (episodes, T, D) and skill (episodes,) of the final skills
figure.png           trajectories, kernel matrix, spectrum, learning curve
summary.json         score, attainable score, fraction, steps, times, seed, versions
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vendirl.data import Trajectories
from vendirl.environments import AnyEnvironment, EnvironmentFailure, HostEnvironment, as_environment
from vendirl.host_rollout import trajectories as host_trajectories
from vendirl.methods import VendiRL, terms
from vendirl.policies import SkillPolicy
from vendirl.rollout import trajectories
from vendirl.score import Vendi, vendi
from vendirl.similarity import Observations, Similarity, Sum, kernel_matrix
from vendirl.training import checkpoint
from vendirl.training import folder as folders
from vendirl.training.attainable import Attainable, attainable
from vendirl.training.blocks import HostBlock, compiled_block
from vendirl.training.loop import Loop, Training
from vendirl.training.settings import BLOCK, Settings

if TYPE_CHECKING:  # measuring and drawing come last, and what they need takes long to import
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from vendirl.evaluation.evaluate import Evaluation

Progress = Callable[["Run", dict[str, Any]], None]

CHECKPOINT_SECONDS = 10.0


class NonFiniteRewardError(FloatingPointError):
    """Training produced rewards or losses that are not finite."""


class Interrupted(KeyboardInterrupt):
    """Training was stopped by the user, after saving."""


@dataclasses.dataclass
class Run:
    """A set of skills in training, or trained.

    Attributes:
        settings: what was asked for.
        environment, similarity: where the skills act and what "alike" means.
        training: the state of training; with several seeds, its arrays have a leading axis of seeds.
        history: one entry for every block of epochs.
        found_ceiling: the attainable score, once it has been needed; see `ceiling`.
        folder: where the run is saved, or None.
    """

    settings: Settings
    environment: AnyEnvironment
    similarity: Similarity
    loop: Loop
    training: Training
    history: list[dict[str, Any]]
    found_ceiling: Attainable | None
    folder: Path | None
    epochs: int
    compile_seconds: float = 0.0
    wall_seconds: float = 0.0

    @property
    def skills(self) -> SkillPolicy:
        """The skills π(a | s, g); of the best seed, if there are several."""
        return self.skills_of(int(np.argmax(self.scores)))

    def skills_of(self, seed: int) -> SkillPolicy:
        """The skills of one of the seeds, counted from 0."""
        if self.settings.seeds == 1:
            return self.training.policy
        arrays, static = eqx.partition(self.training.policy, eqx.is_array)
        return eqx.combine(jax.tree.map(lambda leaf: leaf[seed], arrays), static)

    @property
    def scores(self) -> np.ndarray:
        """(seeds,) Vendi Scores of the skills acting without noise, one trajectory each."""
        return np.array([self.score(seed).score for seed in range(self.settings.seeds)])

    def score(self, seed: int = 0, episodes: int = 1) -> Vendi:
        """The Vendi Score of one seed's skills with its spectrum and each skill's contribution."""
        return vendi(self.kernel(seed, episodes), self.settings.order)

    def kernel(self, seed: int = 0, episodes: int = 1) -> np.ndarray:
        """The kernel matrix of one seed's skills, (n, n)."""
        return kernel_matrix(self.similarity, self.rollout(seed=seed, episodes=episodes).astype(np.float64))

    def rollout(
        self,
        skills: Sequence[int] | None = None,
        episodes: int = 1,
        deterministic: bool = True,
        seed: int = 0,
        draw: int = 0,
    ) -> np.ndarray:
        """Observations (n, episodes, T, D) of chosen skills (all if None), acting without noise or with it.

        `seed` counts the seeds of the run from 0; `draw` seeds the noise of the rollout itself.
        """
        chosen = jnp.arange(self.settings.skills) if skills is None else jnp.asarray(skills)
        if chosen.size == 0 or int(chosen.max()) >= self.settings.skills or int(chosen.min()) < 0:
            raise ValueError(f"skills must be numbers from 0 to {self.settings.skills - 1}, but are {skills}")
        chosen = self.loop.space.fixed(self.settings.skills)[chosen]
        roll: Any = host_trajectories if isinstance(self.environment, HostEnvironment) else _trajectories
        key = jax.random.key(draw)
        return np.asarray(roll(self.environment, self.skills_of(seed), chosen, key, deterministic, episodes=episodes))

    def evaluate(
        self, similarities: Sequence[Similarity | str] | None = None, seed: int = 0, episodes: int = 10, **settings: Any
    ) -> Evaluation:
        """`vr.evaluate` for one seed's skills, acting with noise, and how differently they act (System Neural
        Diversity).

        Args:
            similarities: those of the run if None.
            settings: of `vr.evaluate`.
        """
        from vendirl.evaluation.evaluate import evaluate
        from vendirl.evaluation.neural_diversity import neural_diversity

        points = self.rollout(seed=seed, episodes=episodes, deterministic=False)
        n, _, T, D = points.shape
        names = self.environment.feature_names
        data = Trajectories.of(points.reshape(-1, T, D), np.repeat(np.arange(n), episodes), features=names)
        found = evaluate(data, [self.similarity] if similarities is None else similarities, **settings)
        if settings.get("measures", True) and self.loop.space.discrete and not self.training.policy.squashed:
            states, times = points[:, 0].reshape(-1, D)[:2000], np.tile((np.arange(T) + 1) / T, n)[:2000]
            acted = neural_diversity(self.skills_of(seed), states, times if self.settings.time else None)
            found = dataclasses.replace(found, measures=(*found.measures, acted))
        return found

    def draw(self, ax: Axes, seed: int = 0) -> None:
        """The trajectories of one seed's skills, in the world they act in."""
        from vendirl import figures

        walls, bounds, start = (getattr(self.environment, name, None) for name in ("walls", "bounds", "start"))
        points, axes, names = figures.view(self.rollout(seed=seed), self.environment.feature_names)
        figures.draw_trajectories(ax, points, walls, bounds, start, axes, names)

    def figure(self, seed: int | None = None) -> Figure:
        """Trajectories, kernel matrix, spectrum and learning curve of one seed (the best if None)."""
        from vendirl import figures

        seed = int(np.argmax(self.scores)) if seed is None else seed
        result = self.score(seed)
        figure, axes = figures.new(4)
        self.draw(axes[0, 0], seed)
        figures.draw_kernel(axes[0, 1], self.kernel(seed))
        figures.draw_spectrum(axes[0, 2], result.spectrum)
        curve = [np.atleast_1d(row["vendi_score"]) for row in self.history]
        steps, word = [row["env_steps"] for row in self.history], "at most" if self.ceiling.bound else "attainable"
        figures.draw_learning_curve(axes[0, 3], steps, curve, self.ceiling.score, word)
        asked = self.settings.similarity
        axes[0, 0].set_title(asked if len(asked) < 44 else "skills", fontsize=9)
        axes[0, 1].set_title("kernel matrix", fontsize=9)
        axes[0, 2].set_title(f"Vendi Score {float(result.score):.3f} of {self.ceiling.score:.3f}", fontsize=9)
        axes[0, 3].set_title("learning", fontsize=9)
        return figure

    @property
    def ceiling(self) -> Attainable:
        """The attainable score, computed when first asked for."""
        if self.found_ceiling is None:
            n, q = self.settings.skills, self.settings.order
            known = (self.settings.env, str(self.similarity), n, q)
            if known not in _ceilings:  # other methods in the same world have the same
                _ceilings[known] = attainable(self.environment, self.similarity, n, q=q)
            self.found_ceiling = _ceilings[known]
            if self.folder is not None:
                found = {"score": self.found_ceiling.score, "method": self.found_ceiling.method}
                checkpoint.write_atomically(self.folder / "attainable.json", json.dumps(found) + "\n")
        return self.found_ceiling

    @property
    def done(self) -> int:
        """Epochs trained."""
        return int(np.max(np.asarray(self.training.epoch)))

    @property
    def env_steps(self) -> int:
        """Environment steps learned from, over all scenes, for each seed; refills are not counted."""
        return self.done * self.settings.scenes * self.loop.chunk * self.loop.chunks

    def summary(self) -> dict[str, Any]:
        """The result in numbers."""
        scores = self.scores
        trained = max(self.wall_seconds, 1e-9)
        return {
            "vendi_score": float(np.median(scores)),
            "attainable": self.ceiling.score,
            "attainable_method": self.ceiling.method,
            "fraction_of_attainable": float(np.median(scores)) / self.ceiling.score,
            "env_steps": self.env_steps,
            "refill_steps": self._refill_steps(),
            "wall_seconds": self.wall_seconds,
            "steps_per_second": self.env_steps * self.settings.seeds / trained,
            "compile_seconds": self.compile_seconds,
            "devices": self.settings.devices,
            "seed": self.settings.seed,
            "seeds": {str(self.settings.seed + i): float(score) for i, score in enumerate(scores)},
            "similarity": str(self.similarity),
            "method": self.settings.method,
            "env": self.settings.env,
            "skills": self.settings.skills,
            "contributions": self.score(int(np.argmax(scores))).contributions.tolist(),
            "versions": folders.versions(),
        }

    def _refill_steps(self) -> int:
        """Environment steps that went into refilling memories."""
        total = 0
        for _, method in terms(self.loop.method):
            if isinstance(method, VendiRL):
                refills = self.done if method.synchronise is None else -(-self.done // method.synchronise)
                total += refills * method.memories * method.episodes * self.settings.skills
        return total * self.environment.episode_length

    def fingerprint(self) -> str:
        """What two states of training must share for one to continue the other."""
        text = json.dumps({"settings": self.settings.to_json(), "jax": jax.__version__}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def save_checkpoint(self) -> None:
        """Write the state of training, if the run has a folder."""
        if self.folder is not None:
            arrays = eqx.filter(self.training, eqx.is_array)
            checkpoint.save(self.folder / "checkpoints", self.done, arrays, self.fingerprint())

    def save_results(self) -> None:
        """Write trajectories, figure and summary, if the run has a folder."""
        if self.folder is None:
            return
        seeds = range(self.settings.seeds)
        for seed in seeds:
            place = self.folder if len(seeds) == 1 else self.folder / f"seed-{self.settings.seed + seed}"
            place.mkdir(exist_ok=True)
            points = self.rollout(seed=seed, episodes=5, deterministic=False)
            n, N, T, D = points.shape
            temporary = place / ".trajectories.npz"
            np.savez_compressed(
                temporary,
                observations=points.reshape(n * N, T, D),
                skill=np.repeat(np.arange(n), N),
                feature_names=np.array(self.environment.feature_names),
            )
            temporary.replace(place / "trajectories.npz")
            self.figure(seed).savefig(place / "figure.png", dpi=150)
        checkpoint.write_atomically(self.folder / "summary.json", json.dumps(self.summary(), indent=2) + "\n")


_trajectories = eqx.filter_jit(trajectories)
_ceilings: dict[tuple[str, str, int, float], Attainable] = {}


def train(
    env: str | AnyEnvironment | Callable[..., Any] = "point",
    similarity: Similarity | str = "mmd(scale=4)",
    skills: int = 8,
    *,
    out: str | Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    **settings: Any,
) -> Run:
    """Learn skills that are diverse in the sense of a similarity (Algorithm 1).

    Args:
        env: name of the environment, or a name with settings such as "point(noise=0.01)"; or an object, your own
            `Environment`, or a function that makes a Gymnasium environment.
        similarity: k, or its text.
        skills: n.
        out: a folder to save the run in; nothing is saved if None.
        resume: continue the run in that folder, bit for bit as if it had never stopped.
        progress: called with the run and the newest metrics after every block of epochs.
        settings: anything else in `Settings`.

    Example:
        >>> import vendirl as vr
        >>> run = vr.train("point", "mmd(scale=4)", skills=4, steps=1e5)
        >>> run.rollout().shape
        (4, 1, 50, 2)
    """
    environment = None if isinstance(env, str) else as_environment(env)
    name = env if isinstance(env, str) else f"object:{getattr(environment, 'name', type(environment).__name__)}"
    chosen = Settings(env=name, similarity=str(similarity), skills=skills, **settings)
    return run(chosen, out, resume, progress, environment)


def run(
    settings: Settings,
    out: str | Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    environment: AnyEnvironment | None = None,
) -> Run:
    """Train as the settings say; see `train`. `environment` is used in place of the one that they name."""
    this = begin(settings, None if out is None else Path(out), resume, environment)
    static = eqx.filter(this.training, eqx.is_array, inverse=True)
    start = time.perf_counter()
    outside = isinstance(this.environment, HostEnvironment)
    block = HostBlock(this, static) if outside else compiled_block(this, static)
    this.compile_seconds = time.perf_counter() - start
    saved = time.perf_counter()
    try:
        while this.done < this.epochs:
            start = time.perf_counter()
            arrays, metrics = jax.block_until_ready(block(eqx.filter(this.training, eqx.is_array)))
            amiss = [name for name, finite in metrics.pop("finite").items() if not np.all(finite)]
            if amiss:
                this.save_checkpoint()
                raise NonFiniteRewardError(
                    f"{', '.join(amiss)} became infinite or NaN between steps {this.env_steps:,} and "
                    f"{this.env_steps * (this.done + BLOCK) // max(this.done, 1):,} of the method "
                    f"{settings.method}{_culprit(this)}. Training stopped"
                    f"{_how_to_resume(this, 'at the last good epoch')}"
                )
            this.training = eqx.combine(arrays, static)
            this.wall_seconds += time.perf_counter() - start
            row = {"epoch": this.done, "env_steps": this.env_steps, "wall_seconds": round(this.wall_seconds, 3)}
            row |= {name: np.asarray(value).tolist() for name, value in metrics.items()}
            this.history.append(row)
            folders.log(this.folder, row)
            if progress is not None:
                progress(this, row)
            if time.perf_counter() - saved > CHECKPOINT_SECONDS or this.done == this.epochs:
                this.save_checkpoint()
                saved = time.perf_counter()
    except KeyboardInterrupt:
        this.save_checkpoint()
        raise Interrupted(f"stopped at epoch {this.done} of {this.epochs}{_how_to_resume(this, 'there')}") from None
    except EnvironmentFailure as failure:
        this.save_checkpoint()
        where = _how_to_resume(this, f"at epoch {this.done}")
        raise EnvironmentFailure(f"{failure}. Training stopped{where}") from failure.__cause__
    finally:
        if isinstance(block, HostBlock):
            block.close()
    this.save_results()
    return this


def load(folder: str | Path, env: AnyEnvironment | Callable[..., Any] | None = None) -> Run:
    """A saved run, at its newest checkpoint. `env` is the environment of a run that was given an object."""
    folder = Path(folder)
    settings = folders.read_settings(folder)
    return begin(settings, folder, resume=True, environment=None if env is None else as_environment(env))


def begin(
    settings: Settings, folder: Path | None = None, resume: bool = False, environment: AnyEnvironment | None = None
) -> Run:
    """A run at its first epoch, or where its newest checkpoint left it."""
    if environment is None and settings.env.startswith("object:"):
        raise ValueError(
            f"the run's environment, {settings.env[7:]}, was an object; pass it again: vr.load(folder, env=...)"
        )
    environment, similarity, loop = settings.build(environment)
    settings = dataclasses.replace(settings, devices=loop.devices)
    if folder is not None:
        folders.claim(folder, settings, resume)

    def start(key):
        policy_key, key = jax.random.split(key)
        return loop.start(settings.policy(loop, policy_key), key)

    keys = jnp.stack([jax.random.key(settings.seed + i) for i in range(settings.seeds)])
    # One program, not a hundred; a seed at a time, since batches of LAPACK's decompositions, which make the first
    # weights, have been seen to wait for each other for ever on two cores.
    compiled = eqx.filter_jit(start)
    each = [jax.block_until_ready(compiled(key)) for key in keys]
    training = each[0] if settings.seeds == 1 else _stacked(each)
    epochs = settings.epochs(loop.chunk * loop.chunks)
    this = Run(settings, environment, similarity, loop, training, [], folders.known_ceiling(folder), folder, epochs)
    if folder is not None and resume and (found := checkpoint.epochs(folder / "checkpoints")):
        arrays, static = eqx.partition(training, eqx.is_array)
        loaded = checkpoint.load(folder / "checkpoints", found[-1], arrays, this.fingerprint())
        this.training = eqx.combine(loaded, static)
        this.history = folders.read_history(folder, this.done)
        this.wall_seconds = this.history[-1]["wall_seconds"] if this.history else 0.0
    return this


def _stacked(each: list[Training]) -> Training:
    """The seeds' states of training as one, whose arrays have a leading axis of seeds."""
    arrays, static = zip(*(eqx.partition(training, eqx.is_array) for training in each), strict=True)
    return eqx.combine(jax.tree.map(lambda *leaves: jnp.stack(leaves), *arrays), static[0])


def _culprit(this: Run) -> str:
    """The part of the similarity whose kernel matrix is not finite for the current skills, if it is rewarded."""
    if not any(isinstance(method, VendiRL) for _, method in terms(this.loop.method)):
        return ""
    points = Observations(jnp.asarray(this.rollout(deterministic=False)))
    parts = this.similarity.terms if isinstance(this.similarity, Sum) else (this.similarity,)
    for part in parts:
        if not np.isfinite(part.matrix(jax.vmap(part.summary)(points))).all():
            return f", from the similarity {part}"
    return ", though its similarity is finite for the skills as they are now"


def _how_to_resume(this: Run, where: str) -> str:
    if this.folder is None:
        return "; nothing was saved, since the run has no folder (out=...)"
    return f" and saved {where}. Go on with: vendirl train --resume --out {this.folder}"
