"""Transfer as a whole, on a tiny world: every way, the table of them, going on, and what is refused first."""

import dataclasses
import io
import json
import shutil
import signal

import jax
import numpy as np
import pytest
from rich.console import Console

import vendirl as vr
from vendirl.data import write_npz
from vendirl.environments import Maze, Plane
from vendirl.show.transfer import table_of, table_of_runs, write_page
from vendirl.show.utility_map import tables_of_map
from vendirl.training.owner import AlreadyOwnedError, owning
from vendirl.training.stopping import Terminated
from vendirl.transfer import Learning, parse_task
from vendirl.transfer.cells import Question, kept_or_done
from vendirl.transfer.mapping import utility_map
from vendirl.transfer.optimum import best_returns, searchable
from vendirl.transfer.result import Row, area
from vendirl.transfer.task import Joined
from vendirl.transfer.ways import parse_way
from vendirl.transfer.ways.select import bandit, stored_episodes
from vendirl.transfer.ways.way import Asked, Used

WORLD = "point(episode_length=10, step_size=0.1)"
TASKS = ["goal(x, y, at=[0.9, 0.5], radius=0.2)", "goal(x, y, at=[0.1, 0.5], dense=True)"]
SMALL = Learning(scenes=4, hidden=(8,), episodes=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("runs")
    settings = {"skills": 4, "steps": 4e4, "scenes": 32, "hidden": (8,), "devices": 1, "progress": False}
    vr.train(WORLD, "mmd(scale=4)", method="visr", out=place / "a", **settings)
    return place


@pytest.fixture(scope="module")
def table(folder):
    ways = ["select", "select(rollouts=1)", "select(pulls=6)", "control(hold=5)", "finetune", "infer"]
    return vr.transfer(
        folder / "a", TASKS, ways, steps=400, seeds=2, out=folder / "t", learning=SMALL, progress=False,
        similarities=["cosine"],
    )  # fmt: skip


def test_every_way_has_a_row_between_random_actions_and_the_oracle(table):
    assert table.ways == ("select", "select(rollouts=1)", "select(pulls=6)", "control(hold=5)", "finetune", "infer")
    assert [row.way for row in table.rows][:3] == ["random", "oracle", "scratch"]
    assert table.row("-", "oracle").z.tolist() == [[[1, 1], [1, 1]]]
    np.testing.assert_allclose(table.row("-", "random").z[-1].mean(0), 0, atol=1e-9)
    assert set(table.diversity["a"]) == {"mmd(scale=4)", "cosine"}
    assert 1 <= table.useful["a"] <= 4
    for row in table.rows:
        assert row.z.shape == (len(row.steps), 2, 2)
        assert (np.diff(row.steps) > 0).all()
        assert row.steps[-1] <= 400
        assert (row.returns[-1] <= table.row("-", "oracle").returns + 1e-4).all()  # nothing beats the search


def test_choosing_costs_what_it_takes(table):
    assert table.row("a", "select").steps.tolist() == [0]
    assert table.row("a", "select(rollouts=1)").steps.tolist() == [4 * 10]
    assert table.row("a", "select(pulls=6)").steps.tolist() == [6 * 10]
    assert table.row("a", "finetune").steps[0] == 0


def test_the_skill_that_is_chosen_earns_what_it_earns(table, folder):
    from vendirl.transfer import returns_of

    tasks = [parse_task(text) for text in TASKS]
    choice = returns_of(tasks, vr.read(folder / "a")).profile.argmax(0)
    exact = returns_of(tasks, vr.load(folder / "a").episodes()).profile
    np.testing.assert_allclose(table.row("a", "select").returns[-1], np.tile(exact[choice, [0, 1]], (2, 1)), atol=1e-4)
    # What is fine-tuned begins as that skill.
    np.testing.assert_allclose(table.row("a", "finetune").returns[0], np.tile(exact[choice, [0, 1]], (2, 1)), atol=1e-3)


def test_what_is_done_is_kept(table, folder, monkeypatch):
    def never(*_, **__):
        raise AssertionError("it was done before")

    monkeypatch.setattr("vendirl.training.driver.run", never)
    again = vr.transfer(
        folder / "a", TASKS, ["control(hold=5)", "finetune"], steps=400, seeds=2, out=folder / "t", learning=SMALL,
        progress=False,
    )  # fmt: skip
    for way in again.ways:
        assert again.row("a", way).z.tolist() == table.row("a", way).z.tolist()
    assert json.loads((folder / "t" / "transfer.json").read_text())["env"] == WORLD
    assert (folder / "t" / "transfer.csv").read_text().startswith("skills,way,score")
    with pytest.raises(AssertionError):  # another budget is another question
        vr.transfer(
            folder / "a", TASKS, "finetune", steps=300, seeds=2, out=folder / "t", learning=SMALL, progress=False
        )


def test_tables_fit_a_terminal_and_zeros_have_no_sign(table, tmp_path):
    from rich.console import Console

    from vendirl.show.transfer import table_of, write_page

    zero = dataclasses.replace(table.row("a", "select"), way="control(hold=9)", score=-0.001, interval=(-0.001, 0.0))
    found = dataclasses.replace(table, rows=(*table.rows, zero))
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(table_of(found))
    said = console.export_text()
    line = next(line for line in said.splitlines() if "control(hold=9)" in line)  # in one line
    assert "0.00 [0.00, 0.00]" in line
    assert "-0.00" not in said
    assert all(len(line.rstrip()) <= 80 for line in said.splitlines())
    page = write_page(found, tmp_path / "t.html").read_text()
    assert "0.00 [0.00, 0.00]" in page
    assert "-0.00" not in page
    assert 'name="viewport"' in page  # or phones would show it as small as a desk's
    one = dataclasses.replace(found, seeds=1, tasks=found.tasks[:1])
    assert "1 task, 400 steps each, 1 seed" in str(table_of(one).title)


def test_the_table_and_the_page_say_it(table, tmp_path):
    console = Console(width=140, record=True, file=io.StringIO())
    console.print(table_of(table))
    console.print(table_of_runs(table))
    said = console.export_text()
    assert "control(hold=5)" in said
    assert "useful skills" in said
    page = write_page(table, tmp_path / "t.html", "vendirl transfer <a>").read_text()
    assert "vendirl transfer &lt;a&gt;" in page
    assert "<script" not in page


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"returns": [[[0.5]]]}, "of 1 points, 2 seeds and 2 tasks"),
        ({"returns": [[[0.5, 1.0], [0.5, "x"]]]}, "returns must be finite numbers"),
        ({"steps": []}, "steps must be whole numbers that increase"),
        ({"steps": [-1]}, "steps must be whole numbers that increase"),
        ({"steps": "0"}, "steps must be whole numbers that increase"),
        ({"chosen": [[0], [1]]}, "chosen must be numbers of skills"),
        ({"note": ["x"]}, "note must be text"),
        ({"asked": None}, "answers another question"),
    ],
)
def test_a_cell_that_is_damaged_is_named_with_what_to_do(tmp_path, change, said):
    question = Question("select", {"name": "a"}, {"tasks": TASKS})
    used = Used(np.array([0]), np.ones((1, 2, 2)), np.zeros((2, 2), int))
    kept_or_done(question, tmp_path, lambda: used, 2, 2)
    (path,) = (tmp_path / "cells").iterdir()
    assert kept_or_done(question, tmp_path, pytest.fail, 2, 2).returns.tolist() == used.returns.tolist()
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ValueError, match=f"{path.name} .*{said}.*; remove .* to have it made again"):
        kept_or_done(question, tmp_path, pytest.fail, 2, 2)


