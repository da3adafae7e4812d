"""Any Gymnasium vector environment for Stable-Baselines3.

envs = VendiVectorEnv(as_gymnasium("point", 64), "mmd(scale=4)", skills=4)
PPO("MlpPolicy", to_vec_env(envs)).learn(200_000)
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from jaxtyping import Bool, Float, Shaped
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices

__all__ = ["GymnasiumVecEnv", "to_vec_env"]


def to_vec_env(envs: VectorEnv | gym.Env) -> GymnasiumVecEnv:
    """A `gymnasium.vector.VectorEnv`, such as a `VendiVectorEnv`, as a Stable-Baselines3 `VecEnv`; single environments
    are refused."""
    return GymnasiumVecEnv(envs)


class GymnasiumVecEnv(VecEnv):
    """A vector environment that resets scenes as soon as they are over, as Stable-Baselines3 expects.

    The last observation of an episode is in its info as "terminal_observation"; "TimeLimit.truncated" says whether the
    episode was cut off.
    """

    def __init__(self, envs: VectorEnv | gym.Env):
        if not isinstance(envs, VectorEnv):
            raise TypeError(f"envs must be a gymnasium.vector.VectorEnv, but is a {type(envs).__name__}")
        self.mode = envs.metadata.get("autoreset_mode")
        if self.mode not in (AutoresetMode.SAME_STEP, AutoresetMode.DISABLED):
            raise ValueError(
                "Stable-Baselines3 resets a scene in the step in which it is over, but envs.metadata['autoreset_mode'] "
                f"is {self.mode}; make them with autoreset_mode=AutoresetMode.SAME_STEP, for example by gymnasium."
                "make_vec(name, num_envs, vector_kwargs={'autoreset_mode': AutoresetMode.SAME_STEP})"
            )
        self.envs = envs
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)
        self._actions: np.ndarray | None = None

    def reset(self) -> Shaped[np.ndarray, "E ..."]:
        seeds: Any = None if any(seed is None for seed in self._seeds) else list(self._seeds)
        options = self._options[0] or None
        self._reset_seeds()
        self._reset_options()
        observations, infos = self.envs.reset(seed=seeds, options=options)
        self.reset_infos = _rows(infos, self.num_envs)
        return observations

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = actions

    def step_wait(
        self,
    ) -> tuple[Shaped[np.ndarray, "E ..."], Float[np.ndarray, " E"], Bool[np.ndarray, " E"], list[dict[str, Any]]]:
        observations, rewards, terminated, truncated, infos = self.envs.step(self._actions)
        over = terminated | truncated
        rows = _rows({name: infos[name] for name in infos if not name.endswith(("final_obs", "final_info"))}, len(over))
        for row, cut in zip(rows, truncated & ~terminated, strict=True):
            row["TimeLimit.truncated"] = bool(cut)
        if over.any():
            last, fresh, final_info = observations, infos, infos
            if self.mode == AutoresetMode.SAME_STEP:
                last, final_info = infos["final_obs"], infos.get("final_info", {})
            else:
                observations, fresh = self.envs.reset(options={"reset_mask": over})
            ended, begun = _rows(final_info, len(over)), _rows(fresh, len(over))
            for scene in np.flatnonzero(over):
                rows[scene] |= {**ended[scene], "terminal_observation": np.asarray(last[scene])}
                self.reset_infos[scene] = begun[scene]
        return observations, np.asarray(rewards, np.float32), over, rows

    def close(self) -> None:
        self.envs.close()

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        return [getattr(self.envs, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        setattr(self.envs, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: VecEnvIndices = None, **method_kwargs: Any
    ) -> list[Any]:
        """What a method of the vector environment, which is called once for all scenes, returns."""
        result = getattr(self.envs, method_name)(*method_args, **method_kwargs)
        return [result for _ in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type[gym.Wrapper], indices: VecEnvIndices = None) -> list[bool]:
        return [False for _ in self._get_indices(indices)]


def _rows(infos: dict[str, Any], scenes: int) -> list[dict[str, Any]]:
    """One dictionary for each scene, from one of arrays with masks."""
    rows: list[dict[str, Any]] = [{} for _ in range(scenes)]
    for name, values in infos.items():
        if name.startswith("_") or not isinstance(values, np.ndarray) or len(values) != scenes:
            continue
        for row, value, there in zip(rows, values, infos.get(f"_{name}", [True] * scenes), strict=True):
            if there:
                row[name] = value
    return rows
