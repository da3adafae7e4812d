"""A browser for the tests of the report page."""

import pytest

from tests.show.report.pages import CHROMIUM, QUIET


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as p:
        opened = p.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def window(browser, tmp_path_factory):
    """Opens a report; what goes wrong in it and what it requests is in `.errors` and `.requests`."""

    from vendirl.show.report import render

    def open_report(payload, **settings):
        path = tmp_path_factory.mktemp("report") / "report.html"
        path.write_text(render(payload), encoding="utf-8")
        page = browser.new_context(**settings).new_page()
        page.set_default_timeout(120_000)  # on a machine that is busy with other things
        page.errors, page.requests, page.address = [], [], path.as_uri()
        page.on("console", lambda message: page.errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.on("request", lambda request: page.requests.append(request.url))
        page.goto(page.address)
        page.wait_for_function("window.vendirl && vendirl.ready")
        return page

    return open_report
