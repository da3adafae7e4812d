"""Skills as the actions of a Gymnasium environment, for anyone's hierarchy:

    env = SkillActions(gymnasium.make("HalfCheetah-v5"), run, steps=25)

An action is the number of a skill or, where skills are vectors, a vector; the skill acts for so many steps, without
noise and without being told of the task. Rewards are summed, and an episode ends where that of the environment does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import jax.numpy as jnp
import numpy as np

from vendirl._checks import shown, whole_number
from vendirl.skills.portable import Policy
from vendirl.training.run import Run


class SkillActions(gym.Wrapper):
    """A Gymnasium environment whose actions are skills.

    Infos are those of the last step, with "skill_steps", how many there were.

    Args:
        env: of the body that the skills were trained on: its observations begin with what a skill sees.
        run: a run, of which all skills that are evaluated can be chosen; or a list of policies, such as those of
            `vr.load_policy`.
        steps: for how long a skill is held.
        observed: what of an observation a skill is given; all of it, flattened, if None. A task may thus be shown to
            the learner alone.
        seed: which seed of the run, counted from 0; the best if None.

    Example:
        >>> import gymnasium, vendirl as vr
        >>> run = vr.train("gymnasium:Pendulum-v1", skills=4, out="runs/pendulum")  # doctest: +SKIP
        >>> env = SkillActions(gymnasium.make("Pendulum-v1"), run, steps=10)  # doctest: +SKIP
    """

    def __init__(
        self,
        env: gym.Env | Any,
        run: Run | Sequence[Policy] | Any,
        steps: int | Any = 25,
        *,
        observed: Callable[[Any], Any] | None = None,
        seed: int | None = None,
    ):
        if not isinstance(env, gym.Env):
            raise TypeError(f"env must be a gymnasium.Env, but is a {type(env).__name__}; make it with gymnasium.make")
        whole_number(steps, "steps")
        super().__init__(env)
        self.steps, self._observed, self._seed = steps, observed, seed
        self._run = run if isinstance(run, Run) else None
        if self._run is not None and not self._run.loop.problem.space.discrete:
            self.action_space = gym.spaces.Box(-1.0, 1.0, (self._run.loop.problem.space.size,), np.float32)
            self._policies = [self._of_vector(np.eye(1, self.action_space.shape[0], dtype=np.float32)[0])]
        else:
            self._policies = _policies(run, seed)
            self.action_space = gym.spaces.Discrete(len(self._policies))
        self._check_body(env)
        self._seen: Any = None
        self._elapsed = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self._seen, infos = self.env.reset(seed=seed, options=options)
        self._elapsed = 0
        return self._seen, infos

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self._seen is None:
            raise RuntimeError("call reset() before step()")
        policy = self._chosen(action)
        total, terminated, truncated = 0.0, False, False
        infos: dict[str, Any] = {}
        made = 0
        while made < self.steps and not (terminated or truncated):
            # A skill has seen times up to the length of its own episodes; beyond it stays at the last.
            time = min(self._elapsed, policy.episode_length - 1)
            self._seen, reward, terminated, truncated, infos = self.env.step(policy(self._given(), step=time))
            total += float(reward)
            made += 1
            self._elapsed += 1
        return self._seen, total, bool(terminated), bool(truncated), {**infos, "skill_steps": made}

    def _chosen(self, action: Any) -> Policy:
        if isinstance(self.action_space, gym.spaces.Box):
            return self._of_vector(np.asarray(action, np.float32))
        number = np.asarray(action)
        if number.shape != () or number.dtype.kind not in "iu" or not 0 <= number < len(self._policies):
            raise ValueError(f"action must be a number from 0 to {len(self._policies) - 1}, but is {shown(action)}")
        return self._policies[int(number)]

    def _of_vector(self, vector: np.ndarray) -> Policy:
        assert self._run is not None
        space = self._run.loop.problem.space
        return self._run.policy(np.asarray(space.along(jnp.asarray(vector))), self._seed)

    def _given(self) -> np.ndarray:
        seen = self._seen if self._observed is None else self._observed(self._seen)
        return np.asarray(seen, np.float32).ravel()

    def _check_body(self, env: gym.Env) -> None:
        """Refuse an environment whose actions or observations are not those of the skills."""
        policy, actions = self._policies[0], env.action_space
        takes = actions.n if isinstance(actions, gym.spaces.Discrete) else int(np.prod(actions.shape or (0,)))
        gives = policy.layers[-1][0].shape[0]
        gives = gives // 2 if policy.kind == "squashed" and policy.low is not None and gives != takes else gives
        if (policy.kind == "discrete") != isinstance(actions, gym.spaces.Discrete) or takes != gives:
            what = f"one of {gives}" if policy.kind == "discrete" else f"{gives} numbers"
            raise ValueError(
                f"env is another body than that of the skills: it takes actions {actions}, and they give {what}"
            )
        if self._observed is None:
            size = int(np.prod(env.observation_space.shape or (0,)))
            known = (len(policy.mean), len(policy.features))
            if size not in known:
                raise ValueError(
                    f"env is another body than that of the skills: it shows {size} numbers, and they see {known[0]}; "
                    "give `observed`, which makes of an observation what a skill sees"
                )


def _policies(run: Any, seed: int | None) -> list[Policy]:
    if isinstance(run, Run):
        return [run.policy(number, seed) for number in range(run.settings.skills)]
    found = list(run) if isinstance(run, list | tuple) else []
    if not found or not all(isinstance(policy, Policy) for policy in found):
        raise TypeError(f"run must be a Run or a list of policies, but is {shown(run)}")
    return found
