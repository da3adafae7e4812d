"""All measures at once, and what a measure is."""

import dataclasses
import json
import math

import numpy as np
import pytest

import vendirl as vr
from vendirl.data import Trajectories
from vendirl.evaluation.measures import goals, measures
from vendirl.evaluation.measures.coverage import state_coverage
from vendirl.evaluation.measures.measure import Measure


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_a_measure_is_plain_data():
    found = Measure(
        "m", np.float64(2), {"a": np.array([1, 2]), "b": (np.int64(3), "x"), "c": None}, "cells", note="why"
    )
    assert json.loads(json.dumps(dataclasses.asdict(found))) == {
        "name": "m", "value": 2.0, "settings": {"a": [1, 2], "b": [3, "x"], "c": None},
        "unit": "cells", "better": None, "note": "why",
    }  # fmt: skip
    assert type(found.value) is float
    assert str(found) == "m: 2 cells (a=[1, 2], b=[3, 'x'], c=None); why"
    assert "not computed" in str(Measure("m", None, note="why"))
    with pytest.raises(ValueError, match="says why"):
        Measure("m", None)
    with pytest.raises(ValueError, match="nan"):
        Measure("m", math.nan)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.value = 3.0


def values(found):
    return {(m.name, m.settings.get("q")): m.value for m in found}


def test_everything_is_there_with_a_similarity_and_repeats_with_the_seed(rng):
    x = np.repeat(rng.normal(size=(3, 2, 4, 3)) + 5 * np.arange(3)[:, None, None, None], 2, 2)[
        :, :, [0, 2, 1, 0, 4, 6, 5, 4]
    ]
    episodes = {"skill": np.repeat(np.arange(3), 2), "rewards": rng.uniform(size=(6, 8)), "features": ["x", "y", "z"]}
    data, k = Trajectories.of(x.reshape(6, 8, 3), **episodes), vr.similarity.mmd()
    found = measures(data, similarity=k)
    assert {m.name for m in found if m.value is None} == {"System Neural Diversity", *goals.NAMES}
    assert all("run.evaluate()" in m.note for m in found if m.value is None)
    assert found == measures(data, K=vr.kernel_matrix(k, x), similarity=k, seed=0)
    json.dumps([dataclasses.asdict(m) for m in found], allow_nan=False)
    by_name = values(found)
    assert by_name["discriminability", None] == 1
    assert by_name["vendi total", None] == pytest.approx(by_name["vendi between", None] * by_name["vendi within", None])
    assert {q for name, q in by_name if name.startswith("Leinster-Cobbold diversity")} == {0, 1, 2, "inf"}
    chosen = {m.name: m for m in measures(data, features=["z"], bin=0.5)}
    assert chosen["state coverage"] == state_coverage(data, ["z"], 0.5)
    for name in (
        "mutual information",
        "discriminability",
        "pairwise Wasserstein distance",
        "QD score",
        "PWSEP",
        "LSEPIN",
    ):
        assert chosen[name].settings["features"] == ["z"], name


def test_the_profile_of_orders_by_hand():
    """Two skills that are alike and one that is not: the eigenvalues of K/n are 2/3 and 1/3."""
    x = np.array([0.0, 0.0, 1e3])[:, None, None, None] + np.zeros((3, 1, 2, 1))
    profile = vr.evaluate(x, "mmd(scale=1)", measures=False, resamples=5, shuffles=1)[0].profile
    expected = {0.0: 2, 0.5: (1 + np.sqrt(2)) ** 2 / 3, 1.0: 3 / 2 ** (2 / 3), 2.0: 9 / 5, math.inf: 3 / 2}
    assert profile == pytest.approx(expected, rel=1e-6)


NORMAL = np.random.default_rng(0).normal
DEGENERATE = {
    "one skill": np.zeros((1, 3, 4, 2)),
    "one trajectory each": NORMAL(size=(3, 4, 2)),
    "constant": np.ones((2, 2, 4, 2)),
    "one step, one feature": NORMAL(size=(2, 2, 1, 1)),
    "not finite": np.full((2, 2, 3, 2), np.nan),
    "large": NORMAL(size=(2, 2, 5, 2)) * 1e300,
    "small": NORMAL(size=(2, 2, 5, 2)) * 1e-300,
}


@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_data_give_a_number_or_a_reason(case):
    data = Trajectories.of(DEGENERATE[case])
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        found = measures(data, K=np.eye(data.n))
    for m in found:
        assert m.note if m.value is None else math.isfinite(m.value), m
    computed = {m.name for m in found if m.value is not None}
    assert ("discriminability" in computed) == (case in ("constant", "one step, one feature", "large", "small"))
    assert ("state coverage" in computed) == (case != "not finite")
    assert "magnitude" in computed
    missing = {m.name: m.note for m in found if m.value is None}
    assert missing["vendi total"] == "needs a similarity"


def test_a_similarity_that_the_data_are_too_short_for():
    found = {m.name: m for m in measures(Trajectories.of(np.zeros((2, 2, 1, 2))), similarity=vr.similarity.overlap())}
    for name in ("magnitude", "vendi between"):
        assert found[name].value is None
        assert "needs at least" in found[name].note


def test_wrong_arguments_are_refused(rng):
    data = Trajectories.of(rng.normal(size=(3, 2, 4, 2)))
    with pytest.raises(ValueError, match="3 skills"):
        measures(data, K=np.eye(2))
    with pytest.raises(TypeError, match="Similarity"):
        measures(data, similarity="mmd")
    with pytest.raises(ValueError, match="out of range"):
        measures(data, features=[7])
    with pytest.raises(ValueError, match="bin"):
        measures(data, bin=-1)
