"""Minari data sets: the observations that actions brought, by skill; nothing is downloaded."""

import json
import sys

import numpy as np
import pytest

from vendirl.data import read, read_minari

pytest.importorskip("minari", reason="minari is not installed: pip install 'vendirl[minari]'")
pytest.importorskip("h5py", reason="h5py is not installed: pip install 'vendirl[minari]'")

import h5py
import minari
from gymnasium import spaces
from minari.data_collector import EpisodeBuffer
from minari.dataset.minari_storage import MinariStorage

RNG = np.random.default_rng(0)
BOX = spaces.Box(-np.inf, np.inf, (3,), np.float32)
LENGTHS = (4, 2, 3)
POINTS = [RNG.normal(size=(T + 1, 3)).astype(np.float32) for T in LENGTHS]
ACTIONS = [RNG.normal(size=(T, 3)).astype(np.float32) for T in LENGTHS]
SKILLS = (5, 2, 5)


def buffers(observations=POINTS, actions=ACTIONS, infos=None, options=None):
    return [
        EpisodeBuffer(
            observations=observations[i],
            actions=actions[i],
            rewards=list(np.arange(T) + 10.0 * i),
            terminations=[False] * T,
            truncations=[False] * (T - 1) + [True],
            infos=None if infos is None else infos[i],
            options=None if options is None else options[i],
        )
        for i, T in enumerate(LENGTHS)
    ]


def data_set(path, episodes, observation_space=BOX, action_space=BOX, data_format="hdf5"):
    """A data set in a folder, as Minari itself writes it."""
    (path / "data").mkdir(parents=True)
    storage = MinariStorage.new(path / "data", observation_space, action_space, data_format=data_format)
    storage.update_metadata({"dataset_id": "mine-v0", "minari_version": minari.__version__})
    storage.update_episodes(episodes)
    return storage


INFOS = [{"skill": [z] * (T + 1), "other": list(range(T + 1))} for z, T in zip(SKILLS, LENGTHS, strict=True)]


@pytest.mark.parametrize("data_format", ["hdf5", "arrow"])
@pytest.mark.parametrize("place", ["infos", "options", "metadata", "names"])
def test_observations_are_those_that_actions_brought(tmp_path, place, data_format):
    if data_format == "arrow":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'minari[arrow]'")
    names = [{"skill": [f"go {z}"] * (T + 1)} for z, T in zip(SKILLS, LENGTHS, strict=True)]
    given = {
        "infos": {"infos": INFOS},
        "options": {"options": [{"skill": z} for z in SKILLS]},
        "metadata": {},
        "names": {"infos": names},
    }[place]
    storage = data_set(tmp_path / "mine", buffers(**given), data_format=data_format)
    if place == "metadata":
        storage.update_episode_metadata([{"skill": z} for z in SKILLS])
    data = read(tmp_path / "mine")
    assert [x.tolist() for x in data] == [x[1:].tolist() for x in POINTS]
    np.testing.assert_array_equal(data.actions, np.concatenate(ACTIONS))
    assert data.rewards.tolist() == [0, 1, 2, 3, 10, 11, 20, 21, 22]
    assert data.labels == (("go 2", "go 5") if place == "names" else ("2", "5"))
    assert data.skill.tolist() == [1, 0, 1]
    assert data.features == ("feature 0", "feature 1", "feature 2")
    part = read(f"minari:{tmp_path / 'mine' / 'data'}", features=[2, "feature 0"])
    assert part.features == ("feature 2", "feature 0")
    np.testing.assert_array_equal(part.observations, data.observations[:, [2, 0]])


def test_a_local_data_set_by_name(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="download it first with: minari download skills/mine-v0"):
        read("minari:skills/mine-v0")
    data_set(tmp_path / "skills" / "mine-v0", buffers(infos=INFOS))
    assert repr(read("minari:skills/mine-v0")) == (
        "Trajectories(2 skills, 3 episodes of 2 to 4 steps, 3 features, from minari:skills/mine-v0)"
    )


