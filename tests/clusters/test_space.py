"""What a sweep goes over: text, Python, and what is refused."""

import math

import numpy as np
import pytest

from vendirl.clusters.space import Range, parse_space, space_text, with_values
from vendirl.training.settings import Settings

TEXT = (
    "ppo.learning_rate=0.0001..0.01 log; ppo.discount=0.9,0.97,1; hidden=(32,32),(64,); similarity=mmd(scale=4),cosine"
)


def test_text_and_python_say_the_same_and_read_back():
    space = parse_space(TEXT)
    assert [dimension.name for dimension in space] == ["ppo.learning_rate", "ppo.discount", "hidden", "similarity"]
    assert space[0].range == Range(1e-4, 1e-2, log=True)
    assert [dimension.choices for dimension in space[1:]] == [
        (0.9, 0.97, 1.0),
        ((32, 32), (64,)),
        ("mmd(scale=4)", "cosine"),
    ]
    assert parse_space(space_text(space)) == space
    same = {
        "ppo.learning_rate": Range(1e-4, 1e-2, log=True),
        "ppo.discount": [0.9, 0.97, 1],
        "hidden": [[32, 32], (64,)],
        "similarity": "mmd(scale=4),cosine",
    }
    assert parse_space(same) == space


def test_ranges_become_choices():
    (rates,) = parse_space("ppo.learning_rate=1e-4..1e-2 log in 3")
    np.testing.assert_allclose(rates.choices, [1e-4, 1e-3, 1e-2])
    (skills,) = parse_space("skills=2..8 in 4")
    assert skills.choices == (2, 4, 6, 8)
    assert all(isinstance(choice, int) for choice in skills.choices)


def test_a_share_of_a_range_is_where_it_says():
    rate, skills, order = parse_space("ppo.learning_rate=1e-4..1e-2 log; skills=2..4; order=1,2")
    assert rate.at(0.5) == pytest.approx(1e-3)
    shares = (np.arange(300) + 0.5) / 300
    assert np.unique([skills.at(share) for share in shares], return_counts=True)[1].tolist() == [100, 100, 100]
    assert [order.at(share) for share in (0, 0.49, 0.5, 0.99)] == [1.0, 1.0, 2.0, 2.0]


def test_values_take_their_places():
    settings = {"ppo": Settings().ppo, "skills": 8, "scenes": 16}
    found = with_values(settings, {"ppo.discount": 0.5, "ppo.gae_lambda": 0.25, "skills": 3})
    assert (found["ppo"].discount, found["ppo"].gae_lambda) == (0.5, 0.25)
    assert (found["skills"], found["scenes"]) == (3, 16)
    assert settings["ppo"] == Settings().ppo


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ("", "over is empty"),
        ("skills", "must be a setting, ="),
        ("skils=4,8", "did you mean 'skills'"),
        ("seeds=1,2", "no setting 'seeds' to sweep"),
        ("ppo.discont=0.9,1", "did you mean 'ppo.discount'"),
        ("skills=4,8; skills=2,3", "names a setting twice"),
        ("ppo.discount=0.1..0.9 in 1000000", "number after in"),
        ("steps=x," + "9" * 400, "too many digits"),
        ("skills=" + ",".join(map(str, range(20_001))), "20,001 choices"),
        ("skills=4,{[]: 4}", "is not a number, a word"),
        ("skills=4,{4}", "is not a number, a text"),
        ("order=1,'2'", "is not a number, a word"),
        ("seed=-1e300..1e300", "a whole number of at most"),
        ("ppo.discount=0..1" + "x" * 2000, r"the ends of a range must be numbers"),
        ("skills=4,4", "has the choice 4 twice"),
        ("skills=8..4", "low < high"),
        ("ppo.learning_rate=0..1 log", "must begin above 0"),
        ("skills=4.2..4.6", "not two of them"),
        ("time=0..1", "is no number"),
        ("skills=2..8 in 1", "number after in"),
        ("hidden=__import__('os'),(2,)", "is not a number, a word"),
        ({"skills": 4}, "must be a Range or a list"),
        (4, "over must be text or a mapping"),
    ],
)
def test_what_is_wrong_is_refused(over, message):
    with pytest.raises((ValueError, TypeError), match=message):
        parse_space(over)


def test_what_is_said_reads_back_also_infinity_and_many_choices():
    (order,) = parse_space("order=1,2,inf")
    assert order.choices == (1.0, 2.0, math.inf)
    for text in ("order=1,2,inf", "ppo.discount=0.1..0.9 in 10000"):
        said = space_text(parse_space(text))
        assert space_text(parse_space(said)) == said
