"""Whether a file of skills can be of a suite's world: its shape, its bounds, its walls, and how far a step goes."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from vendirl.boards.suite import Suite
from vendirl.data import Trajectories
from vendirl.environments import AnyEnvironment, parse_environment

ROUNDING = 1e-4
"""What float32 may add to a coordinate or a step of a point."""


def check_skills(data: Trajectories, suite: Suite, world: str) -> None:
    """Refuse, with the reason, episodes that are not what a suite asks for, or that cannot have happened in a world."""
    suite.check_world(world)
    environment = parse_environment(suite.worlds[world])
    where = f"{data.source} cannot be an entry of {suite.name} in {world}"
    if data.n != suite.skills:
        raise ValueError(f"{where}: it has {data.n} skills, and the suite asks for {suite.skills}")
    if len(data.features) != environment.observation_size:
        names = ", ".join(environment.feature_names)
        raise ValueError(
            f"{where}: it has {len(data.features)} features, and there are {environment.observation_size}: {names}"
        )
    for label, mine in zip(data.labels, data.of_skill, strict=True):
        if len(mine) != suite.episodes:
            raise ValueError(
                f"{where}: skill {label} has {len(mine)} episodes, and the suite asks for {suite.episodes} of each"
            )
    T = environment.episode_length
    if (data.lengths != T).any():
        e = int((data.lengths != T).argmax())
        raise ValueError(
            f"{where}: episode {e} has {data.lengths[e]} observations, and episodes have {T}: those after each step, "
            "without the one that an episode begins with"
        )
    data.check_finite()
    _check_moves(np.asarray(data.observations, float).reshape(len(data), T, -1), environment, where)


def _check_moves(points: Float[np.ndarray, "N T D"], environment: AnyEnvironment, where: str) -> None:
    """What the point worlds allow; of other environments nothing is known."""
    walls, bounds, start, size = (
        getattr(environment, name, None) for name in ("walls", "bounds", "start", "step_size")
    )
    if bounds is not None:
        low, high = np.reshape(bounds, (2, 2))
        _refuse(
            ((points < low - ROUNDING) | (points > high + ROUNDING)).any(-1),
            points,
            f"{where}: it leaves the world's bounds {low.tolist()} to {high.tolist()}",
        )
    if start is None or size is None:
        return
    before = np.concatenate([np.broadcast_to(np.asarray(start, float), (len(points), 1, 2)), points[:, :-1]], 1)
    far = (np.abs(points - before) > size + ROUNDING).any(-1)
    _refuse(
        far, points, f"{where}: a step goes farther than {size:g} along an axis, where episodes begin at {tuple(start)}"
    )
    if walls is not None:
        _refuse(crossings(before, points, np.asarray(walls, float)), points, f"{where}: a step goes through a wall")


def crossings(
    before: Float[np.ndarray, "N T 2"], after: Float[np.ndarray, "N T 2"], walls: Float[np.ndarray, "m 4"]
) -> Bool[np.ndarray, "N T"]:
    """Whether the straight line of a move crosses a wall, each parallel to an axis."""
    crossed = np.zeros(before.shape[:2], bool)
    for x0, y0, x1, y1 in walls:
        across, along = (0, 1) if x0 == x1 else (1, 0)
        at, low, high = (x0, y0, y1) if x0 == x1 else (y0, x0, x1)
        p, d = before[..., across], after[..., across] - before[..., across]
        moves = d != 0
        share = np.divide(at - p, d, out=np.full_like(d, -1.0), where=moves)
        meets = before[..., along] + share * (after[..., along] - before[..., along])
        crossed |= (share > 0) & (share < 1) & (low < meets) & (meets < high)
    return crossed


def _refuse(wrong: Bool[np.ndarray, "N T"], points: Float[np.ndarray, "N T D"], why: str) -> None:
    if wrong.any():
        e, t = np.argwhere(wrong)[0]
        place = ", ".join(f"{x:.4g}" for x in points[e, t])
        raise ValueError(f"{why} (episode {e}, step {t}, at {place})")
