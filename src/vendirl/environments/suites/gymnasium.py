"""Gymnasium: any id, any function that makes an environment, and vector environments."""

from __future__ import annotations

import difflib
import importlib
import inspect
import warnings
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
from jaxtyping import Bool

from vendirl.environments.host import Actions, Features, HostEnvironment, Scenes, Step
from vendirl.environments.lengths import Steps, checked_length
from vendirl.environments.suites.bodies import known_names, loading, observation_names, outside
from vendirl.environments.suites.flat import Acting, Observing, alone
from vendirl.environments.suites.processes import Processes


class GymnasiumEnvironment(HostEnvironment):
    """An environment of Gymnasium's, by its id or by a function that makes it."""

    def __init__(
        self,
        id: str | Callable[..., Any],
        episode_length: Steps | None = None,
        workers: int | None = None,
        timeout: float = 60.0,
        vectorization: str | None = None,
        **settings: Any,
    ):
        """
        Args:
            id: as Gymnasium has it, such as "Walker2d-v5"; or a function that makes an environment, or that takes
                `num_envs` and makes a vector environment.
            episode_length: steps after which an episode is cut off; None for the environment's own limit.
            workers: processes that step the scenes; None for one for each core. Vector environments need none.
            timeout: seconds after which a step counts as hanging.
            vectorization: "vector_entry_point" to use the vector environment that Gymnasium has for an id.
            settings: anything else that the environment is made with.
        """
        library = _library()
        self.id, self.workers, self.timeout, self.settings = id, workers, timeout, settings
        self.name = (
            f"gymnasium:{id}" if isinstance(id, str) else f"gymnasium:{getattr(id, '__name__', type(id).__name__)}"
        )
        self.vector = _vector_factory(library, id, vectorization, settings)
        if self.vector:
            example = self.vector(num_envs=1)
            spaces = (example.single_observation_space, example.single_action_space)
        else:
            self.factory = _factory(library, id, settings)
            example = _made(self.factory, self.name)
            spaces = (example.observation_space, example.action_space)
        try:
            self.observe = Observing.of(spaces[0], self.name)
            self.act = Acting.of(spaces[1], self.name)
            self.actions = self.act.actions
            self.episode_length = _length(episode_length, _time_limit(example), self.name)
            names = list(_model_names(example, len(self.observe.names)) or self.observe.names)
            self.visible = len(names)
            self.outside = _outside(example, names, bool(self.vector))
            self.feature_names = (*names, *self.outside)
        finally:
            example.close()

    def _open(self, scenes: int, seed: int) -> Scenes:
        if self.vector:
            return _VectorScenes(self, self.vector(num_envs=scenes), seed)
        return Processes(self, scenes, seed, self.factory, self.workers)

    def _open_filmed(self, scenes: int, seed: int, width: int, height: int) -> Scenes:
        if not isinstance(self.id, str):
            if self.vector or "render_mode" not in inspect.signature(self.id).parameters:
                raise ValueError("it can only be filmed if the function that makes it takes render_mode")
            return Processes(
                self, scenes, seed, partial(self.id, **self.settings, render_mode="rgb_array"), filmed=True
            )
        settings = {**self.settings, "render_mode": "rgb_array"}
        entry = _spec(self.id).entry_point
        if isinstance(entry, str) and ".mujoco." in entry:
            settings |= {"width": width, "height": height}
        return Processes(self, scenes, seed, _Make(self.id, settings), filmed=True)


class _VectorScenes(Scenes):
    """A Gymnasium vector environment, whichever way it resets."""

    def __init__(self, environment: GymnasiumEnvironment, vector: Any, seed: int):
        from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

        self.environment, self.vector, self.count, self.seed = environment, vector, vector.num_envs, seed
        self.mode = AutoresetMode(vector.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))
        self.same_step = self.mode == AutoresetMode.SAME_STEP
        self.masks = isinstance(vector, SyncVectorEnv | AsyncVectorEnv) or self.mode == AutoresetMode.DISABLED
        self.fresh: Features | None = None  # what scenes that reset themselves began with
        self.renewed = np.zeros(self.count, bool)

    def reset(self, which: Bool[np.ndarray, " E"]) -> Features:
        if self.fresh is None:
            observations, infos = self.vector.reset(seed=self.seed)
            self.fresh = self._features(observations, infos)
            return self.fresh
        due = which & ~self.renewed
        if due.all():
            self.fresh = self._features(*self.vector.reset())
        elif due.any():
            if not self.masks:
                raise ValueError(
                    f"it resets its scenes by itself ({self.mode.value}) and takes no reset_mask; make it with "
                    "autoreset_mode=AutoresetMode.DISABLED, or leave episode_length to its own limit and use SAME_STEP"
                )
            observations, infos = self.vector.reset(options={"reset_mask": due})
            self.fresh = np.where(due[:, None], self._features(observations, infos), self.fresh)
        return self.fresh

    def reseed(self, seed: int) -> bool:
        self.seed, self.fresh, self.renewed = seed, None, np.zeros(self.count, bool)
        return True

    def step(self, actions: Actions) -> Step:
        observations, rewards, terminated, truncated, infos = self.vector.step(self.environment.act(actions))
        features, ended = self._features(observations, infos), terminated | truncated
        self.renewed = ended & self.same_step
        if self.renewed.any():
            self.fresh, features = features, features.copy()
            for i in np.flatnonzero(ended):
                one = self.environment.observe(alone(infos["final_obs"][i]), 1)[0]
                beside = [_final(infos, key, int(i)) for key in self.environment.outside.values()]
                features[i] = np.concatenate([one, np.array(beside, np.float32)])
        return Step(features, terminated.astype(bool), truncated.astype(bool), rewards.astype(np.float32))

    def close(self) -> None:
        self.vector.close()

    def _features(self, observations: Any, infos: dict[str, Any]) -> Features:
        seen = self.environment.observe(observations, self.count)
        keys = self.environment.outside.values()
        beside = [np.asarray(infos.get(key, np.zeros(self.count)), np.float32)[:, None] for key in keys]
        return np.concatenate([seen, *beside], 1)


