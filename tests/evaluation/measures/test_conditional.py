"""The Vendi Score between and within skills."""

import math

import numpy as np
import pytest

import vendirl as vr
from tests import reference
from tests.generators import PSD_KINDS, kernel
from vendirl.data import Trajectories
from vendirl.evaluation.measures.conditional import conditional_vendi, conditional_vendi_of


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("kind", PSD_KINDS)
def test_parts_multiply_to_the_whole_and_obey_the_bounds(rng, kind):
    K, skill = kernel(rng, 12, kind), np.array([0] * 6 + [1] * 4 + [2] * 2)
    total, between, within = conditional_vendi_of(K, skill)
    assert total.value == pytest.approx(reference.vendi_score(K))
    logs = [
        np.sum(skill == g) / 12 * math.log(reference.vendi_score(K[np.ix_(skill == g, skill == g)])) for g in range(3)
    ]
    assert within.value == pytest.approx(math.exp(sum(logs)))
    assert total.value == pytest.approx(between.value * within.value)
    assert 1 <= between.value <= between.settings["at_most"] * (1 + 1e-9)
    assert between.settings["at_most"] == pytest.approx(0.5**-0.5 * (1 / 3) ** (-1 / 3) * (1 / 6) ** (-1 / 6))
    assert total.note is None


def test_extremes():
    apart = np.kron(np.eye(3), np.ones((4, 4)))  # three skills, each of which does one thing
    skill = np.repeat(["a", "b", "c"], 4)
    assert [part.value for part in conditional_vendi_of(apart, skill)] == pytest.approx([3, 3, 1])
    mixed = np.tile(["a", "b", "c", "a"], 3)  # labels that say nothing: as many of each kind in each skill
    assert conditional_vendi_of(apart, mixed).between.value == pytest.approx(1)
    assert [part.value for part in conditional_vendi_of(np.eye(12), skill)] == pytest.approx([12, 3, 4])
    assert [part.value for part in conditional_vendi_of(np.ones((12, 12)), skill)] == pytest.approx([1, 1, 1])
    single = conditional_vendi_of(np.eye(3), [0, 1, 2])
    assert single.within.value == pytest.approx(1)
    assert "one trajectory of each" in single.within.note
    one = conditional_vendi_of(np.eye(3), [0, 0, 0])
    assert [part.value for part in one] == pytest.approx([3, 1, 3])


def test_from_data_of_unequal_lengths_and_its_sample(rng):
    x = [rng.normal(size=(rng.integers(3, 9), 2)) + 3 * (i % 2) for i in range(30)]
    data, k = Trajectories.of(x, skill=np.arange(30) % 3), vr.similarity.mmd()
    found = conditional_vendi(data, k)
    expected = conditional_vendi_of(vr.kernel_matrix(k, x), data.skill)
    assert [part.value for part in found] == pytest.approx([part.value for part in expected])
    assert found.total.settings["similarity"] == "mmd"
    some = conditional_vendi(data, k, limit=10, steps=2, seed=1)
    assert some.total.settings["trajectories_used"] == 9
    assert some.total.settings["steps_each"] == 2
    assert some.total.value <= 9
    assert some == conditional_vendi(data, k, limit=10, steps=2, seed=1)
    assert some.total.value != conditional_vendi(data, k, limit=10, steps=2, seed=2).total.value
    for wrong in ({"limit": 0}, {"steps": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            conditional_vendi(data, k, **wrong)


def test_skills_that_do_the_same(rng):
    x = rng.normal(size=(1, 5, 4, 2))
    found = conditional_vendi(Trajectories.of(np.repeat(x, 4, 0)), vr.similarity.mmd())
    assert found.between.value == pytest.approx(1)
    assert found.within.value == pytest.approx(found.total.value)


def test_a_similarity_that_is_not_positive_semidefinite_is_clipped_with_a_note():
    K = kernel(np.random.default_rng(3), 8, "indefinite")
    found = conditional_vendi_of(K, np.repeat([0, 1], 4))
    assert found.total.value == pytest.approx(float(vr.vendi_score(K)))
    assert "not positive semidefinite" in found.total.note
    with pytest.raises(ValueError, match="one skill for each of the 8"):
        conditional_vendi_of(K, [0, 1])
