"""PPO in a single file, in the style of CleanRL, that learns diverse skills through a Gymnasium vector environment.

pip install vendirl torch gymnasium[mujoco]
python examples/cleanrl_ppo.py
python examples/cleanrl_ppo.py --env HalfCheetah-v5 --scenes 8 --rollout 250 --gamma 0.99 --gae-lambda 0.95
"""

import argparse
import itertools
import time

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from torch import nn

import vendirl as vr
from vendirl.wrappers.gymnasium import VendiVectorEnv, as_gymnasium

parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
parser.add_argument("--env", default="point", help='"point", or any Gymnasium environment with continuous actions')
parser.add_argument("--similarity", default="mmd(scale=4)")
parser.add_argument("--skills", type=int, default=8)
parser.add_argument("--scenes", type=int, default=64)
parser.add_argument("--steps", type=int, default=200_000)
parser.add_argument("--rollout", type=int, default=50, help="steps of each scene between updates")
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--minibatches", type=int, default=4)
parser.add_argument("--learning-rate", type=float, default=2e-3)
parser.add_argument("--gamma", type=float, default=1.0)
parser.add_argument("--gae-lambda", type=float, default=1.0)
parser.add_argument("--clip", type=float, default=0.2)
parser.add_argument("--entropy", type=float, default=0.0)
parser.add_argument("--seed", type=int, default=0)


def make(args, scenes):
    """Scenes that pay the VendiRL reward and show the skill and the time."""
    same_step = AutoresetMode.SAME_STEP
    if args.env == "point":
        return VendiVectorEnv(as_gymnasium("point", scenes, same_step), args.similarity, args.skills, time=True)
    envs = gym.make_vec(args.env, scenes, vectorization_mode="sync", vector_kwargs={"autoreset_mode": same_step})
    features = cheetah if args.env.startswith("HalfCheetah") else None
    return VendiVectorEnv(envs, args.similarity, args.skills, features=features, time=True, seed=args.seed)


def cheetah(observations, infos):
    """What cheetahs may be diverse in: how far they get, in units of ten, and how they hold their body."""
    return np.stack([infos["x_position"] / 10, np.sin(observations[:, 1])], 1)


class Agent(nn.Module):
    """A Gaussian policy and a value."""

    def __init__(self, inputs, actions):
        super().__init__()
        self.mean, self.value = mlp(inputs, actions, 0.01), mlp(inputs, 1, 1.0)
        self.log_std = nn.Parameter(torch.full((actions,), -0.5))

    def policy(self, x):
        return torch.distributions.Normal(self.mean(x), self.log_std.exp())


def mlp(inputs, outputs, gain):
    sizes = [inputs, 64, 64, outputs]
    layers = [nn.Linear(a, b) for a, b in itertools.pairwise(sizes)]
    for layer, scale in zip(layers, (2**0.5, 2**0.5, gain), strict=True):
        nn.init.orthogonal_(layer.weight, scale)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(layers[0], nn.Tanh(), layers[1], nn.Tanh(), layers[2])


def main():
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)  # the networks are small
    envs = make(args, args.scenes)
    low, high = envs.single_action_space.low, envs.single_action_space.high
    (inputs,), (actions,) = envs.single_observation_space.shape, envs.single_action_space.shape
    agent = Agent(inputs, actions)
    optimiser = torch.optim.Adam(agent.parameters(), args.learning_rate, eps=1e-5)
    L, E = args.rollout, args.scenes

    def tensor(x):
        return torch.as_tensor(np.asarray(x), dtype=torch.float32)

    observations, _ = envs.reset(seed=args.seed)
    start = time.time()
    for iteration in range(1, args.steps // (L * E) + 1):
        # Act.
        seen, acted, likelihood = torch.zeros(L, E, inputs), torch.zeros(L, E, actions), torch.zeros(L, E)
        rewards, values, ends = torch.zeros(L, E), torch.zeros(L + 1, E), torch.zeros(L, E)
        for t in range(L):
            with torch.no_grad():
                seen[t] = tensor(observations)
                policy = agent.policy(seen[t])
                acted[t], values[t] = policy.sample(), agent.value(seen[t])[:, 0]
                likelihood[t] = policy.log_prob(acted[t]).sum(-1)
            observations, paid, terminated, truncated, infos = envs.step(acted[t].numpy().clip(low, high))
            rewards[t], ends[t] = tensor(paid), tensor(terminated | truncated)
            # An episode that is cut off would have gone on; undiscounted, it is the whole task and nothing follows.
            if truncated.any() and args.gamma < 1:
                last = tensor(np.stack(list(infos["final_obs"][truncated])))
                with torch.no_grad():
                    rewards[t, truncated] += args.gamma * agent.value(last)[:, 0]
        with torch.no_grad():
            values[L] = agent.value(tensor(observations))[:, 0]

        # Generalised advantages.
        advantages, ahead = torch.zeros(L, E), torch.zeros(E)
        for t in reversed(range(L)):
            goes_on = 1 - ends[t]
            error = rewards[t] + args.gamma * goes_on * values[t + 1] - values[t]
            ahead = advantages[t] = error + args.gamma * args.gae_lambda * goes_on * ahead
        batch = [x.flatten(0, 1) for x in (seen, acted, likelihood, advantages, advantages + values[:L])]

        # Learn.
        for _ in range(args.epochs):
            for chosen in torch.randperm(L * E).chunk(args.minibatches):
                x, a, old, advantage, target = (part[chosen] for part in batch)
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                policy = agent.policy(x)
                ratio = (policy.log_prob(a).sum(-1) - old).exp()
                gain = torch.min(ratio * advantage, ratio.clamp(1 - args.clip, 1 + args.clip) * advantage).mean()
                error = (agent.value(x)[:, 0] - target).square().mean()
                loss = 0.5 * error - gain - args.entropy * policy.entropy().sum(-1).mean()
                optimiser.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimiser.step()
        if iteration % 10 == 0:
            done = iteration * L * E
            print(f"{done} steps, {done / (time.time() - start):.0f} a second: the memory scores {envs.score:.3f}")

    # New episodes of every skill, without exploration, in an environment of their own.
    def act(observations):
        with torch.no_grad():
            return agent.mean(tensor(observations)).numpy().clip(low, high)

    episodes = make(args, args.skills).record(act)
    score = float(vr.effective_number(episodes, envs.similarity))
    if args.env == "point":
        ceiling, name = vr.attainable("point", envs.similarity, args.skills).score, "attainable"
    else:
        ceiling, name = envs.similarity.ceiling(args.skills, len(episodes.features)), "at most"
    print(f"score {score:.3f} of {ceiling:.3f} {name}: {score / ceiling:.1%}")


if __name__ == "__main__":
    main()
