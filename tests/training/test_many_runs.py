"""The short form of `benchmarks/many_runs.py`: which programs its runs ask for, without training them."""

import runpy
from collections import Counter, OrderedDict
from pathlib import Path
from types import SimpleNamespace

import pytest

from vendirl._programs import Shared
from vendirl.training import ceilings
from vendirl.training.attainable import Attainable
from vendirl.training.problem import build
from vendirl.training.settings import Settings


@pytest.fixture
def campaign(monkeypatch, tmp_path):
    """The benchmark, and the similarity, learner and method of each run that it asked for."""
    found = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "many_runs.py"))
    runs = []

    def train(env, similarity, out, seed, learner, method, **rest):
        runs.append((env, similarity, learner, method))
        if out is not None:
            out.mkdir()
        return SimpleNamespace(done=0)

    for name in ("train", "train_outside"):
        known = found[name].__globals__
        monkeypatch.setitem(known, "vr", SimpleNamespace(train=train, load=lambda out: SimpleNamespace(done=0)))
        monkeypatch.setitem(known, "PLACE", tmp_path)
    return SimpleNamespace(**found, runs=runs)


def test_of_a_thousand_runs_hardly_more_programs_are_made_than_there_are(campaign):
    """161 were made where there were 46: what one of the forty new ones pushed out was needed next."""
    for number in range(1, 1001):
        campaign.train(number)
    shared, made = Shared(), Counter()
    for known in campaign.runs:
        shared.get(known, lambda known=known: made.update([known]) or known)
    assert 40 <= len(made) <= 50, "of which most are asked for once, by the runs with a new similarity"
    assert made.total() == len(made), "programs were made anew"


def test_attainable_scores_are_let_go(monkeypatch):
    monkeypatch.setattr(ceilings, "_ceilings", OrderedDict())
    monkeypatch.setattr(ceilings, "MOST", 3)
    sought = []

    def attainable(environment, similarity, n, *, q):
        sought.append(str(similarity))
        return Attainable(1.0, None, "rank")

    monkeypatch.setattr(ceilings, "attainable", attainable)
    for scale in (2, 3, 2, 4, 5, 2, 3):
        settings, loop = build(Settings(similarity=f"mmd(scale={scale})", devices=1))
        assert ceilings.ceiling_of(settings, loop.problem).score == 1.0
    assert [text.removeprefix("mmd(scale=")[0] for text in sought] == [*"23453"]
    assert len(ceilings._ceilings) == 3
