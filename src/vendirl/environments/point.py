"""Point worlds: a point moves in the plane, and nothing is rewarded from outside."""

import abc
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from vendirl._checks import shown
from vendirl.environments.environment import Environment, State
from vendirl.environments.lengths import checked_length
from vendirl.environments.spaces import Box, Discrete

# Stay, then right, up, left, down, then the four diagonals: corners of the box that continuous actions fill.
_MOVES = np.array(
    [[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [-1, 1], [-1, -1], [1, -1]],
    np.float32,
)

# A wall keeps the point this far away, so that rounding can never put it on the wall or behind it.
_CLEARANCE = 1e-4


def _checked_start(start: Any) -> tuple[float, float]:
    try:
        values = [float(value) for value in start]
    except (TypeError, ValueError, OverflowError):
        values = []
    if len(values) != 2 or not all(map(math.isfinite, values)):
        raise ValueError(f"start={shown(start)} must be two finite numbers, such as (0.5, 0.5).")
    return values[0], values[1]


def _checked_step_size(value: Any) -> float:
    return _checked_number("step_size", value, above=0.0)


def _checked_noise(value: Any) -> float:
    return _checked_number("noise", value, least=0.0)


def _checked_number(name: str, value: Any, above: float = -math.inf, least: float = -math.inf) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number) or number <= above or number < least:
        bound = f"greater than {above}" if math.isfinite(above) else f"at least {least}"
        raise ValueError(f"{name}={shown(value)} must be a finite number {bound}.")
    return number


def _checked_moves(moves: Any) -> int:
    if moves not in (5, 9):
        raise ValueError(f"moves={shown(moves)}: choose 5 (stay and four directions) or 9 (with diagonals).")
    return int(moves)


class _PointWorld(Environment):
    """position <- move(position, step_size * clip(action, -1, 1) + noise * ε), ε standard normal.

    The settings are static: a world has no arrays of its own, is hashable, and can be closed over by compiled code.

    Attributes:
        start: where every episode begins.
        step_size: how far an action of 1 moves the point, along each axis.
        noise: standard deviation of the normal noise added to each coordinate of a move.
        episode_length: steps after which an episode is cut off.
        discrete: choose among a few moves rather than act by a vector in [-1, 1]².
        moves: with `discrete`, 5 (stay and the four directions) or 9 (the diagonals too).
    """

    start: tuple[float, float] = eqx.field(default=(0.5, 0.5), converter=_checked_start, static=True)
    step_size: float = eqx.field(default=0.05, converter=_checked_step_size, static=True)
    noise: float = eqx.field(default=0.0, converter=_checked_noise, static=True)
    episode_length: int = eqx.field(default=50, converter=checked_length, static=True)
    discrete: bool = eqx.field(default=False, converter=bool, static=True)
    moves: int = eqx.field(default=5, converter=_checked_moves, static=True)

    def __check_init__(self) -> None:
        self._check_place()

    @property
    def observation_size(self) -> int:
        return 2

    @property
    def feature_names(self) -> tuple[str, ...]:
        return ("x", "y")

    @property
    def actions(self) -> Discrete | Box:
        return Discrete(self.moves) if self.discrete else Box(2, -1.0, 1.0)

    @property
    def bounds(self) -> tuple[float, float, float, float] | None:
        """(x0, y0, x1, y1) of the world, None if it has none."""
        return (0.0, 0.0, 1.0, 1.0)

    @abc.abstractmethod
    def _move(self, position: Float[Array, "2"], displacement: Float[Array, "2"]) -> Float[Array, "2"]:
        """Where the point ends that sets out from `position` by `displacement`."""

    @abc.abstractmethod
    def _check_place(self) -> None:
        """Raise if the start is not a place of this world."""

    def reset(self, key: PRNGKeyArray) -> State:
        del key  # every episode begins at the same place
        return self._state(jnp.array(self.start, jnp.float32))

    def step(self, state: State, action: Float[Array, "2"] | Int[Array, ""], key: PRNGKeyArray) -> State:
        direction = jnp.asarray(_MOVES)[action] if self.discrete else jnp.clip(action, -1.0, 1.0)
        displacement = self.step_size * direction
        if self.noise > 0:
            displacement += self.noise * jax.random.normal(key, (2,))
        return self._state(self._move(state.physics, displacement))

    def _state(self, position: Float[Array, "2"]) -> State:
        return State(physics=position, observation=position, terminated=jnp.array(False), reward=jnp.array(0.0))


