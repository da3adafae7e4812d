"""A run: training from settings to a folder of results, with progress, checkpoints and a way to go on.

settings.json        exactly what was asked for, and the versions that ran it
metrics.jsonl        one line for every block of epochs
checkpoints/         the state of training (see `checkpoint`)
trajectories.npz     episodes of the final skills as they were: observations, skill, lengths, first_observations,
                     actions, rewards, terminated (see `data.npz`)
untrained.npz        the same of the skills before training, from the same beginnings
figure.png           trajectories, kernel matrix, spectrum, learning curve
summary.json         score, attainable score, fraction, steps, times, seed, versions
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from vendirl._checks import seed_number, shown
from vendirl._files import write_atomically
from vendirl._moved import no_more
from vendirl._programs import Recent
from vendirl._text import counted, preformatted
from vendirl.data import Trajectories, write_npz
from vendirl.environments import AnyEnvironment, HostEnvironment
from vendirl.score.score import Vendi, vendi
from vendirl.similarity import Similarity, kernel_matrix
from vendirl.skills.episodes import first_episodes
from vendirl.skills.export import chosen_goal, policy_of, skill_number
from vendirl.skills.host_rollout import act_out as act_out_on_host
from vendirl.skills.policy import Skill, SkillPolicy
from vendirl.skills.portable import Policy
from vendirl.skills.rollout import Transition, act_out
from vendirl.training import checkpoint
from vendirl.training import folder as folders
from vendirl.training.attainable import Attainable
from vendirl.training.ceilings import ceiling_of
from vendirl.training.folder import write_figure
from vendirl.training.loop import Loop, Training
from vendirl.training.owner import owning
from vendirl.training.settings import Settings

if TYPE_CHECKING:  # measuring and drawing come last, and what they need takes long to import
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from vendirl.evaluation.evaluate import Evaluation


Chosen = Sequence[int] | Int[Array | np.ndarray, " n"] | None
"""Numbers of skills; all of them if None."""

KEPT = 10
"""Episodes of each skill in trajectories.npz: as many as the intervals of a score need, and a few more."""


@no_more(fingerprint="vendirl.training.folder.fingerprint(run.settings)")
@dataclasses.dataclass(repr=False)
class Run:
    """A set of skills in training, or trained.

    Attributes:
        settings: what was asked for.
        loop: the environment, similarity, method and learner, and how they are put together.
        training: the state of training; with several seeds, its arrays have a leading axis of seeds.
        first: the skills before training, likewise: what the seed makes of them.
        history: one entry for every block of epochs.
        found_ceiling: the attainable score, once it has been needed; see `ceiling`.
        folder: where the run is saved, or None.
        compile_seconds, wall_seconds: how long compiling and training took.
        owner: whether the run is in training, and nobody else may write in its folder. A run that was loaded writes
            nothing but what it is told to save.
        saved_epoch: the epoch of the newest checkpoint, if there is one.
        note: what is to be known of the run before it trains, if there is something (`training.notes`).
    """

    settings: Settings
    loop: Loop
    training: Training
    first: SkillPolicy
    history: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    found_ceiling: Attainable | None = None
    folder: Path | None = None
    compile_seconds: float = 0.0
    wall_seconds: float = 0.0
    owner: bool = False
    saved_epoch: int | None = None
    note: str | None = None
    _scored: tuple[int, Float[np.ndarray, " seeds"]] | None = None
    _scored_first: Float[np.ndarray, " seeds"] | None = None

    @property
    def environment(self) -> AnyEnvironment:
        """Where the skills act."""
        return self.loop.problem.environment

    @property
    def similarity(self) -> Similarity:
        """What "alike" means."""
        return self.loop.problem.similarity

    @property
    def epochs(self) -> int:
        """Epochs that the run is to train for."""
        return self.loop.problem.epochs

    @property
    def goals(self) -> Int[Array, " n"] | Float[Array, "n d"]:
        """The goals of the n skills that are evaluated: numbers, or vectors."""
        return self.loop.problem.space.fixed(self.settings.skills)

    @property
    def skills(self) -> SkillPolicy:
        """The skills π(a | s, g); of the best seed, if there are several."""
        return self.skills_of(self.best)

    def skill(self, number: Any, seed: int | None = None) -> Skill:
        """One of the skills that are evaluated, by its number; of the best seed if None.

        Whatever a skill is to the method, a number or a vector, it acts by `mode(observation, time)`.
        """
        goal = self.goals[skill_number(number, self.settings.skills)]
        return self.skills_of(self.best if seed is None else seed).skill(goal)

    def policy(self, skill: Any, seed: int | None = None) -> Policy:
        """A skill as a function in NumPy, `action = policy(observation)`, which can be saved (`skills.portable`). It is
        given by its number or, where skills are vectors, by a vector or a mixture such as {3: 0.5, 4: 0.5}."""
        goal = chosen_goal(skill, self.goals, self.loop.problem.space)
        chosen = self.skills_of(self.best if seed is None else seed).skill(goal)
        return policy_of(chosen, self.environment, self.settings.env, shown(skill))

    def skills_of(self, seed: int) -> SkillPolicy:
        """The skills of one of the seeds, counted from 0."""
        return self._of_seed(self.training.policy, seed)

    def _of_seed(self, tree: PyTree, seed: int) -> Any:
        """What one of the seeds, counted from 0, has of a part of the state of training."""
        if not 0 <= seed < self.settings.seeds:
            raise ValueError(f"seed must be counted from 0 to {self.settings.seeds - 1}, but is {seed}")
        if self.settings.seeds == 1:
            return tree
        arrays, static = eqx.partition(tree, eqx.is_array)
        return eqx.combine(jax.tree.map(lambda leaf: leaf[seed], arrays), static)

    def method_state(self, seed: int) -> PyTree:
        """What the method has learned in one of the seeds, counted from 0."""
        return self._of_seed(self.training.method, seed)

    @property
    def best(self) -> int:
        """The seed with the highest score, counted from 0."""
        return 0 if self.settings.seeds == 1 else int(np.argmax(self.scores))

    @property
    def scores(self) -> Float[np.ndarray, " seeds"]:
        """Vendi Scores of the skills acting without noise, one trajectory each."""
        if self._scored is None or self._scored[0] != self.done:
            found = np.array([self.score(seed).score for seed in range(self.settings.seeds)])
            self._scored = self.done, found
        return self._scored[1].copy()

    @property
    def untrained_scores(self) -> Float[np.ndarray, " seeds"]:
        """The same of the skills before training: what `scores` would be if nothing had been learned."""
        if self._scored_first is None:
            kernels = [self.kernel(seed, untrained=True) for seed in range(self.settings.seeds)]
            self._scored_first = np.array([vendi(K, self.settings.order).score for K in kernels])
        return self._scored_first.copy()

    def score(self, seed: int = 0, episodes: int = 1) -> Vendi:
        """The Vendi Score of one seed's skills with its spectrum and each skill's contribution."""
        return vendi(self.kernel(seed, episodes), self.settings.order)

    def kernel(self, seed: int = 0, episodes: int = 1, untrained: bool = False) -> Float[np.ndarray, "n n"]:
        """The kernel matrix of one seed's skills, by their episodes as they were; before training, if `untrained`.
        Where a skill ends too early for the similarity to compare it, there are as many more episodes as it takes."""
        data = self.episodes(seed=seed, episodes=episodes, untrained=untrained)
        while (least := data.skill_set.counts.min()) < self.similarity.least_observations:
            episodes *= -(-self.similarity.least_observations // int(least))
            data = self.episodes(seed=seed, episodes=episodes, untrained=untrained)
        return np.asarray(kernel_matrix(self.similarity, data))

    def episodes(
        self,
        skills: Chosen = None,
        episodes: int = 1,
        deterministic: bool = True,
        seed: int = 0,
        draw: int = 0,
        untrained: bool = False,
    ) -> Trajectories:
        """Episodes of chosen skills as they were, each to where it ended, with actions, rewards and first observations;
        `untrained` asks for the skills before training, and the other arguments are those of `rollout`."""
        chosen = np.arange(self.settings.skills) if skills is None else np.asarray(skills)
        policy = self._of_seed(self.first if untrained else self.training.policy, seed)
        rows = self._acted_out(policy, skills, episodes, deterministic, draw)
        return first_episodes(rows, chosen, self.environment.feature_names, str(self.folder or self.settings.env))

    def rollout(
        self, skills: Chosen = None, episodes: int = 1, deterministic: bool = True, seed: int = 0, draw: int = 0
    ) -> Float[np.ndarray, "n {episodes} T D"]:
        """Observations of T steps of chosen skills (all if None), acting without noise or with it. Where an episode
        ends before its T steps another follows it in the same row; `Run.episodes` keeps them apart.

        `seed` counts the seeds of the run from 0; `draw` seeds the noise of the rollout itself.
        """
        rows = self._acted_out(self.skills_of(seed), skills, episodes, deterministic, draw)
        return np.asarray(rows.next_observation)

    def _acted_out(
        self, policy: SkillPolicy, skills: Chosen, episodes: int, deterministic: bool, draw: int
    ) -> Transition:
        chosen = jnp.arange(self.settings.skills) if skills is None else jnp.asarray(skills)
        if chosen.size == 0 or int(chosen.max()) >= self.settings.skills or int(chosen.min()) < 0:
            raise ValueError(f"skills must be numbers from 0 to {self.settings.skills - 1}, but are {skills}")
        seed_number(draw, "draw")
        chosen = self.goals[chosen]
        if self.loop.devices > 1:  # where trained weights are, so that others need no other program
            policy = eqx.filter_shard(policy, jax.local_devices()[0])
        key, world = jax.random.key(draw), self.environment
        act: Any = act_out_on_host if isinstance(world, HostEnvironment) else _act_out
        return act(world, policy, chosen, key, deterministic, episodes)

    def evaluate(
        self, similarities: Sequence[Similarity | str] | None = None, seed: int = 0, episodes: int = 10, **settings: Any
    ) -> Evaluation:
        """`vr.evaluate` for one seed's skills, acting with noise; and, among the measures, how differently they act in
        the same states (System Neural Diversity) and how well they reach goals (`training.goals`).

        Args:
            similarities: those of the run if None.
            settings: of `vr.evaluate`.
        """
        from vendirl.evaluation.evaluate import evaluate
        from vendirl.evaluation.measures.observed import sample_steps
        from vendirl.skills.neural_diversity import neural_diversity
        from vendirl.training.goals import goal_measures

        data = self.episodes(seed=seed, episodes=episodes, deterministic=False)
        found = evaluate(data, [self.similarity] if similarities is None else similarities, **settings)
        if settings.get("measures", True):
            policy, draw = self.skills_of(seed), settings.get("seed", 0)
            rows = sample_steps(data, 500 if policy.squashed else 2000, draw)  # of every skill
            steps = np.concatenate([np.arange(1, length + 1) for length in data.lengths])[rows]
            times = steps / self.environment.episode_length if self.settings.time else None
            acted = neural_diversity(policy, data.observations[rows], times, self.goals)
            method, state = self.loop.method, self._of_seed(self.training.method, seed)
            reached = goal_measures(self.environment, policy, method, state, data, seed=draw)
            own = {m.name: m for m in (acted, *reached)}  # in place of notes that ask for a run
            found = dataclasses.replace(found, measures=tuple(own.get(m.name, m) for m in found.measures))
        return found

    def draw(self, ax: Axes, seed: int = 0) -> None:
        """The trajectories of one seed's skills, in the world they act in."""
        from vendirl.show.run import draw_run  # drawing knows runs; a run asks for it only when it is to be drawn

        draw_run(self, ax, seed)

    def figure(self, seed: int | None = None) -> Figure:
        """Trajectories, kernel matrix, spectrum and learning curve of one seed (the best if None)."""
        from vendirl.show.run import figure_of_run

        return figure_of_run(self, self.best if seed is None else seed)

    @property
    def ceiling(self) -> Attainable:
        """The attainable score, computed when first asked for."""
        if self.found_ceiling is None:
            self.found_ceiling = ceiling_of(self.settings, self.loop.problem)
        return self.found_ceiling

    @property
    def done(self) -> int:
        """Epochs trained."""
        return int(np.max(np.asarray(self.training.epoch)))

    @property
    def env_steps(self) -> int:
        """Environment steps learned from, over all scenes, for each seed; refills are not counted."""
        return self.done * self.settings.scenes * self.loop.steps_of_an_epoch

    def summary(self) -> dict[str, Any]:
        """The result in numbers."""
        scores = self.scores
        trained = max(self.wall_seconds, 1e-9)
        return {
            "vendi_score": float(np.median(scores)),
            "attainable": self.ceiling.score,
            "attainable_method": self.ceiling.method,
            "fraction_of_attainable": float(np.median(scores)) / self.ceiling.score,
            "untrained": float(np.median(self.untrained_scores)),
            "env_steps": self.env_steps,
            "refill_steps": self.refill_steps,
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
            "contributions": self.score(self.best).contributions.tolist(),
            **({} if self.coverage is None else {"coverage": self.coverage}),
            "versions": folders.versions(),
        }

    @property
    def coverage(self) -> dict[str, Any] | None:
        """How many cells the episodes of training visited, for each seed, whether that is exact or only the least that
        there can be, and of which features and width they are; None if they were not counted."""
        counted, visited = self.loop.coverage, self.training.visited
        if counted is None or visited is None:
            return None
        each = [self._of_seed(visited, seed) for seed in range(self.settings.seeds)]
        return counted.summary(each, self.environment.feature_names)

    @property
    def refill_steps(self) -> int:
        """Environment steps that went into refilling memories."""
        return self.loop.method.rehearsed(self.done) * self.settings.skills * self.environment.episode_length

    def save_checkpoint(self) -> None:
        """Write the state of training, if the run has a folder, which nobody else may be writing in."""
        if self.folder is None or self.saved_epoch == self.done:
            return
        with contextlib.nullcontext() if self.owner else owning(self.folder):
            folders.sync_history(self.folder)
            arrays = eqx.filter(self.training, eqx.is_array)
            checkpoint.save(self.folder / "checkpoints", self.done, arrays, folders.fingerprint(self.settings))
            self.saved_epoch = self.done

    @property
    def places(self) -> list[Path]:
        """The folders that hold the trajectories and figures of the seeds: that of the run, if there is only one."""
        if self.folder is None:
            return []
        first, seeds = self.settings.seed, self.settings.seeds
        return [self.folder] if seeds == 1 else [self.folder / f"seed-{first + i}" for i in range(seeds)]

    def save_results(self) -> None:
        """Write trajectories, figure and summary, if the run has a folder."""
        if self.folder is None:
            return
        with contextlib.nullcontext() if self.owner else owning(self.folder):
            self._save_results(self.folder)

    def _save_results(self, folder: Path) -> None:
        folders.write_ceiling(folder, self.ceiling)
        for seed, place in enumerate(self.places):
            place.mkdir(exist_ok=True)
            for name, untrained in (("untrained.npz", True), ("trajectories.npz", False)):
                data = self.episodes(seed=seed, episodes=KEPT, deterministic=False, untrained=untrained)
                write_npz(place / name, data)
            write_figure(self.figure(seed), place / "figure.png")
        gc.collect()  # a figure is a knot of 5 MB, and Python looks for such the more rarely the more a process holds
        write_atomically(folder / "summary.json", json.dumps(self.summary(), indent=2) + "\n")

    def __repr__(self) -> str:
        asked, each = self.settings, self.settings.scenes * self.loop.steps_of_an_epoch
        trained = f"{self.env_steps:,} of {self.epochs * each:,} steps"
        lines = [
            f"Run: {counted(asked.skills, 'skill')} of {asked.method} in {asked.env}, {trained}"
            + (f", {asked.seeds} seeds" if asked.seeds > 1 else ""),
            f"  alike by {asked.similarity}",
        ]
        if self.history:
            scores = np.atleast_1d(self.history[-1]["vendi_score"])
            said = ", ".join(f"{score:.3f}" for score in scores)
            ceiling = self.found_ceiling
            of = f" of {ceiling.score:.3f} {'at most' if ceiling.bound else 'attainable'}" if ceiling else ""
            lines.append(f"  Vendi Score {said}{of}")
        if self.folder is not None:
            lines.append(f"  saved in {self.folder}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        picture = io.StringIO()
        self.figure().savefig(picture, format="svg")
        return preformatted(repr(self)) + picture.getvalue()


_act_out = Recent(act_out)
