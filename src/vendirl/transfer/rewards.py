"""What stored episodes are worth in tasks: no new step is needed, since tasks are functions of features.

R_im = mean over the episodes of skill i, and over draws of θ, of Σ_t r_m(θ, s_t, s_t+1)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from vendirl._programs import Recent
from vendirl.data import Trajectories
from vendirl.transfer.task import Joined, Seen, Step, Task


@dataclasses.dataclass(frozen=True, eq=False)
class Returns:
    """Returns of the episodes of a set of skills in several tasks.

    Attributes:
        tasks: what the columns are.
        episodes: (draws, episodes, tasks) returns, for each draw of θ.
        of_skill: for each skill the numbers of its episodes.
    """

    tasks: tuple[Task, ...]
    episodes: Float[np.ndarray, "draws episodes tasks"]
    of_skill: tuple[np.ndarray, ...]

    @property
    def by_draw(self) -> Float[np.ndarray, "draws n tasks"]:
        """The mean return of each skill for each draw of θ."""
        return np.stack([self.episodes[:, mine].mean(1) for mine in self.of_skill], 1)

    @property
    def profile(self) -> Float[np.ndarray, "n tasks"]:
        """The mean return of each skill."""
        return self.by_draw.mean(0)

    @property
    def errors(self) -> Float[np.ndarray, "n tasks"]:
        """The standard error of that mean over episodes; infinite for a skill with one episode."""
        means = self.episodes.mean(0)
        found = [
            means[mine].std(0, ddof=1) / np.sqrt(len(mine)) if len(mine) > 1 else np.full(means.shape[1], np.inf)
            for mine in self.of_skill
        ]
        return np.stack(found)


def returns_of(tasks: Sequence[Task], data: Trajectories, draws: int = 32, seed: int = 0) -> Returns:
    """The returns of stored episodes in tasks.

    Args:
        tasks: the tasks, at least one.
        data: episodes with their first observations, such as those of a run.
        draws: how many times θ is drawn, where there is something to draw.
        seed: the seed of these draws.

    Example:
        >>> import numpy as np, vendirl as vr
        >>> from vendirl.transfer import parse_task
        >>> data = vr.Trajectories.of(np.ones((1, 3, 1)), [0], features=["x"], first_observations=np.zeros((1, 1)))
        >>> returns_of([parse_task("value(x)")], data).profile.tolist()
        [[3.0]]
    """
    found = step_rewards(tasks, data, draws, seed)
    starts = np.cumsum(data.lengths) - data.lengths
    episodes = np.stack([np.add.reduceat(one, starts, axis=0) for one in found])
    return Returns(tuple(tasks), episodes, tuple(np.asarray(mine) for mine in data.of_skill))


def step_rewards(
    tasks: Sequence[Task], data: Trajectories, draws: int = 32, seed: int = 0
) -> Float[np.ndarray, "draws steps tasks"]:
    """What every stored step is worth in every task, for each draw of θ; see `returns_of`."""
    check_tasks(tasks, data.features, data.source)
    if data.first_observations is None:
        raise ValueError(f"{data.source} does not say what was observed first in each episode, which tasks look at")
    joined = Joined(tuple(tasks))
    if joined.needs_reward and data.rewards is None:
        raise ValueError(f"{data.source} has no rewards, which the task environment needs")
    lengths = np.asarray(data.lengths)
    starts = np.cumsum(lengths) - lengths
    after = np.asarray(data.observations, np.float32)
    before = np.roll(after, 1, axis=0)
    before[starts] = data.first_observations
    time = np.arange(len(after)) - np.repeat(starts, lengths)
    paid = np.zeros(len(after), np.float32) if data.rewards is None else np.asarray(data.rewards, np.float32)
    keys = jax.random.split(jax.random.key(seed), draws if joined.parameters else 1)
    arrays = [jnp.asarray(x) for x in (before, after, time, paid)]
    return np.asarray(_rewards(joined, tuple(data.features), *arrays, keys), np.float64)


def check_tasks(tasks: Sequence[Task], names: Sequence[str], where: str) -> None:
    """Refuse tasks that look at features that are not there."""
    if not tasks:
        raise ValueError("tasks is empty: give at least one task")
    for task in tasks:
        task.check(names, where)


def _of_steps(
    joined: Joined,
    names: tuple[str, ...],
    before: Float[Array, "steps D"],
    after: Float[Array, "steps D"],
    time: Int[Array, " steps"],
    paid: Float[Array, " steps"],
    keys: Key[Array, " draws"],
) -> Float[Array, "draws steps tasks"]:
    def draw(key):
        θ = joined.draw(key)

        def one(before, after, time, paid):
            return joined.rewards(θ, Step(Seen(before, names), Seen(after, names), time, paid))

        return jax.vmap(one)(before, after, time, paid)

    return jax.vmap(draw)(keys)


_rewards = Recent(_of_steps)
