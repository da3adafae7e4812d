"""A problem is made of objects: what was given as one is trained, saved, resumed, scored and drawn, and asked for again
where its text cannot rebuild it."""

import dataclasses
import gc
import os
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from matplotlib.figure import Figure

import vendirl as vr
from vendirl._programs import Shared
from vendirl.environments import EnvironmentFailure
from vendirl.training.problem import build
from vendirl.training.settings import Settings

pytestmark = pytest.mark.usefixtures("without_ceiling")

TINY = {"skills": 3, "scenes": 8, "steps": 8 * 50 * 10, "hidden": (8,), "ppo": {"minibatches": 2, "epochs": 1}}


class Line(vr.environments.Environment):
    """A line, on which NaN lies in wait beyond a place."""

    episode_length: int = eqx.field(static=True, default=50)
    observation_size: int = eqx.field(static=True, default=1)
    feature_names: tuple[str, ...] = eqx.field(static=True, default=("place",))
    actions: vr.environments.Box = eqx.field(static=True, default=vr.environments.Box(1))
    edge: float = eqx.field(static=True, default=np.inf)

    def reset(self, key):
        return self._state(jnp.zeros(1))

    def step(self, state, action, key):
        x = state.physics + 0.1 * jnp.clip(action, -1, 1)
        return self._state(jnp.where(jnp.abs(x) > self.edge, jnp.nan, x))

    def _state(self, x):
        return vr.environments.State(x, observation=x, terminated=jnp.array(False), reward=jnp.array(0.0))


@dataclasses.dataclass(frozen=True)
class Sleepy(vr.algorithms.Algorithm):
    """A learner that remembers how often it was asked, and shrinks the weights a little each time."""

    name: ClassVar[str] = "sleepy"
    rate: float = 0.5

    def init(self, policy, key, example, rewards):
        return jnp.zeros(())

    def update(self, policy, state, batch, rewards, key, context=vr.algorithms.Context()):  # noqa: B008
        weights, rest = eqx.partition(policy, eqx.is_inexact_array)
        smaller = optax.tree_utils.tree_scale(self.rate, weights)
        return eqx.combine(smaller, rest), state + 1, {"asked": state + 1}


def same(a, b):
    pairs = zip(*(jax.tree.leaves(eqx.filter(run.training, eqx.is_array)) for run in (a, b)), strict=True)
    return all(np.array_equal(_plain(x), _plain(y), equal_nan=True) for x, y in pairs)


def _plain(x):
    return np.asarray(jax.random.key_data(x)) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else np.asarray(x)


def test_objects_are_trained_saved_and_loaded_when_they_are_given_again(tmp_path):
    k = vr.similarity.mmd(scale=4.0).on(lambda observation: observation[:1] ** 2)
    run = vr.train(Line(), k, method=vr.methods.VendiRL(q=2.0), out=tmp_path / "run", **TINY)
    assert run.settings.env == "object:Line"
    assert "<function <lambda>>" in run.settings.similarity
    assert run.settings.method == "vendirl(q=2)"
    again = vr.load(tmp_path / "run", env=Line(), similarity=k)
    assert same(run, again)
    assert again.score().score == pytest.approx(run.score().score)
    assert again.evaluate(episodes=2, measures=False).results
    assert again.figure().axes
    assert "Vendi Score" in repr(again)
    with pytest.raises(ValueError, match=r"was an object.*vr.load\(folder, env=...\)"):
        vr.load(tmp_path / "run")
    with pytest.raises(ValueError, match=r"--import my_module.*vr.load\(folder, similarity=...\)"):
        vr.load(tmp_path / "run", env=Line())


def test_a_run_of_objects_goes_on_where_it_was(tmp_path, monkeypatch):
    longer = {**TINY, "steps": 2 * TINY["steps"]}
    whole = vr.train(Line(), "mmd(scale=4)", **longer, devices=1)
    monkeypatch.setattr("vendirl.training.driver.CHECKPOINT_SECONDS", 0.0)

    def stop(run, row):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="--resume"):
        vr.train(Line(), "mmd(scale=4)", **longer, devices=1, out=tmp_path / "run", progress=stop)
    resumed = vr.train(Line(), "mmd(scale=4)", **longer, devices=1, out=tmp_path / "run", resume=True)
    assert same(whole, resumed)


def test_a_learner_of_ones_own_is_one_class_and_no_edit_elsewhere(tmp_path):
    vr.algorithms.register(Sleepy)
    run = vr.train("point", learner="sleepy(rate=0.25)", out=tmp_path / "run", **TINY)
    assert float(run.training.learner) == run.epochs
    assert run.history[-1]["asked"] == run.epochs
    assert max(np.abs(np.asarray(layer.weight)).max() for layer in run.skills.actor.layers) < 1e-3
    assert same(run, vr.load(tmp_path / "run"))
    given = vr.train("point", learner=Sleepy(rate=0.25), **TINY)
    assert same(run, given)
    assert given.settings.learner == "sleepy(rate=0.25)"


