"""Environments of other libraries whose dynamics are JAX themselves, and so run inside compiled code.

An adapter loads a `Simulation` and says where its quantities are. What every such environment needs is here: states
that compiled loops can carry, features outside the observation, and names for all of them.
"""

import abc
import contextlib
import difflib
import functools
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Var, jaxpr_as_fun
from jax.tree_util import PyTreeDef
from jaxtyping import Array, Float, PRNGKeyArray, PyTree, UInt8

from vendirl.environments.environment import Environment, State
from vendirl.environments.lengths import Steps, checked_length
from vendirl.environments.spaces import Box
from vendirl.environments.suites.bodies import AXES, coordinates, identifier
from vendirl.environments.suites.drawing import draw


class Simulation:
    """Another library's environment, and what its observations are.

    It is traced once, which takes seconds; the dynamics are not compiled. The trace tells which quantity of the
    simulator each entry of the observation is, and so its name, and which coordinates of the root are not observed.
    """

    def __init__(
        self,
        reset: Callable[[Array], PyTree],
        step: Callable[[PyTree, Array], PyTree],
        action_size: int,
        quantities: Callable[[PyTree], Mapping[str, Array]],
        model: Any,
        bodies: Sequence[str],
    ):
        """
        Args:
            reset, step: theirs, from a key and from a state and an action to a state with `obs`, `reward` and `done`.
            action_size: how many numbers an action is, each in [-1, 1].
            quantities: a state's "qpos" and "qvel"; and, if there are such, "xpos" and "xmat" (one for each body) and
                "sensordata".
            model: the MuJoCo model.
            bodies: their names.
        """
        self.action_size, self.model = action_size, model
        self._reset, self._step, self._quantities = reset, step, quantities
        key = jax.eval_shape(lambda: jax.random.key_data(jax.random.key(0)))
        first = jax.eval_shape(reset, key)
        action = jax.ShapeDtypeStruct((action_size,), jnp.float32)
        program, second = jax.make_jaxpr(step, return_shape=True)(first, action)
        if _shapes(first) != _shapes(second):
            raise ValueError("The state after a step has another structure than the state after a reset.")
        leaves, self._structure = jax.tree.flatten(first)
        types = [jnp.promote_types(a.dtype, b.dtype) for a, b in zip(leaves, jax.tree.leaves(second), strict=True)]
        self._leaves = [jax.ShapeDtypeStruct(leaf.shape, t) for leaf, t in zip(leaves, types, strict=True)]
        seen = observation(second)
        if seen.ndim != 1:
            raise ValueError(f"Observations are arrays of shape {seen.shape}; only vectors are supported.")
        self.visible: int = seen.shape[0]
        positions, velocities, root = coordinates(model)
        own = {"qpos": positions, "qvel": velocities, **_names_of_places(bodies, model), **_names_of_sensors(model)}
        names = list(_recognised(program, second, quantities, own))
        places = [name for name in AXES if name in root and name not in names]
        rates = [f"{name}_velocity" for name in ("x", "y") if name in root and f"{name}_velocity" not in names]
        self._origin = np.array([root[name] for name in places], np.float32)
        self._positions = np.array([positions.index(name) for name in places], int)
        self._velocities = np.array([velocities.index(name) for name in rates], int)
        self.feature_names = _distinct([*names, *places, *rates])

    def reset(self, key: PRNGKeyArray) -> PyTree:
        with quiet():
            return self._packed(self._reset(jax.random.key_data(key)))

    def step(self, state: PyTree, action: Float[Array, " A"]) -> PyTree:
        with quiet():
            return self._packed(self._step(self._unpacked(state), action))

    def features(self, state: PyTree) -> Float[Array, " D"]:
        """The observation, then the coordinates and velocities of the root that are not in it."""
        quantities = self._quantities(state)
        hidden = (quantities["qpos"][self._positions] + self._origin, quantities["qvel"][self._velocities])
        return jnp.concatenate([observation(state), *hidden]).astype(jnp.float32)

    def positions(self, state: PyTree) -> Float[Array, " q"]:
        """qpos."""
        return self._quantities(state)["qpos"]

    def _packed(self, state: PyTree) -> PyTree:
        """The state with the same types after resets and steps, and None for empty arrays, which cannot be saved."""
        leaves = zip(jax.tree.leaves(state), self._leaves, strict=True)
        packed = [jax.lax.convert_element_type(leaf, like.dtype) if like.size else None for leaf, like in leaves]
        return jax.tree.unflatten(self._structure, packed)

    def _unpacked(self, state: PyTree) -> PyTree:
        """Their state. It is a new one: some environments write into the dictionaries of the state they are given."""
        leaves = iter(jax.tree.leaves(state))
        full = [next(leaves) if like.size else jnp.zeros(like.shape, like.dtype) for like in self._leaves]
        return jax.tree.unflatten(self._structure, full)


