"""Trajectories: every layout gives the same data, and what does not fit is refused with the reason."""

import jax.numpy as jnp
import numpy as np
import pytest

from vendirl.data import Trajectories

RNG = np.random.default_rng(0)
EVEN = RNG.normal(size=(6, 4, 3))  # two episodes of three skills
WHO = [0, 0, 1, 1, 2, 2]
LENGTHS = np.array([2, 4, 1, 3, 4, 2])
RAGGED = [x[:T] for x, T in zip(EVEN, LENGTHS, strict=True)]


def equal(data: Trajectories, episodes, skill) -> None:
    assert [x.tolist() for x in data] == [np.asarray(x).tolist() for x in episodes]
    assert data.skill.tolist() == list(skill)
    assert data.lengths.sum() == len(data.observations)


@pytest.mark.parametrize("kind", [np.asarray, np.ndarray.tolist, lambda x: jnp.asarray(x, jnp.float32)])
def test_every_even_layout_gives_the_same_data(kind):
    x = EVEN.astype(np.float32)
    grid = kind(x.reshape(3, 2, 4, 3))
    layouts = {
        "(n, N, T, D)": Trajectories.of(grid),
        "lists of lists": Trajectories.of([list(mine) for mine in grid]),
        "list of (N, T, D)": Trajectories.of(list(grid)),
        "(episodes, T, D)": Trajectories.of(kind(x), WHO),
        "list of (T, D)": Trajectories.of(list(kind(x)), WHO),
        "(steps, D)": Trajectories.of(kind(x.reshape(24, 3)), WHO, lengths=[4] * 6),
        "lengths for nothing": Trajectories.of(kind(x), WHO, lengths=[4] * 6),
    }
    for data in layouts.values():
        equal(data, x, WHO)
        assert (data.n, len(data), data.features, data.labels) == (
            3,
            6,
            ("feature 0", "feature 1", "feature 2"),
            ("0", "1", "2"),
        )
    equal(Trajectories.of(kind(x)), x, range(6))  # (n, T, D): one episode of each


def test_every_ragged_layout_gives_the_same_data():
    padded = EVEN.copy()
    padded[np.arange(4) >= LENGTHS[:, None]] = np.nan
    objects = np.empty(6, object)
    objects[:] = RAGGED
    for data in (
        Trajectories.of([RAGGED[:2], RAGGED[2:4], RAGGED[4:]]),
        Trajectories.of(RAGGED, WHO),
        Trajectories.of(objects, WHO),
        Trajectories.of([x.tolist() for x in RAGGED], WHO),
        Trajectories.of([[jnp.asarray(x) for x in RAGGED[i : i + 2]] for i in (0, 2, 4)]),
        Trajectories.of(np.concatenate(RAGGED), WHO, lengths=LENGTHS),
        Trajectories.of(padded, WHO, lengths=LENGTHS.tolist()),
    ):
        np.testing.assert_allclose(data.observations, np.concatenate(RAGGED), rtol=1e-6)
        assert data.lengths.tolist() == LENGTHS.tolist()
        assert data.skill.tolist() == WHO
        data.check_finite()
    equal(Trajectories.of(RAGGED), RAGGED, range(6))  # a list of (T_i, D): one episode of each
    equal(Trajectories.of(objects), RAGGED, range(6))


def test_single_steps_are_told_from_padding():
    """With lengths of one, (episodes, T, D) has as many rows as there are steps."""
    data = Trajectories.of(EVEN, WHO, lengths=[1] * 6, rewards=EVEN[..., 0])
    np.testing.assert_array_equal(data.observations, EVEN[:, 0])
    np.testing.assert_array_equal(data.rewards, EVEN[:, 0, 0])
    np.testing.assert_array_equal(Trajectories.of(EVEN[:, 0], WHO, lengths=[1] * 6).observations, EVEN[:, 0])


def test_one_feature_may_come_without_its_axis():
    assert Trajectories.of([[1.0, 2.0], [3.0]], ["a", "b"]).observations.tolist() == [[1.0], [2.0], [3.0]]
    assert Trajectories.of([1.0, 2.0, 3.0], ["a", "b"], lengths=[2, 1]).lengths.tolist() == [2, 1]


def test_actions_and_rewards_follow_the_observations():
    actions, rewards = EVEN[..., :2] * 2, EVEN[..., 0] * 3

    def cut(x):
        return [row[:T] for row, T in zip(x, LENGTHS, strict=True)]

    for data in (
        Trajectories.of(RAGGED, WHO, actions=cut(actions), rewards=cut(rewards)),
        Trajectories.of(EVEN, WHO, lengths=LENGTHS, actions=actions, rewards=rewards[..., None]),
        Trajectories.of(
            np.concatenate(RAGGED),
            WHO,
            lengths=LENGTHS,
            actions=np.concatenate(cut(actions)),
            rewards=np.concatenate(cut(rewards)).tolist(),
        ),
    ):
        np.testing.assert_array_equal(data.actions, 2 * data.observations[:, :2])
        np.testing.assert_array_equal(data.rewards, 3 * data.observations[:, 0])
    even = Trajectories.of(EVEN, WHO, actions=np.ones((6, 4), int), rewards=rewards)
    assert even.actions.shape == (24, 1)
    np.testing.assert_array_equal(even.rewards, 3 * even.observations[:, 0])


