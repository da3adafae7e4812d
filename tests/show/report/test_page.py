"""The report page as text: it stands alone, says what it was given, and takes no string for markup."""

import base64
import hashlib
import html.parser
import json
import re
import shutil
import subprocess
import sys
from importlib import resources

import pytest

pytest.importorskip("plotly", reason="the report page needs plotly: pip install 'vendirl[report]'")

from tests.show.report.report_payloads import report, skill_set
from vendirl.show.report import page

HOSTILE = '</script><img src=x onerror="window.pwned=1"><!--<script>\u2028&{{js}}'


class Parts(html.parser.HTMLParser):
    """The elements of a document, with the text of its scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self.attributes = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.cdata_elem == "script":  # inside one, whose text is not parsed
            self.scripts[-1] += data


@pytest.fixture(autouse=True, scope="module")
def short_plotly():
    """Plotly's five megabytes are read once, by the test that is about them."""
    whole, page._plotly = page._plotly, lambda: "/* plotly */"
    yield whole
    page._plotly = whole


@pytest.fixture(scope="module")
def payload():
    return report(skill_set(n=3, episodes=1, steps=2, labels=[HOSTILE, "b", "c"]), title=HOSTILE, command=HOSTILE)


def test_payload_arrives_as_it_was_given(payload):
    parts = Parts(page.render(payload))
    assert json.loads(parts.scripts[0]) == payload


def test_strings_are_text(payload):
    text = page.render(payload)
    parts = Parts(text)
    assert parts.tags.count("script") == 3
    assert "img" not in parts.tags
    assert "\u2028" not in parts.scripts[0]
    assert "<" not in parts.scripts[0]
    assert "<title>&lt;/script&gt;&lt;img" in text


def test_nothing_is_fetched(payload):
    parts = Parts(page.render(payload))
    links = [value for name, value in parts.attributes if name in ("src", "href", "srcset", "action", "data")]
    assert links == ["data:,"]
    assert not re.search(r"@import|url\(", page._beside("page.css"))
    assert not re.search(r"fetch\(|XMLHttpRequest|WebSocket|import\(|innerHTML|insertAdjacent", page._script())


def test_the_script_is_made_of_every_file_once():
    folder = resources.files("vendirl.show.report").joinpath("js")
    assert sorted(f"{name}.js" for name in page.SCRIPTS) == sorted(file.name for file in folder.iterdir())
    script = Parts(page.render(report(skill_set(n=2, episodes=1, steps=2)))).scripts[2]
    places = [script.index(folder.joinpath(f"{name}.js").read_text(encoding="utf-8")) for name in page.SCRIPTS]
    assert places == sorted(places)
    assert script.startswith('"use strict";\n(() => {\n')
    assert script.endswith("})();\n")


@pytest.mark.skipif(shutil.which("node") is None, reason="JavaScript is checked by node: apt install nodejs")
@pytest.mark.parametrize("name", page.SCRIPTS)
def test_each_file_is_a_script_of_its_own(name):
    strict = f'"use strict";\n{page._beside("js", f"{name}.js")}'
    checked = subprocess.run(["node", "--check", "-"], input=strict, capture_output=True, text=True, timeout=60)
    assert checked.returncode == 0, checked.stderr


def test_policy_names_the_scripts(payload):
    parts = Parts(page.render(payload))
    policy = next(v for k, v in parts.attributes if "default-src" in (v or ""))
    assert policy.startswith("default-src 'none'; script-src ")
    assert "unsafe-inline" not in policy.split("style-src")[0]
    for script in parts.scripts[1:]:
        assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in policy


def test_plotly_is_inside(payload, short_plotly, monkeypatch):
    monkeypatch.setattr(page, "_plotly", short_plotly)
    from plotly.offline import get_plotlyjs

    assert get_plotlyjs() in page.render(payload)


def test_without_plotly_it_says_what_to_install(short_plotly, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(ImportError, match=r"pip install 'vendirl\[report\]'"):
        short_plotly()


def change(payload, path, value):
    """A copy of the payload with another value at a path."""
    copy = json.loads(json.dumps(payload))
    place = copy
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return copy


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["sets"], [], '"sets" lists at least one'),
        (["sets", 0], {"labels": ["a"], "features": ["x"], "episodes": []}, r"\['sets'\]\[0\] has no 'results'"),
        (["sets", 0, "features"], [], "3 labels and 0 features"),
        (["sets", 0, "episodes", 1, "skill"], 3, r"\['episodes'\]\[1\]\['skill'\] is 3, but the 3 skills are 0 to 2"),
        (["sets", 0, "episodes", 1, "points"], [], r"\['episodes'\]\[1\]\['points'\] is empty"),
        (["sets", 0, "episodes", 2, "points", 1], [0.0], r"point of 1 numbers, but there are 2 features"),
        (["sets", 0, "episodes", 2, "points", 1], [], r"point of 0 numbers, but there are 2 features"),
        (["sets", 0, "results", 0, "kernel"], [[1.0]], r"\['results'\]\[0\]\['kernel'\] must be 3 x 3"),
        (["sets", 0, "results", 0], {"similarity": "mmd"}, "has no 'vendi_score'"),
        (["sets", 0, "curve", "steps"], [1, 2], "2 steps, but scores for 10"),
        (["sets", 0, "results", 0, "spectrum", 1], float("nan"), r"\['spectrum'\]\[1\] is nan"),
        (["groups"], [{"name": "a", "sets": [0, 1]}], "must name the number of every set once"),
        (["groups"], [{"name": "a", "sets": [0]}, {"name": "b", "sets": []}], "each of them at least one"),
        (["sets", 0, "measures", 0, "value"], float("inf"), r"\['measures'\]\[0\]\['value'\] is inf"),
    ],
)
def test_a_wrong_payload_is_refused(payload, path, value, message):
    with pytest.raises(ValueError, match=message):
        page.render(change(payload, path, value))