USUAL_LENGTH = 200
"""Steps of an episode where nobody says how many there are."""


def _time_limit(example: Any) -> int | None:
    """The steps after which an environment is cut off, by its specification, its metadata, or a wrapper around it."""
    found = getattr(getattr(example, "spec", None), "max_episode_steps", None)
    found = found or (getattr(example, "metadata", None) or {}).get("max_episode_steps")
    while found is None and example is not None:
        found = getattr(example, "_max_episode_steps", None)  # TimeLimit's, which has no public name for it
        example = vars(example).get("env")
    return None if found is None else int(found)


def _length(asked: Steps | None, limit: int | None, name: str) -> int:
    if asked is None and limit is None:
        warnings.warn(
            f"{name} has no time limit of its own, so its episodes are cut off after {USUAL_LENGTH} steps; say how "
            "long they are with episode_length",
            stacklevel=4,
        )
        return USUAL_LENGTH
    return min(checked_length(x) for x in (asked, limit) if x is not None)


def _final(infos: dict[str, Any], key: str, i: int) -> float:
    value = infos.get("final_info", {})
    value = value[key] if isinstance(value, dict) else value[i][key]
    return float(value[i]) if np.ndim(value) else float(value)


def model_of(id_: str) -> tuple[Any, dict[str, int] | None] | None:
    """The MuJoCo model of one of Gymnasium's environments and the structure of its observation, if it has those."""
    try:
        library = _library()
        if id_ not in library.registry:
            return None
        with loading():
            example = library.make(id_)
    except Exception:  # names are a convenience: whatever prevents them, there are others
        return None
    try:
        inner = example.unwrapped
        model = getattr(inner, "model", None)
        return None if model is None else (model, getattr(inner, "observation_structure", None))
    finally:
        example.close()


def ids() -> list[str]:
    """All that Gymnasium has registered."""
    return sorted(_library().registry)


def _model_names(example: Any, size: int) -> list[str] | None:
    inner = example.unwrapped
    model, structure = getattr(inner, "model", None), getattr(inner, "observation_structure", None)
    if model is not None:
        return observation_names(model, size, structure)
    return known_names(example.spec.id, size) if getattr(example, "spec", None) else None


def _outside(example: Any, names: list[str], vector: bool) -> dict[str, str]:
    """What the infos of a step tell."""
    example.reset(seed=0)
    space = example.action_space
    space.seed(0)
    infos = example.step(space.sample())[4]
    if not vector:
        infos = {key: np.asarray([value]) for key, value in infos.items() if isinstance(value, float | np.floating)}
    return outside(infos, 1, names)


def _library() -> ModuleType:
    try:
        import gymnasium
    except ImportError as error:
        raise ImportError(f"Gymnasium is not installed ({error}); use: pip install 'vendirl[gymnasium]'") from None
    return gymnasium


def _factory(library: ModuleType, id_: str | Callable[..., Any], settings: dict[str, Any]) -> Callable[[], Any]:
    if not isinstance(id_, str):
        return (lambda: id_(**settings)) if settings else id_
    module, _, name = id_.rpartition(":")  # "package.module:Name-v0" imports the module, as Gymnasium has it
    if not module and name not in library.registry:
        near = difflib.get_close_matches(id_, library.registry, n=3, cutoff=0.4)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise ValueError(
            f"Gymnasium has no environment {id_!r}.{hint} Where a package registers it, write 'package:{id_}'"
        )
    return _Make(id_, settings)


def _spec(id_: str) -> Any:
    """What Gymnasium knows of an id; that of "package.module:Name-v0" is registered when the module is imported."""
    module, _, name = id_.rpartition(":")
    if module:
        importlib.import_module(module)
    return _library().spec(name)


class _Make:
    """gymnasium.make with its arguments, for a process of its own."""

    def __init__(self, id_: str, settings: dict[str, Any]):
        self.id, self.settings = id_, settings

    def __call__(self) -> Any:
        return _library().make(self.id, **self.settings)


def _made(factory: Callable[[], Any], name: str) -> Any:
    try:
        with loading():
            example = factory()
    except ImportError as error:
        raise ImportError(f"{name} needs a package that is not installed: {error}") from None
    if not hasattr(example, "observation_space") or not hasattr(example, "action_space"):
        raise TypeError(
            f"{name} made a {type(example).__name__}, which is not a Gymnasium environment; an environment in JAX is "
            "passed itself, rather than a function that makes it"
        )
    return example


def _vector_factory(
    library: ModuleType, id_: str | Callable[..., Any], vectorization: str | None, settings: dict[str, Any]
) -> Callable[..., Any] | None:
    if isinstance(id_, str):
        if vectorization is None:
            return None
        return lambda num_envs: library.make_vec(id_, num_envs, vectorization_mode=vectorization, **settings)
    if "num_envs" not in inspect.signature(id_).parameters:
        return None
    return lambda num_envs: id_(num_envs=num_envs, **settings)