@pytest.mark.parametrize(
    ("skill", "labels", "index"),
    [
        ([7, 7, 3, 3, 11, 11], ("3", "7", "11"), [1, 1, 0, 0, 2, 2]),
        (["walk", "run", "run", "walk", "hop", "hop"], ("hop", "run", "walk"), [2, 1, 1, 2, 0, 0]),
        ([0.0, 0.0, 1.0, 1.0, 5.0, 5.0], ("0", "1", "5"), [0, 0, 1, 1, 2, 2]),
        ([True, False] * 3, ("False", "True"), [1, 0] * 3),
        (jnp.array([2, 2, 2, 2, 2, 9]), ("2", "9"), [0, 0, 0, 0, 0, 1]),
        (np.array([2**63, 1, 1, 1, 1, 1], np.uint64), ("1", str(2**63)), [1, 0, 0, 0, 0, 0]),
    ],
)
def test_labels_are_numbers_with_gaps_or_names(skill, labels, index):
    data = Trajectories.of(EVEN, skill)
    assert data.labels == labels
    assert data.skill.tolist() == index
    assert [len(mine) for mine in data.by_skill] == [index.count(i) for i in range(len(labels))]
    np.testing.assert_array_equal(data.by_skill[-1][0], EVEN[index.index(len(labels) - 1)])


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f4", ">f8", "g", "i1", "u2", ">i4", "?", "bfloat16"])
def test_types_of_numbers(dtype):
    whole = RNG.integers(0, 2, size=(2, 3, 2))
    x = jnp.asarray(whole, dtype) if dtype == "bfloat16" else whole.astype(dtype)
    data = Trajectories.of(x)
    assert data.observations.dtype == (np.float32 if dtype in ("f2", "f4", ">f4", "bfloat16") else np.float64)
    assert data.observations.dtype.isnative
    np.testing.assert_array_equal(data.observations.reshape(2, 3, 2), whole)


def test_features_are_chosen_by_name_or_number():
    data = Trajectories.of(EVEN, WHO, features=["x", "y", "2"])
    for chosen, columns in ((("y",), [1]), (("2", "x"), [2, 0]), ((-1, 0), [2, 0]), (("0", np.int64(1)), [0, 1])):
        part = data.on(*chosen)
        assert part.features == tuple(data.features[c] for c in columns)
        np.testing.assert_array_equal(part.observations, data.observations[:, columns])
    for chosen, reason in (
        (("z",), "no feature is called 'z'; the features are x, y, 2"),
        (("xx",), "no feature is called 'xx'; did you mean 'x'"),
        ((3,), "feature 3 is out of range: there are 3"),
        (("17",), "feature 17 is out of range"),
        ((0, "x"), "the feature 'x' is chosen twice"),
        ((), "no features were chosen; there are x, y, 2"),
    ):
        with pytest.raises(ValueError, match=reason):
            data.on(*chosen)
    for wrong in (1.0, True, None):
        with pytest.raises(TypeError, match="a feature is chosen by name or number"):
            data.on(wrong)


def test_episodes_are_taken_by_number_or_mask():
    data = Trajectories.of(RAGGED, WHO, rewards=[x[:, 0] for x in RAGGED])
    part = data.take([5, 0, -2])
    equal(part, [RAGGED[5], RAGGED[0], RAGGED[4]], [1, 0, 1])
    assert part.labels == ("0", "2")
    np.testing.assert_array_equal(part.rewards, part.observations[:, 0])
    equal(data.take(np.array(WHO) == 1), RAGGED[2:4], [0, 0])
    equal(data.take(3), [RAGGED[3]], [0])
    for wrong, reason in (([], "no episodes were chosen"), ([6], "no episode 6: there are 6"), ([0.5], "type float64")):
        with pytest.raises(ValueError, match=reason):
            data.take(wrong)


def test_what_is_not_finite_is_found_where_it_is():
    for episode, step in ((3, 2), (3, 0), (0, 3), (5, 3)):
        x = EVEN.copy()
        x[episode, step, 1] = np.inf
        with pytest.raises(ValueError, match=rf"mine: .* feature 'y' at step {step} of episode {episode} is inf"):
            Trajectories.of(x, WHO, features=["x", "y", "z"], source="mine").check_finite()
    Trajectories.of(EVEN, WHO).check_finite()


def test_it_says_what_it_is():
    assert repr(Trajectories.of(RAGGED, WHO, source="mine")) == (
        "Trajectories(3 skills, 6 episodes of 1 to 4 steps, 3 features, from mine)"
    )
    assert "6 episodes of 4 steps" in repr(Trajectories.of(EVEN, WHO))
    one = Trajectories.of(np.zeros((1, 1, 1)), [0], source="mine")
    assert repr(one) == "Trajectories(1 skill, 1 episode of 1 step, 1 feature, from mine)"


