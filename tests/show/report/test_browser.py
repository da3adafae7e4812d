"""The report page in a real browser (Debian's chromium, driven by playwright), one window for each of three reports."""

import re

import pytest

from tests.show.report.pages import needs_browser, plot, set_time
from tests.show.report.report_payloads import report, skill_set

pytestmark = needs_browser

HOSTILE = '</script><img src=x onerror="window.pwned=1"><b>%{x}</b>'
LABELS = [HOSTILE, *"1234567"]
SENSES = ("mmd(scale=4)", "cosine(center=0.5)")
T = 25


@pytest.fixture(scope="module")
def one(window):
    return window(
        report(skill_set(similarities=SENSES, labels=LABELS), title=HOSTILE), viewport={"width": 1280, "height": 900}
    )


@pytest.fixture(scope="module")
def phone(window):
    sets = [
        skill_set("runs/mmd", features=4, n=3, steps=12),
        skill_set("runs/long-name/seed-1", features=4, n=9, steps=9, seed=1),
    ]
    comparison = {
        "similarities": ["mmd(scale=4)"],
        "methods": ["a", "b"],
        "iqm": [[2.0], [3.0]],
        "intervals": [[[1.9, 2.1]], [[2.8, 3.2]]],
        "note": "Interquartile means.",
    }
    screen = {"width": 390, "height": 844}
    payload = report(*sets, comparison=comparison)
    return window(payload, viewport=screen, is_mobile=True, has_touch=True, color_scheme="dark")


@pytest.fixture
def page(one):
    """The first report, with all skills and all time."""
    one.click('button[data-show="all"]')
    set_time(one, T)
    return one


def visible(page):
    return plot(page, "gd.data.slice(0, 8).map((trace, k) => trace.visible ? k : -1).filter((k) => k >= 0)")


def pressed(page):
    return [chip.get_attribute("aria-pressed") == "true" for chip in page.query_selector_all("button[data-skill]")]


def cell(page, row, column):
    """Where a cell of the heat map is on the screen."""
    page.locator("#kernel-0").scroll_into_view_if_needed()
    return plot(
        page,
        f"""(() => {{ const {{ xaxis, yaxis }} = gd._fullLayout, box = gd.getBoundingClientRect();
        return [box.left + xaxis._offset + xaxis.l2p({column}), box.top + yaxis._offset + yaxis.l2p({row})]; }})()""",
        "kernel-0",
    )


def test_loads_without_errors_and_requests_only_itself(page):
    assert page.errors == []
    assert page.requests == [page.address]
    assert plot(page, "gd.data.length") == 8 + 2  # a line for each skill, where they are now, and the start
    assert page.evaluate("document.querySelectorAll('.js-plotly-plot').length") == 5


def test_the_score_is_said_in_words(page):
    page.select_option("#similarity", SENSES[0])
    words = page.inner_text("#score")
    score = page.evaluate("JSON.parse(document.getElementById('payload').textContent).sets[0].results[0].vendi_score")
    assert f"{score:.4g} effectively different skills of 8, from 3 episodes of each skill." in words
    assert re.search(r"by chance\s+1\.2 \(1\.1 to 1\.3\)\s+the same episodes with the skill labels shuffled", words)
    assert page.locator("#score .strip .dot, #score .strip .null, #score .strip .ceiling").count() == 3


def test_the_slider_moves_the_trajectories(page):
    whole = plot(page, "gd.data[2].x.length")
    page.focus("#time")
    for _ in range(5):
        page.keyboard.press("ArrowLeft")
    page.wait_for_function(f"vendirl.t === {T - 5}")
    assert plot(page, "gd.data[2].x.length") == whole - 3 * 5  # three episodes
    assert page.inner_text(".time output") == "step 20 of 25"
    set_time(page, 1)
    start = plot(page, "[gd.data[2].x.length, gd.data[2].x[0], gd.data[2].x[2], gd.data[8].x.length]")
    assert start == [3 * 3, 0.5, None, 8 * 3]  # from the world's start to the first observation, then a gap
    drawn = page.locator("#trajectories-0 .scatterlayer .trace path.js-line").count()
    assert drawn == 8 * 3


def test_play_and_pause(page):
    set_time(page, 3)
    page.focus("#play")
    page.keyboard.press("Enter")
    page.wait_for_function("vendirl.t > 4")
    assert page.inner_text("#play") == "Pause"
    page.keyboard.press("Enter")
    assert page.inner_text("#play") == "Play"
    set_time(page, T - 1)
    page.click("#play")
    page.wait_for_function(f"vendirl.t === {T} && document.getElementById('play').textContent === 'Play'")


