"""Tasks: what their text means, what they pay against obvious references, and what is refused."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendirl.transfer.goals import Goal
from vendirl.transfer.sets import TaskSet, known_sets, register_set, tasks_of
from vendirl.transfer.task import Function, Joined, Seen, Step, as_task, parse_task
from vendirl.transfer.terms import FALLS, TO_ZERO

TEXTS = [
    "tolerance(x_velocity, 4, inf, margin=4)",
    "tolerance(x, -inf, -1)",
    "goal(x, y, range=7.5, radius=3, every=50)",
    "goal(x, y, at=[0.9, -0.1], radius=0.25, dense=True)",
    "goal('a b', at=[2])",
    "hurdles(x, count=3)",
    "0.5*(value(x) + constant(1))",
    "(value(x) + environment)*value(y, weight=-2)",
]


def step(before, after, names=("x", "y"), time=0, paid=0.0):
    seen = (Seen(jnp.asarray(v, float), names) for v in (before, after))
    return Step(*seen, jnp.asarray(time), jnp.asarray(paid, float))


def paid(text, after, before=(0.0, 0.0), **how):
    task = parse_task(text)
    return float(task.reward(task.draw(jax.random.key(0)), step(before, after, **how)))


@pytest.mark.parametrize("text", TEXTS)
def test_texts_parse_back(text):
    assert parse_task(str(parse_task(text))) == parse_task(text)


def tolerance(x, lower, upper, margin, sigmoid, v):
    """As dm_control defines it, in its own words: a scale that is such that v is left at 1."""
    if lower <= x <= upper:
        return 1.0
    if margin == 0:
        return 0.0
    d = (lower - x if x < lower else x - upper) / margin
    if sigmoid == "gaussian":
        return np.exp(-0.5 * (d * np.sqrt(-2 * np.log(v))) ** 2)
    if sigmoid == "hyperbolic":
        return 1 / np.cosh(d * np.arccosh(1 / v))
    if sigmoid == "long_tail":
        return 1 / ((d * np.sqrt(1 / v - 1)) ** 2 + 1)
    if sigmoid == "reciprocal":
        return 1 / (abs(d) * (1 / v - 1) + 1)
    if sigmoid == "tanh_squared":
        return 1 - np.tanh(d * np.arctanh(np.sqrt(1 - v))) ** 2
    scaled = d * {"cosine": np.arccos(2 * v - 1) / np.pi, "linear": 1 - v, "quadratic": np.sqrt(1 - v)}[sigmoid]
    if abs(scaled) >= 1:
        return 0.0
    return {"cosine": (1 + np.cos(np.pi * scaled)) / 2, "linear": 1 - scaled, "quadratic": 1 - scaled**2}[sigmoid]


@pytest.mark.parametrize("sigmoid", FALLS)
@given(
    x=st.floats(-20, 20),
    lower=st.floats(-5, 5),
    width=st.floats(0, 5) | st.just(np.inf),
    margin=st.just(0.0) | st.floats(0.1, 8),
    v=st.floats(0.01, 0.99),
)
def test_tolerance_is_that_of_dm_control(sigmoid, x, lower, width, margin, v):
    x, lower, width, margin, v = (float(np.float32(number)) for number in (x, lower, width, margin, v))
    upper = float(np.float32(lower + width))
    text = f"tolerance(x, {lower!r}, {upper!r}, margin={margin!r}, sigmoid='{sigmoid}', value_at_margin={v!r})"
    wanted = tolerance(x, lower, upper, margin, sigmoid, v)
    assert paid(text, (x, 0.0)) == pytest.approx(wanted, abs=2e-5)


def test_tolerance_in_numbers():
    assert paid("tolerance(x, 4, inf, margin=4)", (0.0, 0.0)) == pytest.approx(0.1)
    assert paid("tolerance(x, 4, inf, margin=4)", (2.0, 0.0)) == pytest.approx(0.1**0.25)
    assert paid("tolerance(x, 1, 2)", (2.0, 0.0)) == 1
    assert paid("tolerance(x, 1, 2)", (2.1, 0.0)) == 0
    for sigmoid in TO_ZERO:
        assert paid(f"tolerance(x, 1, 2, margin=1, sigmoid='{sigmoid}', value_at_margin=0)", (3.0, 0.0)) < 1e-6


def test_sums_products_and_weights():
    assert paid("0.5*(value(x) + constant(1))*value(y)", (3.0, 4.0)) == 8
    assert paid("value(x, -1) + 2*environment", (3.0, 4.0), paid=10.0) == 17
    assert paid("2*(3*value(x))", (1.0, 0.0)) == 6


def test_goals_that_are_fixed():
    assert paid("goal(x, y, at=[1, 1], radius=0.5)", (1.3, 1.4)) == 1
    assert paid("goal(x, y, at=[1, 1], radius=0.5)", (1.4, 1.4)) == 0
    assert paid("goal(x, y, at=[1, 1], dense=True)", (4.0, 5.0)) == -5


def test_goals_that_are_drawn_follow_one_another_and_are_shown_from_where_the_body_is():
    task = parse_task("goal(x, y, range=7.5, radius=3, every=50)")
    θ = jax.vmap(task.draw)(jax.random.split(jax.random.key(0), 2000))
    goals = np.asarray(θ).reshape(2000, 4, 2)
    moves = np.diff(goals, axis=1, prepend=0.0)
    assert np.abs(moves).max() <= 7.5 + 1e-5
    assert np.abs(moves).max((0, 2)).min() > 7.4
    assert np.abs(moves.mean((0, 2))).max() < 0.3
    here = Seen(jnp.array([1.0, -1.0]), ("x", "y"))
    for time, which in ((0, 0), (49, 0), (50, 1), (199, 3), (10_000, 3)):
        assert np.allclose(task.shown(θ[0], here, jnp.asarray(time)), goals[0, which] - [1, -1], atol=1e-6)
        at_goal = step((0, 0), goals[0, which], time=time)
        assert task.reward(θ[0], at_goal) == 1
    about = parse_task("goal(x, range=1, about=[10])")
    assert 9 <= float(about.draw(jax.random.key(1))[0]) <= 11


def test_hurdles_are_paid_once_and_taken_back():
    text = "hurdles(x, first=3, gap=4, count=7)"
    walk = [0, 2.9, 3.1, 8, 6, 40, 41]
    rewards = [paid(text, (b, 0.0), (a, 0.0)) for a, b in itertools.pairwise(walk)]
    assert rewards == [0, 1, 1, -1, 6, 0]  # 3; 7; back over 7; 7, 11, ..., 27
    assert sum(rewards) == 7


def test_several_tasks_have_parameters_of_their_own():
    tasks = tuple(map(parse_task, ["goal(x, range=1)", "value(y)", "goal(x, y, range=9, every=5, goals=2)"]))
    joined = Joined(tasks)
    θ = joined.draw(jax.random.key(0))
    assert (joined.parameters, joined.shows, θ.shape) == (5, 3, (5,))
    now = step((0, 0), (0.5, 2.0), time=6)
    own = [θ[:1], θ[1:1], θ[1:]]
    assert joined.rewards(θ, now).tolist() == [float(t.reward(o, now)) for t, o in zip(tasks, own, strict=True)]
    shown = np.concatenate([t.shown(o, now.after, now.time) for t, o in zip(tasks, own, strict=True)])
    assert joined.shown(θ, now.after, now.time).tolist() == shown.tolist()


def test_a_function_is_a_task():
    progress = Function(lambda step: step["x"] - step.before["x"], ("x",), "progress")
    assert float(progress.reward(jnp.zeros(0), step((1, 0), (3, 0)))) == 2
    assert str(as_task(progress.function)) == "<lambda>"
    with pytest.raises(ValueError, match=r"looks at a feature that is not there; there are x, y"):
        as_task(lambda step: step["z"]).reward(jnp.zeros(0), step((1, 0), (3, 0)))
    with pytest.raises(ValueError, match=r"must return one number for a step, but returned shape \(2,\)"):
        as_task(lambda step: step.after.observation).reward(jnp.zeros(0), step((1, 0), (3, 0)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tolerence(x)", "did you mean 'tolerance'"),
        ("tolerance(x, 3, 1)", "lower must be at most upper"),
        ("tolerance(3)", "the feature must be a name"),
        ("tolerance(x, sigmoid='gausian')", "did you mean 'gaussian'"),
        ("tolerance(x, value_at_margin=0)", "between 0 and 1"),
        ("goal(x, y)", "either where it lies"),
        ("goal(x, at=[1, 2])", "a number for each of x"),
        ("goal(at=[1])", "name the features"),
        ("goal(x, at=[1], every=3)", "for goals that are drawn"),
        ("goal(x, range=1, every=0)", "every must be a positive whole number"),
        ("goal(x, features=[1], at=[1])", "has no setting 'features'"),
        ("value(x, weight=inf)", "weight must be a finite number"),
        ("value(x, weight=1e308)", r"weight must be a finite number of at least -1e\+15 and at most 1e\+15"),
        ("constant(-1e300)", "c must be a finite number of at least"),
        ("1e10*(1e10*environment)", r"finite number of at most 1e\+15, but 1e\+10\*1e\+10 is 1e\+20"),
        ("goal(x, range=1e308)", "range must be a finite number greater than 0 and at most"),
        ("goal(x, at=[1e300], dense=True)", "each number in at must be"),
        ("2", "it is a number, not a task"),
        ("__import__('os')", "there is no task"),
        ("value(x).on(y)", "does not look at features"),
    ],
)
def test_texts_that_mean_nothing_are_refused(text, said):
    with pytest.raises(ValueError, match=said):
        parse_task(text)


def test_sets_have_two_parts_that_share_nothing_but_what_is_drawn():
    assert {"plane-goals", "maze-goals", "rooms-goals-dense", "speeds", "cheetah-goal", "walker"} <= set(known_sets())
    for tasks in known_sets().values():
        both = set(tasks.train) & set(tasks.held_out)
        assert all(task.parameters for task in both) or tasks.name == "cheetah-hurdle"
        assert len(set(tasks.part("all"))) == len(tasks.part("all"))
    maze = known_sets()["maze-goals"].part("all")
    assert len(maze) == 24
    assert all(isinstance(task, Goal) and task.at != (0.5, 0.5) for task in maze)
    assert [str(t) for t in tasks_of("maze-goals", "train")] == list(map(str, known_sets()["maze-goals"].train))


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        ([], "tasks is empty"),
        ("maze-gaols", "did you mean 'maze-goals'"),
        (["value(x)", "value(x)"], "named twice"),
        ([3], "a task must be a Task, its text, or a function"),
    ],
)
def test_lists_of_tasks_that_mean_nothing_are_refused(tasks, said):
    with pytest.raises((ValueError, TypeError), match=said):
        tasks_of(tasks)


def test_an_empty_set_cannot_be_made_known():
    with pytest.raises(ValueError, match="'empty' has no train tasks"):
        register_set(TaskSet("empty", "point", (), (parse_task("value(x)"),)))