def test_a_similarity_of_ones_own_is_known_by_name(tmp_path):
    @vr.similarity.moments(psd=True, order=1, name="test_pace")
    def pace(a, b, scale=1.0):
        return jnp.exp(-scale * jnp.abs(a.mean[0] - b.mean[0]))

    run = vr.train("point", pace(scale=2.0), out=tmp_path / "run", **TINY)
    assert same(run, vr.load(tmp_path / "run"))


def test_settings_may_be_given_as_a_dictionary_and_names_that_are_not_known_are_refused():
    asked = Settings.named({"ppo": {"epochs": 7}, "hidden": [8, 8], "seed": np.int64(3)})
    assert asked.ppo == dataclasses.replace(Settings().ppo, epochs=7)
    assert asked == Settings.from_json(asked.to_json())
    assert type(asked.seed) is int
    with pytest.raises(TypeError, match="ppo has no setting 'epoch'; did you mean 'epochs'"):
        vr.train("point", ppo={"epoch": 7})
    with pytest.raises(TypeError, match="there is no setting 'scene'; did you mean 'scenes'"):
        vr.train("point", scene=7)
    with pytest.raises(TypeError, match="ppo must be a PPO or a dictionary"):
        vr.train("point", ppo=3)


def test_settings_of_a_learner_in_its_text_hold_and_the_others_are_its_own():
    settings = Settings(learner="sac(updates=8)", sac={"batch": 64})
    assert (settings.algorithm.updates, settings.algorithm.batch) == (8, 64)
    with pytest.raises(ValueError, match="there is no learner 'dqn'"):
        build(Settings(learner="dqn"))


def test_an_environment_that_returns_nan_is_named():
    with pytest.raises(EnvironmentFailure, match=r"object:Line returned NaN.*'place'.*Training stopped") as refused:
        vr.train(Line(edge=0.3), "mmd", **TINY)
    assert str(refused.value).count("Training stopped") == 1


def test_the_skills_of_a_run_are_at_hand_without_rolling_out(monkeypatch):
    run = vr.train("point", method="random", **TINY)

    def refuse(*_, **__):
        raise AssertionError("nothing is to be rolled out")

    monkeypatch.setattr("vendirl.training.run.act_out", refuse)
    monkeypatch.setattr("vendirl.training.run._act_out", refuse)
    act = jax.jit(lambda observation: run.skills.mode(observation, 1, jnp.array(0.0)))
    assert act(jnp.zeros(2)).shape == (2,)
    np.testing.assert_array_equal(run.skill(1).mode(jnp.zeros(2), jnp.array(0.0)), act(jnp.zeros(2)))


def test_skills_and_observations_that_are_none_are_refused():
    run = vr.train("point", method="metra", **TINY)
    with pytest.raises(ValueError, match=r"vectors of 2 numbers.*run.skill\(i\)"):
        run.skills.skill(1)
    now = jnp.array(0.0)
    np.testing.assert_array_equal(
        run.skill(1).mode(jnp.zeros(2), now), run.skills.mode(jnp.zeros(2), run.goals[1], now)
    )
    numbered = vr.train("point", method="random", **TINY).skills
    for none in (99, 1.5, True):
        with pytest.raises(ValueError, match=f"from 0 to 2, but is {none}$"):
            run.skill(none)
        with pytest.raises(ValueError, match=f"from 0 to 2, but is {none}$"):
            numbered.skill(none)
    with pytest.raises(ValueError, match="from 0 to 2, but is '1'"):
        run.skill("1")
    for one in (1, np.int64(1), jnp.array(1)):
        acts = run.skill(one).mode(jnp.zeros(2), now)
        np.testing.assert_allclose(acts, run.policy(one)(np.zeros(2), step=0), rtol=1e-5)
    with pytest.raises(ValueError, match=r"a vector of the 2 features, but has shape \(3,\)"):
        numbered.mode(jnp.zeros(3), 0, now)


def test_the_two_seeds_of_long_settings_have_folders_of_their_own():
    from vendirl.training.folder import name_for

    long = "x" * 100
    assert name_for(long + "0") != name_for(long + "1")
    assert len(name_for(long + "0")) == 80
    assert name_for("mmd(scale=4)") == "mmd_scale=4"


def test_reading_a_run_writes_nothing(tmp_path):
    vr.train("point", method="random", out=tmp_path / "run", **TINY)
    before = {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in (tmp_path / "run").rglob("*")}
    rows = (tmp_path / "run" / "metrics.jsonl").read_text()
    with open(tmp_path / "run" / "metrics.jsonl", "a") as file:  # a row that came after the checkpoint
        file.write(later := rows.splitlines()[-1].replace('"epoch": ', '"epoch": 9') + "\n")
    before[tmp_path / "run" / "metrics.jsonl"] = None
    vr.load(tmp_path / "run")
    after = {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in (tmp_path / "run").rglob("*")}
    assert (tmp_path / "run" / "metrics.jsonl").read_text() == rows + later
    assert {path: stamp for path, stamp in after.items() if before[path] is not None and before[path] != stamp} == {}