def test_hiding_a_skill_hides_its_traces(page):
    page.click('button[data-skill="3"]')
    assert visible(page) == [0, 1, 2, 4, 5, 6, 7]
    assert pressed(page) == [k != 3 for k in range(8)]
    assert plot(page, "gd.data[8].x.length") == 7 * 3
    assert page.locator("#trajectories-0 .scatterlayer .trace path.js-line").count() == 7 * 3
    set_time(page, 10)
    assert visible(page) == [0, 1, 2, 4, 5, 6, 7]
    page.focus('button[data-skill="3"]')
    page.keyboard.press("Space")
    assert visible(page) == list(range(8))
    assert plot(page, "gd.data[3].x.length") == plot(page, "gd.data[4].x.length")
    page.click('button[data-show="none"]')
    assert visible(page) == []
    page.dblclick('button[data-skill="5"]')
    assert visible(page) == [5]


def test_a_cell_of_the_heat_map_selects_its_two_skills(page):
    place = cell(page, 2, 5)
    page.mouse.move(*place)
    page.wait_for_selector("#kernel-0 .hoverlayer .hovertext")
    assert page.text_content("#kernel-0 .hoverlayer").startswith("skill 2 and skill 5: similarity 0.")
    page.mouse.click(*place)
    page.wait_for_function("document.querySelectorAll('button[aria-pressed=true]').length === 2")
    assert visible(page) == [2, 5]
    page.mouse.move(5, 5)
    page.mouse.move(*place)
    page.mouse.click(*place)
    page.wait_for_function("document.querySelectorAll('button[aria-pressed=true]').length === 8")
    assert visible(page) == list(range(8))


def test_the_heat_map_by_keyboard(page):
    page.focus("#kernel-0")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight"):  # the first shows where one is
        page.keyboard.press(key)
    assert page.inner_text("#readout-0").startswith("skill 1 and skill 3: similarity 0.")
    page.keyboard.press("Enter")
    assert visible(page) == [1, 3]
    page.keyboard.press("Escape")
    assert visible(page) == list(range(8))


def test_every_control_can_be_reached_by_tab(page):
    page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
    reached = []
    for _ in range(24):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("(({ id, dataset }) => id || dataset.skill || dataset.axis)(document.activeElement)")
        )
    assert {"similarity", "theme", "play", "time", "x", "y", *map(str, range(8)), "kernel-0"} <= set(reached)
    page.focus("#play")
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_axes_can_be_chosen(page):
    page.select_option('select[data-axis="x"]', label="step")
    assert plot(page, "gd.data[0].x.slice(0, 3)") == [0, 1, 2]
    assert plot(page, "gd.layout.yaxis.scaleanchor ?? null") is None
    page.select_option('select[data-axis="x"]', label="x")
    assert plot(page, "gd.layout.yaxis.scaleanchor") == "x"  # the world is not distorted
    scale = plot(page, "[gd._fullLayout.xaxis, gd._fullLayout.yaxis].map((a) => a._length / (a.range[1] - a.range[0]))")
    assert scale[0] == pytest.approx(scale[1], rel=1e-3)


def test_another_similarity(page):
    before = plot(page, "gd.data[0].z[0][1]", "kernel-0")
    page.select_option("#similarity", SENSES[1])
    assert SENSES[1] in page.inner_text("#score")
    assert plot(page, "gd.data[0].z[0][1]", "kernel-0") != before
    page.select_option("#similarity", SENSES[0])
    assert plot(page, "gd.data[0].z[0][1]", "kernel-0") == before


def test_light_and_dark(page):
    colours = "[gd.data[7].line.color, gd.layout.font.color]"
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    light = [*plot(page, colours), page.evaluate("getComputedStyle(document.body).backgroundColor")]
    page.click("#theme")
    dark = [*plot(page, colours), page.evaluate("getComputedStyle(document.body).backgroundColor")]
    assert all(a != b for a, b in zip(light, dark, strict=True))
    page.click("#theme")
    assert plot(page, colours) == light[:2]
    for scheme in ("dark", "light"):  # the system's choice is followed too
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function("scheme => document.documentElement.dataset.theme === scheme", arg=scheme)
    assert plot(page, colours) == light[:2]


def test_hostile_strings_are_inert(page):
    assert page.text_content('button[data-skill="0"]') == HOSTILE
    assert page.text_content("h1") == HOSTILE
    assert page.title() == HOSTILE
    place = cell(page, 0, 1)
    page.mouse.move(*place)
    page.wait_for_function("document.querySelector('#kernel-0 .hoverlayer').textContent.includes('similarity')")
    assert page.text_content("#kernel-0 .hoverlayer").startswith(f"{HOSTILE} and skill 1: similarity 0.")
    page.mouse.move(5, 5)
    assert page.evaluate("[window.pwned, document.querySelectorAll('img').length]") == [None, 0]
    assert page.errors == []
    assert page.requests == [page.address]