class Plane(_PointWorld):
    """The paper's plane, bounded by [0, 1]².

    >>> world = Plane(step_size=0.05)
    >>> state = world.reset(jax.random.key(0))
    >>> world.step(state, jnp.array([1.0, -9.0]), jax.random.key(1)).observation.tolist()
    [0.550000011920929, 0.44999998807907104]
    """

    def _move(self, position: Float[Array, "2"], displacement: Float[Array, "2"]) -> Float[Array, "2"]:
        return jnp.clip(position + displacement, 0.0, 1.0)

    def _check_place(self) -> None:
        _check_inside_square(self.start)


class OpenPlane(_PointWorld):
    """A plane without bounds."""

    @property
    def bounds(self) -> None:
        return None

    def _move(self, position: Float[Array, "2"], displacement: Float[Array, "2"]) -> Float[Array, "2"]:
        return position + displacement

    def _check_place(self) -> None:
        pass


class _WalledPlane(_PointWorld):
    """The unit square with walls inside, which the point slides along and never crosses."""

    @property
    @abc.abstractmethod
    def walls(self) -> Float[np.ndarray, "m 4"]:
        """One axis-parallel segment (x0, y0, x1, y1) a row, x0 <= x1 and y0 <= y1."""

    def _move(self, position: Float[Array, "2"], displacement: Float[Array, "2"]) -> Float[Array, "2"]:
        target = jnp.clip(position + displacement, 0.0, 1.0)
        end = slide(position, target - position, jnp.asarray(self.walls))
        return jnp.clip(end, 0.0, 1.0)  # position + (target - position) may round to just outside

    def _check_place(self) -> None:
        _check_inside_square(self.start)
        low, high = self.walls[:, :2] - _CLEARANCE, self.walls[:, 2:] + _CLEARANCE
        inside = ((low < self.start) & (self.start < high)).all(axis=1)
        if inside.any():
            wall = self.walls[inside.argmax()].round(3).tolist()
            raise ValueError(f"start={self.start} lies in the wall {wall}; move it at least {_CLEARANCE} away.")


class FourRooms(_WalledPlane):
    """Four rooms in the unit square, neighbours joined by a door."""

    start: tuple[float, float] = eqx.field(default=(0.25, 0.25), converter=_checked_start, static=True)

    @property
    def walls(self) -> Float[np.ndarray, "m 4"]:
        return _FOUR_ROOMS


class Maze(_WalledPlane):
    """A maze of 5 x 5 cells in the unit square, with exactly one way between any two cells."""

    @property
    def walls(self) -> Float[np.ndarray, "m 4"]:
        return _MAZE


def slide(
    position: Float[Array, "2"], displacement: Float[Array, "2"], walls: Float[Array, "m 4"]
) -> Float[Array, "2"]:
    """Move in a straight line up to the first wall, then along it with what is left of the displacement, up to the
    next wall. The straight line between `position` and the result crosses no wall."""
    stop, axis, τ = _first_wall(position, displacement, walls)
    rest = jnp.where(jnp.arange(2) == axis, 0.0, (1.0 - τ) * displacement)
    end, _, _ = _first_wall(stop, rest, walls)
    # Sliding bends the path, and the tip of another wall may lie between the bent path and the straight one. Half the
    # clearance is a test that rounding cannot fool: the path itself keeps the whole of it.
    enter, leave = _passage(position, end - position, walls, 0.5 * _CLEARANCE)
    entered, left = enter.max(axis=1), leave.min(axis=1)
    crosses = ((entered < left) & (entered < 1) & (left > 0)).any()
    return jnp.where(crosses, stop, end)


