import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vendirl import environments
from vendirl.environments import Box, Discrete, Environment, FourRooms, Maze, OpenPlane, Plane
from vendirl.environments.point import slide

KEY = jax.random.key(0)
WORLDS = [Plane, OpenPlane, FourRooms, Maze]


def walk(world, actions, key=KEY):
    """Positions (T + 1, 2) from the start on."""

    def step(state, inputs):
        state = world.step(state, *inputs)
        return state, state.observation

    first = world.reset(key)
    _, rest = jax.lax.scan(step, first, (actions, jax.random.split(key, len(actions))))
    return jnp.concatenate([first.observation[None], rest])


def crossings(path, walls):
    """How many (step, wall) pairs meet, in float64: a straight step meets a wall x = c, y in [lo, hi] if its two ends
    are on different sides of x = c, and it is between lo and hi when it gets there."""
    a, b = np.float64(path[:-1, None]), np.float64(path[1:, None])
    lo, hi = np.float64(walls[:, :2]), np.float64(walls[:, 2:])
    normal = np.where(lo[:, 0] == hi[:, 0], 0, 1)
    wall = np.arange(len(walls))
    along = 1 - normal
    a_n, b_n = a[..., 0, :][..., normal], b[..., 0, :][..., normal]
    a_s, b_s = a[..., 0, :][..., along], b[..., 0, :][..., along]
    c = lo[wall, normal]
    opposite = (a_n - c) * (b_n - c) <= 0
    with np.errstate(divide="ignore", invalid="ignore"):
        at = a_s + (b_s - a_s) * (c - a_n) / (b_n - a_n)
    return int((opposite & (at >= lo[wall, along]) & (at <= hi[wall, along])).sum())


@pytest.mark.parametrize("World", WORLDS)
def test_describes_itself(World):
    world = World()
    state = world.reset(KEY)
    assert isinstance(world, Environment)
    assert world.observation_size == len(world.feature_names) == state.observation.size == 2
    assert world.actions == Box(2, -1.0, 1.0)
    assert World(discrete=True).actions == Discrete(5)
    assert World(discrete=True, moves=9).actions == Discrete(9)
    assert not state.terminated
    assert state.reward == 0


def test_plane_is_the_papers():
    world = Plane()
    np.testing.assert_allclose(world.reset(KEY).observation, [0.5, 0.5])
    path = walk(world, jnp.array([[1.0, -0.5], [3.0, 0.0], [-7.0, -7.0]]))
    np.testing.assert_allclose(path[1:], [[0.55, 0.475], [0.6, 0.475], [0.55, 0.425]], atol=1e-6)


def test_plane_stops_at_its_bounds_and_open_plane_does_not():
    up_and_right = jnp.ones((40, 2))
    np.testing.assert_allclose(walk(Plane(), up_and_right)[-1], [1.0, 1.0])
    np.testing.assert_allclose(walk(Plane(), -up_and_right)[-1], [0.0, 0.0])
    np.testing.assert_allclose(walk(OpenPlane(), up_and_right)[-1], [2.5, 2.5], rtol=1e-5)


@pytest.mark.parametrize("World", WORLDS)
def test_discrete_moves_are_corners_of_the_box(World):
    world, box = World(discrete=True, moves=9), World()
    state = world.reset(KEY)
    step = jax.jit(jax.vmap(lambda action: world.step(state, action, KEY).observation))
    box_step = jax.jit(jax.vmap(lambda action: box.step(state, action, KEY).observation))
    ends = step(jnp.arange(9))
    directions = np.sign(np.round(ends - state.observation, 4))
    assert {tuple(d) for d in directions} == {(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1)}
    assert (np.abs(directions[:5]).sum(1) <= 1).all()  # the diagonals come last, so five moves have none
    np.testing.assert_array_equal(ends, box_step(directions))


@pytest.mark.parametrize("World", WORLDS)
def test_noise_has_the_stated_spread_and_follows_the_key(World):
    world = World(noise=0.01)
    state = world.reset(KEY)
    step = jax.jit(jax.vmap(lambda key: world.step(state, jnp.zeros(2), key).observation))
    ends = step(jax.random.split(KEY, 4000))
    np.testing.assert_allclose(ends.std(0), 0.01, rtol=0.05)
    np.testing.assert_allclose(ends.mean(0), world.start, atol=0.001)
    np.testing.assert_array_equal(ends, step(jax.random.split(KEY, 4000)))


