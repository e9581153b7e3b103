"""The pages of `jobmon web` in a real browser: complete, live, on a phone, without scripts, by keyboard."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from jobmon_core.context import Context
from tests.support.browser import CHROMIUM, Browser
from tests.support.many_jobs import (
    EVENTFUL,
    GROUP,
    add_eventful,
    add_group,
    add_history,
    add_running,
    advance,
    fill,
)
from tests.support.waiting import eventually
from tests.support.web import Web

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
    pytest.mark.xdist_group("browser"),
]
_WIDTHS = (375, 1280)  # of a phone and of a desktop; a page that is loaded is laid out anew
_LAYOUT_S = 30.0
_FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
_WIDE = (
    "[...document.body.querySelectorAll('*')].filter(each => each.getBoundingClientRect().right > "
    "document.documentElement.clientWidth + 1).map(each => each.outerHTML.slice(0, 200)).slice(0, 5)"
)
_HOSTILE = "<img src=x onerror=\"document.title='stolen'\">\u202e"


class _Site:
    """A home and its server, on a port that the browser can reach."""

    def __init__(self, folder: Path, jobs: int) -> None:
        self.ctx: Context = fill(folder / "home", jobs, ended=min(jobs, 4))
        self.web = Web(self.ctx.home.root, folder, "--port", "0", "--allow-actions")
        self.origin = f"http://{self.web.host}"


@pytest.fixture
def site(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[_Site]:
    site = _Site(tmp_path, getattr(request, "param", 8))
    with site.web:
        yield site


def _is_sound(browser: Browser) -> None:
    """No text is cut at the right, nothing overlaps the edge, and the policy was not broken."""
    try:  # its style sheet, or the size of the window, may come a moment later
        eventually(lambda: browser.value(_FITS), _LAYOUT_S)
    except AssertionError as error:
        raise AssertionError(f"wider than the window: {browser.value(_WIDE)}") from error
    assert browser.value("[...document.querySelectorAll('h1')].length") == 1
    unnamed = "[...document.querySelectorAll('input,select,button,a')].filter(e => !(e.labels?.length || "
    unnamed += "e.getAttribute('aria-label') || e.textContent.trim() || e.type === 'hidden')).length"
    assert browser.value(unnamed) == 0
    doubled = "(() => { const ids = [...document.querySelectorAll('[id]')].map(e => e.id);"
    assert browser.value(f"{doubled} return ids.length - new Set(ids).size; }})()") == 0


@pytest.mark.parametrize("site", [0, 1, 8, 200], indirect=True)
def test_the_first_page_fits_and_is_complete(site: _Site, browser: Browser) -> None:
    browser.open(site.web.address)
    browser.shows("Live, as of")
    for width in _WIDTHS:
        browser.resize(width)
        _is_sound(browser)
    listed = browser.value("document.querySelectorAll('tbody tr').length")
    jobs = len(list(site.ctx.home.state.glob("*.json")))
    assert listed == jobs
    assert {urlsplit(each).netloc for each in browser.requests if each.startswith("http")} == {site.web.host}
    assert not [each for each in browser.errors if "Security" in each]


def test_every_page_fits_in_light_and_dark(site: _Site, browser: Browser) -> None:
    add_eventful(site.ctx)
    add_group(site.ctx, 8)
    browser.open(site.web.address)
    for path in (
        "/job/8123",
        "/job/8151",
        f"/job/{EVENTFUL}",
        "/groups",
        f"/group/{GROUP}",
        "/history",
        "/nodes",
    ):
        browser.open(f"{site.origin}{path}")
        browser.shows("Live, as of")
        for width, scheme in itertools.product(_WIDTHS, ("light", "dark")):
            browser.resize(width)
            browser.prefer(scheme)
            _is_sound(browser)
            shade = browser.value("getComputedStyle(document.body).backgroundColor")
            assert (int(shade.removeprefix("rgb(").split(",")[0]) < 60) == (scheme == "dark")
    assert {urlsplit(each).netloc for each in browser.requests if each.startswith("http")} == {site.web.host}


@pytest.mark.parametrize("count", [0, 1, 8, 200])
def test_groups_history_and_nodes_fit_however_many_runs_there_are(
    site: _Site, browser: Browser, count: int
) -> None:
    add_group(site.ctx, count)
    add_history(site.ctx, count)
    browser.open(site.web.address)
    shown = {
        "/groups": 1,
        f"/group/{GROUP}": count,
        "/history": min(count, 50),
        "/history?by=node&name=train*": min(count, 12),
        "/nodes": min(count, 12),
    }
    for path, rows in shown.items():
        browser.open(f"{site.origin}{path}")
        browser.shows("Live, as of")
        for width in _WIDTHS:
            browser.resize(width)
            _is_sound(browser)
        listed = browser.value("document.querySelectorAll('main tbody tr').length")
        assert listed >= rows if rows else "no " in browser.text
    assert {urlsplit(each).netloc for each in browser.requests if each.startswith("http")} == {site.web.host}


def test_a_page_follows_the_job_and_keeps_what_the_user_opened(site: _Site, browser: Browser) -> None:
    add_running(site.ctx, "mine")
    browser.open(site.web.address)
    browser.open(f"{site.origin}/job/12")
    browser.shows("67.3%")
    browser.value("document.querySelector('details').open = true")
    advance(site.ctx, "slurm-12-x", 999)
    browser.shows("99.9%")
    assert browser.value("document.querySelector('details').open")


def test_a_server_that_ends_is_told_and_the_page_stays(site: _Site, browser: Browser) -> None:
    browser.open(site.web.address)
    browser.shows("Live, as of")
    site.web.stop()
    browser.shows("No answer for")
    assert "train-llama-7b" in browser.text


def test_a_refusal_is_in_the_words_of_jobmon(site: _Site, browser: Browser) -> None:
    browser.open(site.origin)
    browser.shows("A token works once, within 15 minutes")
    browser.open(site.web.address)
    browser.open(f"{site.origin}/nothing")
    browser.shows("There is no such page")


def test_without_scripts_the_pages_work(site: _Site, browser: Browser) -> None:
    add_group(site.ctx, 8)
    browser.switch_scripts(off=True)
    browser.open(site.web.address)
    for path, text in (
        ("/", "67.3%"),
        ("/job/8123", "Progress, steps"),
        (f"/group/{GROUP}?sort=%3Dloss", "0.125"),
    ):
        browser.open(f"{site.origin}{path}")
        browser.shows(text)
        assert "Reload the page to update it." in browser.text


def test_a_hostile_name_does_nothing(site: _Site, browser: Browser, tmp_path: Path) -> None:
    log = tmp_path / "evil.log"
    log.write_text(f"{_HOSTILE}\n", encoding="utf-8")
    add_running(site.ctx, _HOSTILE, log=log)
    browser.open(site.web.address)
    for path in ("/", "/job/12"):
        browser.open(f"{site.origin}{path}")
        browser.shows("Live, as of")
        browser.shows("<img src=x")
        assert browser.value("document.images.length") == 0
        assert "stolen" not in browser.value("document.title").split("<")[0]


def test_the_keyboard_reaches_the_content_first_and_then_each_job(site: _Site, browser: Browser) -> None:
    browser.open(site.web.address)
    browser.press("Tab")
    assert browser.value("document.activeElement.textContent") == "Skip to the content"
    reached = set()
    for _ in range(40):
        browser.press("Tab")
        reached.add(browser.value("document.activeElement.getAttribute('href')"))
    assert {"/groups", "/job/8123", "/job/8130"} <= reached


def test_a_failure_is_acknowledged_by_its_button(site: _Site, browser: Browser) -> None:
    browser.open(site.web.address)
    browser.value("document.querySelector('.findings button').click()")
    browser.shows("Acknowledged")
    browser.open(site.origin)
    eventually(lambda: browser.value("document.querySelectorAll('.findings button').length") == 1)


def test_a_hidden_page_asks_nothing(site: _Site, browser: Browser) -> None:
    browser.open(site.web.address)
    browser.shows("Live, as of")
    script = "Object.defineProperty(document, 'hidden', {value: true, configurable: true}); "
    browser.value(f"{script} document.dispatchEvent(new Event('visibilitychange')); 1")
    browser.shows("Paused")
    before = len(browser.requests)
    browser.value("new Promise(done => setTimeout(done, 7000))")
    assert len(browser.requests) == before
