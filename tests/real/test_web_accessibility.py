"""axe-core finds nothing serious on any page; skipped where npm is missing or cannot download it."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.browser import CHROMIUM, Browser
from tests.support.many_jobs import EVENTFUL, GROUP, add_eventful, add_group, fill
from tests.support.web import Web

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
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
    .filter(each => ["serious", "critical"].includes(each.impact))
    .map(each => [each.id, each.nodes[0].html, each.nodes[0].failureSummary])))"""


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script."""
    folder = tmp_path_factory.mktemp("axe")
    if (npm := shutil.which("npm")) is None:
        pytest.skip("needs npm")
    packed = subprocess.run(
        [npm, "pack", "axe-core@4"], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    if packed.returncode:
        pytest.skip(f"axe-core cannot be downloaded: {packed.stderr[-200:]}")
    with tarfile.open(next(folder.glob("axe-core-*.tgz"))) as package:
        script = package.extractfile("package/axe.min.js")
        assert script
        return script.read().decode()


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    ctx = fill(tmp_path / "home", 8, ended=4)
    add_eventful(ctx)
    add_group(ctx, 8)
    with Web(ctx.home.root, tmp_path, "--port", "0", "--allow-actions") as web:
        yield web


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [375, 1280])
def test_axe_finds_nothing_serious(web: Web, axe: str, tmp_path: Path, width: int, scheme: str) -> None:
    with Browser(tmp_path / "profile") as browser:
        browser.resize(width)
        browser.prefer(scheme)
        browser.open(web.address)
        for path in _PATHS:
            browser.open(f"http://{web.host}{path}")
            browser.shows("Live, as of")
            browser.value(f"{axe};1")
            assert json.loads(browser.value(_RUN)) == []
