"""Every method learns: its own objective improves, and its skills are more diverse than random ones.

The measure is the Vendi Score under mmd(scale=4) of eight skills in the plane, acting without noise; random skills,
which all but stay where they are, score little more than 1.
"""

import numpy as np
import pytest

from vendirl.training.driver import run
from vendirl.training.settings import Settings

pytestmark = pytest.mark.usefixtures("optimised")

# Method -> what it is after, which way is better, and a score that it must reach and random skills are far from.
OBJECTIVES = {
    "diayn": ("accuracy", 1, 5.0),
    "diayn-sn": ("accuracy", 1, 5.0),
    "vic": ("accuracy", 1, 5.0),
    "rvic": ("accuracy", 1, 3.0),
    "dads": ("reward", 1, 2.5),
    "lsd": ("objective", 1, 3.0),
    "metra": ("objective", 1, 4.0),
    "csf": ("objective", 1, 2.5),
    "visr": ("objective", 1, 3.0),
    "aps": ("objective", 1, 3.0),
    "becl": ("contrastive_loss", -1, 4.0),
    "cic": ("contrastive_loss", -1, 3.0),
    "disk": ("vendi_score", 1, 5.0),  # each skill has more to be far from than the one before; see below
    "wurl": ("transport", 1, 4.0),
    "eigenoptions": ("reward", 1, 2.5),
    "diayn + 0.5*vendirl": ("score", 1, 6.0),
}
SETTINGS = {"similarity": "mmd(scale=4)", "skills": 8, "scenes": 128, "steps": 128 * 50 * 60}


@pytest.mark.parametrize("method", OBJECTIVES)
def test_it_improves_its_objective_and_beats_random(method):
    name, sign, least = OBJECTIVES[method]
    learned = run(Settings(method=method, **SETTINGS))
    course = sign * np.array([row[name] for row in learned.history])
    assert course[-2:].mean() > course[0], f"{name} went from {course[0]} to {course[-1]}"
    assert float(learned.score().score) > least


def test_a_skill_of_disk_moves_away_from_the_one_before():
    """The second of two skills has half of the epochs, of which there are three rows."""
    learned = run(Settings(method="disk", **SETTINGS | {"skills": 2}))
    course = [row["novelty"] for row in learned.history]
    assert course[:3] == [0, 0, 0]  # nothing came before the first one
    assert course[3] < course[4] < course[5]
    assert course[5] > 0.5


def test_random_skills_are_the_floor():
    learned = run(Settings(method="random", **SETTINGS))
    assert float(learned.score().score) < 1.5
