"""EnvPool: environments in C++ threads, all of them through one adapter."""

from __future__ import annotations

import difflib
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
from jaxtyping import Bool, UInt8

from vendirl._host import cores
from vendirl.environments.host import Actions, Features, HostEnvironment, Scenes, Step
from vendirl.environments.lengths import Steps, checked_length
from vendirl.environments.suites.bodies import known_names, loading, observation_names, outside
from vendirl.environments.suites.flat import Acting, Observing
from vendirl.environments.suites.processes import Processes


class EnvPoolEnvironment(HostEnvironment):
    """An environment of EnvPool's, by its id."""

    def __init__(
        self,
        id: str,
        episode_length: Steps | None = None,
        threads: int | None = None,
        timeout: float = 60.0,
        **settings: Any,
    ):
        """
        Args:
            id: as EnvPool has it, such as "HalfCheetah-v5".
            episode_length: steps after which an episode is cut off; None for the environment's own limit.
            threads: that step the scenes; None for one for each core.
            timeout: seconds after which a step counts as hanging.
            settings: anything else that EnvPool knows for this environment.
        """
        library = _library()
        _check_id(id, library)
        self.id, self.settings, self.threads, self.timeout = id, settings, threads, timeout
        self.name = f"envpool:{id}"
        spec = library.make_spec(id, **settings)
        limit = int(spec.config.max_episode_steps)
        self.episode_length = limit if episode_length is None else min(checked_length(episode_length), limit)
        with loading():  # some of EnvPool's spaces are not exact in float32, and Gymnasium says so
            self.observe = Observing.of(spec.gymnasium_observation_space, self.name)
            self.act = Acting.of(spec.gymnasium_action_space, self.name)
        self.actions = self.act.actions
        names = list(_names(id, len(self.observe.names)) or self.observe.names)
        self.visible = len(names)
        self.outside = _outside(self, names)
        self.feature_names = (*names, *self.outside)

    def make(self, scenes: int, seed: int) -> Any:
        """EnvPool's own object."""
        threads = self.threads or min(cores(), scenes)
        with loading():
            pool = _library().make(
                self.id,
                env_type="gymnasium",
                num_envs=scenes,
                num_threads=threads,
                seed=seed % 2**31,
                **self.settings,
            )
            _ = pool.observation_space  # which it keeps; its first reset would warn otherwise
        return pool

    def _open(self, scenes: int, seed: int) -> Scenes:
        return _Scenes(self, scenes, seed)

    def _open_filmed(self, scenes: int, seed: int, width: int, height: int) -> Scenes:
        # In processes: without a screen, EnvPool's renderer ends the process that asks for a picture.
        return Processes(self, scenes, seed, partial(_Filmed, self.id, self.settings, width, height), filmed=True)


class _Scenes(Scenes):
    def __init__(self, environment: EnvPoolEnvironment, scenes: int, seed: int):
        self.environment, self.count = environment, scenes
        self.pool = environment.make(scenes, seed)
        self.ids = np.arange(scenes, dtype=np.int32)

    def reset(self, which: Bool[np.ndarray, " E"]) -> Features:
        chosen = self.ids[which]
        observations, infos = self.pool.reset() if len(chosen) == self.count else self.pool.reset(chosen)
        features = np.zeros((self.count, self.environment.observation_size), np.float32)
        features[infos["env_id"]] = self._features(observations, infos, len(chosen))
        return features

    def step(self, actions: Actions) -> Step:
        observations, rewards, terminated, truncated, infos = self.pool.step(self.environment.act(actions), self.ids)
        features = self._features(observations, infos, self.count)
        back = np.argsort(infos["env_id"])  # after a reset of some, EnvPool may answer in another order
        return Step(features[back], terminated[back].astype(bool), truncated[back].astype(bool), rewards[back])

    def close(self) -> None:
        self.pool.close()

    def _features(self, observations: Any, infos: dict[str, Any], count: int) -> Features:
        seen = self.environment.observe(observations, count)
        if not self.environment.outside:
            return seen
        beside = [np.asarray(infos[key], np.float32)[:, None] for key in self.environment.outside.values()]
        return np.concatenate([seen, *beside], 1)


class _Filmed:
    """One scene as an environment of Gymnasium's that can be drawn, in a process of its own."""

    def __init__(self, id_: str, settings: dict[str, Any], width: int, height: int):
        import mujoco

        self.context = mujoco.GLContext(width, height)  # EnvPool's renderer expects that there is one
        self.context.make_current()
        self.id = id_
        self.pool: Any = None
        self.settings = {**settings, "render_mode": "rgb_array", "render_width": width, "render_height": height}

    def reset(self, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        if self.pool is None or seed is not None:  # it is seeded when it is made, and never again
            self.close()
            self.pool = _library().make(self.id, env_type="gymnasium", num_envs=1, seed=seed or 0, **self.settings)
        observations, infos = self.pool.reset()
        return _only(observations), _only(infos)

    def step(self, action: np.ndarray | np.generic) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observations, rewards, terminated, truncated, infos = self.pool.step(np.asarray(action)[None])
        return _only(observations), float(rewards[0]), bool(terminated[0]), bool(truncated[0]), _only(infos)

    def render(self) -> UInt8[np.ndarray, "H W 3"]:
        return np.asarray(self.pool.render(np.zeros(1, np.int32)))[0]

    def close(self) -> None:
        if self.pool is not None:
            self.pool.close()


def _only(batch: Any) -> Any:
    """The only one of a batch."""
    if isinstance(batch, dict):
        return {key: _only(value) for key, value in batch.items()}
    return batch[0]


def ids() -> list[str]:
    """All that EnvPool has."""
    return list(_library().list_all_envs())


def _library() -> ModuleType:
    try:
        import envpool
    except ImportError as error:
        raise ImportError(f"EnvPool is not installed ({error}); use: pip install 'vendirl[envpool]'") from None
    return envpool


def _check_id(id_: str, library: ModuleType) -> None:
    known = library.list_all_envs()
    if id_ not in known:
        near = difflib.get_close_matches(id_, known, n=3, cutoff=0.3)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise ValueError(f"EnvPool has no environment {id_!r}.{hint} It has {len(known):,}: vendirl list --env envpool")


def _names(id_: str, size: int) -> list[str] | None:
    """The names of an observation, from the model of Gymnasium's environment of the same name, if there is one."""
    from vendirl.environments.suites.gymnasium import model_of

    body, _, version = id_.rpartition("-v")
    found = model_of(f"{body}-v5") if version in ("2", "3", "4", "5") else None
    if found is None:
        return known_names(id_, size)
    model, structure = found
    return observation_names(model, size) or (observation_names(model, size, structure) if structure else None)


def _outside(environment: EnvPoolEnvironment, names: list[str]) -> dict[str, str]:
    """What the infos tell, found out by making one scene."""
    pool = environment.make(1, 0)
    try:
        infos = pool.reset()[1]
    finally:
        pool.close()
    return outside(infos, 1, names)
