"""Choosing the best skill for each task.

    select                  from stored episodes: no new step, since tasks are functions of features
    select(rollouts=k)      by k new episodes of each of n skills: n k T steps, which serve all tasks at once
    select(pulls=m)         by a bandit that plays m episodes for each task, m T steps:

                            argmax_i  mean_i + s sqrt(2 log t / m_i),      s the deviation of all returns so far

Where θ is drawn for every episode, the skill is chosen for each θ. The chosen skill acts without noise.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from vendirl._checks import some_of
from vendirl._files import refuse_links
from vendirl.data import Trajectories, read
from vendirl.training.run import KEPT
from vendirl.transfer.rewards import Returns, returns_of
from vendirl.transfer.ways.way import Asked, Used, Way, register


@register
@dataclasses.dataclass(frozen=True)
class Select(Way):
    """Choose a skill for each task, and do nothing else.

    Attributes:
        rollouts: How many new episodes of each skill to choose by; 0 for those that are stored.
        pulls: How many episodes a bandit may play for each task; 0 for no bandit.
    """

    rollouts: int = 0
    pulls: int = 0

    name: ClassVar[str] = "select"
    bounds: ClassVar[dict[str, tuple[float, float]]] = {"rollouts": (0, 10**6), "pulls": (0, 10**6)}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rollouts and self.pulls:
            raise ValueError("select: rollouts and pulls are two ways of choosing; give one of them")

    def check(self, asked: Asked) -> None:
        n, T = asked.skills.settings.skills, asked.environment.episode_length
        cost = (self.rollouts * n + self.pulls) * T
        if cost > asked.steps:
            raise ValueError(f"{self}: choosing takes {cost} steps, but only {asked.steps:g} were asked for; use fewer")
        if 0 < self.pulls < n:
            raise ValueError(f"select: pulls={self.pulls} must be at least the {n} skills, each of which is tried once")

    def use(self, asked: Asked) -> Used:
        run, n, T = asked.skills, asked.skills.settings.skills, asked.environment.episode_length
        stored = returns_of(asked.tasks, stored_episodes(asked)) if not (self.rollouts or self.pulls) else None
        earned, chosen = [], []
        for seed in range(asked.seed, asked.seed + asked.seeds):
            exact = self._new(asked, asked.learning.episodes, True, seed)
            if stored is not None:
                choice = stored.by_draw.argmax(1)
            elif self.rollouts:
                choice = self._new(asked, self.rollouts, False, seed + 1).by_draw.argmax(1)
            else:
                tried = self._new(asked, max(2, -(-2 * self.pulls // n)), False, seed + 1)
                choice = bandit(tried, self.pulls)
            found = np.take_along_axis(exact.by_draw, choice[:, None], 1)[:, 0]
            earned.append(found.mean(0))
            chosen.append(choice[0])
            asked.report(len(earned) / asked.seeds)
        cost = (self.rollouts * n + self.pulls) * T
        saved = (asked.home or run).folder is not None
        note = None if saved or cost else "the run was not saved: its stored episodes are new ones, not charged"
        return Used(np.array([cost]), np.array(earned)[None], np.array(chosen), note)

    def _new(self, asked: Asked, episodes: int, deterministic: bool, draw: int) -> Returns:
        data = asked.skills.episodes(
            episodes=episodes, deterministic=deterministic, seed=asked.run_seed, draw=draw % 2**32
        )
        return returns_of(asked.tasks, data)


def stored_episodes(asked: Asked) -> Trajectories:
    """The episodes that are stored with a run, or as many as would be, if it was not saved."""
    run = asked.home or asked.skills
    if run.folder is not None and (run.places[asked.run_seed] / "trajectories.npz").exists():
        place = run.places[asked.run_seed]
        refuse_links(place, run.folder)
        data, names = read(place), run.environment.feature_names
        if data.n != run.settings.skills or tuple(data.features) != tuple(names):
            raise ValueError(
                f"{place / 'trajectories.npz'} is not of this run: it has {data.n} skills and the features "
                f"{some_of(list(data.features))}, and the run {run.settings.skills} and {some_of(list(names))}"
            )
        data.check_finite()
        return data
    return run.episodes(episodes=KEPT, deterministic=False, seed=asked.run_seed)


def best_stored(asked: Asked) -> list[int]:
    """For each task the number of the skill that earns most in stored episodes, over all θ."""
    return [int(i) for i in returns_of(asked.tasks, stored_episodes(asked)).profile.argmax(0)]


def bandit(tried: Returns, pulls: int) -> Int[np.ndarray, "draws tasks"]:
    """What a bandit chooses (UCB1, scaled by the deviation of what it saw) that is dealt the episodes of each skill in
    their order, and after the last the first again."""
    chosen = np.zeros((tried.episodes.shape[0], tried.episodes.shape[2]), int)
    for draw, task in np.ndindex(*chosen.shape):
        returns = [tried.episodes[draw, mine, task] for mine in tried.of_skill]
        chosen[draw, task] = _played(returns, pulls)
    return chosen


def _played(returns: list[Float[np.ndarray, " episodes"]], pulls: int) -> int:
    n = len(returns)
    seen = [[mine[0]] for mine in returns]
    for t in range(n, pulls):
        means, counts = np.array([np.mean(s) for s in seen]), np.array([len(s) for s in seen])
        scale = np.std(np.concatenate(seen))
        best = int(np.argmax(means + scale * np.sqrt(2 * np.log(t) / counts)))
        seen[best].append(returns[best][len(seen[best]) % len(returns[best])])
    return int(np.argmax([np.mean(s) for s in seen]))
