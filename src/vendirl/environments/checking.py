"""A look at an environment before anything is compiled with it, so that mistakes are named where they were made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from vendirl.environments.environment import Environment, State
from vendirl.environments.host import HostEnvironment
from vendirl.environments.spaces import Box, Discrete


def check(environment: Environment | HostEnvironment) -> None:
    """Raise an error that names the attribute or method at fault, if an environment is not what it should be.

    Of an `Environment` shapes, types, that the same key gives the same result, and that `step` keeps the kind of state
    that `reset` makes; of scenes outside the program the attributes, for they are looked at in each step anyway.
    """
    name = type(environment).__name__
    _check_attributes(environment, name)
    if isinstance(environment, HostEnvironment):
        return
    key = jax.random.key(0)
    state = _tried(f"{name}.reset", environment.reset, key)
    _check_state(state, environment, f"{name}.reset")
    action = jnp.zeros((), jnp.int32) if isinstance(environment.actions, Discrete) else _centre(environment.actions)
    successor = _tried(f"{name}.step", environment.step, state, action, key)
    _check_state(successor, environment, f"{name}.step")
    _check_same_kind(state, successor, name)
    if environment.costly_reset:
        return  # the rest runs the environment itself
    for method, result in (("reset", environment.reset), ("step", _step_from_start(environment, action))):
        first, second = result(key), result(key)
        pairs = zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True)
        if not all(_equal(a, b) for a, b in pairs):
            raise ValueError(
                f"{name}.{method} gave different results for the same key; draw all that is random from its key "
                "with jax.random, and keep nothing in the object"
            )
    if bool(environment.reset(key).terminated):
        raise ValueError(f"{name}.reset returned terminated=True: an episode must not be over before it begins")


def _step_from_start(
    environment: Environment, action: Float[Array, " A"] | Int[Array, ""]
) -> Callable[[PRNGKeyArray], State]:
    def step(key: PRNGKeyArray) -> State:
        return environment.step(environment.reset(key), action, key)

    return step


def _check_attributes(environment: Environment | HostEnvironment, name: str) -> None:
    for attribute in ("episode_length", "observation_size", "visible"):
        value = getattr(environment, attribute, None)
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise TypeError(f"{name}.{attribute} must be a whole number of at least 1, but is {value!r}")
    names, D = environment.feature_names, environment.observation_size
    if len(names) != D or not all(isinstance(feature, str) for feature in names):
        raise ValueError(f"{name}.feature_names must be {D} names, one for each feature, but is {names!r}")
    if len(set(names)) < D:
        twice = sorted({feature for feature in names if list(names).count(feature) > 1})
        raise ValueError(f"{name}.feature_names has the same name twice: {', '.join(twice)}")
    if environment.visible > D:
        raise ValueError(f"{name}.visible is {environment.visible}, but there are only {D} features")
    if not isinstance(environment.actions, Box | Discrete):
        raise TypeError(
            f"{name}.actions must be vendirl.environments.Box or Discrete, but is {type(environment.actions).__name__}"
        )


def _tried(method: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a method returns, with `jax.ShapeDtypeStruct` in place of arrays."""
    try:
        return jax.eval_shape(function, *arguments)
    except Exception as error:
        lines = str(error).strip().splitlines()
        first = lines[0] if lines else type(error).__name__
        raise ValueError(
            f"{method} cannot be compiled by JAX: {type(error).__name__}: {first}; it must be a pure function of its "
            "arguments, in jax.numpy"
        ) from error


def _check_state(state: object, environment: Environment, method: str) -> None:
    if not isinstance(state, State):
        raise TypeError(f"{method} must return a vendirl.environments.State, but returned {type(state).__name__}")
    D = environment.observation_size
    expected = (("observation", (D,), "float32"), ("terminated", (), "bool"), ("reward", (), "float32"))
    for field, shape, dtype in expected:
        value = getattr(state, field)
        if not hasattr(value, "shape"):
            raise TypeError(f"{method} returned {field}={value!r}, which must be a jax array: jnp.array({value!r})")
        if value.shape != shape:
            raise ValueError(f"{method} returned {field} of shape {value.shape}, but it must be {shape}")
        if str(value.dtype) != dtype:
            raise TypeError(f"{method} returned {field} of type {value.dtype}, but it must be {dtype}")


def _check_same_kind(state: State, successor: State, name: str) -> None:
    before, after = str(jax.tree.structure(state.physics)), str(jax.tree.structure(successor.physics))
    if before != after:
        raise ValueError(f"{name}.step must return the same kind of physics as {name}.reset: {before}, not {after}")
    for old, new in zip(jax.tree.leaves(state.physics), jax.tree.leaves(successor.physics), strict=True):
        if (old.shape, old.dtype) != (new.shape, new.dtype):
            raise ValueError(
                f"{name}.step turned a part of physics that {name}.reset made as {old.dtype}{list(old.shape)} into "
                f"{new.dtype}{list(new.shape)}; both must agree"
            )


def _centre(box: Box) -> Float[Array, " A"]:
    return jnp.full(box.size, box.centre)


def _equal(a: Array, b: Array) -> bool:
    if jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
        a, b = jax.random.key_data(a), jax.random.key_data(b)
    return bool(np.array_equal(np.asarray(a), np.asarray(b), equal_nan=np.asarray(a).dtype.kind == "f"))