class InGraph(Environment):
    """An environment that a `Simulation` runs. It is as hashable as its settings, and holds no arrays.

    A simulation that blows up terminates: its last finite observation stands, and its reward is zero.
    """

    name: str = eqx.field(static=True)
    settings: tuple[tuple[str, Any], ...] = eqx.field(static=True)
    episode_length: int = eqx.field(static=True)
    observation_size: int = eqx.field(static=True)
    feature_names: tuple[str, ...] = eqx.field(static=True)
    actions: Box = eqx.field(static=True)

    def __init__(self, name: str, settings: Mapping[str, Any], episode_length: Steps):
        self.name, self.settings, self.episode_length = name, _frozen(settings), checked_length(episode_length)
        self.feature_names = self.simulation.feature_names  # whatever cannot be loaded is refused here
        self.observation_size = len(self.feature_names)
        self.actions = Box(self.simulation.action_size, -1.0, 1.0)

    @property
    @abc.abstractmethod
    def simulation(self) -> Simulation:
        """Loaded once for all environments with these settings."""

    @property
    def visible(self) -> int:
        return self.simulation.visible

    @property
    def costly_reset(self) -> bool:
        return True

    @property
    def differentiable(self) -> bool:
        return False

    def reset(self, key: PRNGKeyArray) -> State:
        physics = self.simulation.reset(key)
        features = self.simulation.features(physics)
        return State(physics, features, terminated=jnp.array(False), reward=jnp.zeros((), jnp.float32))

    def step(self, state: State, action: Float[Array, " A"], key: PRNGKeyArray) -> State:
        del key  # their state has a key of its own, where they need one
        physics = self.simulation.step(state.physics, jnp.clip(action, -1.0, 1.0))
        features, reward = self.simulation.features(physics), physics.reward.astype(jnp.float32)
        sound = jnp.isfinite(features).all() & jnp.isfinite(reward)
        return State(
            physics=physics,
            observation=jnp.where(sound, features, state.observation),
            terminated=physics.done.astype(bool) | ~sound,
            reward=jnp.where(sound, reward, 0.0),
        )

    def render(self, states: Sequence[State], width: int, height: int) -> UInt8[np.ndarray, "T H W 3"]:
        """Pictures of states, by MuJoCo's renderer, from a camera that follows the body."""
        positions = np.stack([np.asarray(self.simulation.positions(state.physics)) for state in states])
        return draw(self.simulation.model, positions, width, height)


def observation(state: PyTree) -> Any:
    """What their policies see: the entry "state" where observations have several parts."""
    return state.obs["state"] if isinstance(state.obs, Mapping) else state.obs


