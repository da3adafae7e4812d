"""Programs that are kept for a while, and let go."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vendirl as vr
from vendirl._programs import Program, Recent, Shared, plain
from vendirl.training.problem import build
from vendirl.training.settings import Settings

MAPS = Path("/proc/self/maps")


def maps():
    return MAPS.read_bytes().count(b"\n")


def test_recent_programs_are_those_of_the_function():
    traced = []

    def function(x, by, name):
        traced.append(by)
        return {name: x * by, "kept": name}

    recent = Recent(function, most=2)
    for by in (2, 3, 2, 2.0, True):  # equal numbers of other types are other programs
        found = recent(jnp.arange(3), by, "y")
        np.testing.assert_array_equal(found["y"], np.arange(3) * by)
        assert found["kept"] == "y"
        assert found["y"].dtype == (np.float32 if isinstance(by, float) else np.int32)
    assert traced == [2, 3, 2.0, True]
    assert [type(by) for by in traced] == [int, int, float, bool]
    assert len(recent.programs) == 2
    recent(jnp.arange(3), 3, "y")
    assert len(traced) == 5, "what was let go is compiled again"
    recent(jnp.arange(4), 3, "y")
    assert len(traced) == 6


def test_an_array_that_was_put_on_another_device_has_a_program_of_its_own():
    recent = Recent(lambda x: x + 1)
    for device in (*jax.local_devices()[:2], jax.local_devices()[0]):
        found = recent(jax.device_put(jnp.zeros(2), device))
        assert found.devices() == {device}
    assert recent(np.zeros(2)).dtype == np.float32
    assert recent(jnp.zeros(2)).shape == (2,)


@pytest.mark.skipif(not MAPS.exists(), reason="this system does not tell")
def test_programs_that_are_let_go_take_no_memory_maps():
    recent, held = Recent(lambda x, by: jnp.sort(jnp.linalg.eigvalsh(x) * by), most=2), []
    for by in range(8):
        recent(jnp.eye(3), by)
        held.append(maps())
    assert held[-1] <= held[2] + 4
    kept = [Program(lambda x, by=by: jnp.sort(jnp.linalg.eigvalsh(x) * by)) for by in range(5)]
    for program in kept:
        program(jnp.eye(3))
    assert maps() > held[-1] + 8, "maps are no measure of what programs take"


@pytest.mark.skipif(not MAPS.exists(), reason="this system does not tell")
def test_attainable_scores_of_other_similarities_leave_nothing_behind():
    """Each took about 200 maps, so that a notebook ended in a segmentation fault at the 300th."""
    held = []
    for scale in (1.0, 2.0, 3.0):
        vr.attainable("point(episode_length=2)", f"mmd(scale={scale})", 2, restarts=1, iterations=1)
        held.append(maps())
    assert held[-1] - held[1] < 30, held


def asked(shared, order):
    """What is made when a program after the other is asked for."""
    made = []
    for known in order:
        assert shared.get(known, lambda known=known: made.append(known) or known) == known
    return made


def test_shared_programs_are_kept_while_there_is_room_and_then_when_asked_for_again():
    shared = Shared(most=3)
    assert asked(shared, ("a", "b", "a", None, None, "c", "b")) == ["a", "b", None, None, "c"]
    assert asked(shared, "dd") == ["d", "d"], "kept from the second time on, in the place of a, asked for longest ago"
    assert asked(shared, "bcd") == []
    with jax.enable_x64(True):
        assert asked(shared, "b") == ["b"], "of other numbers"
    assert shared.get("b", lambda: "anew") == "b"
    assert asked(Shared(most=1), "aabbba") == ["a", "b", "b", "a"]


def test_what_is_asked_for_once_does_not_push_out_what_is_asked_for_again():
    shared = Shared(most=3)
    assert asked(shared, "abcabc" + "1a2b3c4a5b6c") == [*"abc123456"]
    assert asked(shared, "6611") == ["6", "1"], "what is asked for again from now on is kept"
    assert asked(shared, "16") == []


def test_so_many_programs_are_kept_and_no_more():
    shared, kept = Shared(most=4, noted=8), set()
    for number in range(60):
        shared.get((number % 7, number % 3), object)
        kept.add((len(shared.programs), min(len(shared.asked), 8)))
    assert max(kept) == (4, 8)
    assert len(shared.asked) == 8


def test_room_is_made_before_a_program_is():
    shared = Shared(most=2)
    assert [shared.get(known, lambda: len(shared.programs)) for known in "abccdd"] == [0, 1, 2, 1, 2, 1]


@pytest.mark.parametrize("method", ["vendirl", "diayn + 0.5*vendirl", "disk", "eigenoptions", "csf-published"])
def test_all_of_this_package_is_told_apart(method):
    def known(**changes):
        settings = Settings(**{"method": method, "steps": 1e6, "devices": 1, "learner": "sac", **changes})
        return plain(build(settings)[1])

    assert known() == known() is not None
    hash(known())
    changes = [{"env": "maze"}, {"similarity": "mmd(scale=2)"}, {"skills": 9}, {"scenes": 128}, {"sac": {"batch": 8}}]
    found = {known(**change) for change in ({}, *changes)}
    assert len(found) == len(changes) + 1


def test_numbers_are_told_apart_by_their_kind_and_others_things_not_at_all():
    assert len({plain(x) for x in (1, 1.0, True, 0.0, -0.0, "1", (1,), None, (None,))}) == 9
    for thing in (np.zeros(2), jnp.zeros(2), len, object(), [1, (2, len)], {"a": len}):
        assert plain(thing) is None
