"""Rows from outside: what is scored, what is refused and why, and what is shown of it."""

import csv
import json

import jax
import numpy as np
import pytest

from tests.boards.walks import MINI, save, walks
from vendirl.boards import add_skills, read_board
from vendirl.boards.checking import check_skills, crossings
from vendirl.data import Trajectories
from vendirl.environments import make
from vendirl.evaluation import effective_number
from vendirl.training.owner import AlreadyOwnedError, owning


def add(tmp_path, x, method="theirs", world="plane", name="skills.npz", **settings):
    return add_skills(save(tmp_path / name, x), method, world, tmp_path / "board", suite=MINI.name, **settings)


def test_a_row_says_what_fraction_of_the_attainable_score_the_skills_have(tmp_path):
    add(tmp_path, walks(), steps=4e4, seconds=12, settings="lr 3e-4", versions="torch 2.1")
    board = add(tmp_path, walks(seed=1, reach=0.006), name="other.npz", seed=1, steps=5e4, seconds=9)
    for row in board.rows:
        k = MINI.senses[row.sense]
        scores = [float(effective_number(x, k)) for x in (walks(), walks(seed=1, reach=0.006))]
        assert row.attainable == MINI.attainable["plane"][row.sense]
        assert row.fraction == pytest.approx(np.mean(scores) / row.attainable, rel=1e-6)
        assert row.low == pytest.approx(min(scores) / row.attainable, rel=1e-6)
        assert row.high == pytest.approx(max(scores) / row.attainable, rel=1e-6)
        assert (row.method, row.world, row.seeds, row.outside) == ("theirs", "plane", 2, True)
        assert (row.steps, row.seconds, row.settings, row.versions) == (5e4, 21, "lr 3e-4", "torch 2.1")
    assert read_board(tmp_path / "board") == board
    table = list(csv.DictReader((tmp_path / "board" / "board.csv").read_text().splitlines()))
    assert [float(row["fraction"]) for row in table] == [row.fraction for row in board.rows]
    assert table[0]["outside"] == "True"


def test_the_page_shows_names_as_text_and_marks_what_is_from_outside(tmp_path):
    board = add(tmp_path, walks(), method="<script>alert(1)</script>")
    page = (tmp_path / "board" / "index.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert page.count("from outside") == 1
    assert f"{board.rows[0].fraction:.1%}" in page
    assert "one seed" in page
    assert "not said" in page  # its budget


def moved(x, e, t, to):
    x = x.copy()
    x.reshape(-1, *x.shape[2:])[e, t] = to
    return x


WRONG = [
    (walks(skills=3), "plane", "it has 3 skills, and the suite asks for 4"),
    (walks(episodes=9), "plane", "skill 0 has 9 episodes, and the suite asks for 10 of each"),
    (walks(T=51), "plane", "episode 0 has 51 observations, and episodes have 50"),
    (np.concatenate([walks(), walks()], -1), "plane", "it has 4 features, and there are 2: x, y"),
    (moved(walks(), 7, 3, np.nan), "plane", "must be finite, but feature 'feature 0' at step 3 of episode 7 is nan"),
    (walks(reach=0.03), "plane", "leaves the world's bounds"),
    (
        walks(reach=0.005) - 0.1,
        "plane",
        r"a step goes farther than 0\.05 along an axis, where episodes begin at \(0\.5, 0\.5\)",
    ),
    (moved(walks(), 12, 30, 0.9), "plane", r"a step goes farther than 0\.05 .* \(episode 12, step 30, at 0\.9, 0\.9\)"),
    (walks(), "maze", "a step goes through a wall"),
    (walks(), "rooms", "world must be one of plane, maze in plane-maze-rooms-mini-v1, but is 'rooms'"),
]


@pytest.mark.parametrize(("x", "world", "message"), WRONG, ids=[message[:30] for *_, message in WRONG])
def test_what_cannot_be_of_the_world_is_refused_with_the_reason_and_nothing_is_written(tmp_path, x, world, message):
    with pytest.raises(ValueError, match=message):
        add(tmp_path, x, world=world)
    assert not (tmp_path / "board").exists()


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"x": walks(seed=2)}, "there is theirs in plane with seed 0 already, of other episodes; use another seed"),
        ({"x": walks(), "seed": 1}, "these very episodes are there already, as theirs in plane with seed 0"),
        ({"x": walks(seed=2), "seed": 1, "steps": 1e6}, "steps=1e.06 is more than the 50000 that .* allows each seed"),
        ({"x": walks(seed=2), "seed": -1}, "seed must be a whole number of at least 0"),
        ({"x": walks(seed=2), "method": " "}, "method must be a name"),
        ({"x": walks(seed=2), "method": "a\nb"}, "method must be a printable text"),
        ({"x": walks(seed=2), "method": "a" * 301}, "method must be a printable text of at most 300 characters"),
    ],
)
def test_rows_do_not_take_the_place_of_others(tmp_path, second, message):
    first = add(tmp_path, walks())
    with pytest.raises(ValueError, match=message):
        add(tmp_path, name="other.npz", **second)
    assert add(tmp_path, walks()) == first  # the same again changes nothing
    assert read_board(tmp_path / "board") == first