def test_one_transfer_at_a_time_has_a_folder_and_says_how_it_goes_on(table, folder, monkeypatch, capsys):
    asked = {"steps": 400, "seeds": 2, "out": folder / "t", "learning": SMALL, "progress": False}
    left = [folder / "t" / ".transfer.json.123", folder / "t" / "cells" / ".a_0.json.123"]
    for path in left:
        path.write_text("half")
    with owning(folder / "t"), pytest.raises(AlreadyOwnedError, match="is being written by process"):
        vr.transfer(folder / "a", TASKS, "select", **asked)
    vr.transfer(folder / "a", TASKS, "select", **asked)
    assert not any(path.exists() for path in left)
    monkeypatch.setattr("vendirl.transfer.transferring.kept_or_done", lambda *_: signal.raise_signal(signal.SIGTERM))
    with pytest.raises(Terminated) as stopped:
        vr.transfer(folder / "a", TASKS, "select", **asked)
    said = f"stopped; what is done is kept in {folder / 't'}, and the same command goes on"
    assert (stopped.value.code, str(stopped.value)) == (143, said)
    assert capsys.readouterr().err == f"vendirl: {said}\n"


def test_cells_are_kept_through_no_link(folder, tmp_path):
    (tmp_path / ".a.json.123").write_text("theirs")
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "cells").symlink_to(tmp_path)
    with pytest.raises(ValueError, match="cells is a link"):
        vr.transfer(folder / "a", TASKS, "select", steps=400, seeds=2, out=tmp_path / "t", progress=False)
    assert (tmp_path / ".a.json.123").exists()


