"""The best return in a point world, by a search through its own dynamics.

Positions are kept in cells. After t steps a cell holds the position that was reached in it with the greatest return so
far, and each is moved on by the nine moves of the world's largest step:

    V_0(cell of s_0) = 0,      V_t+1(c') = max over c, a with s' = step(s_c, a) in c' of V_t(c) + r(s_c, s')

What is found can be done, so it is never more than the optimum; it is less only by what cells leave out.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from vendirl._programs import Program
from vendirl.environments import AnyEnvironment, Environment, FourRooms, Maze, Plane, State
from vendirl.transfer.task import Joined, Seen, Step

CELLS = 41
"""Along each axis: half of the usual step, so that steps lead from the middle of cells to the middle of others."""
_MOVES = np.array([(x, y) for x in (0, 1, -1) for y in (0, 1, -1)], np.float32)


def searchable(environment: AnyEnvironment, tasks: Joined) -> bool:
    """Whether the optimum can be searched for: only in bounded point worlds without noise, and only for tasks in which
    all episodes are alike."""
    if not isinstance(environment, Plane | FourRooms | Maze):
        return False
    return not environment.noise and not environment.discrete and not tasks.parameters


def best_returns(environment: AnyEnvironment, tasks: Joined) -> Float[np.ndarray, " tasks"]:
    """For each task the greatest return that the search finds."""
    assert isinstance(environment, Environment)
    names, key = environment.feature_names, jax.random.key(0)
    start = environment.reset(key)

    def successor(position: Float[Array, 2], move: Float[Array, 2]) -> Float[Array, 2]:
        here = State(position, position, start.terminated, start.reward)
        return environment.step(here, move, key).physics

    def of_task(number: Int[Array, ""]) -> Float[Array, ""]:
        def worth(before, after, time):
            seen = (Seen(before, names), Seen(after, names))
            return tasks.rewards(jnp.zeros(0), Step(*seen, time, jnp.zeros(())))[number]

        def layer(carry, time):
            positions, values = carry
            moved = jax.vmap(lambda p: jax.vmap(lambda m: successor(p, m))(jnp.asarray(_MOVES)))(positions)
            paid = jax.vmap(lambda p, after: jax.vmap(lambda a: worth(p, a, time))(after))(positions, moved)
            found, reached = (values[:, None] + paid).ravel(), moved.reshape(-1, 2)
            cells = _cell(reached)
            best = jax.ops.segment_max(found, cells, CELLS**2)
            row = jnp.arange(len(found))
            which = jax.ops.segment_min(jnp.where(found >= best[cells], row, len(found)), cells, CELLS**2)
            kept = reached[jnp.clip(which, 0, len(found) - 1)]
            return (jnp.where(jnp.isfinite(best)[:, None], kept, positions), best), None

        positions = jnp.tile(start.physics, (CELLS**2, 1))
        values = jnp.full(CELLS**2, -jnp.inf).at[_cell(start.physics[None])[0]].set(0.0)
        (_, values), _ = jax.lax.scan(layer, (positions, values), jnp.arange(environment.episode_length))
        return values.max()

    return np.asarray(Program(jax.vmap(of_task))(jnp.arange(len(tasks.tasks))), np.float64)


def _cell(positions: Float[Array, "m 2"]) -> Int[Array, " m"]:
    """The number of the cell of each position."""
    place = jnp.clip(jnp.round(positions * (CELLS - 1)), 0, CELLS - 1).astype(jnp.int32)
    return place[:, 0] * CELLS + place[:, 1]
