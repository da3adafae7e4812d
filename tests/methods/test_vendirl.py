"""VendiRL as a method: its own settings hold, and those that it leaves open are the run's."""

import dataclasses

import numpy as np
import pytest

import vendirl as vr
from vendirl.methods import VendiRL, parse_method
from vendirl.training.problem import build
from vendirl.training.settings import Settings

SMALL = Settings(skills=3, scenes=8, hidden=(8,), steps=8 * 50 * 10, ppo={"minibatches": 2, "epochs": 1}, devices=1)


def test_its_own_settings_hold_and_the_others_are_those_of_the_run():
    text = "vendirl(q=2, transform='raw', episodes=3, refill='pool(4)', similarity='cosine')"
    settings = dataclasses.replace(SMALL, method=text, order=1.0, reward="log", episodes=1, refill="shared")
    method = build(settings)[1].method
    assert (method.q, method.transform, method.episodes, method.memories) == (2, "raw", 3, 4)
    assert str(method.similarity) == "cosine"
    method = build(dataclasses.replace(settings, method="vendirl(q=2)"))[1].method
    assert (method.q, method.transform, method.episodes, method.memories) == (2, "log", 1, 1)
    assert str(method.similarity) == "mmd(scale=4)"


def test_what_it_says_is_what_is_trained():
    """The same run, asked for by the method's settings and by those of the run."""
    here = vr.train(**_arguments(method="vendirl(q=2, transform='raw', episodes=2)"))
    there = vr.train(**_arguments(order=2.0, reward="raw", episodes=2))
    np.testing.assert_array_equal(here.rollout(), there.rollout())
    usual = vr.train(**_arguments())
    assert not np.array_equal(here.rollout(), usual.rollout())


def _arguments(**changes):
    plain = {"skills": 3, "scenes": 8, "hidden": (8,), "steps": 8 * 50 * 10, "devices": 1, "progress": False}
    return {"env": "point", **plain, "ppo": {"minibatches": 2, "epochs": 1}, **changes}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("vendirl(transform='square')", "transform must be one of"),
        ("vendirl(refill='pool(3)')", "cannot be dealt evenly"),
        ("vendirl(episodes=0)", "episodes must be a positive whole number"),
        ("vendirl(q=-1)", "q must be a number of at least 0, but is -1"),
        ("vendirl(memories=4)", "has no setting 'memories'"),
        ("vendirl(similarity='nothing')", "there is no similarity 'nothing'"),
    ],
)
def test_settings_that_cannot_be_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        build(dataclasses.replace(SMALL, method=text))


def test_a_multiple_of_random_stays_frozen():
    assert parse_method("2*random").frozen
    assert parse_method("random + 0.5*random").frozen
    assert not parse_method("random + vendirl").frozen
    run = vr.train(**_arguments(method="2*random"))
    untrained = vr.train(**_arguments(method="random"))
    np.testing.assert_array_equal(run.rollout(), untrained.rollout())


def test_the_text_of_a_method_reads_back():
    for text in (
        "vendirl(q=2, transform='raw')",
        "metra(dimension=3)",
        "0.5*diayn + 2*vendirl",
        "diayn(features=['x'])",
    ):
        method = parse_method(text)
        assert str(parse_method(str(method))) == str(method)
    assert str(VendiRL(similarity="mmd(scale=4)")) == "vendirl(similarity='mmd(scale=4)')"
