"""The utility map: correlations by hand, and p-values that hold what they say."""

import io

import numpy as np
import pytest
from rich.console import Console
from scipy.stats import spearmanr

from vendirl.show.utility_map import html_of_map, tables_of_map
from vendirl.transfer.mapping import spearman, utility_map
from vendirl.transfer.useful import profile_kernel, useful_skills


def map_of(U, V, draws=199, seed=0):
    names = [f"set {i}" for i in range(len(U))]
    utility = dict(zip(names, U, strict=True))
    scores = {name: {f"k{j}": v for j, v in enumerate(row)} for name, row in zip(names, V, strict=True)}
    return utility_map(utility, scores, tuple(f"task {m}" for m in range(len(U[0]))), "select", draws, seed)


def test_correlations_are_spearmans():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 4, (9, 3)).astype(float), rng.normal(size=(9, 2))
    wanted = [[spearmanr(a, b).statistic for b in y.T] for a in x.T]
    np.testing.assert_allclose(spearman(x, y), wanted, atol=1e-12)
    assert spearman(np.ones((5, 1)), y[:5])[0].tolist() == [0, 0]


def test_what_goes_together_is_found_in_its_task_alone():
    rng = np.random.default_rng(1)
    V = rng.normal(size=(14, 2))
    U = rng.normal(size=(14, 3))
    U[:, 1] = V[:, 0]
    found = map_of(U, V)
    assert found.correlation[0, 1] == pytest.approx(1)
    assert found.p_values[0, 1] < 0.01
    assert (np.delete(found.p_values.ravel(), 1) > 0.01).all()


def test_p_values_are_uniform_where_nothing_goes_together():
    rng = np.random.default_rng(2)
    p = np.concatenate(
        [map_of(rng.normal(size=(6, 2)), rng.normal(size=(6, 2)), 99, i).p_values.ravel() for i in range(60)]
    )
    assert 0.02 < (p <= 0.1).mean() < 0.2  # 240 values, some of which depend on each other
    assert 0.35 < (p <= 0.5).mean() < 0.65


def test_a_difference_between_tasks_is_told_from_none():
    rng = np.random.default_rng(3)
    V = rng.normal(size=(16, 1))
    noise = 0.3 * rng.normal(size=(16, 6))
    assert map_of(V + noise, V).by_task_p[0] > 0.05  # useful in all tasks alike
    assert map_of(V * np.array([1, 1, 1, -1, -1, -1]) + noise, V).by_task_p[0] < 0.05


def printed(found):
    console = Console(width=200, record=True, file=io.StringIO())
    for table in tables_of_map(found):
        console.print(table)
    return console.export_text()


def test_the_page_has_all_that_the_terminal_has():
    rng = np.random.default_rng(4)
    V, U = rng.normal(size=(8, 2)), rng.normal(size=(8, 3))
    U[:, 1] = V[:, 0]
    found = map_of(U, V)
    page, terminal = html_of_map(found), printed(found)
    for k in range(2):
        assert f"<td>p {found.by_task_p[k]:.3f}</td>" in page
        assert f"{found.overall[k]:+.2f}" in page
        assert f"{found.overall[k]:+.2f}" in terminal
    assert page.count("+1.00*") == terminal.count("+1.00*") == 1  # the star that is explained below
    assert f">{found.utility[0].mean():.2f}<" in page


def test_no_correlation_is_told_where_there_is_none():
    V = np.array([[1.0, 2, 3, 4], [1, 1, 1, 1]]).T
    found = map_of(np.array([[-0.001] * 4, [1.0, 2, 3, 4]]).T, V)
    rows = [line.split() for line in printed(found).splitlines()]
    told = {row[0]: row[1:] for row in rows if row and row[0] in ("k0", "k1")}
    assert told["k0"][:3] == ["-", "+1.00", "+1.00"]
    assert told["k1"] == ["-", "-", "-", "-"]
    assert "-0.00" not in printed(found) + html_of_map(found)
    assert "<td>-</td>" in html_of_map(found).replace(' style="background:hsl(210 80% 100%)"', "")


def test_maps_that_mean_nothing_are_refused():
    with pytest.raises(ValueError, match="at least 4 sets of skills, but there are 3"):
        map_of(np.ones((3, 2)), np.ones((3, 1)))
    with pytest.raises(ValueError, match="utility must be finite"):
        map_of(np.full((4, 2), np.nan), np.ones((4, 1)))


def test_useful_skills():
    one, many = np.zeros((5, 10)), np.eye(10)
    assert useful_skills(one) == pytest.approx(1)
    K = np.where(np.eye(10) > 0, 1, np.exp(-20 * 0.2))
    np.testing.assert_allclose(profile_kernel(many), K)
    λ = np.linalg.eigvalsh(K / 10)
    assert useful_skills(many) == pytest.approx(np.exp(-(λ * np.log(λ)).sum()), rel=1e-6)
    assert useful_skills(np.repeat(many, 2, axis=0)) == pytest.approx(useful_skills(many), rel=1e-6)
    assert useful_skills(np.repeat(many, 3, axis=1)) == pytest.approx(useful_skills(many), rel=1e-6)  # tasks drawn anew
    with pytest.raises(ValueError, match="a row for each skill"):
        useful_skills([1.0, 2.0])