def test_on_a_phone_names_stand_apart_from_their_numbers(one):
    one.set_viewport_size({"width": 390, "height": 844})
    rows = one.evaluate(
        """[...document.querySelectorAll("#score .lines tr")].map(({ children: [name, value] }) => [
            value.getBoundingClientRect().left - name.getBoundingClientRect().right, getComputedStyle(value).textAlign,
        ])"""
    )
    one.set_viewport_size({"width": 1280, "height": 900})
    assert len(rows) > 2
    assert all(gap >= 8 and align == "right" for gap, align in rows), rows


def test_on_a_phone_in_the_dark(phone):
    assert phone.errors == []
    assert phone.evaluate("document.documentElement.dataset.theme") == "dark"
    assert phone.evaluate("document.documentElement.scrollWidth <= 390 && innerWidth === 390")
    stacked = phone.evaluate(
        "[...document.querySelectorAll('#trajectories article')].map((a) => a.getBoundingClientRect().top)"
    )
    assert stacked[0] < stacked[1]
    tables = phone.evaluate(
        "[...document.querySelectorAll('table')].every((table) => table.closest('.scroll') || table.matches('.lines'))"
    )
    assert tables
    text = phone.text_content("#comparison")
    assert "1.9 to 2.1" in text


def test_sets_side_by_side(phone):
    """The same report on a wide screen."""
    phone.set_viewport_size({"width": 1280, "height": 900})
    boxes = [phone.locator(f"#trajectories-{i}").bounding_box() for i in (0, 1)]
    edges = [(box["y"], box["x"]) for box in boxes]
    assert edges[0][0] == pytest.approx(edges[1][0], abs=1)
    assert edges[0][1] < edges[1][1]
    assert "121" in phone.inner_text("#measures .best")
    assert phone.locator("#settings tr.differs").count() == 2  # skills and seed
    phone.evaluate("window.scrollTo(0, document.getElementById('trajectories').offsetTop)")
    set_time(phone, 10)
    assert plot(phone, "gd.data[0].x.length", "trajectories-0") == 3 * 11
    assert plot(phone, "gd.data[0].x.length", "trajectories-1") == 3 * 10  # whose episodes end after nine steps


def test_charts_out_of_sight_catch_up(phone):
    phone.evaluate("window.scrollTo(0, document.getElementById('trajectories').offsetTop)")
    set_time(phone, 10)
    phone.wait_for_function("document.getElementById('trajectories-0').data[0].x.length === 3 * 11")
    phone.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    phone.wait_for_function("document.getElementById('trajectories-0').getBoundingClientRect().bottom < 0")
    set_time(phone, 4)
    assert plot(phone, "gd.data[0].x.length") == 3 * 11
    phone.evaluate("window.scrollTo(0, document.getElementById('trajectories').offsetTop)")
    phone.wait_for_function("document.getElementById('trajectories-0').data[0].x.length === 3 * 5")


def test_three_features_make_a_space(phone):
    if phone.locator('select[data-axis="z"]').is_disabled():
        pytest.skip("this chromium has no WebGL")
    phone.select_option('select[data-axis="z"]', label="height")
    assert plot(phone, "[gd.data[0].type, gd.data[0].z.length === gd.data[0].x.length]") == ["scatter3d", True]
    phone.click('button[data-set="0"][data-skill="1"]')
    assert plot(phone, "gd.data[1].visible") is False
    set_time(phone, 2)
    assert plot(phone, "gd.data[0].z.length") == 3 * 3
    phone.select_option('select[data-axis="z"]', label="none")
    assert plot(phone, "gd.data[0].type") == "scatter"
    assert phone.errors == []
    assert len(phone.requests) == 1


def test_a_thousand_trajectories_stay_usable(window):
    page = window(report(skill_set(n=50, episodes=20, steps=50)), viewport={"width": 1280, "height": 900})
    painted = """() => { const canvas = document.getElementById('canvas-0');
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        return data.filter((value, i) => i % 4 === 3 && value > 0).length; }"""
    milliseconds, pixels = [], []
    for t in (5, 15, 25, 50):
        set_time(page, t)
        milliseconds.append(page.evaluate("vendirl.milliseconds"))
        pixels.append(page.evaluate(painted))
    assert min(milliseconds) < 1000
    assert sorted(set(pixels)) == pixels
    page.wait_for_function("document.getElementById('trajectories-0').data[7].x.length === 20 * (50 + 2)")  # for hover
    page.click('button[data-skill="7"]')
    assert plot(page, "gd.data[7].visible") is False
    page.click('button[data-show="none"]')
    assert page.evaluate(painted) == 0
    assert page.errors == []
