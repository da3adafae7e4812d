"""A budget of steps is kept: whole epochs, never more steps than asked for, and what becomes smaller is said."""

import dataclasses
import itertools
import json

import pytest

from vendirl.training.budget import BLOCK, LEAST_BLOCK, block_of, epochs_within, told
from vendirl.training.folder import as_begun, claimed
from vendirl.training.problem import build
from vendirl.training.settings import Settings

SETTINGS = Settings(skills=3, devices=1, hidden=(8,))
BUDGETS = [1, 399, 400, 2e3, 9_999.5, 12_799, 12_800, 2e4, 1e5, 128_000, 1e6, 4e6]


def test_never_more_than_asked_for_and_nearly_all_of_it():
    for steps, each in itertools.product([*range(1, 3000), 1e5, 1e6, 4e6, 1e9], (1, 7, 12_800)):
        epochs = epochs_within(steps, each)
        assert epochs * each <= steps
        most = int(steps // each)
        assert most - epochs <= BLOCK / 2
        assert epochs == most or most >= BLOCK
        if epochs >= BLOCK:
            assert LEAST_BLOCK <= block_of(epochs) <= BLOCK
        elif epochs:
            assert block_of(epochs) == epochs


def test_runs_that_kept_their_budget_are_what_they_were():
    """To the nearest number of blocks of ten epochs, wherever that is not too much."""
    for steps, each in itertools.product(range(1, 3000), (1, 7)):
        before = epochs_within(steps, each, "nearest")
        assert before == max(1, round(steps / each / 10)) * 10
        if before * each <= steps:
            assert epochs_within(steps, each) == before
            assert block_of(before) == 10
    assert epochs_within(4e6, 12_800) == 310


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"learner": "sac"},
        {"method": "diayn", "epoch": 2.0},
        {"refill": "pool(32)"},
        {"devices": 2},
        {"scenes": 24, "ppo": {"minibatches": 3}},
    ],
    ids=str,
)
def test_a_run_fits_its_budget_with_fewer_epochs_and_then_fewer_scenes_or_is_refused(changes):
    asked = dataclasses.replace(SETTINGS, **changes)
    taken = []
    for steps in BUDGETS:
        try:
            settings, loop = build(dataclasses.replace(asked, steps=steps))
        except ValueError as error:
            least = int(str(error).split("use at least ")[1].split()[0])
            assert steps < least
            _, loop = build(dataclasses.replace(asked, steps=least))  # what it says can be
            assert loop.problem.scenes * loop.steps_of_an_epoch == least
            assert not taken
            continue
        taken.append(loop.problem.epochs * loop.problem.scenes * loop.steps_of_an_epoch)
        assert taken[-1] <= steps
        assert settings.scenes == loop.problem.scenes
        assert build(settings) == (settings, loop)  # as it is saved, so it is loaded
        assert settings.scenes == asked.scenes or loop.problem.epochs * asked.scenes > settings.scenes
    assert taken == sorted(taken)


def test_scenes_that_are_wrong_in_themselves_are_refused_as_such():
    with pytest.raises(ValueError, match="minibatches=7 does not divide"):
        build(dataclasses.replace(SETTINGS, steps=400, ppo={"minibatches": 7}))


@pytest.mark.parametrize(
    ("steps", "sentence"),
    [
        (4e6, None),
        (2e4, "20,000 steps are 1 epoch of 12,800 steps; fewer scenes (now 256) make more epochs"),
        (
            2e3,
            "2,000 steps are less than an epoch of 256 scenes, which has 12,800, so there are 40 scenes, and 1 epoch "
            "of 2,000 steps",
        ),
    ],
)
def test_one_sentence_says_what_became_smaller(steps, sentence):
    settings, loop = build(dataclasses.replace(SETTINGS, steps=steps))
    assert told(steps, 256, settings.scenes, loop.problem.epochs, loop.steps_of_an_epoch) == sentence


def test_a_run_that_is_older_than_the_choice_goes_on_as_it_was_begun(tmp_path):
    """Ten epochs for a single step, as it was then, whether it is loaded or asked for again."""
    before = dataclasses.replace(SETTINGS, steps=1, rounding="nearest")
    with claimed(tmp_path / "run", before):
        path = tmp_path / "run" / "settings.json"
    written = json.loads(path.read_text())
    del written["settings"]["rounding"]
    path.write_text(json.dumps(written))
    settings, loop = build(as_begun(dataclasses.replace(SETTINGS, steps=1), tmp_path / "run"))
    assert settings == before
    assert (loop.problem.epochs, loop.block, loop.problem.scenes) == (10, 10, 256)
    with claimed(tmp_path / "run", settings, resume=True) as there:
        assert there