def test_stored_episodes_that_are_not_the_runs_are_refused(folder, tmp_path):
    shutil.copytree(folder / "a", tmp_path / "a")
    asked = Asked(vr.load(tmp_path / "a").environment, (), 400.0, run=vr.load(tmp_path / "a"))
    x = np.full((10, 10, 2), 0.5, np.float32)
    for skills, features, said in ((5, ["x", "y"], "it has 5 skills"), (2, ["y", "x"], "the features y, x")):
        data = vr.Trajectories.of(x, np.arange(10) % skills, features=features)
        write_npz(tmp_path / "a" / "trajectories.npz", data)
        with pytest.raises(ValueError, match=f"trajectories.npz is not of this run: .*{said}"):
            stored_episodes(asked)


def test_names_are_shown_as_text(table, folder, tmp_path):
    odd = tmp_path / "a\x1b[red]<b>"
    shutil.copytree(folder / "a", odd)
    out = tmp_path / "out"
    found = vr.transfer(odd, TASKS, "select", steps=400, seeds=1, out=out, learning=SMALL, progress=False)
    assert found.runs == ("a\\x1b[red]<b>",)
    assert "a\\x1b[red]<b>,select" in (out / "transfer.csv").read_text()
    assert "[red]&lt;b&gt;" in write_page(found, tmp_path / "t.html").read_text()
    console = Console(width=200, file=io.StringIO())
    console.print(table_of(dataclasses.replace(found, left_out=("value(x, '[/red]\x1b[31m')",))))
    sets = {f"{i}[/x]": [float(i)] for i in range(4)}
    for shown in tables_of_map(utility_map(sets, {s: {"k": 1.0} for s in sets}, ("value(x, '[/red]')",), draws=2)):
        console.print(shown)
    assert "[/red]" in console.file.getvalue()
    assert "\x1b" not in console.file.getvalue()


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"tasks": []}, "tasks is empty"),
        ({"tasks": "value(speed)"}, "looks at the feature 'speed', which the environment point.* does not have"),
        ({"tasks": "maze-gaols"}, "did you mean 'maze-goals'"),
        ({"adapt": []}, "adapt is empty"),
        ({"adapt": "selct"}, "did you mean 'select'"),
        ({"adapt": ["select", "select"]}, "named twice"),
        ({"adapt": "control(hold=11)"}, "hold=11 is more than the 10 steps of an episode"),
        ({"adapt": "select(rollouts=99)"}, "choosing takes 3960 steps, but only 400 were asked for"),
        ({"adapt": "select(pulls=2)"}, "pulls=2 must be at least the 4 skills"),
        ({"adapt": "infer", "tasks": "goal(x, y, range=1)"}, "another task in every episode"),
        ({"adapt": "finetune", "learning": Learning(learner="sac")}, "use learner ppo"),
        ({"env": "envpool:Pendulum-v1"}, "another body"),
        ({"runs": []}, "runs is empty"),
        ({"runs": "nowhere"}, "nowhere holds no run"),
        ({"steps": 0}, "steps must be a finite number"),
        ({"seeds": 0}, "seeds must be a positive whole number"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_compiles(folder, monkeypatch, how, said):
    def never(*_, **__):
        raise AssertionError("it was begun")

    for place in ("transferring.kept_or_done", "rewards._rewards"):
        monkeypatch.setattr(f"vendirl.transfer.{place}", never)
    asked = {"runs": folder / "a", "tasks": TASKS, "adapt": "select", "steps": 400, "progress": False, **how}
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=said):
        vr.transfer(**asked)


