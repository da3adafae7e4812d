"""What tests of the page in a browser share: whether there is one, and how to ask a page about its charts."""

import importlib.util
import pathlib
import shutil

import pytest

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
QUIET += ["--disable-sync", "--no-first-run"]


def missing():
    """What a test in a browser lacks here, in words; nothing if it lacks nothing."""
    for name, install in (("plotly", "pip install 'vendirl[report]'"), ("playwright", "pip install playwright")):
        if importlib.util.find_spec(name) is None:
            return f"tests of the page in a browser need {name}: {install}"
    return "" if pathlib.Path(CHROMIUM).exists() else "browser tests need chromium: apt install chromium"


needs_browser = pytest.mark.skipif(bool(missing()), reason=missing())


def set_time(page, t):
    page.evaluate(
        "t => { const s = document.getElementById('time'); s.value = t; s.dispatchEvent(new Event('input')); }", t
    )
    page.wait_for_function("t => vendirl.t === t", arg=t)


def plot(page, expression, which="trajectories-0"):
    """The value of an expression in `gd`, the plot."""
    return page.evaluate(f"() => {{ const gd = document.getElementById('{which}'); return {expression}; }}")
