"""Skills that could have been trained for the small suite: straight walks from the start of a world."""

from pathlib import Path

import numpy as np

from vendirl.boards import Suite, suite_named

MINI: Suite = suite_named("plane-maze-rooms-mini-v1")


def walks(skills=4, episodes=10, T=50, seed=0, reach=0.01):
    """(skills, episodes, T, 2): each skill goes in a direction of its own, each episode at a pace of its own."""
    generator = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(skills) / skills
    moves = reach * np.stack([np.cos(angle), np.sin(angle)], -1)[:, None, None]
    pace = generator.uniform(0.8, 1, (skills, episodes, 1, 1))
    return 0.5 + np.cumsum(np.broadcast_to(moves, (skills, episodes, T, 2)), 2) * pace


def save(path: Path, x, skill=None) -> Path:
    """An npz file of such skills, as any code could write it."""
    n, N = x.shape[:2]
    np.savez(
        path, observations=x.reshape(n * N, *x.shape[2:]), skill=np.repeat(np.arange(n), N) if skill is None else skill
    )
    return path
