"""`vendirl transfer`: what is refused before skills are trained for a utility map."""

import pytest

from vendirl.cli import main


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--adapt", "selct"], "did you mean 'select'"),
        (["--adapt", "control(hold=99)"], "hold=99 is more than the 50 steps of an episode"),
        (["--adapt", "infer"], "infer: random has no model"),
        (["--learning.scenes", "0"], "scenes must be a positive whole number"),
        (["--env", "envpool:Pendulum-v1"], "looks at the feature 'x', which the environment envpool:Pendulum-v1"),
        (["--senses", "overlap"], "a utility map needs at least 4 sets of skills, but there are 3"),
    ],
)
def test_a_map_is_refused_before_anything_is_trained_for_it(tmp_path, monkeypatch, capsys, more, said):
    def never(*_, **__):
        raise AssertionError("it was begun")

    monkeypatch.setattr("vendirl.clusters.comparing.train_all", never)
    asked = ["transfer", "--map", "--tasks", "plane-goals", "--adapt", "select", "--out", str(tmp_path / "map")]
    small = ["--methods", "random,diayn,vendirl", "--senses", "mmd,overlap", "--seeds", "2"]
    assert main([*asked, *small, *more]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "map").exists()


def test_a_map_of_few_runs_is_refused_before_they_are_put_to_tasks(tmp_path, monkeypatch, capsys):
    def never(*_, **__):
        raise AssertionError("it was begun")

    monkeypatch.setattr("vendirl.transfer.transferring.transfer", never)
    asked = ["transfer", "a", "b", "--map", "--tasks", "plane-goals", "--out", str(tmp_path / "map")]
    assert main(asked) == 2
    assert "at least 4 sets of skills, but there are 2" in capsys.readouterr().err


def test_whoever_stops_it_is_told_how_to_go_on(tmp_path, monkeypatch, capsys):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("vendirl.transfer.transferring.transfer", stopped)
    out = tmp_path / "t"
    assert main(["transfer", "a", "--tasks", "plane-goals", "--out", str(out)]) == 130
    assert f"stopped; {out} keeps what is done, and the same command goes on with it" in capsys.readouterr().err
