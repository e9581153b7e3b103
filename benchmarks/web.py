"""What `jobmon web` costs: the time of a page, its memory, and its CPU time with and without visitors.

Run `python -m benchmarks.web [--jobs N] [--json]` in the development environment. Times of pages depend on
the machine; the CPU time of a waiting server and its memory do not. A page that is made anew is made by a
child that knows of no job, so it takes the same whether jobs have changed or not. With `--beside PYTHON`, an
interpreter that has FastAPI and uvicorn, a server of these that sends the same page is measured beside it.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path

from benchmarks.figures import Figure, report

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from jobmon_core.context import Context
from jobmon_core.domain.node.telemetry.model import AgentReport
from jobmon_core.store.json_file import JsonFile
from jobmon_core.store.telemetry import LATEST
from jobmon_core.system.files import private_folder
from tests.support.many_jobs import fill
from tests.support.telemetry import two_nodes
from tests.support.web import Web, sent

_POLLS_S, _TABS, _IDLE_S = 60.0, 3, 20.0
_PERIOD_S = 5.0  # of the script in a page
_PAGES, _NEW_PAGES = 200, 20
_UNUSED = itertools.count()
_RIVAL = """
import sys, uvicorn
from fastapi import FastAPI
from fastapi.responses import HTMLResponse
page, app = open(sys.argv[1]).read(), FastAPI()

@app.get("/")
def now():
    return HTMLResponse(page)

uvicorn.run(app, uds=sys.argv[2], log_level="critical")
"""


def main() -> int:
    """Measure, and print each figure with its bound; return 1 if one is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--beside", metavar="PYTHON", help="an interpreter with FastAPI and uvicorn")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = list(_measured(Path(folder), options.jobs))
        if options.beside:
            figures += _rival(options.beside, Path(folder))
        return report(figures, as_json=options.json)


def _measured(folder: Path, jobs: int) -> list[Figure]:
    ctx = fill(folder / "home", jobs)
    with Web(ctx.home.root, folder) as web:
        web.enter()
        pages = int(Path(f"/proc/{web.process.pid}/task/{web.process.pid}/children").read_text().split()[0])
        server = web.process.pid
        started = _cpu_s(server), _cpu_s(pages)
        first = _page_s(web)
        again = min(_page_s(web) for _ in range(5))
        (folder / "page.html").write_text(web.ask("/").body)
        (job,) = re.findall(r'href="(/job/[^"]+)"', web.ask("/").body)[:1]
        web.ask(job)
        before, began_s, etag = _cpu_s(server, pages), time.monotonic(), ""
        while time.monotonic() - began_s < _POLLS_S:
            for _ in range(_TABS):
                answer = web.ask("/", If_None_Match=etag)
                etag = answer.headers.get("etag", "")
            time.sleep(_PERIOD_S)
        busy = 100 * (_cpu_s(server, pages) - before) / (time.monotonic() - began_s)
        before = _cpu_s(server, pages)
        time.sleep(_IDLE_S)
        figures = [
            Figure(f"first page of {jobs} jobs, ms", round(1000 * first, 1), 100),
            Figure("the same page again, ms", round(1000 * again, 1), 100),
            Figure("CPU ms until the server listens", round(1000 * started[0])),
            Figure("CPU ms until what makes the pages has read the jobs", round(1000 * started[1])),
            Figure("private memory of the server, MB", round(_private_mb(server), 1)),
            Figure("private memory of its copy, which forks for each page, MB", round(_private_mb(pages), 1)),
            Figure("private memory of both, MB", round(_private_mb(server) + _private_mb(pages), 1), 12),
            Figure("memory of both with what they share, MB", round(_pss_mb(server) + _pss_mb(pages), 1), 26),
            Figure("CPU seconds in 20 s without a visitor", round(_cpu_s(server, pages) - before, 2), 0),
            Figure(f"% of a core with {_TABS} tabs", round(busy, 2), 1),
            *_made_anew(web, (server, pages), "a page made anew", bound_ms=100),
        ]
        _add_reports(ctx)
        return [*figures, *_made_anew(web, (server, pages), "the same with GPUs of two nodes of each job")]


def _made_anew(web: Web, pids: tuple[int, int], name: str, bound_ms: float | None = None) -> Iterator[Figure]:
    """Ask under addresses at which nobody has asked, as one page is shown again for half a minute."""
    before = _cpu_s(*pids)
    times_s = [_page_s(web, f"/?unused={next(_UNUSED)}") for _ in range(_NEW_PAGES)]
    yield Figure(f"{name}, ms", round(1000 * min(times_s), 1), bound_ms)
    cpu_ms = 1000 * (_cpu_s(*pids) - before) / _NEW_PAGES
    yield Figure(f"{name}, ms of CPU time", round(cpu_ms, 1), bound_ms)


def _add_reports(ctx: Context) -> None:
    now_s = time.time()
    latest = [replace(node.samples[-1], at_s=now_s) for node in two_nodes()]
    for path in ctx.store.paths():
        for sample in latest:
            folder = private_folder(ctx.home.telemetry_folder(path.stem, "") / sample.node.name)
            JsonFile(folder / LATEST, AgentReport).write(AgentReport(sample, now_s, 5.0))


def _rival(python: str, folder: Path) -> Iterator[Figure]:
    path = folder / "rival.sock"
    argv = [python, "-c", _RIVAL, str(folder / "page.html"), str(path)]
    with subprocess.Popen(argv) as process:
        try:
            while not _rival_answers(path):
                time.sleep(0.05)
            started = before = _cpu_s(process.pid)
            for _ in range(_PAGES):
                _rival_answers(path)
            page_ms = 1000 * (_cpu_s(process.pid) - before) / _PAGES
            yield Figure("beside: CPU ms until FastAPI and uvicorn listen", round(1000 * started))
            yield Figure("beside: its CPU ms for a page from memory", round(page_ms, 2))
            yield Figure("beside: its private memory, MB", round(_private_mb(process.pid), 1))
            yield Figure("beside: its PSS, MB", round(_pss_mb(process.pid), 1))
        finally:
            process.terminate()


def _rival_answers(path: Path) -> bool:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(str(path))
    except OSError:
        connection.close()
        return False
    head = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    return sent(connection, head).status == HTTPStatus.OK


def _page_s(web: Web, path: str = "/") -> float:
    began_s = time.monotonic()
    answer = web.ask(path)
    if answer.status != HTTPStatus.OK:
        raise RuntimeError(f"the page was not shown: {answer}")
    return time.monotonic() - began_s


def _cpu_s(*pids: int) -> float:
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += sum(map(int, fields[11:15]))  # also of ended children
    return ticks / os.sysconf("SC_CLK_TCK")


def _private_mb(pid: int) -> float:
    return _memory_mb(pid, r"^Private_\w+:\s+(\d+)")


def _pss_mb(pid: int) -> float:
    return _memory_mb(pid, r"^Pss:\s+(\d+)")


def _memory_mb(pid: int, pattern: str) -> float:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(each) for each in re.findall(pattern, text, re.MULTILINE)) / 1024


if __name__ == "__main__":
    sys.exit(main())