def _first_wall(
    position: Float[Array, "2"], displacement: Float[Array, "2"], walls: Float[Array, "m 4"]
) -> tuple[Float[Array, "2"], Int[Array, ""], Float[Array, ""]]:
    """Where a straight move ends, the axis along which a wall stopped it, and the fraction τ of it that was made.
    Free moves give τ = 1.

    A blocked coordinate is set to the face of the wall itself, not to p + τ d, so that rounding errors do not add up to
    a way through.
    """
    enter, leave = _passage(position, displacement, walls, _CLEARANCE)
    axes = enter.argmax(axis=1)
    entered, left = enter.max(axis=1), leave.min(axis=1)
    # Rounding may leave the point a hair inside a wall. Moving deeper then counts as a hit at once, moving out is free.
    towards = displacement * (0.5 * (walls[:, :2] + walls[:, 2:]) - position) > 0
    deeper = jnp.where(axes == 0, towards[:, 0], towards[:, 1])
    hits = (entered < left) & (entered < 1) & (left > 0) & deeper
    first = jnp.where(hits, entered, jnp.inf).argmin()
    hit, axis = hits[first], axes[first]
    τ = jnp.where(hit, jnp.maximum(jnp.where(hit, entered[first], 0.0), 0.0), 1.0)
    face = jnp.where(displacement > 0, walls[first, :2] - _CLEARANCE, walls[first, 2:] + _CLEARANCE)
    blocked = hit & (jnp.arange(2) == axis)
    return jnp.where(blocked, face, position + τ * displacement), axis, τ


def _passage(
    position: Float[Array, "2"], displacement: Float[Array, "2"], walls: Float[Array, "m 4"], clearance: float
) -> tuple[Float[Array, "m 2"], Float[Array, "m 2"]]:
    """The fractions of a straight move p + τ d at which it enters and leaves each wall, grown by a clearance to a box,
    along each axis by itself: the smaller and the greater of (low - p) / d and (high - p) / d. It is in the box while
    it is between along both (the slab method)."""
    low, high = walls[:, :2] - clearance, walls[:, 2:] + clearance
    still = displacement == 0
    d = jnp.where(still, 1.0, displacement)  # keeps the derivative finite where the other branch is taken
    to_low, to_high = (low - position) / d, (high - position) / d
    always = jnp.where((low < position) & (position < high), jnp.inf, -jnp.inf)
    enter = jnp.where(still, -always, jnp.minimum(to_low, to_high))
    leave = jnp.where(still, always, jnp.maximum(to_low, to_high))
    return enter, leave


def _segments(*rows: tuple[float, float, float, float]) -> Float[np.ndarray, "m 4"]:
    walls = np.array(rows, np.float32)
    walls.setflags(write=False)
    return walls


_FOUR_ROOMS = _segments(
    # the wall at x = 0.5, doors around y = 0.2 and y = 0.75
    (0.5, 0.0, 0.5, 0.125),
    (0.5, 0.275, 0.5, 0.675),
    (0.5, 0.825, 0.5, 1.0),
    # the wall at y = 0.5, doors around x = 0.15 and x = 0.8
    (0.0, 0.5, 0.075, 0.5),
    (0.225, 0.5, 0.725, 0.5),
    (0.875, 0.5, 1.0, 0.5),
)

#   +---+---+---+---+---+
#   |               |   |
#   +   +---+---+   +   +
#   |   |       |       |
#   +   +   +   +---+---+
#   |       | s         |
#   +---+---+---+---+   +
#   |       |           |
#   +   +   +   +---+---+
#   |   |               |
#   +---+---+---+---+---+
_MAZE = _segments(
    (0.2, 0.0, 0.2, 0.2),
    (0.4, 0.2, 0.4, 0.4),
    (0.6, 0.2, 1.0, 0.2),
    (0.0, 0.4, 0.8, 0.4),
    (0.4, 0.4, 0.4, 0.6),
    (0.2, 0.6, 0.2, 0.8),
    (0.6, 0.6, 0.6, 0.8),
    (0.6, 0.6, 1.0, 0.6),
    (0.2, 0.8, 0.6, 0.8),
    (0.8, 0.8, 0.8, 1.0),
)


def _check_inside_square(start: tuple[float, float]) -> None:
    if not all(0.0 <= value <= 1.0 for value in start):
        raise ValueError(f"start={start} lies outside [0, 1]²; choose both coordinates between 0 and 1.")
