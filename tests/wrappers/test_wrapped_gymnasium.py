"""The wrapper for Gymnasium pays exactly the rewards of `relabel`, in every autoreset mode."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

gym = pytest.importorskip("gymnasium", reason="wrappers for Gymnasium need it: pip install gymnasium")

from gymnasium.vector import AutoresetMode  # noqa: E402

import vendirl as vr  # noqa: E402
from tests.wrappers.walks import UNEQUAL, T, Walk, walks  # noqa: E402
from vendirl.environments import Plane  # noqa: E402
from vendirl.wrappers.gymnasium import VendiVectorEnv, as_gymnasium  # noqa: E402

MODES = (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED)
NEXT_STEP, SAME_STEP, DISABLED = MODES
n = 3


@dataclasses.dataclass
class Episode:
    """What a scene was paid in an episode, and the memory at its beginning."""

    skill: int
    memory: vr.SkillMemory
    rewards: list = dataclasses.field(default_factory=list)
    scores: list = dataclasses.field(default_factory=list)


def play(env, steps, seed=0):
    """The episodes of each scene, from a few random steps, written down by the rules of the autoreset mode."""
    rng, mode, E = np.random.default_rng(seed), env.metadata["autoreset_mode"], env.num_envs
    observations, infos = env.reset(seed=seed)
    logs = [[Episode(int(infos["skill"][e]), env.memory)] for e in range(E)]
    over = np.zeros(E, bool)
    for _ in range(steps):
        before, reset = observations, over & (mode == NEXT_STEP)
        actions = rng.uniform(-1, 1, (E, 2)) if isinstance(env.single_action_space, gym.spaces.Box) else None
        actions = rng.integers(3, size=E) if actions is None else actions
        observations, rewards, terminated, truncated, infos = env.step(actions.astype(env.action_space.dtype))
        over = terminated | truncated
        assert (rewards[reset] == 0).all()
        for e in np.flatnonzero(~reset):
            logs[e][-1].rewards.append(rewards[e])
            logs[e][-1].scores.append(infos["vendi_score"][e])
            assert infos["environment_reward"][e] == 10 + len(logs[e][-1].rewards)
        begin = over if mode == SAME_STEP else reset
        if mode == SAME_STEP:
            for e in np.flatnonzero(over):
                successor = env.env.envs[e].episodes[-2][-1]
                np.testing.assert_array_equal(infos["final_obs"][e][:2], successor)
                np.testing.assert_array_equal(infos["final_obs"][e][2 : 2 + n], before[e, 2 : 2 + n])
                assert infos["final_info"]["skill"][e] == logs[e][-1].skill
        if mode == DISABLED and over.any():
            observations, infos = env.reset(options={"reset_mask": over})
            begin = over
        for e in np.flatnonzero(begin):
            logs[e].append(Episode(int(infos["skill"][e]), env.memory))
        for e in range(E):
            np.testing.assert_array_equal(observations[e, 2 : 2 + n], np.eye(n)[logs[e][-1].skill])
    return logs


def compare(env, logs):
    """Rewards against `relabel` of what the worlds showed, and how many episodes were compared."""
    compared = 0
    for world, log in zip(env.env.envs, logs, strict=True):
        for points, episode in zip(world.episodes, log, strict=True):
            if not points:
                continue
            c = len(points)
            padded = np.array(points + points[-1:] * (T - c))  # one shape, compiled once; what follows changes nothing
            made = (env.similarity, episode.memory, episode.skill, padded)
            rewards, _ = vr.relabel(*made, env.transform, env.q)
            np.testing.assert_allclose(episode.rewards, rewards[:c], rtol=1e-5, atol=1e-5)
            scores, _ = vr.relabel(*made, "raw", env.q)
            np.testing.assert_allclose(episode.scores, scores[:c], rtol=1e-5, atol=1e-5)
            compared += 1
    return compared


CASES = {
    "mmd": ("mmd(scale=4)", "derivative", 1.0),
    "cosine": ("cosine(center=0.5)", "raw", 1.0),
    "covariance": ("covariance(scale=200)", "log", 1.0),
    "sum": ("0.5*cosine(center=0.5) + 0.5*covariance(scale=200)", "penalty", 1.0),
    "order 2": ("mmd(scale=4)", "derivative", 2.0),
    "whole trajectories": ("mmd(kernel='rbf', bandwidth=0.1)", "derivative", 1.0),
    "indefinite": ("overlap(neighbours=2)", "raw", 1.0),
}


@pytest.mark.parametrize("case", CASES)
def test_rewards_are_those_of_relabel(case):
    similarity, transform, q = CASES[case]
    env = VendiVectorEnv(walks(SAME_STEP, UNEQUAL), similarity, n, transform=transform, q=q, episode_length=T)
    assert compare(env, play(env, 20)) >= 4 * 4


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("ends", [UNEQUAL, ((T + 1,),) * 4], ids=["terminating", "cut off"])
def test_rewards_in_every_autoreset_mode(mode, ends):
    env = VendiVectorEnv(walks(mode, ends), "mmd(scale=4)", n, episode_length=T)
    assert env.metadata["autoreset_mode"] == mode
    logs = play(env, 20)
    assert compare(env, logs) >= 9
    assert len({episode.skill for log in logs for episode in log}) == n


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_an_episode_is_stored_where_it_ended(mode):
    env = VendiVectorEnv(walks(mode, ((T + 1,),) * 2), "mmd(scale=4)", n, episode_length=T)
    env.reset(options={"skill": [2, 0]})
    assert env.score == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_array_equal(env.memory.observations, np.full((n, T, 2), 0.5))
    for step in range(T):
        kept = env.memory
        env.step(np.array([[1.0, 0.0], [-1.0, 1.0]], np.float32))
        assert (env.memory is kept) == (step < T - 1)
    first, second = (np.array(world.episodes[0]) for world in env.env.envs)
    np.testing.assert_array_equal(env.memory.observations, [second, np.full((T, 2), 0.5), first])
    K = vr.kernel_matrix(env.similarity, np.asarray(env.memory.observations))
    np.testing.assert_allclose(env.memory.kernel, K, atol=1e-6)
    assert env.score == pytest.approx(float(vr.vendi_score(K)), abs=1e-5)
    assert env.score > 1.1


def test_of_several_scenes_with_one_skill_the_last_is_stored():
    env = VendiVectorEnv(walks(SAME_STEP), "mmd(scale=4)", n, episode_length=T)
    env.reset(options={"skill": 1})
    for _ in range(T):
        env.step(np.array([[1.0, 0.0], [-1.0, 1.0], [0.0, 1.0], [1.0, 1.0]], np.float32))
    np.testing.assert_array_equal(env.memory.observations[1], env.env.envs[3].episodes[0])


def test_rewards_of_an_episode_add_up_to_its_gain():
    env = VendiVectorEnv(walks(SAME_STEP, ((T + 1,),)), "mmd(scale=4)", n, episode_length=T)
    env.reset()
    for _ in range(3):
        before, total = env.score, 0.0
        for _ in range(T):
            total += env.step(env.action_space.sample())[1][0]
        assert total == pytest.approx(env.score - before, abs=1e-5)


def test_fading_memory():
    env = VendiVectorEnv(walks(SAME_STEP, UNEQUAL), "covariance(scale=200)", n, episode_length=T, fading=True)
    assert compare(env, play(env, 15)) > 9
    assert isinstance(env.memory, vr.FadingMemory)


def test_episodes_longer_than_the_memory():
    env = VendiVectorEnv(walks(SAME_STEP), "mmd(scale=4)", n, episode_length=4)
    assert compare(env, play(env, 14)) > 5


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_features_of_the_last_step(mode):
    """Features from infos: where scenes are reset in the same step they are in final_info."""
    seen = []

    def features(observations, infos):
        seen.append((np.array(observations), np.array(infos["height"])))
        return np.stack([infos["height"], observations[:, 1]], 1)

    settings = {"features": features, "feature_names": ("height", "y"), "episode_length": T}
    env = VendiVectorEnv(walks(mode, UNEQUAL), "mmd(scale=4).on(height)", n, **settings)
    assert compare(env, play(env, 15)) > 9
    for observations, heights in seen:
        np.testing.assert_array_equal(observations[:, 0], heights.astype(np.float32))


def test_discrete_actions_and_matrix_observations():
    env = VendiVectorEnv(walks(SAME_STEP, discrete=True, shape=(2, 2)), "mmd(scale=4)", n, episode_length=T)
    assert env.action_space == gym.spaces.MultiDiscrete([3] * 4)
    observations, _ = env.reset()
    assert observations.shape == (4, 4 + n)
    observations, rewards, *_ = env.step(np.array([0, 1, 2, 0]))
    assert observations.shape == (4, 4 + n)
    assert np.isfinite(rewards).all()


@pytest.mark.parametrize("time", [False, True])
def test_spaces(time):
    env = VendiVectorEnv(as_gymnasium("point", 5), "mmd(scale=4)", n, time=time)
    assert env.num_envs == 5
    assert env.single_observation_space.shape == (2 + n + time,)
    assert env.observation_space.shape == (5, 2 + n + time)
    assert env.single_action_space == gym.spaces.Box(-1, 1, (2,), np.float32)
    assert env.spec.max_episode_steps == env.episode_length == 50
    observations, infos = env.reset(seed=1)
    assert env.observation_space.contains(observations)
    np.testing.assert_array_equal(observations[:, 2 : 2 + n].argmax(1), infos["skill"])
    for step in range(1, 50):
        observations, *_ = env.step(env.action_space.sample())
        assert env.observation_space.contains(observations)
        if time:
            np.testing.assert_allclose(observations[:, -1], step / 50)
    observations, _, _, truncated, infos = env.step(env.action_space.sample())
    assert truncated.all()
    if time:
        np.testing.assert_array_equal(observations[:, -1], 0)
        assert infos["final_obs"][0][-1] == 1


def test_skills_are_drawn_evenly_and_by_seed():
    def skills(seed):
        env = VendiVectorEnv(as_gymnasium(Plane(episode_length=1), 60), "mmd(scale=4)", n, seed=seed)
        rows = [env.reset()[1]["skill"]]
        rows += [env.step(env.action_space.sample())[4]["skill"] for _ in range(19)]
        return np.array(rows)

    drawn = skills(0)
    np.testing.assert_array_equal(drawn, skills(0))
    assert (drawn != skills(1)).any()
    assert np.abs(np.bincount(drawn.ravel(), minlength=n) / drawn.size - 1 / n).max() < 0.05
    env = VendiVectorEnv(as_gymnasium("point", 60), "mmd(scale=4)", n)
    np.testing.assert_array_equal(env.reset(seed=3)[1]["skill"], env.reset(seed=3)[1]["skill"])


def test_a_reset_abandons_episodes_and_keeps_the_memory():
    env = VendiVectorEnv(walks(SAME_STEP), "mmd(scale=4)", n, episode_length=T)
    env.reset()
    for _ in range(T + 2):
        env.step(env.action_space.sample())
    memory = env.memory
    env.reset()
    assert env.memory is memory


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_recorded_episodes(mode):
    env = VendiVectorEnv(walks(mode, UNEQUAL), "mmd(scale=4)", 5, episode_length=T, feature_names=("x", "y"))
    env.reset()
    memory = env.memory
    moves = np.array([[1, 0], [0, 1], [-1, 0], [0, -1], [0, 0]], np.float32)
    data = env.record(lambda observations: moves[observations[:, 2:].argmax(1)], episodes=3)
    assert env.memory is memory
    assert data.features == ("x", "y")
    np.testing.assert_array_equal(data.skill, np.repeat(range(5), 3))
    assert set(data.lengths) == {3, 4, T}
    for points, skill in zip(data, data.skill, strict=True):
        np.testing.assert_allclose(
            np.diff(points, axis=0), 0.1 * np.tile(moves[skill], (len(points) - 1, 1)), atol=1e-6
        )
    with pytest.raises(RuntimeError, match="reset"):
        env.step(env.action_space.sample())


def test_worlds_as_gymnasium():
    """Every mode shows the same episodes, with the true last observation; skills and features that only methods see."""
    for mode in MODES:
        envs = as_gymnasium(Plane(episode_length=3), 2, mode)
        observations, _ = envs.reset()
        np.testing.assert_array_equal(observations, 0.5)
        for step in range(1, 4):
            observations, _, terminated, truncated, infos = envs.step(np.ones((2, 2), np.float32))
            assert (truncated == (step == 3)).all()
            assert not terminated.any()
        last = np.stack(infos["final_obs"]) if mode == SAME_STEP else observations
        np.testing.assert_allclose(last, 0.65, atol=1e-6)
        if mode == DISABLED:
            envs.reset(options={"reset_mask": np.array([True, False])})
            observations, *_ = envs.step(np.zeros((2, 2), np.float32))
            np.testing.assert_allclose(observations[:, 0], [0.5, 0.65], atol=1e-6)
        else:
            observations, _, _, truncated, _ = envs.step(np.zeros((2, 2), np.float32))
            np.testing.assert_array_equal(observations, 0.5)
            assert not truncated.any()
    assert as_gymnasium(Plane(discrete=True), 2).single_action_space == gym.spaces.Discrete(5)


class NoMode(gym.vector.VectorEnv):
    num_envs = 2
    single_observation_space = gym.spaces.Box(-1, 1, (2,))
    single_action_space = gym.spaces.Discrete(2)


def plane(**settings):
    return VendiVectorEnv(as_gymnasium("point", 2), settings.pop("similarity", "mmd"), **{"skills": n, **settings})


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: VendiVectorEnv(Walk(), "mmd", n), TypeError, "VectorEnv.*make_vec"),
        (lambda: VendiVectorEnv(walks(SAME_STEP), "mmd", n), ValueError, "give episode_length"),
        (lambda: VendiVectorEnv(NoMode(), "mmd", n, episode_length=5), ValueError, "autoreset_mode.*None"),
        (lambda: plane(similarity="nmd"), ValueError, "nmd"),
        (lambda: plane(similarity=4), TypeError, "similarity must be"),
        (lambda: plane(similarity="mmd.on(z)", feature_names=("x", "y")), ValueError, "z"),
        (lambda: plane(feature_names=("x",)), ValueError, "1 names, but there are 2"),
        (lambda: plane(skills=0), ValueError, "skills must be a positive"),
        (lambda: plane(episode_length=2.5), ValueError, "episode_length must be a positive"),
        (lambda: plane(transform="square"), ValueError, "transform must be one of"),
        (lambda: plane().step(np.zeros((2, 2))), RuntimeError, "call reset"),
        (lambda: plane().memory, RuntimeError, "before the first reset"),
        (lambda: plane().reset(options={"skill": n}), ValueError, "from 0 to 2"),
        (lambda: plane(features=lambda x, i: x[0]).reset(), ValueError, r"must return.*\(2,\)"),
        (lambda: plane(features=lambda x, i: x / 0).reset(), ValueError, "finite.*feature 0 in scene 0"),
        (lambda: as_gymnasium(Walk(), 2), TypeError, "VendiRL's own"),
        (lambda: as_gymnasium("point", 0), ValueError, "num_envs"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_errors(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_other_observations_are_refused():
    class Tuples(Walk):
        def __init__(self):
            super().__init__()
            self.observation_space = gym.spaces.Discrete(3)

    with pytest.raises(TypeError, match=r"Box observations.*Discrete"):
        VendiVectorEnv(gym.vector.SyncVectorEnv([Tuples]), "mmd", n, episode_length=T)


def test_stepping_past_the_end():
    env = VendiVectorEnv(walks(DISABLED), "mmd", n, episode_length=T)
    env.reset()
    for _ in range(T):
        env.step(env.action_space.sample())
    with pytest.raises(RuntimeError, match="reset_mask"):
        env.step(env.action_space.sample())


def test_length_is_that_of_the_registered_environment():
    env = VendiVectorEnv(gym.make_vec("Pendulum-v1", 2), "mmd", n)
    assert env.episode_length == 200
    env.reset(seed=0)
    assert env.step(env.action_space.sample())[1].shape == (2,)
    assert VendiVectorEnv(gym.vector.SyncVectorEnv([lambda: gym.make("CartPole-v1")]), "mmd", n).episode_length == 500


def test_nothing_is_imported_before_it_is_asked_for():
    code = "import vendirl.wrappers as w, sys; assert not {'gymnasium', 'torch', 'brax'} & set(sys.modules); "
    code += "w.gymnasium.VendiVectorEnv; import gymnasium; assert gymnasium is not w.gymnasium; assert gymnasium.Env"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'rllib'"):
        vr.wrappers.rllib  # noqa: B018