def test_parts_of_observations_are_flattened_in_the_order_of_their_names(tmp_path):
    space = spaces.Dict(
        {
            "z": spaces.Discrete(9),
            "a": spaces.Dict({"y": spaces.Box(0, 1, (2, 2), np.float64), "b": spaces.MultiBinary(2)}),
        }
    )
    parts = [
        {
            "z": np.arange(T + 1),
            "a": {"y": RNG.uniform(size=(T + 1, 2, 2)), "b": RNG.integers(0, 2, (T + 1, 2)).astype(np.int8)},
        }
        for T in LENGTHS
    ]
    data_set(tmp_path, buffers(parts, [np.arange(T) for T in LENGTHS], INFOS), space, spaces.Discrete(9))
    data = read_minari(tmp_path)
    assert data.features == ("a/b/0", "a/b/1", "a/y/0", "a/y/1", "a/y/2", "a/y/3", "z")
    for found, part, T in zip(data, parts, LENGTHS, strict=True):
        np.testing.assert_array_equal(found[:, :2], part["a"]["b"][1:])
        np.testing.assert_array_equal(found[:, 2:6], part["a"]["y"][1:].reshape(T, 4))
        np.testing.assert_array_equal(found[:, 6], part["z"][1:])
    assert data.actions.shape == (9, 1)
    np.testing.assert_array_equal(read_minari(tmp_path, ["z", "a/y/3"]).observations, data.observations[:, [6, 5]])


def test_discrete_observations_are_one_number(tmp_path):
    data_set(tmp_path, buffers([np.arange(T + 1) for T in LENGTHS], infos=INFOS), spaces.Discrete(9))
    data = read_minari(tmp_path)
    assert data.features == ("observation",)
    assert data.observations.ravel().tolist() == [1, 2, 3, 4, 1, 2, 1, 2, 3]


def test_other_observations_are_refused(tmp_path):
    words = [["a"] * (T + 1) for T in LENGTHS]
    data_set(tmp_path, buffers([{"w": w} for w in words], infos=INFOS), spaces.Dict({"w": spaces.Text(3)}))
    with pytest.raises(ValueError, match=r"observations must be numbers .* the part 'w' of them is a Text"):
        read_minari(tmp_path)


@pytest.mark.parametrize(
    ("infos", "reason"),
    [
        (None, "episode 0: it does not say which skill acted: give `skill` in its infos"),
        ([*INFOS[:2], {"other": [1, 2, 3, 4]}], "episode 2: it does not say which skill acted"),
        ([*INFOS[:2], {"skill": [1, 2, 1, 1]}], "episode 2: its skill must be one label, the same at all steps"),
        ([{"skill": np.eye(T + 1)} for T in LENGTHS], "episode 0: its skill must be one label"),
        ([{"skill": np.full(T + 1, 0.5)} for T in LENGTHS], "skill must be whole numbers or names"),
    ],
)
def test_episodes_without_a_label_are_refused(tmp_path, infos, reason):
    data_set(tmp_path, buffers(infos=infos))
    with pytest.raises(ValueError, match=f"minari:.*{reason}"):
        read_minari(tmp_path)


def test_damaged_data_sets_are_refused(tmp_path):
    storage = data_set(tmp_path, buffers(infos=INFOS))
    storage.update_episode_metadata([{"total_steps": 3}], [1])
    with pytest.raises(ValueError, match=r"episode 1: 3 steps should have .* 2 rewards and 3 observations"):
        read_minari(tmp_path)
    metadata, arrays = tmp_path / "data" / "metadata.json", tmp_path / "data" / "main_data.hdf5"
    good, content = json.loads(metadata.read_text()), arrays.read_bytes()
    without = {key: value for key, value in good.items() if key != "observation_space"}
    for text, reason in (
        ("{", "cannot be read"),
        ("[]", "cannot be read"),
        (json.dumps(without), "does not say what observations and actions are"),
        (json.dumps({**good, "observation_space": '{"type": "Cube"}'}), "cannot be read"),
        (json.dumps({**good, "data_format": "clay"}), "cannot be read"),
        (json.dumps({**good, "total_episodes": 0}), "there are no episodes"),
        (json.dumps({**good, "total_episodes": 9}), "episode 1"),
    ):
        metadata.write_text(text)
        with pytest.raises(ValueError, match=f"minari:.*{reason}"):
            read_minari(tmp_path)
    metadata.write_text(json.dumps(good))
    for broken in (b"", content[:1000], b"\x00" * 5000):
        arrays.write_bytes(broken)
        with pytest.raises(ValueError, match=r"minari:.*cannot be read"):
            read_minari(tmp_path)


def test_episodes_without_their_last_observation_are_refused(tmp_path):
    data_set(tmp_path, buffers(infos=INFOS))
    with h5py.File(tmp_path / "data" / "main_data.hdf5", "a") as file:
        file["episode_1/observations"].resize(2, axis=0)
    with pytest.raises(ValueError, match=r"episode 1: 2 steps should have .* 2 rewards and 2 observations"):
        read_minari(tmp_path)


def test_without_minari_it_says_how_to_get_it(tmp_path, monkeypatch):
    data_set(tmp_path, buffers(infos=INFOS))
    monkeypatch.setitem(sys.modules, "minari.dataset.minari_storage", None)
    with pytest.raises(ImportError, match=r'pip install "vendirl\[minari\]"'):
        read_minari(tmp_path)
