"""What suits a task: the settings of a run whose only reward is the environment's own.

The method `environment` asks for what a suite has set as a task, not for skills. So there is one skill, episodes are as
long as the environment has them, and the policy does not see them end: what is cut off is valued as if it went on.

Where the numbers come from:

- SAC: as Haarnoja et al. (2018) and Stable-Baselines3 have it: two layers of 256, ReLU, a learning rate of 3e-4, a
  gradient step of 256 transitions for each step of one scene, and a temperature that begins at 1 (for skills it is
  64 gradient steps in each epoch of many scenes, where stepping costs next to nothing).
- PPO: as Schulman et al. (2017, appendix A) have it: ten passes over what was collected, 3e-4, a clip of 0.2, 0.99 and
  0.95, but 50 steps of 32 scenes (of an episode of 1,000) rather than 2,048 of one; rewards are divided by the
  deviation of returns (Engstrom et al., 2020).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vendirl.algorithms import PPO, SAC

_ALL: Mapping[str, Any] = {"skills": 1, "time": False}
TASKS: Mapping[str, Mapping[str, Any]] = {
    "sac": {
        **_ALL,
        "scenes": 1,
        "hidden": (256, 256),
        "activation": "relu",
        "sac": SAC(
            learning_rate=3e-4,
            temperature=1.0,
            reward_scale=1.0,
            ratio=1.0,
            batch=256,
            warmup=100,
            hidden=(256, 256),
            activation="relu",
        ),
    },
    "ppo": {
        **_ALL,
        "scenes": 32,
        "updates": 20,
        "ppo": PPO(learning_rate=3e-4, discount=0.99, gae_lambda=0.95, epochs=10, minibatches=16, scale_rewards=True),
    },
}
"""By the name of the learner."""


def suits(env: object, learner: object) -> dict[str, Any]:
    """The settings that suit the task of an environment, by name; empty if it is one of the worlds that set no task.

    Args:
        env: its text or, if it is your own, an object.
        learner: the algorithm of choice, or its text.
    """
    if isinstance(env, str) and ":" not in env.partition("(")[0]:
        return {}
    return dict(TASKS.get(str(learner).partition("(")[0].strip(), {}))
