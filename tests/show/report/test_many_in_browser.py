"""Sixty-four skills in a real browser: they are told apart by order, by pictures of their own, and by pointing."""

import itertools

import pytest

from tests.show.report.pages import needs_browser, plot, set_time
from tests.show.report.report_payloads import report, skill_set

pytestmark = needs_browser
N = 64
INKED = """(id) => { const canvas = document.getElementById(id);
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let count = 0; for (let p = 3; p < data.length; p += 4) if (data[p] > 0) count++; return count; }"""


@pytest.fixture(scope="module")
def page(window):
    skills = skill_set(n=N, episodes=10, steps=200)
    for one in skills["episodes"]:
        one["points"] = [[round(x, 4), round(y, 4)] for x, y in one["points"]]
    opened = window(report(skills), viewport={"width": 1400, "height": 900})
    opened.locator("#trajectories").scroll_into_view_if_needed()
    return opened


def processor(page):
    """The milliseconds that the page's own thread has computed for."""
    if not hasattr(page, "devtools"):
        page.devtools = page.context.new_cdp_session(page)
        page.devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    found = {one["name"]: one["value"] for one in page.devtools.send("Performance.getMetrics")["metrics"]}
    return 1000 * found["TaskDuration"]


def test_neighbours_have_colours_of_their_own(page):
    colours = plot(
        page,
        "gd.data.slice(0, 64).map((trace) => [1, 3, 5].map((i) => parseInt(trace.line.color.slice(i, i + 2), 16)))",
    )
    assert len({tuple(colour) for colour in colours}) == N
    far = [sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) ** 0.5 for x, y in itertools.pairwise(colours)]
    assert min(far) > 60


def test_pointing_at_a_skill_shows_it_before_the_others(page):
    before = page.evaluate(INKED, "over-0")
    page.hover('button[data-skill="7"]')
    page.wait_for_selector("#trajectories .stage.dimmed")
    assert page.inner_text("#pointed-0").startswith("skill 7: adds ")
    assert page.evaluate("Number(getComputedStyle(document.getElementById('canvas-0')).opacity)") < 0.3
    assert page.evaluate(INKED, "over-0") != before
    assert page.locator("button.lit").count() == 1
    page.hover("h1")
    page.wait_for_selector("#trajectories .stage:not(.dimmed)")
    assert page.inner_text("#pointed-0") == ""
    page.locator("#skills tbody tr").nth(3).hover()
    page.wait_for_selector("#trajectories .stage.dimmed")
    assert page.inner_text("#pointed-0").startswith("skill 3: ")
    page.hover("h1")


def test_alike_skills_stand_together_in_every_part(page):
    page.select_option("#order", "alike")
    chips = [
        int(k)
        for k in page.evaluate("[...document.querySelectorAll('button[data-skill]')].map((b) => b.dataset.skill)")
    ]
    K = page.evaluate("JSON.parse(document.getElementById('payload').textContent).sets[0].results[0].kernel")
    assert sorted(chips) == list(range(N))
    beside = [K[a][b] for a, b in itertools.pairwise(chips)]
    assert sum(beside) > sum(K[k][(k + 11) % N] for k in range(N - 1))
    shown = plot(page, "gd.data[0].z", "kernel-0")
    assert shown[0][1] == K[chips[0]][chips[1]]
    first = page.locator("#skills tbody tr th").nth(0).inner_text()
    assert int(first) == chips[0]
    page.focus("#kernel-0")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    pressed = page.evaluate(
        "[...document.querySelectorAll('button[aria-pressed=true][data-skill]')].map((b) => Number(b.dataset.skill))"
    )
    assert sorted(pressed) == sorted(chips[:2])
    page.keyboard.press("Escape")
    page.select_option("#order", "adds")
    adds = page.evaluate("JSON.parse(document.getElementById('payload').textContent).sets[0].results[0].contributions")
    assert int(page.locator("#skills tbody tr th").nth(0).inner_text()) == max(range(N), key=lambda k: adds[k])
    page.select_option("#order", "number")


def test_each_skill_in_a_picture_of_its_own(page):
    page.click("#apart")
    assert page.locator("#trajectories-0").is_hidden()
    pictures = page.locator("#multiples-0")
    assert pictures.is_visible()
    set_time(page, 20)
    few = page.evaluate(INKED, "multiples-0")
    set_time(page, 200)
    assert page.evaluate(INKED, "multiples-0") > few
    box = pictures.bounding_box()
    pictures.hover(position={"x": box["width"] / 20, "y": 40})
    page.wait_for_function("document.getElementById('pointed-0').textContent.startsWith('skill 0:')")
    pictures.click(position={"x": box["width"] / 20, "y": 40})
    assert page.locator("#trajectories-0").is_visible()
    assert page.locator("button[aria-pressed=true][data-skill]").count() == 1
    page.click('button[data-show="all"]')
    assert page.errors == []


@pytest.mark.parametrize("apart", [False, True])
def test_they_play_at_thirty_frames_a_second(page, apart):
    """So far as the page's own thread is what takes the time, whatever else the machine does."""
    if apart:
        page.click("#apart")
    set_time(page, 1)
    page.wait_for_timeout(500)  # until what follows a move of the slider is done
    page.evaluate("window.frames_seen = 0; (function next() { frames_seen++; requestAnimationFrame(next); })()")
    page.click("#play")
    page.wait_for_function("vendirl.t > 10")
    begun, first = processor(page), page.evaluate("frames_seen")
    page.wait_for_function("vendirl.t > 150")
    cost = (processor(page) - begun) / (page.evaluate("frames_seen") - first)
    page.wait_for_function("document.getElementById('play').textContent === 'Play'")
    assert cost < 1000 / 30
    if apart:
        page.click("#apart")
