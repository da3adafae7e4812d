"""Stable-Baselines3 learns diverse skills through the wrapper."""

import warnings

import numpy as np
import pytest

gym = pytest.importorskip("gymnasium", reason="wrappers for Gymnasium need it: pip install gymnasium")
torch = pytest.importorskip("torch", reason="training with Stable-Baselines3 needs PyTorch: pip install torch")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    sb3 = pytest.importorskip(
        "stable_baselines3", reason="training with Stable-Baselines3 needs it: pip install stable-baselines3"
    )

from gymnasium.vector import AutoresetMode  # noqa: E402

import vendirl as vr  # noqa: E402
from tests.wrappers.walks import UNEQUAL, T, walks  # noqa: E402
from vendirl.wrappers.gymnasium import VendiVectorEnv, as_gymnasium  # noqa: E402
from vendirl.wrappers.stable_baselines3 import to_vec_env  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:::(stable_baselines3|torch).*")
n = 3


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.DISABLED], ids=lambda mode: mode.name)
def test_scenes_are_reset_at_once(mode):
    env = VendiVectorEnv(walks(mode, UNEQUAL), "mmd(scale=4)", n, episode_length=T)
    vec, worlds = to_vec_env(env), env.env.envs
    assert vec.num_envs == 4
    assert vec.observation_space == env.single_observation_space
    assert vec.action_space == env.single_action_space
    observations = vec.reset()
    assert observations.shape == (4, 2 + n)
    skills, ended = [info["skill"] for info in vec.reset_infos], 0
    for _ in range(15):
        before = [len(world.episodes) for world in worlds]
        observations, rewards, dones, infos = vec.step(np.stack([vec.action_space.sample() for _ in range(4)]))
        assert rewards.dtype == np.float32
        for e, world in enumerate(worlds):
            assert dones[e] == (len(world.episodes) > before[e])
            assert ("terminal_observation" in infos[e]) == dones[e]
            assert infos[e]["skill"] == skills[e]
            assert infos[e]["environment_reward"] > 10
            assert infos[e]["TimeLimit.truncated"] == (dones[e] and len(world.episodes[-2]) == T)
            if dones[e]:
                np.testing.assert_array_equal(infos[e]["terminal_observation"][:2], world.episodes[-2][-1])
                assert infos[e]["terminal_observation"][2:].argmax() == skills[e]
                skills[e] = vec.reset_infos[e]["skill"]
                ended += 1
            np.testing.assert_array_equal(observations[e, :2], world.position)
            assert observations[e, 2:].argmax() == skills[e]
    assert ended > 8
    assert vec.get_attr("score") == [env.score] * 4
    assert vec.env_is_wrapped(gym.Wrapper) == [False] * 4


def test_seeds_and_options():
    vec = to_vec_env(VendiVectorEnv(walks(AutoresetMode.SAME_STEP), "mmd(scale=4)", n, episode_length=T))
    vec.seed(3)
    vec.reset()
    skills = vec.get_attr("_skill")[0]
    vec.seed(3)
    vec.reset()
    np.testing.assert_array_equal(vec.get_attr("_skill")[0], skills)
    vec.set_options({"skill": 2})
    assert (vec.reset()[:, 2:].argmax(1) == 2).all()


def test_errors():
    with pytest.raises(ValueError, match="SAME_STEP"):
        to_vec_env(walks(AutoresetMode.NEXT_STEP))
    with pytest.raises(TypeError, match="VectorEnv"):
        to_vec_env(gym.make("CartPole-v1"))


def fraction(algorithm, skills, scenes, steps, seed=0, **settings):
    """What share of the attainable score new deterministic episodes of all skills have, before and after training."""

    def make(scenes):
        return VendiVectorEnv(as_gymnasium("point", scenes), "mmd(scale=4)", skills, time=True)

    torch.set_num_threads(1)
    held_out = make(skills)
    attainable = vr.attainable("point", "mmd(scale=4)", skills, restarts=8, iterations=300).score
    model = algorithm("MlpPolicy", to_vec_env(make(scenes)), seed=seed, device="cpu", **settings)

    def score():
        data = held_out.record(lambda observations: model.predict(observations, deterministic=True)[0])
        return float(vr.effective_number(data, held_out.similarity)) / attainable

    before = score()
    model.learn(steps)
    return before, score()


def test_ppo_learns():
    settings = {"n_steps": 50, "batch_size": 800, "n_epochs": 4, "learning_rate": 2e-3, "gamma": 1.0, "gae_lambda": 1.0}
    before, after = fraction(sb3.PPO, 4, 64, 80_000, policy_kwargs={"log_std_init": -0.5}, **settings)
    assert before < 0.6
    assert after > 0.95


def test_sac_learns():
    settings = {"learning_starts": 1000, "learning_rate": 2e-3, "gamma": 0.98, "buffer_size": 20_000}
    # The change in score of a step is small, and so must be what randomness is worth.
    before, after = fraction(sb3.SAC, 4, 16, 20_000, ent_coef=0.005, policy_kwargs={"net_arch": [64, 64]}, **settings)
    assert before < 0.6
    assert after > 0.8
