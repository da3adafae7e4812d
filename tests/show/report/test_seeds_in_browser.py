"""Pages of several seeds and of runs in a real browser: all seeds, which number is what, and what was learned."""

import pytest

from tests.show.report.pages import needs_browser, set_time
from tests.show.report.report_payloads import report, skill_set

pytestmark = needs_browser
SENSE = "mmd(scale=4)"


def seeds():
    """Two methods of three seeds, and one of one seed; a measure that only the first has, one with other settings."""
    sets = [skill_set(f"runs/{m}/seed-{s}", n=4, steps=8, seed=3 * g + s) for g, m in enumerate("ab") for s in range(3)]
    sets.append(skill_set("runs/c", n=4, steps=8, seed=9))
    for i, one in enumerate(sets):
        result = one["results"][0]
        result |= {"repetition": None, "repetition_note": "none was asked for", "limit": None, "limit_note": "not here"}
        result |= {"untrained": 1.5 + 0.01 * i, "noise_free": 3.75, "p_value": 0.0476, "interval": None}
        result["verdict"] = "more diverse than the same episodes dealt to skills at random"
        one |= {"acted": "acting with noise", "counts": [3] * 4}
        cells = one["measures"][0]
        if i >= 3:
            cells["settings"] = {"bin size": 0.2}
        if i == 6:
            cells |= {"value": None, "note": "these data have no cells"}
    scores = [one["results"][0]["vendi_score"] for one in sets]
    gap = {"similarity": SENSE, "difference": 2.0, "interval": [1.5, 2.5], "p_value": 1e-9, "confidence": 0.95}
    groups = [
        {"name": "method a", "sets": [0, 1, 2], "learned": "It learned 2.00 effective skills more.", "differences": {}},
        {"name": "method b", "sets": [3, 4, 5], "learned": None, "untrained_note": "nothing was kept"},
        {"name": "method c", "sets": [6], "learned": None},
    ]
    groups[0] |= {"similarity": SENSE, "differences": {SENSE: gap | {"note": "paired over 3 seeds"}}}
    comparison = {
        "methods": [group["name"] for group in groups],
        "similarities": [SENSE],
        "iqm": [[3.1], [3.2], [3.3]],
        "intervals": [[[3.0, 3.15]], [[3.1, 3.25]], [None]],
        "scores": [[scores[:3]], [scores[3:6]], [scores[6:]]],
        "confidence": 0.95,
        "note": "Interquartile means.",
    }
    return report(*sets, groups=groups, comparison=comparison)


@pytest.fixture(scope="module")
def page(window):
    return window(seeds(), viewport={"width": 1400, "height": 900})


def test_a_page_of_methods_opens_with_all_their_seeds(page):
    assert page.errors == []
    for section in ("trajectories", "kernel", "skills", "spectrum"):
        assert page.locator(f"#{section} article").count() == 7
        assert page.locator(f"#{section} article:visible").count() == 7
    assert page.locator("#score article").count() == 3  # seeds are judged together
    assert page.locator("#score-0 .strip .seed").count() == 3
    assert page.locator("#comparison .span u").count() == 7  # a dot for each seed
    first = page.evaluate("document.querySelector('#report > section').id")
    assert first == "comparison"


def test_charts_of_many_sets_are_drawn_when_they_come_into_sight(page):
    assert not page.evaluate("Boolean(document.getElementById('spectrum-6').data)")
    page.locator("#spectrum-6").scroll_into_view_if_needed()
    page.wait_for_function("document.getElementById('spectrum-6').data")
    page.evaluate("window.scrollTo(0, 0)")


def test_no_interval_is_shown_of_one_seed(page):
    row = page.locator("#comparison tbody tr").nth(2)
    assert row.locator("strong").inner_text() == "3.3"
    assert " to " not in row.inner_text()
    assert row.locator(".span i").count() == 0
    assert "3 to 3.15" in page.locator("#comparison tbody tr").nth(0).inner_text()
    assert "95%" not in page.inner_text("#score-2")
    assert "95% bootstrap interval of the interquartile mean of 3 seeds" in page.inner_text("#score-0")


