"""More skills than can be told apart one by one, in a real browser: a map in place of a row for each."""

import numpy as np
import pytest

from tests.show.report.pages import needs_browser, plot
from tests.show.report.report_payloads import report, skill_set

pytestmark = needs_browser
N = 80


@pytest.fixture(scope="module")
def page(window):
    return window(report(skill_set(n=N, episodes=1, steps=10)), viewport={"width": 1400, "height": 900})


def test_the_map_has_each_skill_beside_those_that_are_like_it(page):
    assert not page.errors
    x, y, adds = (np.array(plot(page, f"gd.data[0].{what}", "map-0")) for what in ("x", "y", "marker.color"))
    assert len(x) == len(y) == len(adds) == N
    K = np.array(page.evaluate("JSON.parse(document.getElementById('payload').textContent).sets[0].results[0].kernel"))
    J = np.eye(N) - 1 / N
    values, vectors = np.linalg.eigh(J @ K @ J)
    best = (vectors[:, -2:] * values[-2:]) @ vectors[:, -2:].T
    np.testing.assert_allclose(np.outer(x, x) + np.outer(y, y), best, atol=0.05 * best.max())


def test_only_the_skills_that_add_most_and_least_have_a_row(page):
    assert page.locator("#skills tbody tr").count() == 24
    assert page.input_value("#order") == "alike"
    page.locator("#skills tbody tr").first.hover()
    page.wait_for_selector("#trajectories .stage.dimmed")
    page.hover("h1")
    assert plot(page, "gd.layout.xaxis.type", "spectrum-0") == "log"
