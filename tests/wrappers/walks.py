"""Small worlds for the tests of wrappers, which write down what they showed."""

import gymnasium as gym
import numpy as np

T = 6


class Walk(gym.Env):
    """A point that moves by its action. Episodes end in termination after `ends` steps in turn, or are cut off at T."""

    def __init__(self, ends=(T + 1,), discrete=False, shape=(2,)):
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, shape, np.float32)
        self.action_space = gym.spaces.Discrete(3) if discrete else gym.spaces.Box(-1, 1, (2,), np.float32)
        self.ends, self.episodes, self.discrete, self.shape = ends, [], discrete, shape

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        start = self.np_random.normal(0.5, 0.1, 2) if len(self.episodes) else [0.5, 0.5]
        self.position, self.elapsed = np.array(start, np.float32), 0
        self.episodes.append([])
        return self._seen(), {"height": float(self.position[0])}

    def step(self, action):
        move = [0.1 * (action - 1), 0.05] if self.discrete else 0.1 * np.asarray(action)
        self.position = (self.position + move).astype(np.float32)
        self.elapsed += 1
        self.episodes[-1].append(self.position)
        terminated = self.elapsed >= self.ends[(len(self.episodes) - 1) % len(self.ends)]
        truncated = self.elapsed >= T and not terminated
        return self._seen(), 10.0 + self.elapsed, terminated, truncated, {"height": float(self.position[0])}

    def _seen(self):
        return np.resize(self.position, self.shape)


def walks(mode, ends=((T + 1,),) * 4, **settings):
    """One scene for each entry of `ends`."""
    makers = [lambda each=each: Walk(each, **settings) for each in ends]
    return gym.vector.SyncVectorEnv(makers, autoreset_mode=mode)


# Lengths of successive episodes of each scene: none of them in step with another.
UNEQUAL = ((T + 1, 4), (3, T + 1, 4), (T + 1,), (4, 3))