def test_what_was_learned_is_said(page):
    words = page.inner_text("#score-0")
    own = f"Did it learn anything? By {SENSE}, the run's own similarity: It learned 2.00 effective skills more."
    assert f"{own} Acting with noise, +2 since then (95% interval 1.5 to 2.5" in words
    assert "+2 since then (95% interval 1.5 to 2.5, p < 0.0001; paired over 3 seeds)" in words
    assert page.locator("#score-0 .strip .untrained").count() == 1
    assert "Did it learn anything? Not known: nothing was kept." in page.inner_text("#score-1")
    assert "Did it learn" not in page.inner_text("#score-2")


def test_noise_is_named(page):
    words = page.inner_text("#score-2")
    assert "from 3 episodes of each skill, acting with noise." in words
    assert "one episode of each skill in which it takes its likeliest actions" in words
    assert "one episode of each skill without noise" in page.inner_text("#curve")


def test_measures_share_a_row_and_say_why_one_is_missing(page):
    rows = page.locator("#measures tbody tr")
    assert rows.count() == 1  # smoothness is in none, and is said below
    assert "smoothness: too few steps" in page.inner_text("#measures .missing")
    cells = rows.nth(0).locator("td").all_inner_texts()
    assert cells[0].startswith("121 (median of 3 seeds; 120 to 122)")
    assert "these data have no cells" in cells[2]
    assert "settings differ" in cells[3]
    assert page.locator("#measures .best").count() == 0  # what was measured differently is not compared


def test_the_notes_on_measures_are_in_sight_beside_three_methods(page):
    page.set_viewport_size({"width": 1000, "height": 900})
    taken, room = page.evaluate("(({ scrollWidth: s, clientWidth: c }) => [s, c])(measures.querySelector('.scroll'))")
    page.set_viewport_size({"width": 1400, "height": 900})
    assert taken <= room


def test_one_seed_can_be_chosen(page):
    page.select_option("#seed", "seed-1")
    assert page.locator("#trajectories article:visible").count() == 3  # one of each, and the one that has no seeds
    assert "effectively different skills of 4" in page.inner_text("#score-0")
    assert "no interval" in page.inner_text("#score-0")
    page.select_option("#group", label="method b")
    assert page.locator("#trajectories article:visible").count() == 1
    page.select_option("#group", "")
    page.select_option("#seed", "")
    assert page.locator("#trajectories article:visible").count() == 7


def test_on_a_phone_nothing_is_blank_and_nothing_overflows(window):
    phone = window(seeds(), viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    assert phone.errors == []
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    # Every row of a table has words within the screen, and is not much higher than they are.
    rows = phone.evaluate(
        """[...document.querySelectorAll('#measures tbody tr, #comparison tbody tr, #settings tbody tr, .lines tr')]
        .filter((row) => row.offsetParent !== null).map((row) => { const all = row.getBoundingClientRect();
        const cells = [...row.children].map((cell) => cell.getBoundingClientRect());
        return [all.height, cells.reduce((sum, cell) => sum + cell.height, 0), Math.max(...cells.map((c) => c.right)),
        row.innerText.trim().length]; })"""
    )
    assert len(rows) > 10
    for height, of_cells, right, words in rows:
        assert words > 0
        assert right <= 390
        assert height <= of_cells + 40
    assert phone.locator("#comparison td").nth(0).evaluate("cell => getComputedStyle(cell, '::before').content") == (
        f'"{SENSE}"'
    )


def test_both_intervals_say_which_is_which(window):
    payload = report(skill_set(n=4, steps=8))
    result = payload["sets"][0]["results"][0]
    score = result["vendi_score"]
    result |= {"repetition": [score - 0.2, score + 0.1], "limit": [score - 0.9, score - 0.3]}
    result |= {"narrower": "40 episodes of each skill would halve it"}
    page = window(payload, viewport={"width": 1000, "height": 800})
    rows = [" ".join(text.split()) for text in page.locator("#score-0 .lines tr").all_inner_texts()]
    assert rows[0].startswith("a repetition ")
    assert rows[0].endswith("95% interval of the score that as many episodes of these skills would have again")
    assert rows[1].startswith("the limit ")
    assert "95% interval of the score that infinitely many episodes" in rows[1]
    assert rows[1].endswith("the score lies outside: few episodes inflate it")
    assert "to be surer 40 episodes of each skill would halve it" in rows
    assert page.locator("#score-0 .strip .interval").count() == page.locator("#score-0 .strip .limit").count() == 1
    set_time(page, 4)
    assert page.errors == []
