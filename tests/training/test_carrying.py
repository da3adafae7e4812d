"""Runs that begin with the skills of others: what is carried over, what does not fit, and going on without them."""

import shutil

import equinox as eqx
import jax
import numpy as np
import pytest

import vendirl as vr
from vendirl.training.carrying import carried

SMALL = {"skills": 3, "steps": 2e3, "scenes": 8, "hidden": (8,), "progress": False, "devices": 1}


@pytest.fixture(scope="module")
def first():
    return vr.train("point(episode_length=10)", "mmd(scale=4)", **SMALL)


def same(a, b):
    pairs = zip(jax.tree.leaves(eqx.filter(a, eqx.is_array)), jax.tree.leaves(eqx.filter(b, eqx.is_array)), strict=True)
    return all(np.array_equal(x, y) for x, y in pairs)


def test_what_is_carried_over(first):
    old, fresh = first.skills, first.first
    assert not same(old.actor, fresh.actor)
    for carry, actor, last, critic in (("actor", 1, 1, 0), ("trunk", 0, 0, 0), ("all", 1, 1, 1)):
        new = carried(fresh, old, carry)
        assert same(new.actor, old.actor) == actor
        assert same(new.actor.layers[0], old.actor.layers[0])
        assert same(new.actor.layers[-1], old.actor.layers[-1]) == last
        assert same(new.critic, old.critic) == critic
        assert same(new.critic, fresh.critic) != critic
        assert same((new.statistics, new.log_std), (old.statistics, old.log_std))


def test_a_run_begins_with_the_skills_of_another_and_keeps_them(first, tmp_path):
    before = first.skills
    begun = vr.train("rooms(episode_length=10)", "cosine", init=first, out=tmp_path / "b", **SMALL)
    assert same(begun.first.actor, before.actor)
    assert not same(begun.skills.actor, before.actor)
    assert begun.settings.init == "object:vendirl"
    loaded = vr.load(tmp_path / "b")  # needs nothing of the first run
    assert same(loaded.first, begun.first)
    assert same(loaded.skills, begun.skills)
    shutil.rmtree(tmp_path / "b" / "init")
    with pytest.raises(ValueError, match=r"which should be in .*init, but are not"):
        vr.load(tmp_path / "b")


def test_a_folder_does_as_well(first, tmp_path):
    SHORT = {**SMALL, "out": tmp_path / "a"}
    there = vr.train("point(episode_length=10)", "mmd(scale=4)", **SHORT)
    here = vr.train(
        "point(episode_length=10)", "mmd(scale=4)", method="diayn", init=tmp_path / "a", carry="all", **SMALL
    )
    assert same(here.first, there.skills)
    assert here.settings.init == str(tmp_path / "a")


def test_the_environment_that_was_asked_for_needs_no_trust_in_the_run_to_begin_with(tmp_path, monkeypatch):
    asked = {"env": "point(episode_length=10)", "similarity": "mmd(scale=4)", **SMALL}
    vr.train(**asked, out=tmp_path / "a")

    def refuse(text, *_):
        raise ValueError(f"{text} is not trusted")

    monkeypatch.setattr("vendirl.training.beginning.refuse_untrusted", refuse)
    vr.train(**asked, init=tmp_path / "a")
    other = {**asked, "env": "rooms(episode_length=10)"}
    with pytest.raises(ValueError, match=r"point\(episode_length=10\) is not trusted"):
        vr.train(**other, init=tmp_path / "a")
    vr.train(**other, init=tmp_path / "a", trust=True)


def test_killed_before_the_skills_to_begin_with_were_kept_it_begins_with_them_again(tmp_path, monkeypatch):
    asked = {"env": "point(episode_length=10)", "similarity": "mmd(scale=4)", **SMALL}
    there = vr.train(**asked, out=tmp_path / "a")

    class Killed(BaseException):
        pass

    def killed(*_):
        raise Killed

    with monkeypatch.context() as dying:
        dying.setattr("vendirl.training.carrying.keep", killed)
        with pytest.raises(Killed):
            vr.train(**asked, init=tmp_path / "a", out=tmp_path / "b")
    assert (tmp_path / "b" / "settings.json").exists()
    begun = vr.train(**asked, init=tmp_path / "a", out=tmp_path / "b", resume="auto")
    assert same(begun.first.actor, there.skills.actor)
    assert begun.done == begun.epochs
    shutil.rmtree(tmp_path / "b" / "init")
    with pytest.raises(ValueError, match=r"which should be in .*init, but are not"):  # it has trained since
        vr.train(**asked, init=tmp_path / "a", out=tmp_path / "b", resume="auto")


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"skills": 4}, r"trained with skills=3, and this run has skills=4; it can begin with .* the same skills"),
        ({"hidden": (9,)}, r"actors of 6-8-2 tanh, and this run has those of 6-9-2 tanh"),
        ({"learner": "sac"}, r"squashed=False, and this run has squashed=True; .* of the same learner only"),
        ({"env": "point(discrete=True)"}, r"another body: actions here are Discrete"),
        ({"init": "nowhere"}, r"init='nowhere': nowhere holds no run"),
        ({"init": 3}, r"init must be a Run or the folder of one, but is int"),
        ({"carry": "most"}, r"carry must be one of actor, trunk, all"),
        ({"carry": "all", "init": None}, r"carry='all' .* from a run, but none is named"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_written(first, tmp_path, how, said):
    asked = {"env": "point(episode_length=10)", "init": first, **SMALL, **how, "out": tmp_path / "n"}
    with pytest.raises((ValueError, TypeError), match=said):
        vr.train(**asked)
    assert not (tmp_path / "n").exists()


def test_another_body_is_refused_by_the_feature_that_differs(first):
    class Line(vr.environments.Environment):
        episode_length: int = 5
        observation_size: int = 1
        feature_names: tuple[str, ...] = ("height",)
        actions: vr.environments.Box = vr.environments.Box(2)

        def reset(self, key):
            return self._state(jax.numpy.zeros(1))

        def step(self, state, action, key):
            return self._state(state.physics + action[:1])

        def _state(self, x):
            false, zero = jax.numpy.array(False), jax.numpy.array(0.0)
            return vr.environments.State(x, observation=x, terminated=false, reward=zero)

    with pytest.raises(ValueError, match="another body: here a skill sees 1 features and there 2, 'x' only there"):
        vr.train(Line(), init=first, **SMALL)
