"""Attempts: what is lost is tried again, not for ever, and the reasons are kept."""

import json
import os
import signal
from concurrent.futures import Executor, Future

import pytest

from vendirl.clusters import many
from vendirl.clusters.comparing import Contestant, train_all
from vendirl.clusters.many import UnfinishedError, carry_out, refuse_unfinished
from vendirl.clusters.task import Outcome, Task
from vendirl.training.attainable import Attainable
from vendirl.training.settings import Settings
from vendirl.training.stopping import Stopping, Terminated


class Scripted(Executor):
    """Gives what it was told to give, by name, one after the other; exceptions are those of the cluster."""

    def __init__(self, **answers):
        self.answers, self.closed = answers, False

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        answer = self.answers[json.loads(args[0])["name"]].pop(0)
        if isinstance(answer, Exception):
            future.set_exception(answer)
        elif answer == "signal":
            signal.raise_signal(signal.SIGTERM)
        else:
            future.set_result({"end": answer, "why": "" if answer == "done" else "because"})
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):
        self.closed = cancel_futures


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(many, "PAUSE", 0.001)
    monkeypatch.setattr(many, "surroundings", dict)


def tasks(tmp_path, *names):
    return [Task(name, Settings(), tmp_path / name, Attainable(3.0, None, "rank")) for name in names]


def test_what_is_lost_is_tried_again_and_the_reasons_are_kept(tmp_path):
    said = []
    answers = Scripted(a=["done"], b=["lost", RuntimeError("the node\nis gone"), "done"])
    found = carry_out(tasks(tmp_path, "a", "b"), answers, retries=2, say=said.append, log=tmp_path / "attempts.jsonl")
    assert [outcome.end for outcome in found.values()] == ["done", "done"]
    rows = [json.loads(line) for line in (tmp_path / "attempts.jsonl").read_text().splitlines()]
    assert [(row["attempt"], row["end"], row["why"]) for row in rows if row["run"] == "b"] == [
        (1, "lost", "because"),
        (2, "lost", "RuntimeError: the node"),
        (3, "done", ""),
    ]
    assert "b was lost: because; try 2 of 3 goes on" in said
    assert said[-1] == "2 of 2: b done"


def test_tries_are_bounded_and_what_is_impossible_is_tried_once(tmp_path):
    answers = Scripted(a=["lost"] * 9, b=["refused"] * 9, c=["done"])
    found = carry_out(tasks(tmp_path, "a", "b", "c"), answers, retries=2)
    assert [outcome.end for outcome in found.values()] == ["lost", "refused", "done"]
    assert (len(answers.answers["a"]), len(answers.answers["b"])) == (6, 8)
    with pytest.raises(UnfinishedError, match="2 of 3 runs were not finished: a: because; b: because"):
        refuse_unfinished(found)
    with pytest.raises(ValueError, match="1 of 1 runs"):
        refuse_unfinished({"b": Outcome("refused", "because")})
    with pytest.raises(ValueError, match="retries must be"):
        carry_out([], answers, retries=-1)


def test_attempts_are_written_through_no_link_and_wait_for_no_pipe(tmp_path):
    answers = Scripted(a=["done"])
    (tmp_path / "attempts.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match=r"attempts\.jsonl is a link"):
        carry_out(tasks(tmp_path, "a"), answers, log=tmp_path / "attempts.jsonl")
    (tmp_path / "attempts.jsonl").unlink()
    os.mkfifo(tmp_path / "attempts.jsonl")
    with pytest.raises(ValueError, match=r"attempts\.jsonl is a pipe"):
        carry_out(tasks(tmp_path, "a"), answers, log=tmp_path / "attempts.jsonl")
    assert answers.answers == {"a": ["done"]}  # it was said before anything was trained
    assert not (tmp_path / "elsewhere").exists()


def test_runs_that_are_links_are_not_trained(tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "random").symlink_to(tmp_path / "other")
    with pytest.raises(ValueError, match="random is a link"):
        train_all([Contestant("random", Settings())], tmp_path / "out")
    assert not list((tmp_path / "other").iterdir())


def test_what_is_finished_is_not_carried_out(tmp_path):
    (done,) = tasks(tmp_path, "a")
    done.folder.mkdir()
    (done.folder / "summary.json").write_text("{}")
    assert carry_out([done], Scripted())["a"].end == "done"


def test_whoever_is_asked_to_stop_asks_the_runs_to(tmp_path, capsys):
    executor = Scripted(a=["done"], b=["signal"])
    with pytest.raises(Terminated, match="stopped with 0 of 2 runs finished"):
        carry_out(tasks(tmp_path, "a", "b"), executor)
    assert executor.closed


def test_a_task_reads_back_from_its_text(tmp_path):
    asked = Task("a", Settings(order=float("inf"), hidden=(8, 4)), tmp_path, Attainable(2.5, None, "ascent"), ("mine",))
    found = Task.from_text(asked.to_text())
    assert (found.name, found.settings, found.folder, found.imports) == ("a", asked.settings, tmp_path, ("mine",))
    assert (found.ceiling.score, found.ceiling.method) == (2.5, "ascent")


def test_whoever_asks_a_run_in_this_process_to_stop_is_told_how_all_of_them_go_on(tmp_path, monkeypatch, capsys):
    def carried_out_here(task, progress):
        if task.name == "b":
            with Stopping() as stopping:
                signal.raise_signal(signal.SIGTERM)
                raise stopping.left("stopped at epoch 3")
        return Outcome("done")

    monkeypatch.setattr(many, "carried_out_here", carried_out_here)
    with pytest.raises(Terminated) as stop:
        carry_out(tasks(tmp_path, "a", "b", "c"))
    assert stop.value.code == 143
    said = "stopped with 1 of 3 runs finished; the same command goes on"
    assert str(stop.value) == said
    assert capsys.readouterr().err == f"vendirl: {said}\n"
