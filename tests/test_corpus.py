"""Texts and JSON that once gave a traceback, hung or were accepted though they mean nothing, and a few new ones.

`python benchmarks/fuzz.py` tries a million; what it finds belongs into `corpus/texts.json` once it is mended.
"""

import functools
import importlib.metadata
import json
import time
from pathlib import Path

import pytest

from tests import fuzz_judging, fuzz_texts
from vendirl.cli import main

CORPUS = [tuple(case) for case in json.loads((Path(__file__).parent / "corpus" / "texts.json").read_text())]
NEW = 1000


@pytest.fixture(autouse=True)
def packages_stay_as_they_are(monkeypatch):
    monkeypatch.setattr(importlib.metadata, "entry_points", functools.cache(importlib.metadata.entry_points))


@pytest.mark.parametrize("target", fuzz_texts.TARGETS)
def test_what_was_found_gives_a_result_or_a_sentence(target, tmp_path):
    cases = [plain for kind, plain in CORPUS if kind == target]
    assert cases
    for plain in cases:
        found, said = fuzz_texts.tried(target, fuzz_texts.as_given(target, plain), tmp_path)
        assert found in ("accepted", "refused"), f"{found}: {plain!r}: {said}"


def test_a_few_of_the_million(tmp_path):
    for number in range(NEW):
        target, given = fuzz_texts.text(number)
        found, said = fuzz_texts.tried(target, given, tmp_path)
        assert found in ("accepted", "refused"), f"input {number} ({target}): {found}: {said}"


def test_the_corpus_is_kept_as_it_was_found():
    for text in ("", "mmd", "(" * 5000 + "mmd", "ab" * 99 + "c"):
        assert fuzz_texts.as_given("similarity", fuzz_texts.as_plain_runs(text)) == text
    assert fuzz_texts.as_given("metrics.jsonl", fuzz_texts.as_plain("metrics.jsonl", b"\xff\0")) == b"\xff\0"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_judge_sees_what_is_wrong():
    def hang():
        while True:
            pass

    def not_ours():
        return int("x")

    def greedy():
        raise MemoryError

    class Slow:
        def __del__(self):  # whatever is raised here is let out by nobody
            end = time.process_time() + 0.3
            while time.process_time() < end:
                pass

    for call, expected in ((hang, "hang"), (Slow, "hang"), (not_ours, "traceback"), (greedy, "memory")):
        assert fuzz_judging.outcome(call, seconds=0.1)[0] == expected
    for text in ("inf*mmd", "nan*(mmd + cosine)", "mmd(scale=nan)", "0*mmd"):
        with pytest.raises(fuzz_judging.Silent):
            fuzz_judging.sound_text(text, str)
    fuzz_judging.sound_text("diayn(clip=inf) + 10*environment", str)


ARGUMENTS = [
    ["--ppo.minibatches", "0"],
    ["--ppo.learning-rate", "nan"],
    ["--sac.batch", "0"],
    ["--epoch", "inf"],
    ["--steps", "1e300"],
    ["--steps", "1e15", "--scenes", "1", "--ppo.minibatches", "1"],
    ["--seed", "18446744073709551616"],
    ["--seed", "9" * 5000],
    ["--scenes", "1000000007"],
    ["--scenes", "9999991"],
    ["--env", "point" + " " * 32000 + "("],
    ["--method", "vendirl(q=1" + "0" * 400 + ")"],
    ["--order", "nan"],
    ["--hidden", "-1"],
    ["--skills", "x"],
    ["--skils", "3"],
    ["--steps"],
    ["--reward", "more"],
]


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=lambda arguments: " ".join(arguments)[:40])
def test_wrong_arguments_end_in_one_line_with_code_2(arguments, tmp_path, capsys):
    with fuzz_judging.in_time(5.0):
        try:
            code = main(["train", *arguments, "--out", str(tmp_path / "never")])
        except SystemExit as stop:  # what tyro refuses
            code = stop.code
    assert code == 2
    said = capsys.readouterr().err
    assert said.startswith("vendirl: ")
    assert said.count("\n") == 1
    assert len(said) < 1200
    assert not (tmp_path / "never").exists()