def test_a_board_is_begun_with_a_suite_and_stays_with_it(tmp_path):
    path = save(tmp_path / "skills.npz", walks())
    with pytest.raises(FileNotFoundError, match="holds no board yet; name a suite to begin one"):
        add_skills(path, "theirs", "plane", tmp_path / "board")
    with pytest.raises(
        ValueError, match=r"there is no suite 'plane-maze-rooms-mini-v2'; did you mean 'plane-maze-rooms"
    ):
        add_skills(path, "theirs", "plane", tmp_path / "board", suite="plane-maze-rooms-mini-v2")
    add_skills(path, "theirs", "plane", tmp_path / "board", suite=MINI.name)
    assert len(add_skills(path, "theirs", "plane", tmp_path / "board").entries) == 1
    with pytest.raises(ValueError, match="holds a board of plane-maze-rooms-mini-v1, not of plane-maze-rooms-v1"):
        add_skills(path, "theirs", "plane", tmp_path / "board", suite="plane-maze-rooms-v1")


@pytest.mark.parametrize("world", ["maze", "rooms"])
def test_what_a_world_does_is_never_refused_and_a_move_through_its_walls_always(world):
    environment = make(world)
    moves = jax.random.uniform(jax.random.key(0), (32, 50, 2), minval=-1.5, maxval=1.5)

    @jax.jit
    @jax.vmap
    def acted(actions):
        def step(state, action):
            state = environment.step(state, action, jax.random.key(0))
            return state, state.observation

        return jax.lax.scan(step, environment.reset(jax.random.key(0)), actions)[1]

    points = np.asarray(acted(moves), float)
    before = np.concatenate([np.broadcast_to(environment.start, (32, 1, 2)), points[:, :-1]], 1)
    walls = np.asarray(environment.walls, float)
    assert not crossings(before, points, walls).any()
    for x0, y0, x1, y1 in walls:  # from one side of its middle to the other
        middle, aside = np.array([x0 + x1, y0 + y1]) / 2, 0.01 * np.array([y1 - y0, x1 - x0]) / max(x1 - x0, y1 - y0)
        assert crossings((middle - aside)[None, None], (middle + 2 * aside)[None, None], walls).all()


def test_rounding_alone_is_not_refused():
    x = walks(reach=0.0)
    x[0, :, :] = np.clip(0.5 + 0.05 * np.arange(1, 51)[:, None] * np.ones(2), 0, 1) + 5e-5
    check_skills(Trajectories.of(x), MINI, "plane")


HOSTILE = {
    "format must be 1, but is 2": {"format": 2},
    "there is no suite 'mine'": {"suite": "mine"},
    "entries must be a list": {"entries": {}},
    r"entries\[0\] must have just": {"entries": [{"method": "x"}]},
    "two entries are of the same method, world and seed": {"entries": "twice"},
    r"scores\['place'\] must be a finite number": {"scores": {"place": 99.0}},
    r"scores\['extent'\] must be a number, but is '4'": {"scores": {"extent": "4"}},
    "scores must be of place, extent, place and extent": {"scores": None},
    "digest must be 64 digits": {"digest": "0" * 63 + "g"},
    "world must be one of plane, maze": {"world": ["plane"]},
    "outside must be True or False": {"outside": 1},
    "seed must be": {"seed": 1.5},
    "steps must be a finite number of at least 0 and at most 50000": {"steps": 1e9},
    "trained_by must be a printable text": {"trained_by": 3},
    "trained_by must be a sense of": {"trained_by": "beauty"},
}


@pytest.mark.parametrize("message", HOSTILE, ids=lambda message: message[:25])
def test_a_board_of_somebody_else_is_data_that_is_checked(tmp_path, message):
    add(tmp_path, walks())
    path = tmp_path / "board" / "board.json"
    found = json.loads(path.read_text())
    for name, value in HOSTILE[message].items():
        if value == "twice":
            found["entries"] *= 2
        elif name in found:
            found[name] = value
        elif name == "scores" and value is not None:
            found["entries"][0]["scores"] |= value
        else:
            found["entries"][0][name] = value
    path.write_text(json.dumps(found))
    with pytest.raises(ValueError, match=rf"board\.json cannot be read as a board: .*{message}"):
        read_board(tmp_path / "board")


def test_rows_that_a_file_claims_are_not_believed(tmp_path):
    board = add(tmp_path, walks())
    path = tmp_path / "board" / "board.json"
    found = json.loads(path.read_text())
    found["rows"][0]["fraction"] = 7.0
    path.write_text(json.dumps(found))
    assert read_board(path).rows == board.rows


def test_a_board_is_written_by_one_and_read_through_no_link(tmp_path):
    board = tmp_path / "board"
    board.mkdir()
    (board / ".index.html.123").write_text("half")
    with owning(board), pytest.raises(AlreadyOwnedError):
        add(tmp_path, walks())
    add(tmp_path, walks())
    assert not (board / ".index.html.123").exists()
    (board / "board.json").rename(tmp_path / "elsewhere.json")
    (board / "board.json").symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(ValueError, match="is a link"):
        read_board(board)
    assert len(read_board(tmp_path / "elsewhere.json").entries) == 1