@pytest.mark.parametrize("World", WORLDS)
def test_gradient_reaches_every_free_action(World):
    world = World(step_size=0.01)
    gradient = jax.jit(jax.grad(lambda actions: walk(world, actions)[-1].sum()))(0.3 * jnp.ones((5, 2)))
    np.testing.assert_allclose(gradient, 0.01, rtol=1e-5)


@pytest.mark.parametrize("World", [FourRooms, Maze])
def test_gradient_is_finite_at_walls_and_at_rest(World):
    actions = jnp.concatenate([jax.random.normal(KEY, (200, 2)) * 2, jnp.zeros((3, 2)), jnp.eye(2)])
    gradient = jax.jit(jax.grad(lambda actions: (walk(World(step_size=0.1), actions) ** 2).sum()))(actions)
    assert jnp.isfinite(gradient).all()
    assert (gradient != 0).any()


@pytest.mark.parametrize("World", [FourRooms, Maze])
@pytest.mark.parametrize("discrete", [False, True])
def test_no_step_crosses_a_wall(World, discrete):
    if discrete:
        world = World(noise=0.01, discrete=True, moves=9)
        actions = jax.random.randint(KEY, (256, 300), 0, 9)
    else:
        # Steps from a fifth of the paper's to right across the world.
        world = World(step_size=2.0, noise=0.01)
        size = jnp.tile(jnp.array([0.005, 0.025, 0.15, 1.0]), 64)[:, None, None]
        actions = size * (jax.random.normal(KEY, (256, 300, 2)) + jnp.sin(jnp.arange(300) / 20)[:, None])
    paths = np.asarray(jax.jit(jax.vmap(lambda a, k: walk(world, a, k)))(actions, jax.random.split(KEY, 256)))
    assert paths.min() >= 0
    assert paths.max() <= 1
    assert sum(crossings(path, world.walls) for path in paths) == 0
    straight = np.linspace(world.start, (0.99, 0.97), 20)
    assert crossings(straight, world.walls) > 0  # the count can fail


cell = st.floats(0.0, 1.0, width=32)


@settings(max_examples=300, deadline=None)
@given(st.tuples(cell, cell), st.tuples(cell, cell), st.booleans())
def test_no_straight_move_between_any_two_places_crosses_a_wall(a, b, maze):
    walls = (Maze if maze else FourRooms)().walls
    a, b = np.float32(a), np.float32(b)
    if ((walls[:, :2] - 2e-4 < a) & (a < walls[:, 2:] + 2e-4)).all(1).any():
        return  # begins in a wall
    end = np.asarray(SLIDE(a, b - a, walls))
    assert crossings(np.stack([a, end]), walls) == 0
    if crossings(np.stack([a, b]), walls) == 0 and crossings(np.stack([a, b]), grown(walls)) == 0:
        np.testing.assert_allclose(end, b, atol=1e-6)  # nothing in the way: the move is made in full


SLIDE = jax.jit(slide)


def grown(walls, by=1e-3):
    """The four sides of every wall's surrounding box."""
    x0, y0, x1, y1 = (walls + np.float32([-by, -by, by, by])).T
    sides = [(x0, y0, x0, y1), (x1, y0, x1, y1), (x0, y0, x1, y0), (x0, y1, x1, y1)]
    return np.concatenate([np.stack(side, axis=1) for side in sides])


def test_slides_along_a_wall_and_stops_in_its_corner():
    walls = jnp.array([[0.5, 0.0, 0.5, 0.6], [0.0, 0.6, 0.5, 0.6]])
    np.testing.assert_allclose(slide(jnp.array([0.4, 0.2]), jnp.array([0.2, 0.1]), walls), [0.5, 0.3], atol=2e-4)
    np.testing.assert_allclose(slide(jnp.array([0.4, 0.2]), jnp.array([0.9, 0.9]), walls), [0.5, 0.6], atol=2e-4)
    np.testing.assert_allclose(slide(jnp.array([0.4, 0.2]), jnp.array([-0.2, 0.1]), walls), [0.2, 0.3], atol=1e-6)


def test_does_not_cut_the_tip_of_a_wall():
    """The axis-by-axis way around the tip would be free; the straight one is not."""
    walls = jnp.array([[0.5, 0.0, 0.5, 0.5]])
    end = slide(jnp.array([0.48, 0.51]), jnp.array([0.05, -0.05]), walls)
    assert end[0] < 0.5


