"""Skills as actions of a Gymnasium environment, and a learner of other people's over them."""

import warnings

import numpy as np
import pytest

gym = pytest.importorskip("gymnasium", reason="wrappers for Gymnasium need it: pip install gymnasium")

import vendirl as vr  # noqa: E402


class Walk(gym.Env):
    """A point on a line, paid by where it is; an episode ends beyond 2."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (1,), np.float32)
    action_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.t = 0.0, 0
        return self._seen(), {}

    def step(self, action):
        self.x, self.t = self.x + 0.25 * float(np.clip(action[0], -1, 1)), self.t + 1
        return self._seen(), self.x, self.x > 2, self.t >= 20, {"t": self.t}

    def _seen(self):
        return np.array([self.x], np.float32)


@pytest.fixture(scope="module")
def run():
    settings = {"skills": 3, "steps": 480, "scenes": 8, "hidden": (8,), "devices": 1, "progress": False}
    return vr.train(Walk, "mmd(scale=1)", episode_length=20, **settings)


def test_a_skill_is_held_and_paid_for_all_of_its_steps(run):
    env = vr.wrappers.SkillActions(Walk(), run, steps=6)
    assert env.action_space == gym.spaces.Discrete(3)
    env.reset(seed=0)
    plain, observation = Walk(), None
    observation, _ = plain.reset(seed=0)
    policies = [run.policy(i) for i in range(3)]
    for skill, made in ((1, 6), (0, 6), (2, 6), (1, 2)):
        total = 0.0
        for _ in range(made):
            observation, reward, terminated, truncated, _ = plain.step(policies[skill](observation, step=plain.t))
            total += reward
        seen, paid, ended, cut, infos = env.step(np.int64(skill))
        assert seen.tolist() == observation.tolist()
        assert paid == pytest.approx(total)
        assert (ended, cut, infos["skill_steps"], infos["t"]) == (terminated, truncated, made, plain.t)
    assert cut


def test_an_episode_ends_where_that_of_the_environment_does():
    class Right(vr.Policy):
        def __call__(self, observation, *, step=None, noise=None):
            return np.ones(1, np.float32)

    layers = ((np.zeros((1, 1), np.float32), np.zeros(1, np.float32)),)
    one = np.ones(1, np.float32)
    right = Right("normal", "tanh", layers, 0 * one, one, ("x",), 20, False, low=-one, high=one, log_std=0 * one)
    env = vr.wrappers.SkillActions(Walk(), [right], steps=25)
    env.reset()
    _, paid, terminated, truncated, infos = env.step(0)
    assert (terminated, truncated, infos["skill_steps"]) == (True, False, 9)
    assert paid == pytest.approx(0.25 * sum(range(1, 10)))


def test_a_task_is_shown_to_the_learner_alone(run):
    class Shown(gym.ObservationWrapper):
        observation_space = gym.spaces.Box(-np.inf, np.inf, (2,), np.float32)

        def observation(self, observation):
            return np.append(observation, np.float32(7))

    with pytest.raises(ValueError, match="another body than that of the skills: it shows 2 numbers, and they see 1"):
        vr.wrappers.SkillActions(Shown(Walk()), run)
    env = vr.wrappers.SkillActions(Shown(Walk()), run, steps=2, observed=lambda seen: seen[:1])
    assert env.reset()[0].tolist() == [0, 7]
    assert env.step(0)[0].shape == (2,)


def test_what_does_not_fit_is_refused(run):
    with pytest.raises(ValueError, match="another body than that of the skills: it takes actions Discrete"):
        vr.wrappers.SkillActions(gym.make("CartPole-v1"), run)
    with pytest.raises(TypeError, match=r"run must be a Run or a list of policies"):
        vr.wrappers.SkillActions(Walk(), [])
    with pytest.raises(TypeError, match=r"env must be a gymnasium\.Env"):
        vr.wrappers.SkillActions("Walk", run)
    env = vr.wrappers.SkillActions(Walk(), run)
    with pytest.raises(RuntimeError, match="reset"):
        env.step(0)
    env.reset()
    with pytest.raises(ValueError, match="action must be a number from 0 to 2, but is 3"):
        env.step(3)


@pytest.mark.filterwarnings("ignore:::(stable_baselines3|torch).*")
def test_stable_baselines3_learns_which_skill_to_hold():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sb3 = pytest.importorskip("stable_baselines3", reason="pip install stable-baselines3")

    class Towards(vr.Policy):
        def __call__(self, observation, *, step=None, noise=None):
            return np.full(1, float(self.skill), np.float32)

    layers = ((np.zeros((1, 1), np.float32), np.zeros(1, np.float32)),)
    one = np.ones(1, np.float32)
    kind = ("normal", "tanh", layers, 0 * one, one, ("x",), 20, False)
    policies = [Towards(*kind, low=-one, high=one, log_std=0 * one, skill=s) for s in ("-1", "0", "0.3")]
    env = vr.wrappers.SkillActions(Walk(), policies, steps=5)
    learner = sb3.PPO("MlpPolicy", env, n_steps=64, batch_size=32, seed=0, device="cpu", learning_rate=3e-3)
    learner.learn(1024)
    observation, _ = env.reset(seed=0)
    assert learner.predict(observation, deterministic=True)[0] == 2
