"""Take the pictures of docs/web.md: run it as `python dev/web_pictures.py` after a change of the pages."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from tests.support.browser import Browser  # noqa: E402 - found only after the line above
from tests.support.many_jobs import EVENTFUL, GROUP, add_eventful, add_group, fill  # noqa: E402 - likewise
from tests.support.web import Web  # noqa: E402 - likewise

_PICTURES = {  # name -> path, width and height in CSS pixels, and the colours
    "web-now": ("/", 1100, 760, "light"),
    "web-job": (f"/job/{EVENTFUL}", 1100, 900, "dark"),
    "web-group": (f"/group/{GROUP}", 1100, 560, "light"),
    "web-phone": ("/", 375, 760, "dark"),
}


def main() -> None:
    """Write the pictures."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        ctx = fill(Path(folder) / "home", 8, ended=4)
        add_eventful(ctx)
        add_group(ctx, 8)
        with (
            Web(ctx.home.root, Path(folder), "--port", "0") as web,
            Browser(Path(folder) / "profile") as browser,
        ):
            browser.open(web.address)
            for name, (path, width, height, scheme) in _PICTURES.items():
                browser.prefer(scheme)
                browser.resize(width, height)
                browser.open(f"http://{web.host}{path}")
                browser.shows("Live, as of")
                browser.picture(ROOT / "docs" / f"{name}.webp")


if __name__ == "__main__":
    main()
