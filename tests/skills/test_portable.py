"""Policies in NumPy: they act as the skills in JAX do, also from a file and without JAX, and refuse what is amiss."""

import dataclasses
import io
import json
import os
import subprocess
import sys
import zipfile
from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import onnxruntime
import pytest

import vendirl as vr
from vendirl.environments.host import HostEnvironment
from vendirl.environments.spaces import Box, Discrete
from vendirl.environments.suites.flat import Acting
from vendirl.skills import portable
from vendirl.skills.export import policy_of
from vendirl.skills.networks import ACTIVATIONS
from vendirl.skills.policy import SkillPolicy
from vendirl.skills.policy_file import MOST_ABOUT, MOST_LAYERS

T, VISIBLE, FEATURES = 40, 5, 7


class World(HostEnvironment):
    """Whatever a policy has to know of where it acts."""

    def __init__(self, act=None):
        self.feature_names, self.episode_length = tuple(f"f{i}" for i in range(FEATURES)), T
        if act is not None:
            self.act = act

    def _open(self, scenes, seed):
        raise NotImplementedError


WORLD = World()
CASES = [
    (kind, separate) for kind in ("normal", "squashed", "discrete") for separate in (False, True)
]  # PPO and SAC, one network for all skills or one for each


@cache
def skill(kind="normal", separate=False, time=True, box=None, activation="tanh"):
    """A skill whose weights are large enough for actions to differ, and to leave their box. They are drawn by NumPy,
    since compiling what draws them takes longer than all else here."""
    actions = Discrete(4) if kind == "discrete" else box or Box(3, -0.5, 2.0)
    settings = {"hidden": (16, 16), "separate": separate, "time": time, "squashed": kind == "squashed"}
    settings["activation"] = activation
    shapes = eqx.filter_eval_shape(
        lambda key: SkillPolicy(VISIBLE, actions, 3, key=key, features=FEATURES, **settings), jax.random.key(0)
    )
    numbers = np.random.default_rng(1)
    made = jax.tree.map(lambda x: jnp.asarray(numbers.normal(0.0, 0.5, x.shape), jnp.float32), shapes)
    variance = jnp.asarray(numbers.uniform(1.0, 20.0, VISIBLE), jnp.float32)
    return eqx.tree_at(lambda p: p.statistics.variance, made, variance).skill(2)


@cache
def likeliest(*kind):
    return jax.jit(jax.vmap(skill(*kind).mode))


def policy(kind="normal", separate=False, world=WORLD):
    return policy_of(skill(kind, separate), world, "point", "2")


def observations(n=50, width=FEATURES):
    return np.random.default_rng(0).normal(1.0, 4.0, (n, width)).astype(np.float32)


def of_jax(kind, separate, x, times):
    """What the skill does, clipped into its box."""
    found = np.asarray(likeliest(kind, separate)(x, np.asarray(times, np.float32)))
    return found if kind == "discrete" else np.clip(found, -0.5, 2.0)


@pytest.mark.parametrize(("kind", "separate"), CASES)
def test_a_policy_acts_as_the_skill_does_also_from_its_file(kind, separate, tmp_path):
    ours = vr.load_policy(policy(kind, separate).save(tmp_path / "skill.npz"))
    x, steps = observations(), np.arange(50) % T
    theirs = of_jax(kind, separate, x, steps / T)
    batched = ours(x, step=steps)
    assert batched.dtype == (np.int64 if kind == "discrete" else np.float32)
    np.testing.assert_allclose(batched, theirs, atol=1e-6)
    assert len(np.unique(theirs[:, 0] if kind != "discrete" else theirs)) > 2
    if kind == "normal":
        assert {-0.5, 2.0} <= set(batched.ravel().tolist())  # some lay outside of the box
    one_by_one = [ours(row[:VISIBLE], step=int(step)) for row, step in zip(x, steps, strict=True)]
    np.testing.assert_allclose(one_by_one, theirs, atol=1e-6)
    assert np.shape(one_by_one[0]) == (() if kind == "discrete" else (3,))
    np.testing.assert_array_equal(ours(x.astype(np.float64).tolist(), step=steps), batched)