def test_stops_where_sliding_would_touch_another_tip():
    """From (0, 0) to the left of the first wall's tip, then along the second wall into a corner: the straight line from
    beginning to end meets the tip."""
    walls = jnp.array([[0.2, 0.0, 0.2, 0.2], [0.0, 0.4, 0.8, 0.4], [0.4, 0.2, 0.4, 0.4]])
    end = slide(jnp.array([0.0, 0.0]), jnp.array([0.5, 1.0]), walls)
    np.testing.assert_allclose(end, [0.2, 0.4], atol=2e-4)


def test_leans_on_a_wall_for_ever_without_sinking_in():
    world = Maze()
    path = walk(world, jnp.tile(jnp.array([-1.0, -1.0]), (500, 1)))
    np.testing.assert_allclose(path[-1], [0.4, 0.4], atol=2e-4)
    assert (path[-1] > 0.4).all()
    away = world.step(world.reset(KEY), jnp.array([1.0, 0.0]), KEY)
    assert away.observation[0] > 0.5


@pytest.mark.parametrize(("World", "cells"), [(FourRooms, 4), (Maze, 5)])
def test_every_part_can_be_reached(World, cells):
    """Flood the cells of a grid finer than the doors."""
    fine = 20 * cells
    middles = (np.arange(fine) + 0.5) / fine
    walls = World().walls
    reached, front = set(), [tuple((np.array(World().start) * fine).astype(int))]
    while front:
        i, j = front.pop()
        if (i, j) in reached or not (0 <= i < fine and 0 <= j < fine):
            continue
        reached.add((i, j))
        here = np.array([middles[i], middles[j]])
        for di, dj in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            if crossings(np.stack([here, here + np.array([di, dj]) / fine]), walls) == 0:
                front.append((i + di, j + dj))
    assert len(reached) == fine**2


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"start": (0.5,)}, "start=.*two finite numbers"),
        ({"start": (0.5, float("nan"))}, "start=.*two finite numbers"),
        ({"start": (0.5, 1.5)}, "start=.*outside"),
        ({"step_size": 0.0}, "step_size=0.0 must be .* greater than 0"),
        ({"step_size": float("inf")}, "step_size"),
        ({"noise": -0.1}, "noise=-0.1 must be .* at least 0"),
        ({"episode_length": 0}, "episode_length=0 must be at least 1"),
        ({"discrete": True, "moves": 7}, "moves=7: choose 5 .* or 9"),
        ({"discrete": True, "moves": "all"}, "moves='all': choose 5 .* or 9"),
    ],
)
def test_refuses_bad_settings(settings, complaint):
    with pytest.raises(ValueError, match=complaint):
        Plane(**settings)


def test_refuses_what_is_no_whole_number_of_steps():
    with pytest.raises(TypeError, match=r"episode_length=2.5 must be a whole number"):
        Plane(episode_length=2.5)


def test_refuses_to_start_in_a_wall_and_the_open_plane_starts_anywhere():
    with pytest.raises(ValueError, match="lies in the wall"):
        FourRooms(start=(0.5, 0.5))
    assert OpenPlane(start=(7, -3)).start == (7.0, -3.0)


def test_registry_makes_by_name():
    assert environments.names()[:4] == ("point", "open", "rooms", "maze")
    made = [type(environments.make(name)) for name in environments.names()[:4]]
    assert made == [Plane, OpenPlane, FourRooms, Maze]
    assert environments.make("point", noise=0.1).noise == 0.1
    assert "[0, 1]" in environments.describe("point")


def test_registry_names_the_nearest():
    with pytest.raises(
        ValueError, match=r"no environment 'mase'. Did you mean 'maze'\? Known: point, open, rooms, maze"
    ):
        environments.make("mase")


def test_registry_refuses_a_name_twice():
    with pytest.raises(ValueError, match="'point' is registered already"):
        environments.register("point", Plane, "again")


def test_spaces_refuse_to_be_empty():
    with pytest.raises(ValueError, match="n must be at least 1"):
        Discrete(0)
    with pytest.raises(ValueError, match="size must be at least 1"):
        Box(0)
    with pytest.raises(ValueError, match="low must be below high"):
        Box(1, 1.0, 1.0)


def test_worlds_are_equal_by_their_settings():
    assert hash(Plane()) == hash(Plane())
    assert Plane() == Plane()
    assert Plane() != Plane(noise=0.1)
