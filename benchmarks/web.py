"""What `jobmon web` costs: the time of a page, its memory, and its CPU time with and without visitors.

Run `python -m benchmarks.web [--jobs N] [--json]` in the development environment. Times of pages depend on
the machine; the CPU time of a waiting server and its memory do not.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from http import HTTPStatus
from pathlib import Path

from benchmarks.figures import Figure, report

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.support.many_jobs import fill
from tests.support.web import Web

_POLLS_S, _TABS, _IDLE_S = 60.0, 3, 20.0
_PERIOD_S = 5.0  # of the script in a page


def main() -> int:
    """Measure, and print each figure with its bound; return 1 if one is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return report(list(_measured(Path(folder), options.jobs)), as_json=options.json)


def _measured(folder: Path, jobs: int) -> list[Figure]:
    ctx = fill(folder / "home", jobs)
    with Web(ctx.home.root, folder) as web:
        web.enter()
        pages = int(Path(f"/proc/{web.process.pid}/task/{web.process.pid}/children").read_text().split()[0])
        server = web.process.pid
        first = _page_s(web)
        again = min(_page_s(web) for _ in range(5))
        before, began_s, etag = _cpu_s(server, pages), time.monotonic(), ""
        while time.monotonic() - began_s < _POLLS_S:
            for _ in range(_TABS):
                answer = web.ask("/", If_None_Match=etag)
                etag = answer.headers.get("etag", "")
            time.sleep(_PERIOD_S)
        busy = 100 * (_cpu_s(server, pages) - before) / (time.monotonic() - began_s)
        before = _cpu_s(server, pages)
        time.sleep(_IDLE_S)
        return [
            Figure(f"first page of {jobs} jobs, ms", round(1000 * first, 1), 100),
            Figure("the same page again, ms", round(1000 * again, 1), 100),
            Figure("private memory of the server, MB", round(_private_mb(server), 1), 12),
            Figure(
                "private memory of what makes its pages, MB",
                round(_private_mb(pages), 1),
                24,
            ),
            Figure("CPU seconds in 20 s without a visitor", round(_cpu_s(server, pages) - before, 2), 0),
            Figure(f"% of a core with {_TABS} tabs", round(busy, 2), 1),
        ]


def _page_s(web: Web) -> float:
    began_s = time.monotonic()
    answer = web.ask("/")
    if answer.status != HTTPStatus.OK:
        raise RuntimeError(f"the page was not shown: {answer}")
    return time.monotonic() - began_s


def _cpu_s(*pids: int) -> float:
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _private_mb(pid: int) -> float:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(each) for each in re.findall(r"Private_\w+:\s+(\d+)", text)) / 1024


if __name__ == "__main__":
    sys.exit(main())
