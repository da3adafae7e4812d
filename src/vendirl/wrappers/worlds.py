"""VendiRL's own environments as Gymnasium's: many scenes in one compiled step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsIndex

import equinox as eqx
import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from jaxtyping import Array, Bool, Float, PRNGKeyArray, Shaped

from vendirl.environments import AnyEnvironment, Discrete, Environment, State, parse_environment
from vendirl.wrappers.scene import where

Actions = Shaped[np.ndarray | Array, "E ..."]
Infos = dict[str, Any]
Mask = Bool[np.ndarray, " E"]
Seeds = SupportsIndex | Sequence[SupportsIndex | None] | None
Seen = Float[np.ndarray, "E O"]


def as_gymnasium(
    environment: AnyEnvironment | gym.Env | str,
    num_envs: int = 1,
    autoreset_mode: AutoresetMode = AutoresetMode.SAME_STEP,
    seed: int = 0,
) -> JaxVectorEnv:
    """An environment of VendiRL in JAX, or its name, as a `gymnasium.vector.VectorEnv`; others are refused.

    Example:
        >>> envs = as_gymnasium("point", num_envs=4)
        >>> envs.reset()[0].shape
        (4, 2)
    """
    world = parse_environment(environment) if isinstance(environment, str) else environment
    if not isinstance(world, Environment):
        raise TypeError(f"environment must be one of VendiRL's own or its name, but is a {type(world).__name__}")
    return JaxVectorEnv(world, num_envs, autoreset_mode, seed)


class JaxVectorEnv(VectorEnv):
    """Scenes of an `Environment`, cut off at its episode length; see `as_gymnasium`.

    Where a policy does not see all features of the environment, infos["features"] has them all.
    """

    def __init__(self, environment: Environment, num_envs: int, autoreset_mode: AutoresetMode, seed: int = 0):
        if num_envs < 1:
            raise ValueError(f"num_envs must be at least 1, but is {num_envs}")
        self.environment, self.num_envs = environment, num_envs
        self.mode = AutoresetMode(autoreset_mode)
        self.metadata = {"autoreset_mode": self.mode}
        self.spec = gym.envs.registration.EnvSpec(
            type(environment).__name__, max_episode_steps=environment.episode_length
        )
        self.single_observation_space = gym.spaces.Box(-np.inf, np.inf, (environment.visible,), np.float32)
        actions = environment.actions
        self.single_action_space = (
            gym.spaces.Discrete(actions.n)
            if isinstance(actions, Discrete)
            else gym.spaces.Box(actions.low, actions.high, (actions.size,), np.float32)
        )
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._key = jax.random.key(seed)
        self._state: State | None = None
        self._elapsed, self._over = np.zeros(num_envs, np.int32), np.zeros(num_envs, bool)

    def reset(self, *, seed: Seeds = None, options: dict[str, Any] | None = None) -> tuple[Seen, Infos]:
        if seed is not None:
            self._key = jax.random.key(next(iter(given(seed)), 0))
        self._restart(np.asarray((options or {}).get("reset_mask", np.ones(self.num_envs, bool))))
        return self._seen()

    def step(self, actions: Actions) -> tuple[Seen, Float[np.ndarray, " E"], Mask, Mask, Infos]:
        if self._state is None:
            raise RuntimeError("call reset() before step()")
        late = self._over & (self.mode == AutoresetMode.NEXT_STEP)
        self._key, self._state = _step(self.environment, self._state, np.asarray(actions), self._key)
        self._elapsed = self._elapsed + 1
        if late.any():
            self._restart(late)
        terminated = np.array(self._state.terminated)
        truncated = (self._elapsed >= self.environment.episode_length) & ~terminated
        rewards = np.where(late, 0.0, np.asarray(self._state.reward, np.float64))
        over = self._over = terminated | truncated
        observations, infos = self._seen()
        if self.mode == AutoresetMode.SAME_STEP and over.any():
            final = {
                "final_obs": final_observations(observations, over),
                "_final_obs": over,
                "final_info": infos,
                "_final_info": over,
            }
            self._restart(over)
            observations, infos = self._seen()
            infos |= final
        return observations, rewards, terminated, truncated, infos

    def _restart(self, mask: Mask) -> None:
        self._key, self._state = _reset(self.environment, self._state, mask, self._key)
        self._elapsed = np.where(mask, 0, self._elapsed)
        self._over = self._over & ~mask

    def _seen(self) -> tuple[Seen, Infos]:
        assert self._state is not None
        features, visible = np.array(self._state.observation), self.environment.visible
        hidden = {"features": features} if visible < features.shape[1] else {}
        return features[:, :visible], hidden


def given(seeds: Seeds) -> list[int]:
    """The seeds that are there, of one or of a list with some left out."""
    return [int(seed) for seed in np.atleast_1d(np.asarray(seeds, object)) if seed is not None]


def final_observations(observations: Shaped[np.ndarray, "E ..."], over: Mask) -> Shaped[np.ndarray, " E"]:
    """An array with one observation for each scene that is over, else None: Gymnasium's form of final observations."""
    rows = np.full(len(over), None, dtype=object)
    for scene in np.flatnonzero(over):
        rows[scene] = observations[scene]
    return rows


@eqx.filter_jit
def _step(environment: Environment, state: State, actions: Actions, key: PRNGKeyArray) -> tuple[PRNGKeyArray, State]:
    key, now = jax.random.split(key)
    keys = jax.random.split(now, len(actions))
    return key, jax.vmap(environment.step)(state, jnp.asarray(actions), keys)


@eqx.filter_jit
def _reset(
    environment: Environment, state: State | None, mask: Bool[np.ndarray | Array, " E"], key: PRNGKeyArray
) -> tuple[PRNGKeyArray, State]:
    key, now = jax.random.split(key)
    fresh = jax.vmap(environment.reset)(jax.random.split(now, len(mask)))
    return key, fresh if state is None else where(jnp.asarray(mask), fresh, state)
