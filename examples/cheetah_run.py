"""MuJoCo Playground's cheetah at different speeds, with the physics inside the compiled program (made for GPUs).

pip install 'vendirl[playground,video]'
python examples/cheetah_run.py [steps]
"""

import sys

import vendirl as vr
from vendirl.algorithms.ppo import PPO

STEPS = float(sys.argv[1]) if len(sys.argv) > 1 else 2.5e6

if __name__ == "__main__":
    run = vr.train(
        "playground:CheetahRun(episode_length=100)",
        "mmd(scale=1).on(x_velocity)",
        skills=8,
        scenes=64,
        steps=STEPS,
        separate=True,
        log_std=-1.0,
        ppo=PPO(learning_rate=2e-3, discount=0.99, gae_lambda=0.95),
        out="runs/cheetah-run",
    )
    velocity = run.environment.feature_names.index("x_velocity")
    speeds = run.rollout(episodes=10, draw=1)[..., velocity].mean((1, 2))
    print("mean x-velocity of each skill:", ", ".join(f"{speed:+.2f}" for speed in sorted(speeds)))
    print(f"Vendi Score {float(run.score(episodes=10).score):.2f} of 8, {run.wall_seconds:.0f} s")
    print(f"compiled in {run.compile_seconds:.0f} s")
