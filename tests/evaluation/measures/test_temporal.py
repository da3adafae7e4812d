"""Time to reach, in worlds where it is known; and the Temporal Vendi Score."""

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

import vendirl as vr
from vendirl.data import Trajectories
from vendirl.environments.point import Maze
from vendirl.evaluation.measures.reaching import times_to_reach
from vendirl.evaluation.measures.temporal import alignment_matrix, temporal_vendi

MOVES = np.array([[i, j] for i in (-1, 0, 1) for j in (-1, 0, 1)])


def line(*walks):
    return Trajectories.of([np.array(walk, float)[:, None] for walk in walks], skill=[0] * len(walks))


def test_times_on_a_line_by_hand():
    """Two steps from 0 to 2, and none back unless an episode begins anew, or the walk itself returns."""
    forth = times_to_reach(line([0, 1, 2]), bin=1.0, restarts=False).times
    np.testing.assert_array_equal(forth, [[0, 1, 2], [np.inf, 0, 1], [np.inf, np.inf, 0]])
    anew = times_to_reach(line([0, 1, 2]), bin=1.0).times
    np.testing.assert_array_equal(anew, [[0, 1, 2], [2, 0, 1], [1, 2, 0]])
    slow = times_to_reach(line([0, 0, 1, 1, 2, 1, 0]), bin=1.0, restarts=False).times
    np.testing.assert_array_equal(slow, [[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    # Two episodes put together: from 0 to 1 by one, from 1 to 3 by the other.
    assert times_to_reach(line([0, 1], [1, 2, 3]), bin=1.0, restarts=False).times[0, 3] == 3
    started = Trajectories.of([[[1.0], [2.0]]], first_observations=[[0.0]])
    assert times_to_reach(started, bin=1.0, restarts=False).times[0, 2] == 2


def test_times_in_the_plane_are_the_true_ones_within_a_step():
    """The point moves by at most 0.05 along each axis, so the true time is the larger of both distances over 0.05."""
    rng, count = np.random.default_rng(0), 40
    x = rng.uniform(size=(count, 1, 2))
    moves = 0.05 * MOVES[rng.integers(9, size=(count, 500))]
    walks = [x[:, 0]]
    for t in range(500):
        walks.append(np.clip(walks[-1] + moves[:, t], 0, 1))
    data = Trajectories.of(np.stack(walks, 1), skill=np.zeros(count, int))
    found = times_to_reach(data, restarts=False)
    rows = rng.integers(len(data.observations), size=(2, 2000))
    here, there = (np.asarray(data.observations)[r] for r in rows)
    error = found.times[tuple(found.cells.index[rows])] - np.abs(here - there).max(-1) / 0.05
    assert error.min() > -1 - 1e-3
    assert np.quantile(error, 0.95) < 1.01
    assert found.disagreement < 0.01
    few = times_to_reach(data.take([0, 1]), restarts=False)
    later = few.times[np.isfinite(few.times)].mean()
    assert few.disagreement is None or few.disagreement > 0.05
    assert later > found.times.mean()  # what few episodes know is a longer way


def test_times_in_the_maze_go_around_its_walls():
    """A walk on 20 x 20 places, whose true times come from all steps that cross no wall."""
    walls = Maze().walls + np.array([-0.002, -0.002, 0.002, 0.002])  # those of no width have some
    places = (np.stack(np.divmod(np.arange(400), 20), -1) + 0.5) * 0.05
    ways = places[:, None] + 0.05 * MOVES[None]
    between = places[:, None, None] + np.linspace(0, 1, 26)[:, None] * (ways - places[:, None])[:, :, None]
    inside = ((between[..., None, :] >= walls[:, :2]) & (between[..., None, :] <= walls[:, 2:])).all(-1).any((-1, -2))
    free = ~inside & (ways > 0).all(-1) & (ways < 1).all(-1)
    target = np.arange(400)[:, None] + MOVES @ [20, 1]
    graph = np.zeros((400, 400))
    graph[np.nonzero(free)[0], target[free]] = 1
    true = dijkstra(graph, unweighted=True)
    straight = np.abs(places[:, None] - places[None]).max(-1) / 0.05
    assert (true > 3 * straight + 5).sum() > 1000  # walls matter

    rng = np.random.default_rng(0)
    at = [rng.choice(np.flatnonzero(free.any(1)), 60)]
    for _ in range(400):
        move = rng.integers(9, size=60)
        at.append(np.where(free[at[-1], move], target[at[-1], move], at[-1]))
    place = np.stack(at, 1)
    found = times_to_reach(Trajectories.of(places[place], skill=np.zeros(60, int)), restarts=False)
    node = np.zeros(found.cells.count, int)
    node[found.cells.index] = place.ravel()
    known = true[np.ix_(node, node)]
    assert (found.times >= known).all()
    assert np.mean(found.times == known) > 0.9


def test_the_kernel_is_that_of_alignment_where_distances_are_straight():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 6, (4, 7))
    d = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
    expected = vr.kernel_matrix("alignment(bandwidth=2)", x[:, None, :, None].astype(float))
    np.testing.assert_allclose(alignment_matrix(list(x), d, 2.0), expected, rtol=1e-5)
    uneven = alignment_matrix([x[0], x[1, :3]], d, 2.0)
    pair = [[x[0, :, None].astype(float)], [x[1, :3, None].astype(float)]]
    np.testing.assert_allclose(uneven, vr.kernel_matrix("alignment(bandwidth=2)", pair), rtol=1e-5)
    apart = np.where(np.eye(6, dtype=bool), 0, np.inf)
    same = alignment_matrix([np.array([0, 1]), np.array([2, 3]), np.array([0, 1])], apart, 1.0)
    np.testing.assert_allclose(same, [[1, 0, 1], [0, 1, 0], [1, 0, 1]], atol=1e-12)


def test_the_score_counts_ways():
    out = np.array([0.0, 1, 2, 3, 4, 5, 4, 3, 2, 1])
    ways = np.stack([np.outer(out, way) for way in ([1, 0], [1, 0], [0, 1], [-1, 0], [0, -1])])
    data = Trajectories.of(ways, skill=np.arange(5))
    assert temporal_vendi(data, bandwidth=0.2).value == pytest.approx(np.exp(2 / 5 * np.log(5 / 2) + 3 / 5 * np.log(5)))
    assert temporal_vendi(data, bandwidth=1e4).value == pytest.approx(1, abs=1e-3)
    found = temporal_vendi(data)
    assert "not known" in found.note
    assert "bandwidth was chosen" in found.note
    twice = temporal_vendi(Trajectories.of(ways[[0, 0, 2, 2, 3, 3]], skill=[0, 0, 1, 1, 2, 2]), bandwidth=1.0)
    assert twice.settings["halves_differ_by"] == 0
    assert twice.note == "times by one half of the episodes differ from those by the other by 0%"
    assert temporal_vendi(data, limit=3).settings["trajectories_used"] == 5  # at least one of each skill


def test_what_cannot_be_is_refused():
    data = line([0, 1, 2], [2, 1, 0])
    for wrong in ({"bandwidth": 0.0}, {"limit": 0}, {"steps": 1}, {"bin": -1.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            temporal_vendi(data, **wrong)
    with pytest.raises(ValueError, match="no steps"):
        times_to_reach(line([0], [1]))
    with pytest.raises(ValueError, match="at most 2"):
        times_to_reach(data, bin=1.0, most=2)