def test_progress_is_shown_by_default_and_can_be_silenced(capfd, monkeypatch):
    monkeypatch.setattr("vendirl.training.progress.EVERY", 0.0)
    vr.train("point", method="random", **{**TINY, "steps": 3 * TINY["steps"]})
    assert "learning: 33%" in capfd.readouterr().err
    vr.train("point", method="random", progress=False, **TINY)
    assert "learning" not in capfd.readouterr().err


def test_many_runs_leave_nothing_behind(monkeypatch):
    """Programs of runs that are over are let go: memory maps do not add up (each run took about 150 of them)."""

    def maps():
        gc.collect()  # what is in a circle is let go when Python looks for it, which it does the less the more there is
        with open("/proc/self/maps") as file:
            return sum(1 for _ in file)

    if not os.path.exists("/proc/self/maps"):
        pytest.skip("this system does not tell")
    monkeypatch.setattr("vendirl.training.beginning._starts", Shared(1))
    monkeypatch.setattr("vendirl.training.blocks._blocks", Shared(1))
    counts = []
    for seed in range(6):
        vr.train("point(episode_length=5)", f"mmd(scale={seed + 1})", progress=False, **{**TINY, "steps": 80})
        counts.append(maps())
    assert counts[-1] - counts[1] < 60


def test_figures_that_were_saved_are_let_go(tmp_path):
    before = sum(isinstance(thing, Figure) for thing in gc.get_objects())
    gc.disable()
    try:
        vr.train("point(episode_length=5)", method="random", out=tmp_path, progress=False, **{**TINY, "steps": 80})
        assert sum(isinstance(thing, Figure) for thing in gc.get_objects()) <= before
    finally:
        gc.enable()


def weights(run):
    return [np.asarray(leaf).tolist() for leaf in jax.tree.leaves(eqx.filter(run.training.policy, eqx.is_array))]


@pytest.fixture
def compiled(monkeypatch):
    """A list, to which something is added whenever a run's programs are lowered."""
    monkeypatch.setattr("vendirl.training.beginning._starts", Shared())
    monkeypatch.setattr("vendirl.training.blocks._blocks", Shared())
    found = []
    lower = jax.stages.Traced.lower
    monkeypatch.setattr(jax.stages.Traced, "lower", lambda *a, **k: found.append(a) or lower(*a, **k))
    return found


def test_runs_of_the_same_settings_share_their_programs(compiled):
    """JAX keeps some kilobytes of every program that it ever saw, which adds up over a thousand runs."""
    small = {**TINY, "steps": 80, "method": "random", "progress": False}
    first = vr.train("point(episode_length=5)", seed=1, **small)
    few = len(compiled)
    assert few >= 2
    vr.train("point(episode_length=5)", seed=0, **small)
    again = vr.train("point(episode_length=5)", seed=1, **small)
    assert len(compiled) == few, "programs were made anew"
    assert weights(again) == weights(first)
    other = vr.train("point(episode_length=5)", seed=1, **{**small, "hidden": (4,)})
    assert len(compiled) > few
    assert weights(other) != weights(first)


def test_a_run_of_other_settings_leaves_the_programs_of_those_that_take_turns(compiled, monkeypatch):
    """It pushed out the one that was needed next, which pushed out the one after that: all were made anew, and took
    more memory than before, since JAX found them on disk."""
    monkeypatch.setattr("vendirl.training.beginning._starts", Shared(3))
    monkeypatch.setattr("vendirl.training.blocks._blocks", Shared(3))
    small = {**TINY, "steps": 80, "method": "random", "progress": False}

    def made(*hidden):
        before = len(compiled)
        for size in hidden:
            vr.train("point(episode_length=5)", **{**small, "hidden": (size,)})
        return len(compiled) - before

    assert made(2, 3, 2, 3) >= 4
    assert made(4, 5) >= 4
    assert made(2, 3) == 0, "programs were made anew"


def test_what_is_not_of_this_package_is_looked_at_anew(compiled):
    """A program that was made of a function knows nothing of what has become of the names in it."""
    scales = [1.0]

    def near(a, b):
        return jnp.exp(-scales[0] * jnp.sum((a.mean - b.mean) ** 2))

    similarity = vr.similarity.moments(near, name="near_anew")()
    small = {**TINY, "steps": 80, "method": "random", "progress": False}
    scores = []
    for scale in (1.0, 100.0):
        scales[0] = scale
        run = vr.train("point(episode_length=5)", similarity, **small)
        scores.append(run.history[-1]["vendi_score"])
    assert scores[1] - 1 > 10 * (scores[0] - 1)
