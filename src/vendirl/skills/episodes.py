"""Episodes as they were: from the first observation to where they ended, and no further."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Int

from vendirl.data import Trajectories
from vendirl.skills.rollout import Transition


def first_episodes(
    rows: Transition,
    skill: Sequence[int] | Int[np.ndarray, " n"],
    features: Sequence[str],
    source: str = "trajectories",
) -> Trajectories:
    """The first episode of each stretch that `act_out` wrote down.

    Args:
        rows: (n, N, T, ...), each stretch from the first step of an episode on, for as long as an episode can be.
        skill: (n,) the numbers of the skills.
        features: the names of the observations.
        source: where the episodes are from, for messages.

    Returns:
        N episodes of each skill with their first observations, actions, rewards, true lengths, and whether they were
        ended by a termination rather than by the limit of time.
    """
    n, N, T = rows.reward.shape
    ended = np.asarray(rows.terminated | rows.truncated).reshape(n * N, T)
    last = np.where(ended.any(1), ended.argmax(1), T - 1)
    kept: Bool[np.ndarray, "episodes T"] = np.arange(T) <= last[:, None]

    def steps(x):
        return np.asarray(x).reshape(n * N, T, *x.shape[3:])[kept]

    observations = steps(rows.next_observation)
    return Trajectories.of(
        observations,
        np.repeat(np.asarray(skill), N),
        lengths=last + 1,
        features=features,
        actions=steps(rows.action),
        rewards=steps(rows.reward),
        first_observations=np.asarray(rows.observation)[:, :, 0].reshape(n * N, -1),
        terminated=np.asarray(rows.terminated).reshape(n * N, T)[np.arange(n * N), last],
        source=source,
    )
