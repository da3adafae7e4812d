"""Running a suite: what is trained, what is kept, and whose rows stay."""

import dataclasses

import pytest

import vendirl as vr
from tests.boards.walks import MINI, save, walks
from vendirl.boards import Suite, add_skills, read_board, register
from vendirl.boards import running as running_module
from vendirl.data import read
from vendirl.evaluation import effective_number

TINY = Suite(
    "tiny-v1", {"plane": "point"}, {"place": "mmd(scale=4)"}, {"plane": {"place": 4.0}}, skills=4, steps=8e3, seeds=2
)
SMALL = {"scenes": 8, "hidden": (4,), "refill": "shared", "ppo": {"minibatches": 2, "epochs": 1}}


def test_a_suite_is_run_resumed_and_joined_by_others(tmp_path, monkeypatch):
    register(TINY)
    add_skills(save(tmp_path / "x.npz", walks()), "theirs", "plane", tmp_path / "board", suite=TINY.name)
    board = vr.benchmark("random, vendirl", TINY.name, tmp_path / "board", **SMALL)
    ours, theirs, random = (
        next(row for row in board.rows if row.method.startswith(name)) for name in ("vendirl", "theirs", "random")
    )
    assert ours.method == "vendirl [mmd(scale=4)]"
    assert (ours.trained_by_it, random.trained_by_it, theirs.trained_by_it) == (True, False, False)
    assert (ours.seeds, ours.outside, theirs.outside) == (2, False, True)
    assert ours.steps == 8000
    assert ours.seconds > 0
    assert "scenes=8" in ours.settings
    assert "jax" in ours.versions
    for seed in range(2):
        folder = tmp_path / "board" / "runs" / "plane" / "random" / f"seed-{seed}"
        score = float(effective_number(read(folder).by_skill, "mmd(scale=4)"))
        assert board.entry_at("random", "plane", seed).scores["place"] == pytest.approx(score, rel=1e-6)

    def never(*arguments, **settings):
        raise AssertionError("what was there was done again")

    monkeypatch.setattr("vendirl.clusters.task.run", never)
    monkeypatch.setattr(running_module, "scores_of", never)
    assert sorted(vr.benchmark("random, vendirl", TINY.name, tmp_path / "board", **SMALL).rows, key=str) == sorted(
        board.rows, key=str
    )
    assert len(read_board(tmp_path / "board").entries) == 5
    with pytest.raises(ValueError, match="theirs is the name of a method from outside on this board"):
        vr.benchmark("random", TINY.name, tmp_path / "board", name="theirs", **SMALL)
    with pytest.raises(ValueError, match="other settings; choose another --out"):
        vr.benchmark("random", TINY.name, tmp_path / "board", **SMALL | {"scenes": 4})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"suite": "tiny"}, "there is no suite 'tiny'"),
        ({"worlds": ["moon"]}, "world must be one of plane, maze in"),
        ({"skills": 3}, "skills is the suite's to say"),
        ({"steps": 1e9}, "steps is the suite's to say"),
        ({"name": "x", "methods": "diayn,metra"}, "name='x' is of one method, but there are 2: diayn, metra"),
        ({"methods": "diyan"}, "did you mean 'diayn'"),
        ({"methods": []}, "methods is empty"),
        ({"step": 3}, "there is no setting 'step'"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_is_trained(tmp_path, arguments, message):
    asked = {"methods": "random", "suite": MINI, "out": tmp_path / "board", **arguments}
    with pytest.raises((ValueError, TypeError), match=message):
        vr.benchmark(**asked)
    assert not (tmp_path / "board").exists()


def test_runs_are_trained_through_no_link(tmp_path):
    (tmp_path / "board" / "runs").mkdir(parents=True)
    (tmp_path / "board" / "runs" / "plane").symlink_to(tmp_path)
    with pytest.raises(ValueError, match="plane is a link"):
        vr.benchmark("random", MINI, tmp_path / "board", worlds=["plane"])
    assert [path.name for path in tmp_path.iterdir()] == ["board"]


def test_what_a_suite_of_a_name_asks_never_changes():
    register(TINY)
    with pytest.raises(ValueError, match="tiny-v1 is another suite already"):
        register(dataclasses.replace(TINY, skills=5))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "tiny"}, "the name of a suite ends in its version"),
        ({"worlds": {}}, "needs at least one world"),
        ({"skills": 0}, "skills must be a positive whole number"),
        ({"worlds": {"plane": "moon"}}, "moon"),
        ({"senses": {"place": "nothing"}}, "there is no similarity 'nothing'"),
        ({"attainable": {}}, r"attainable\['plane'\]\['place'\] must be a finite number"),
        ({"attainable": {"plane": {"place": 4.2}}}, "at most 4.001"),
    ],
)
def test_suites_that_ask_nothing_sensible_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(TINY, **changes)


def test_attainable_scores_of_the_suites_are_what_ascent_finds():
    """The small suite's, from fewer beginnings than the command that wrote them takes."""
    found = float(vr.attainable("point", MINI.senses["place"], MINI.skills, restarts=2, iterations=200))
    assert found == pytest.approx(MINI.attainable["plane"]["place"], rel=5e-3)
