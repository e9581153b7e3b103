"""axe-core finds nothing to mend on any page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest

from tests.support.browser import CHROMIUM, Browser
from tests.support.many_jobs import EVENTFUL, GROUP, add_eventful, add_group, add_history, fill
from tests.support.web import Web

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
    pytest.mark.xdist_group("browser"),
]
_PATHS = (
    "/",
    "/job/8137",
    f"/job/{EVENTFUL}",
    "/job/8151",
    "/groups",
    f"/group/{GROUP}",
    "/history",
    "/nodes",
)
_RUN = """axe.run(document).then(found => JSON.stringify(found.violations
    .filter(each => ["moderate", "serious", "critical"].includes(each.impact))
    .map(each => [each.id, each.nodes[0].html, each.nodes[0].failureSummary])))"""


@pytest.fixture(scope="session")
def axe() -> str:
    """The script, which an environment of an earlier version may lack."""
    try:
        return resources.files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    except ModuleNotFoundError:
        pytest.skip("needs axe-core-python: run dev/setup-venv dev")


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    ctx = fill(tmp_path / "home", 8, ended=4)
    add_eventful(ctx)
    add_group(ctx, 8)
    add_history(ctx)
    with Web(ctx.home.root, tmp_path, "--port", "0", "--allow-actions") as web:
        yield web


def test_axe_finds_nothing_to_mend(web: Web, browser: Browser, axe: str) -> None:
    browser.open(web.address)
    for path in _PATHS:
        browser.open(f"http://{web.host}{path}")
        browser.shows("Live, as of")
        browser.value(f"{axe};1")
        for width, scheme in ((375, "light"), (1280, "dark")):
            browser.resize(width)
            browser.prefer(scheme)
            assert json.loads(browser.value(_RUN)) == []
