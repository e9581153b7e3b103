"""Take the pictures of docs/web.md and README.md: run it as `python dev/web_pictures.py` when pages changed.

What a partition has free is made up: a program named sinfo prints it.
"""

from __future__ import annotations

import html
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from jobmon_core.domain.job.tracking.model import WatchedJob  # noqa: E402 - found only after the line above
from jobmon_core.scheduler.slurm.commands import SEP  # noqa: E402 - likewise
from tests.support.browser import Browser  # noqa: E402 - likewise
from tests.support.drawn_screen import DrawnScreen, drawn_screen  # noqa: E402 - likewise
from tests.support.many_jobs import (  # noqa: E402 - likewise
    EVENTFUL,
    GROUP,
    add_eventful,
    add_group,
    add_history,
    fill,
)
from tests.support.web import Web  # noqa: E402 - likewise

_MAX_BYTES = 60_000
_WIDTH = 1000
_PICTURES = {  # name -> path, width and height in CSS pixels, and the colours
    "web-now": ("/", _WIDTH, 700, "light"),
    "web-job": (f"/job/{EVENTFUL}", _WIDTH, 760, "dark"),
    "web-groups": ("/groups", _WIDTH, 240, "light"),
    "web-group": (f"/group/{GROUP}", _WIDTH, 600, "light"),
    "web-history": ("/history", _WIDTH, 760, "light"),
    "web-nodes": ("/nodes", _WIDTH, 700, "dark"),
    "web-phone": ("/", 375, 700, "dark"),
}
_SINFO = (
    ("a100*", "up", "mixed", "6", "480/288/0/768", "gpu:a100:8(S:0-1)", "gpu:a100:6(IDX:0-5)"),
    ("a100*", "up", "idle", "2", "0/256/0/256", "gpu:a100:8", "gpu:a100:0"),
    ("a100*", "up", "drained", "1", "0/0/128/128", "gpu:a100:8", "gpu:a100:0"),
    ("h100", "up", "allocated", "4", "768/0/0/768", "gpu:h100:8", "gpu:h100:8"),
    ("cpu", "up", "idle", "12", "0/1536/0/1536", "(null)", "gpu:0"),
    ("cpu", "up", "allocated", "28", "3584/0/0/3584", "(null)", "gpu:0"),
)
_COLUMNS, _LINES = 104, 13
_COLOURS = {"default": "#e8eaed", "brown": "#f0b95a", "red": "#ff8a80", "green": "#5fd391", "cyan": "#54d0de"}


def main() -> None:
    """Write the pictures."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        ctx = fill(Path(folder) / "home", 8, ended=4)
        for job in ctx.store.all():
            if isinstance(job, WatchedJob) and not job.name.isascii():  # this machine may lack a font for it
                ctx.store.save(replace(job, name="lora-13b"))
        _add_sinfo(Path(folder) / "bin")
        with Browser(Path(folder) / "profile") as chromium, chromium.window() as browser:
            environment = {**os.environ, "JOBMON_HOME": str(ctx.home.root)}
            with drawn_screen("top", environment=environment, columns=_COLUMNS, lines=_LINES) as screen:
                screen.shows("67.3%")
                page = Path(folder) / "top.html"
                page.write_text(_as_html(screen), encoding="utf-8")
            browser.resize(880, 252)
            browser.open(page.as_uri())
            _take(browser, "top")
            add_eventful(ctx)
            add_group(ctx, 8)
            add_history(ctx)
            with Web(ctx.home.root, Path(folder), "--port", "0") as web:
                browser.open(web.address)
                for name, (path, width, height, scheme) in _PICTURES.items():
                    browser.prefer(scheme)
                    browser.resize(width, height)
                    browser.open(f"http://{web.host}{path}")
                    browser.shows("Live, as of")
                    _take(browser, name)


def _add_sinfo(folder: Path) -> None:
    folder.mkdir()
    rows = "\n".join(SEP.join(row) for row in _SINFO)
    (folder / "sinfo").write_text(f"#!/bin/sh\ncat <<'EOF'\n{rows}\nEOF\n")
    (folder / "sinfo").chmod(0o755)
    os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"


def _as_html(screen: DrawnScreen) -> str:
    window, lines = screen.window, []
    for row in range(_LINES):
        cells = (window.buffer[row][column] for column in range(_COLUMNS))
        lines.append(
            "".join(
                _cell(cell.data, cell.fg, cell.bg, bold=cell.bold, reverse=cell.reverse) for cell in cells
            )
        )
    style = "margin:0;padding:12px;background:#14171b;font:13.5px/1.3 'DejaVu Sans Mono',monospace"
    text = "\n".join(lines)
    head = '<!DOCTYPE html><meta charset="utf-8"><body style="margin:0;background:#14171b">'
    return f'{head}<pre style="{style}">{text}'


def _cell(text: str, colour: str, ground: str, *, bold: bool, reverse: bool) -> str:
    front = _COLOURS.get(colour, f"#{colour}" if len(colour) == 6 else colour)  # noqa: PLR2004 - as #rrggbb
    back = "transparent" if ground == "default" else _COLOURS.get(ground, f"#{ground}")
    if reverse:
        front, back = "#14171b", front
    weight = "bold" if bold else "normal"
    return f'<span style="color:{front};background:{back};font-weight:{weight}">{html.escape(text)}</span>'


def _take(browser: Browser, name: str) -> None:
    path = ROOT / "docs" / f"{name}.webp"
    browser.picture(path)
    if path.stat().st_size > _MAX_BYTES:
        sys.exit(f"{path} has {path.stat().st_size:,} bytes: more than {_MAX_BYTES:,}")


if __name__ == "__main__":
    main()
