"""Stable-Baselines3's PPO learns eight skills that spread over the plane, with the VendiRL reward.

pip install vendirl stable-baselines3
python examples/sb3_point.py
"""

import torch
from stable_baselines3 import PPO

import vendirl as vr
from vendirl.wrappers.gymnasium import VendiVectorEnv, as_gymnasium
from vendirl.wrappers.stable_baselines3 import to_vec_env

torch.set_num_threads(1)  # the networks are small
SIMILARITY, SKILLS, SCENES, STEPS = "mmd(scale=4)", 8, 64, 200_000


def make(scenes):
    # Any gymnasium.vector.VectorEnv will do in place of as_gymnasium("point", scenes).
    return VendiVectorEnv(as_gymnasium("point", scenes), SIMILARITY, SKILLS, time=True)


# An update for each episode of 50 steps. Changes in score add up to the gain of an episode, so nothing is discounted.
settings = {"n_steps": 50, "batch_size": 800, "n_epochs": 4, "learning_rate": 2e-3, "gamma": 1.0, "gae_lambda": 1.0}
envs = make(SCENES)
model = PPO("MlpPolicy", to_vec_env(envs), policy_kwargs={"log_std_init": -0.5}, device="cpu", seed=0, **settings)
for _ in range(5):
    model.learn(STEPS // 5, reset_num_timesteps=False)
    print(f"{model.num_timesteps} steps: the memory scores {envs.score:.3f}")

# New episodes of every skill, without exploration, in an environment of their own.
episodes = make(SKILLS).record(lambda observations: model.predict(observations, deterministic=True)[0])
score = float(vr.effective_number(episodes, envs.similarity))
attainable = vr.attainable("point", SIMILARITY, SKILLS).score
print(f"score {score:.3f} of {attainable:.3f} attainable: {score / attainable:.1%}")