def test_a_policy_counts_its_steps_and_time_stands_still_at_the_end():
    ours, x = policy(), observations()[0]
    counted = np.stack([ours(x) for _ in range(T + 5)])
    said = np.stack([ours(x, step=step) for step in range(T + 5)])
    np.testing.assert_array_equal(counted, said)
    assert (counted[0] != counted[T - 1]).any()
    np.testing.assert_array_equal(counted[T - 1 :], np.broadcast_to(counted[T - 1], (6, 3)))
    assert ours.steps == T + 5  # a step that was said is not counted
    ours.reset()
    np.testing.assert_array_equal(ours(x), counted[0])
    rows = np.stack([x, x])
    np.testing.assert_array_equal(ours(rows), counted[[1, 1]])  # scenes in step count as one
    np.testing.assert_array_equal(ours(rows, step=[0, 7]), counted[[0, 7]])
    timeless = policy_of(skill(time=False), WORLD, "point", "2")
    np.testing.assert_array_equal(timeless(x, step=0), timeless(x, step=9))


@pytest.mark.parametrize("kind", ["normal", "squashed", "discrete"])
def test_noise_is_that_of_training(kind):
    ours, x = policy(kind), observations()
    noise = np.random.default_rng(3)
    drawn = noise.gumbel(size=(50, 4)) if kind == "discrete" else noise.standard_normal((50, 3))
    act = jax.jit(jax.vmap(lambda x, ε: skill(kind).act(x, jnp.array(0.25), ε)[0]))
    theirs = np.asarray(act(x, drawn.astype(np.float32)))
    found = ours(x, step=T // 4, noise=np.random.default_rng(3))
    np.testing.assert_allclose(found, theirs if kind == "discrete" else np.clip(theirs, -0.5, 2.0), atol=1e-5)
    assert (found != ours(x, step=T // 4)).any()
    assert ours(x[0], noise=np.random.default_rng(0)).shape == (() if kind == "discrete" else (3,))


def test_actions_are_those_that_the_environment_itself_takes():
    """Suites stretch [-1, 1] to the bounds of each number, and may count discrete actions from elsewhere."""
    low, high = np.array([-2.0, 0.0, -0.4]), np.array([2.0, 3.0, 0.4])
    act = Acting(Box(3), (1, 3), np.dtype(np.float32), low, high)
    made = skill(box=Box(3))
    ours = policy_of(made, World(act), "point", "2")
    x = observations()
    theirs = act(np.asarray(jax.jit(jax.vmap(made.mode))(x, np.zeros(50, np.float32))))
    np.testing.assert_allclose(ours(x, step=0), theirs, atol=1e-6)
    assert ours(x[0]).shape == (1, 3)
    counted = Acting(Discrete(4), (), np.dtype(np.int64), first=5)
    ours = policy("discrete", world=World(counted))
    np.testing.assert_array_equal(ours(x, step=0), 5 + policy("discrete")(x, step=0))


@pytest.mark.parametrize(
    ("given", "settings", "error"),
    [
        (np.zeros(6), {}, r"vector of the 5 that the skill sees, or of all 7 features, or rows of such, not \(6,\)"),
        (np.zeros((2, 2, 7)), {}, r"not \(2, 2, 7\)"),
        (0.0, {}, r"not \(\)"),
        ({"position": [1.0]}, {}, "real numbers, but is a dict"),
        (["a"] * 7, {}, "real numbers, but has type <U1"),
        (np.zeros(7, complex), {}, "real numbers, but has type complex128"),
        ([[1.0, 2.0], [3.0]], {}, "rows differ in length"),
        ([0, 0, 0, np.nan, 0, 0, 0], {}, r"must be finite, but observation\[3\] is not a number"),
        (np.where(np.eye(7, dtype=bool), np.nan, 0), {}, r"must be finite, but observation\[0, 0\] is not a number"),
        (np.zeros(7), {"noise": 3}, "noise must be a generator of NumPy's.*but is a int"),
        (np.zeros(7), {"step": -1}, "step must be a whole number of at least 0, but is -1"),
        (np.zeros(7), {"step": 0.5}, "step must be a whole number of at least 0, but is 0.5"),
        (np.zeros((2, 7)), {"step": [1, 2, 3]}, "of at least 0, or 2 of them, but is"),
    ],
)
def test_what_is_no_observation_is_refused_in_words_and_not_counted(given, settings, error):
    ours = policy()
    with pytest.raises((ValueError, TypeError), match=error):
        ours(given, **settings)
    assert ours.steps == 0


def test_a_file_acts_the_same_in_a_process_without_jax(tmp_path):
    for kind, separate in CASES:
        policy(kind, separate).save(tmp_path / f"{kind}-{separate}.npz")
    np.save(tmp_path / "x.npy", observations())
    code = """
import sys
for name in ("jax", "jaxlib", "equinox", "jaxtyping", "optax"):
    sys.modules[name] = None  # importing it fails
import numpy as np
import vendirl as vr
x = np.load("x.npy")
for name in sys.argv[1:]:
    np.save(name, vr.load_policy(name + ".npz")(x, step=7))
"""
    names = [f"{kind}-{separate}" for kind, separate in CASES]
    source = os.path.dirname(os.path.dirname(vr.__file__))
    environment = {**os.environ, "PYTHONPATH": source}
    subprocess.run([sys.executable, "-c", code, *names], cwd=tmp_path, env=environment, check=True)
    for name, (kind, separate) in zip(names, CASES, strict=True):
        theirs = of_jax(kind, separate, observations(), np.full(50, 7 / T))
        np.testing.assert_allclose(np.load(tmp_path / f"{name}.npy"), theirs, atol=1e-6)


def test_a_policy_replaces_a_policy_and_nothing_else(tmp_path):
    path = tmp_path / "skill.npz"
    policy().save(path)
    policy("squashed").save(path)
    assert vr.load_policy(path).kind == "squashed"
    assert [file.name for file in tmp_path.iterdir()] == ["skill.npz"]
    np.savez(path, observations=np.zeros((2, 3, 1)), skill=[0, 1])
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="is there and holds no policy"):
        policy().save(path)
    assert path.read_bytes() == before
    with pytest.raises(ValueError, match=r"name.npz or name.onnx, but the path is .*skill.pkl"):
        policy().save(tmp_path / "skill.pkl")
    assert "Policy of skill 2 in point: 5 of 7 features and time -> 3 numbers" in repr(policy())


def forged(path, change=None, **arrays):
    """A file of a policy with other words in `about`, or other arrays; None removes one."""
    content = io.BytesIO()
    policy().save(path)
    with np.load(path) as there:
        kept = {**there}
    about = json.loads(kept["about"].tobytes()) | (change or {})
    kept["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    kept |= arrays
    np.savez(content, **{name: x for name, x in kept.items() if x is not None})
    path.write_bytes(content.getvalue())
    return path


@pytest.mark.parametrize(
    ("change", "arrays", "error"),
    [
        ({"format": "another"}, {}, "its format is 'vendirl policy'"),
        ({"version": 2}, {}, "version 2 of the format, and this reads 1"),
        ({"kind": "wild"}, {}, "kind must be one of normal, squashed, discrete, but is 'wild'"),
        ({"kind": 3}, {}, "kind is missing, or not of the kind"),
        ({"kind": "discrete"}, {}, "low is not for discrete actions"),
        ({"kind": "squashed"}, {}, "3 outputs, which make no squashed action"),
        ({"activation": "__import__"}, {}, "activation must be one of tanh, relu, but is '__import__'"),
        ({"timed": 1}, {}, "timed is missing, or not"),
        ({"timed": False}, {}, r"weight_0 must have shape \(16, 5\), but has \(16, 6\)"),
        ({"features": ["a"]}, {}, "mean must have a number for each feature that is seen, of 1, but has 5"),
        ({"features": "abcdefg"}, {}, "features is missing, or not"),
        ({"episode_length": 0}, {}, "an episode must have a step or more"),
        ({"episode_length": True}, {}, "episode_length is missing, or not"),
        ({"layers": 10**9}, {}, f"layers must be a whole number from 1 to {MOST_LAYERS}"),
        ({"layers": 2}, {}, "its arrays must be about, bias_0, bias_1, .*, but are"),
        ({"shape": [2, 2]}, {}, r"shape must be that of 3 numbers, but is \(2, 2\)"),
        ({"shape": [[3]]}, {}, "shape is missing, or not"),
        ({"shape": [-1, -3]}, {}, r"shape must be that of 3 numbers, but is \(-1, -3\)"),
        ({}, {"low": np.full(3, -np.inf), "high": np.full(3, -np.inf)}, "high more than minus infinity"),
        ({}, {"low": np.full(3, -1e300), "high": np.full(3, 1e300)}, "must be numbers of float32"),
        ({}, {"about": np.frombuffer(b"[" + b"{}," * (MOST_ABOUT // 3) + b"{}]", np.uint8)}, "says more than 16,777"),
        ({}, {"mean": None}, "its arrays must be"),
        ({}, {"extra": np.zeros(3)}, "its arrays must be"),
        ({}, {"log_std": None}, "log_std is missing, and needed for normal actions"),
        ({}, {"mean": np.full(5, np.nan, np.float32)}, "mean has numbers that are not finite"),
        ({}, {"scale": np.zeros(5, np.float32)}, "scale must be positive"),
        ({}, {"low": np.full(3, 9.0)}, "low at most high"),
        ({}, {"bias_0": np.zeros(16)}, "'bias_0' holds float64"),
        ({}, {"bias_0": np.zeros(15, np.float32)}, r"weight_0 must have shape \(15, 6\), but has \(16, 6\)"),
        ({}, {"weight_1": np.zeros((16, 16), np.float32).T[:, ::-1].copy("F")}, "'weight_1' holds float32 in 2"),
        ({}, {"about": np.frombuffer(b"[" * 10**5, np.uint8)}, "holds no policy, or is damaged"),
        ({}, {"about": np.array([{}], object)}, "'about' holds object"),
    ],
)
def test_forged_files_are_refused_in_a_line(tmp_path, change, arrays, error):
    path = tmp_path / "skill.npz"
    with pytest.raises(ValueError, match=error) as caught:
        vr.load_policy(forged(path, change, **arrays))
    assert str(caught.value).startswith(f"{path} holds no policy, or is damaged: ")
    assert "\n" not in str(caught.value)


def test_what_a_file_calls_its_skill_is_no_order_to_the_terminal(tmp_path):
    found = vr.load_policy(forged(tmp_path / "skill.npz", {"skill": "\x1b[2J", "env": "\ud800[/x]" + "y" * 10**6}))
    assert repr(found).isprintable()
    assert repr(found).startswith(r"Policy of skill \x1b[2J in \ud800[/x]yyy")
    assert len(repr(found)) < 400


def test_damaged_and_deceiving_files_are_refused_in_a_line(tmp_path):
    path = policy().save(tmp_path / "skill.npz")
    whole = path.read_bytes()

    def refused(content, error="holds no policy, or is damaged"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=error):
            vr.load_policy(path)

    for end in (0, 10, len(whole) // 2, len(whole) - 10):
        refused(whole[:end])
    at = whole.index(b"weight_0.npy") + 200
    refused(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :], "CRC|header")
    refused(whole.replace(b"(16, 6), }", b"(99, 6), }"))
    squeezed = io.BytesIO()
    with zipfile.ZipFile(squeezed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("about.npy", bytes(10**6))
    refused(squeezed.getvalue(), "'about' is compressed")
    twice = io.BytesIO(whole)
    with zipfile.ZipFile(twice, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("mean.npy", archive.read("mean.npy"))
    refused(twice.getvalue(), "its arrays must be")
    path.unlink()
    with pytest.raises(FileNotFoundError, match="does not exist"):
        vr.load_policy(path)
    os.mkfifo(path)
    with pytest.raises(ValueError, match="is a pipe, not a regular file"):
        vr.load_policy(path)


def test_other_activations_are_a_name_in_the_file(tmp_path):
    """Every activation that networks know is known here."""
    assert set(portable.ACTIVATIONS) == set(ACTIVATIONS)
    bent = skill(activation="relu")
    ours = vr.load_policy(policy_of(bent, WORLD, "point", "2").save(tmp_path / "skill.npz"))
    x = observations()
    theirs = np.clip(jax.jit(jax.vmap(bent.mode))(x, np.zeros(50, np.float32)), -0.5, 2.0)
    np.testing.assert_allclose(ours(x, step=0), theirs, atol=1e-6)
    assert (ours(x, step=0) != policy()(x, step=0)).any()


@pytest.mark.parametrize(("kind", "activation"), [("normal", "relu"), ("squashed", "tanh"), ("discrete", "tanh")])
def test_an_onnx_model_acts_the_same(tmp_path, kind, activation):
    ours = dataclasses.replace(policy(kind), activation=activation, features=WORLD.feature_names)
    model = onnxruntime.InferenceSession(ours.save(tmp_path / "skill.onnx"), providers=["CPUExecutionProvider"])
    x = observations()
    given = {"observation": x[:, :VISIBLE], "time": np.full((50, 1), 7 / T, np.float32)}
    (found,) = model.run(None, given)
    np.testing.assert_allclose(found, ours(x, step=7), atol=1e-5)
    about = model.get_modelmeta().custom_metadata_map
    assert (about["episode_length"], json.loads(about["features"])) == (str(T), list(WORLD.feature_names))
    assert [entry.name for entry in model.get_inputs()] == ["observation", "time"]


def test_onnx_needs_a_package_that_may_be_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'vendirl\[onnx\]'"):
        policy().save(tmp_path / "skill.onnx")