class Loop(list):
    """A list that is in itself."""


LOOP = Loop()
LOOP.append(LOOP)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"observations": EVEN[0]}, r"without `skill`, observations must have shape .* but have shape \(4, 3\)"),
        ({"observations": EVEN[0], "skill": WHO}, r"have shape \(4, 3\); give \(episodes, T, D\), or \(steps, D\)"),
        ({"observations": EVEN[..., None], "skill": WHO}, r"a step has shape \(3, 1\); flatten"),
        ({"observations": EVEN[..., :0], "skill": WHO}, "observations have no features"),
        ({"observations": EVEN[:, :0], "skill": WHO}, "there are no steps"),
        ({"observations": []}, "there are no episodes"),
        ({"observations": [EVEN[0], []], "skill": [0, 1]}, "episode 1 of observations has no steps"),
        ({"observations": [EVEN[0], 5.0], "skill": [0, 1]}, "episode 1 of observations has no steps"),
        ({"observations": [EVEN[0], EVEN[1, :, :2]]}, "steps of different shapes: .* in episode 1"),
        ({"observations": [[1.0, [2.0]], [1.0]]}, r"observations\[0\] must be a rectangular array"),
        ({"observations": LOOP}, "observations"),
        ({"observations": "text"}, "observations must be an array of real numbers, but has type <U4"),
        ({"observations": {"a": 1}}, "observations must be an array of real numbers, but has type object"),
        ({"observations": EVEN + 1j}, "observations must be an array of real numbers, but has type complex128"),
        ({"observations": np.ma.masked_greater(EVEN, 0)}, "observations must not have masked entries"),
        ({"observations": np.ones((1, 1, 2**22 + 1), bool)}, "observations of 4194305 features cannot be right"),
        ({"observations": EVEN, "lengths": LENGTHS}, "lengths, actions and rewards need `skill`"),
        ({"observations": EVEN, "skill": WHO[:5]}, "skill labels 5 episodes, but the observations have 6"),
        ({"observations": EVEN, "skill": np.eye(6)}, "skill must be one label per episode.*give argmax"),
        ({"observations": EVEN, "skill": [0.5] * 6}, "skill must be whole numbers or names.*type float64"),
        ({"observations": EVEN, "skill": [1e300] * 6}, "skill must be whole numbers or names"),
        ({"observations": EVEN, "skill": [np.nan] * 6}, "skill must be whole numbers or names"),
        ({"observations": EVEN, "skill": [None] * 6}, "skill must be whole numbers or names.*type object"),
        ({"observations": EVEN, "skill": 3}, r"skill must be .* shape \(\)"),
        ({"observations": EVEN, "skill": [[0], [0, 1]]}, "skill must be a rectangular array"),
        ({"observations": EVEN, "skill": WHO, "lengths": [4] * 5}, r"lengths add up to 20 steps, but .* \(6, 4, 3\)"),
        ({"observations": EVEN, "skill": WHO, "lengths": [4, 4, 4, 4, 4, 5]}, "lengths has 5 for episode 5"),
        ({"observations": EVEN, "skill": WHO, "lengths": [4, 4, 0, 4, 4, 4]}, "lengths has 0 for episode 2"),
        ({"observations": EVEN, "skill": WHO, "lengths": [4.0] * 6}, "lengths must be whole numbers.*float64"),
        ({"observations": EVEN, "skill": WHO, "lengths": [2**41] * 6}, "which cannot be right"),
        ({"observations": EVEN[0], "skill": WHO[:2], "lengths": [1, 2]}, "lengths add up to 3 steps, but observations"),
        ({"observations": EVEN, "skill": WHO, "actions": EVEN[:5]}, r"actions have shape \(5, 4, 3\), which does not"),
        ({"observations": EVEN, "skill": WHO, "actions": EVEN.reshape(4, 6, 3)}, "which does not fit 6 episodes of 4"),
        ({"observations": EVEN, "skill": WHO, "actions": "north"}, "actions must be an array of real numbers"),
        (
            {"observations": RAGGED, "skill": WHO, "actions": RAGGED[::-1]},
            "episode 2 has 1 observations, but 3",
        ),
        ({"observations": EVEN, "skill": WHO, "actions": EVEN[..., :0]}, "actions have shape .* leave them out"),
        ({"observations": EVEN, "skill": WHO, "rewards": EVEN}, "rewards must be one number per step"),
        ({"observations": EVEN, "skill": WHO, "rewards": 1.0}, "rewards have shape"),
        ({"observations": EVEN, "features": ["x", "y"]}, "there are 2 feature names, but 3 features"),
        ({"observations": EVEN, "features": ["x", "y", "x"]}, "two features are called 'x'"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(arguments, reason):
    with pytest.raises(ValueError, match=f"^mine: .*{reason}"):
        Trajectories.of(**arguments, source="mine")


@pytest.mark.parametrize("features", ["xyz", 3])
def test_names_are_a_list(features):
    with pytest.raises(TypeError, match="features must be a list of names"):
        Trajectories.of(EVEN, features=features)
