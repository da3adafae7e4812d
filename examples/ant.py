"""Ant that leaves in different directions: eight skills, alike if they are as fast in the same direction.

Directions alone, angle(scale=4).on(x, y), would be content with a step to each side: nothing in it asks to go far.
Speeds along x and y do; how many directions came of it is then measured by the angle.

pip install 'vendirl[envpool,video]'
python examples/ant.py [steps]
"""

import sys

import numpy as np

import vendirl as vr
from vendirl.algorithms.ppo import PPO

STEPS = float(sys.argv[1]) if len(sys.argv) > 1 else 1.6e6


def directions(ends: np.ndarray, far: float = 0.5, apart: float = 30.0) -> int:
    """How many of (n, 2) places are at least `far` from the start and `apart` degrees from each other, greedily."""
    angles = np.degrees(np.arctan2(ends[:, 1], ends[:, 0]))
    chosen: list[float] = []
    for angle in angles[np.hypot(*ends.T) >= far]:
        if all(abs((angle - other + 180) % 360 - 180) >= apart for other in chosen):
            chosen.append(angle)
    return len(chosen)


if __name__ == "__main__":
    run = vr.train(
        # No contact forces: 78 of 105 numbers that are nearly always zero.
        "envpool:Ant-v5(episode_length=100, use_contact_force=False)",
        "mmd(scale=4).on(x_velocity, y_velocity)",
        skills=8,
        scenes=64,
        steps=STEPS,
        separate=True,
        log_std=-1.0,
        ppo=PPO(learning_rate=2e-3, discount=0.99, gae_lambda=0.95),
        out="runs/ant",
    )
    x, y = (run.environment.feature_names.index(name) for name in "xy")
    ends = run.rollout(episodes=10, draw=1)[:, :, -1][..., [x, y]].mean(1)
    for skill, (east, north) in enumerate(ends):
        bearing = np.degrees(np.arctan2(north, east))
        print(f"skill {skill}: {np.hypot(east, north):5.2f} away, at {bearing:+4.0f} degrees")
    print(f"{directions(ends)} directions at least 30 degrees apart, in {run.wall_seconds:.0f} s")
    print(f"Vendi Score {float(run.score(episodes=10).score):.2f} of 8 by speed")
