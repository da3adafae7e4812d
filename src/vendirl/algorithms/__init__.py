"""Learners, the "algorithm of choice": one file each, all of one shape."""

from vendirl.algorithms.algorithm import Algorithm, Context, Model, known, parse_learner, register
from vendirl.algorithms.ppo import PPO
from vendirl.algorithms.sac import SAC

__all__ = ["PPO", "SAC", "Algorithm", "Context", "Model", "known", "parse_learner", "register"]

for _algorithm in (PPO, SAC):
    register(_algorithm)
