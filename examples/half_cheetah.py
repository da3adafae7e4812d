"""HalfCheetah that runs at different speeds, forwards and backwards: eight skills, alike if as fast.

    pip install 'vendirl[envpool,video]'
    python examples/half_cheetah.py [method] [seed]

The same on the command line:

    vendirl train --env "envpool:HalfCheetah-v5(episode_length=100)" --similarity "mmd(scale=1).on(x_velocity)" \
        --scenes 64 --steps 2.5e6 --separate --log-std -1 --ppo.discount 0.99 --ppo.gae-lambda 0.95 \
        --ppo.entropy-coefficient 0 --out runs/half-cheetah
    vendirl video runs/half-cheetah && vendirl report runs/half-cheetah
"""

import sys

import vendirl as vr
from vendirl.algorithms.ppo import PPO
from vendirl.show.films import write_all

METHOD = sys.argv[1] if len(sys.argv) > 1 else "vendirl"
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 0

if __name__ == "__main__":
    run = vr.train(
        "envpool:HalfCheetah-v5(episode_length=100)",
        "mmd(scale=1).on(x_velocity)",
        skills=8,
        method=METHOD,
        scenes=64,
        steps=2.5e6,
        seed=SEED,
        separate=True,  # a network for each skill: gaits are in each other's way in one
        log_std=-1.0,  # of actions in [-1, 1]: a gait does not survive much noise
        # Rewards come at every step and their effect is soon over, so far futures are noise to be discounted.
        ppo=PPO(learning_rate=2e-3, discount=0.99, gae_lambda=0.95),
        out=f"runs/half-cheetah-{METHOD}-{SEED}",
    )
    velocity = run.environment.feature_names.index("x_velocity")
    episodes = run.rollout(episodes=10, draw=1)  # held out: acting without noise, from new starts
    speeds = episodes[..., velocity].mean((1, 2))
    print("mean x-velocity of each skill:", ", ".join(f"{speed:+.2f}" for speed in sorted(speeds)))
    print(f"Vendi Score {float(run.score(episodes=10).score):.2f} of 8 in {run.wall_seconds:.0f} s")
    print("films:", write_all(run, run.folder / "videos")[-1])