def test_the_search_finds_the_best_by_hand():
    """A goal on an axis is entered after as many steps as its edge is far, and never left."""
    tasks = Joined(
        tuple(map(parse_task, ["goal(x, y, at=[0.9, 0.5], radius=0.12)", "goal(x, y, at=[0.9, 0.5], dense=True)"]))
    )
    world = Plane(episode_length=20)
    assert searchable(world, tasks)
    assert not searchable(Plane(noise=0.1), tasks)
    sparse, dense = best_returns(world, tasks)
    assert sparse == 20 - 5  # the sixth step of 0.05 is the first within 0.12 of 0.9
    assert dense == pytest.approx(-sum(0.4 - 0.05 * i for i in range(1, 9)), abs=1e-4)
    behind = Joined((parse_task("goal(x, y, at=[0.5, 0.3], radius=0.05)"),))  # a wall lies between
    assert best_returns(Maze(episode_length=8), behind)[0] == 0


def test_areas_and_steps_to_half():
    assert area(np.array([0, 100]), np.array([0.0, 1.0]), 100.0) == 0.5
    assert area(np.array([40]), np.array([1.0]), 100.0) == 0.6  # selection that took 40 steps
    used = Used(np.array([0, 50, 100]), np.array([[[2.0]], [[3.0]], [[6.0]]]))
    row = Row.of("a", "way", used, np.array([2.0]), np.array([6.0]), 100.0)
    assert (row.score, row.interval, row.to_half) == (1.0, None, 100)
    assert row.area == pytest.approx((0 + 0.25) / 4 + (0.25 + 1) / 4)


def test_tasks_that_tell_nothing_are_refused_with_what_the_oracle_is(folder):
    with pytest.raises(ValueError, match="they tell us nothing; the oracle is the best return that a search"):
        vr.transfer(folder / "a", "constant(1)", "select", steps=400, seeds=1, learning=SMALL, progress=False)


def test_a_name_in_a_way_needs_no_quotes():
    assert parse_way("finetune(carry=trunk)") == parse_way("finetune(carry='trunk')")
    with pytest.raises(ValueError, match="carry must be one of actor, trunk, all, but is 'trunc'"):
        parse_way("finetune(carry=trunc)")


def test_a_bandit_finds_the_best_arm_with_fewer_plays_than_all():
    from vendirl.transfer.rewards import Returns

    rng = np.random.default_rng(0)
    means = np.array([0.0, 1.0, 3.0, 0.5])
    right = 0
    for _ in range(50):
        episodes = (means[:, None] + rng.normal(size=(4, 30))).reshape(1, -1, 1)
        of_skill = tuple(np.arange(30) + 30 * i for i in range(4))
        right += bandit(Returns((), episodes, of_skill), 24)[0, 0] == 2
    assert right >= 45


def test_choosing_among_stored_episodes_is_nearly_as_good_as_trying_all(folder):
    """Over random tasks in the plane, what is chosen from stored episodes, which have noise, earns nearly what the best
    skill of exhaustive rollouts does."""
    run = vr.load(folder / "a")
    places = jax.random.uniform(jax.random.key(0), (30, 2))
    tasks = [parse_task(f"goal(x, y, at=[{float(x)}, {float(y)}], dense=True)") for x, y in places]
    from vendirl.transfer import returns_of

    choice = returns_of(tasks, vr.read(folder / "a")).profile.argmax(0)
    exact = returns_of(tasks, run.episodes(episodes=1)).profile
    chosen, best, worst = exact[choice, np.arange(30)], exact.max(0), exact.min(0)
    assert np.mean((best - chosen) / (best - worst)) < 0.1