def _frozen(settings: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Settings in an order of their own, hashable: lists become tuples."""

    def plain(name: str, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return tuple(plain(name, item) for item in value)
        if value is None or isinstance(value, bool | int | float | str):
            return value
        raise TypeError(f"{name}={value!r} must be a number, a text, or a list of such.")

    return tuple((name, plain(name, settings[name])) for name in sorted(settings))


def suggestion(name: str, known: Sequence[str]) -> str:
    """A sentence on what may have been meant by a name that does not exist."""
    lower = {candidate.lower(): candidate for candidate in known}
    near = [repr(lower[match]) for match in difflib.get_close_matches(name.lower(), lower, n=3, cutoff=0.5)]
    return f"Did you mean {' or '.join(near)}?" if near else f"Known: {', '.join(known)}."


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without the warnings of other libraries about themselves, which nobody can act upon."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _names_of_places(bodies: Sequence[str], model: Any) -> dict[str, list[str]]:
    """Names of xpos and xmat, the places and rotations of bodies; the root's places are x, y and height."""
    root = model.body(model.jnt_bodyid[0]).name if model.njnt else None
    names = [name or f"body_{i}" for i, name in enumerate(bodies)]
    places = [axis if name == root else f"{name}_{axis}" for name in names for axis in AXES]
    return {"xpos": places, "xmat": [f"{name}_{row}{column}" for name in names for row in "xyz" for column in "xyz"]}


def _names_of_sensors(model: Any) -> dict[str, list[str]]:
    names: list[str] = []
    for sensor in range(model.nsensor):
        name, size = model.sensor(sensor).name or f"sensor_{sensor}", model.sensor_dim[sensor]
        names += [name] if size == 1 else [f"{name}_{part}" for part in ("xyz" if size == 3 else range(size))]
    return {"sensordata": names}


def _recognised(
    program: ClosedJaxpr,
    state: PyTree,
    quantities: Callable[[PyTree], Mapping[str, Array]],
    names: dict[str, list[str]],
) -> Iterator[str]:
    """The name of each entry of an observation: that of the quantity which it equals, obs_i if there is none.

    The observation is computed alone, without the dynamics, from simulators' states that are random and all different;
    twice, as two numbers may agree once by chance.
    """
    outputs = program.jaxpr.outvars
    number = jax.tree.unflatten(jax.tree.structure(state), range(len(outputs)))
    indices = {name: index for name, index in quantities(number).items() if name in names}
    compute, inputs = _last_part(program, outputs[observation(number)], [outputs[i] for i in jax.tree.leaves(number)])
    chosen = {name: outputs[index] for name, index in indices.items() if outputs[index] in inputs}
    labels = [label for name in chosen for label in names[name]]
    turns = names["qpos"] if "qpos" in chosen else []
    labels += [f"{label}_{function}" for function in ("cos", "sin") for label in turns]
    rng = np.random.default_rng(0)
    same = np.array(True)
    for _ in range(2):
        values = dict(zip(inputs, _different([var.aval for var in inputs], rng), strict=True))
        with jax.ensure_compile_time_eval():  # in case that others are tracing
            (seen,) = jax.jit(compute)(*values.values())
        known = [np.ravel(values[var]) for var in chosen.values()]
        if turns:
            known += [np.cos(values[chosen["qpos"]]), np.sin(values[chosen["qpos"]])]
        same = same & np.isclose(np.asarray(seen)[:, None], np.concatenate(known), rtol=1e-6, atol=0.0)
    for i, row in enumerate(same):
        yield identifier(labels[row.argmax()]) if row.any() else f"obs_{i}"


def _last_part(program: ClosedJaxpr, result: Var, known: Sequence[Any]) -> tuple[Callable[..., list[Array]], list[Var]]:
    """The function that computes `result` from `known` variables of a traced program, and from whatever else comes from
    its arguments and loops; and its inputs."""
    cut = {var for var in known if isinstance(var, Var)} - {result}
    constants = set(program.jaxpr.constvars)
    needed, made, part = {result}, set(), []
    for equation in reversed(program.jaxpr.eqns):
        wanted = needed.intersection(equation.outvars) - cut
        if wanted and equation.primitive.name not in ("scan", "while"):
            part.append(equation)
            made |= wanted
            needed |= {var for var in equation.invars if isinstance(var, Var)}
    inputs = list(cut) + [var for var in needed if var not in cut | made | constants]
    jaxpr = program.jaxpr.replace(invars=inputs, outvars=[result], eqns=part[::-1])
    return jaxpr_as_fun(ClosedJaxpr(jaxpr, program.consts)), inputs


def _different(shapes: Sequence[Any], rng: np.random.Generator) -> list[np.ndarray]:
    """Arrays of these shapes, of which no two numbers are the same; zeros where they are not real numbers."""
    real = [np.issubdtype(shape.dtype, np.floating) for shape in shapes]
    count = sum(shape.size for shape, is_real in zip(shapes, real, strict=True) if is_real)
    numbers = iter(rng.permutation(np.linspace(0.1, 0.9, count)))
    draw = functools.partial(np.fromiter, numbers, float)
    return [
        (draw(count=shape.size).reshape(shape.shape) if is_real else np.zeros(shape.shape)).astype(shape.dtype)
        for shape, is_real in zip(shapes, real, strict=True)
    ]


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """The names with a number after those that came before."""
    found: dict[str, None] = {}
    for name in names:
        candidates = (f"{name}_{i}" if i > 1 else name for i in range(1, len(names) + 2))
        found[next(candidate for candidate in candidates if candidate not in found)] = None
    return tuple(found)


def _shapes(state: PyTree) -> tuple[PyTreeDef, list[tuple[int, ...]]]:
    return jax.tree.structure(state), [leaf.shape for leaf in jax.tree.leaves(state)]
