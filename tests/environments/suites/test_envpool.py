"""EnvPool's environments, against Gymnasium's where both have them."""

import numpy as np
import pytest

pytest.importorskip("envpool", reason="envpool is not installed (vendirl[envpool])")

import vendirl as vr
from vendirl.environments import Box, Discrete, parse_environment
from vendirl.skills.host_rollout import Stage


def still(observations, times, noise):
    E = len(observations)
    return np.zeros((E, noise.shape[-1]), np.float32), np.zeros(E, np.float32)


def wild(observations, times, noise):
    E = len(observations)
    return noise, np.zeros(E, np.float32)


def test_half_cheetah():
    world = parse_environment("envpool:HalfCheetah-v5(episode_length=4)")
    assert world.visible == 17
    assert world.feature_names[8] == "x_velocity"
    assert world.feature_names[17:] == ("x",)
    assert world.actions == Box(6)
    stage = Stage(world, 3, 0)
    rows = stage.roll(still, np.zeros(3, int), np.zeros((3, 9, 6)))
    stage.close()
    assert rows.truncated[0].nonzero()[0].tolist() == [3, 7]
    assert not rows.terminated.any()
    # the true successor, and x is where x_velocity (of the middle of a step) leads
    assert np.array_equal(rows.next_observation[:, :3], rows.observation[:, 1:4])
    assert not np.array_equal(rows.next_observation[:, 3], rows.observation[:, 4])
    moved = np.diff(rows.next_observation[:, :4, 17], axis=1)
    assert moved == pytest.approx(0.05 * rows.next_observation[:, 1:4, 8], abs=0.05)


def test_the_same_seed_gives_the_same_scenes():
    world = parse_environment("envpool:Hopper-v5")
    first, second, other, again = (Stage(world, 2, seed) for seed in (3, 3, 4, 5))
    again.roll(still, np.zeros(2, int), np.zeros((2, 4, 3)))
    again.restart(seed=3)
    for stage in (first, second, other, again):
        stage.roll(still, np.zeros(2, int), np.zeros((2, 3, 3)))
        stage.close()
    assert np.array_equal(first.features, second.features)
    assert not np.array_equal(first.features, other.features)
    assert np.array_equal(first.features, again.features)


def test_a_fall_is_a_termination_and_only_that_scene_begins_anew():
    world = parse_environment("envpool:Hopper-v5(episode_length=200)")
    stage = Stage(world, 4, 0)
    rows = stage.roll(wild, np.zeros(4, int), np.random.default_rng(0).uniform(-1, 1, (4, 80, 3)).astype(np.float32))
    stage.close()
    assert rows.terminated.any()
    assert not rows.truncated.any()
    scene, step = np.argwhere(rows.terminated)[0]
    height = world.feature_names.index("height")
    angle = world.feature_names.index("pitch") if "pitch" in world.feature_names else 1
    last = rows.next_observation[scene, step]
    assert last[height] < 0.75 or abs(last[angle]) > 0.19  # it really fell
    assert abs(rows.observation[scene, step + 1, height] - 1.25) < 0.02  # and stands again
    others = [i for i in range(4) if i != scene and not rows.terminated[i, step]]
    assert all(np.array_equal(rows.next_observation[i, step], rows.observation[i, step + 1]) for i in others)


def test_dictionaries_and_choices():
    cheetah = parse_environment("envpool:CheetahRun-v1(episode_length=5)")
    assert cheetah.feature_names[0] == "position_0"
    assert cheetah.feature_names[8] == "velocity_0"
    lake = parse_environment("envpool:FrozenLake-v1")
    assert isinstance(lake.actions, Discrete)
    stage = Stage(lake, 2, 0)
    assert stage.features.sum(1).tolist() == [1, 1]
    stage.close()


def test_wrong_ids_get_a_hint():
    with pytest.raises(ValueError, match="Did you mean Ant-v5"):
        parse_environment("envpool:Ant-v55")


@pytest.mark.parametrize(("length", "words"), [("0", "must be at least 1 step"), ("2.5", "must be a whole number")])
def test_lengths_that_are_none_are_refused(length, words):
    with pytest.raises(ValueError, match=f"episode_length={length} {words}"):
        parse_environment(f"envpool:HalfCheetah-v5(episode_length={length})")


@pytest.mark.parametrize(("method", "seeds"), [("vendirl", 1), ("diayn + 0.5*vendirl", 2)])
def test_training_runs_and_goes_on(tmp_path, method, seeds):
    settings = {
        "env": "envpool:Swimmer-v5(episode_length=10)",
        "similarity": "mmd(scale=1).on(x_velocity)",
        "method": method,
        "skills": 3,
        "scenes": 16,
        "seeds": seeds,
    }
    run = vr.train(**settings, steps=3200, out=tmp_path / "run")
    assert run.done == 20
    assert run.rollout(episodes=2).shape == (3, 2, 10, 11)
    assert np.isfinite(run.scores).all()
    assert len(run.scores) == seeds
    again = vr.load(tmp_path / "run")
    assert again.done == 20
    assert np.array_equal(again.rollout(), run.rollout())


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("Humanoid-v4", ("height", "quaternion_w"), "observation_375"),  # v5 has other contact forces
        ("Ant-v5", ("height", "quaternion_w"), "cfrc_ext_77"),
        ("HalfCheetah-v4", ("height", "pitch"), "ffoot_velocity"),
        ("CartPole-v1", ("x", "x_velocity"), "pole_velocity"),
        ("LunarLander-v3", ("x", "height"), "right_contact"),
    ],
)
def test_observations_have_names_in_all_versions(name, first, last):
    world = parse_environment(f"envpool:{name}")
    seen = world.feature_names[: world.visible]
    assert seen[:2] == first
    assert seen[-1] == last
    assert len(set(world.feature_names)) == world.observation_size
