"""Measure the history of 100,000 runs, and the rules that judge by it.

    .venv/bin/python benchmarks/history.py [--runs N] [--months N] [--trials N] [--ends N] [TRACES LOGS]

- Size and speed: lines as monitors write them, in a temporary folder, by CPU time. Compared with reading all
  lines for each question, as without an index (``parse``), and with a SQLite database that holds all fields
  (``database``), which monitors would have to write over NFS.
- What a monitor pays for it, with this history and without one: its memory and the CPU time of a poll while
  its job runs, and at the end that of the children that add a run and compare it with earlier ones.
- The rules that judge by it: see `history_parts/rules.py`.

Bounds: the last 20 runs in 50 ms, each kind of totals in 1 s, 1 MB for 1,000 runs with the index, 30 ms to
add a run; the page with charts 3 s and 2 MB; false alarms and false forecasts 3 %; no good node accused of
killing, one in 1,000 months of being slow; 90 % of the bad ones named, if they are slow and had ten runs.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.figures import Figure, report
from benchmarks.history_parts.rules import TRIALS, rule_figures
from jobmon.views.report.history import history_html
from jobmon_core.app.history.look import overview
from jobmon_core.context import Context
from jobmon_core.domain.job.history.record import HistoryRecord
from jobmon_core.domain.job.history.totals import BY, Wanted
from jobmon_core.store.history.index import open_history
from jobmon_core.store.history.lines import append
from jobmon_core.store.home import Home
from jobmon_core.system.json_codec import to_json

_ROOT = Path(__file__).resolve().parents[1]
_MAX_RECORD_MS = 30.0
_T0 = 1_700_000_000
_A_MONTH = 10_000  # runs in a file


def main() -> int:
    """Print the figures; the exit status is 1 if a bound does not hold."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--months", type=int, default=1_000)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--ends", type=int, default=9, help="how often each end of a job is measured")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("recorded", nargs="*", type=Path, metavar="TRACES LOGS", help="recorded runs")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        home, empty = Path(folder, "home"), Path(folder, "empty")
        home.mkdir(mode=0o700)
        empty.mkdir(mode=0o700)
        figures = [
            *_speed(Home(home), options.runs),
            *_monitor("", home, options.ends),
            *_monitor(" without history", empty, options.ends),
        ]
    rules = rule_figures(options.trials, options.months, options.recorded)
    return report([*figures, *rules], as_json=options.json)


def _run(number: int) -> HistoryRecord:
    at_s, ok = _T0 + number * 300, number % 5 > 0
    return HistoryRecord(
        100_000 + number,
        at_s,
        at_s + 9_100.5,
        cluster="leo",
        state_id=f"slurm-{100_000 + number}-{at_s}",
        name=f"train-{number % 50}",
        user="ada",
        partition="gpu",
        state="COMPLETED" if ok else "FAILED",
        outcome="success" if ok else "failure",
        exit_code=0 if ok else 1,
        cause="" if ok else "cuda_oom",
        fingerprint="" if ok else "ab12cd34ef56ab12",
        script="a3f9c1e0b2d4aa11",
        commit="deadbeef" * 5,
        nodes=f"n[{number % 40:03}-{number % 40 + 1:03}]",
        gpu="NVIDIA H100 80GB HBM3",
        gpus=4,
        cpus=32,
        eligible_s=at_s + 5,
        started_s=at_s + 600,
        ended_s=at_s + 9_000,
        limit_s=86_400,
        run_s=8_400.0,
        cpu_s=123_456.0,
        memory_requested=64 << 30,
        memory_peak=33 << 30,
        node_peak=33 << 30,
        gpu_percent=87.2,
        gpu_busy_s=(0, 1, 2, 3, 4, 5, 6, 7, 8, 33_000),
        done=10_000.0,
        total=10_000.0,
        unit="step",
        step_s=0.8342,
        first_progress_s=42.5,
        results={"loss": 0.412, "acc": 0.93},
        rate=10.0,
        currency="EUR",
    )


def _speed(home: Home, count: int) -> list[Figure]:
    folder = home.history
    runs = [_run(number) for number in range(count)]
    for first in range(0, count, _A_MONTH):
        append(folder, runs[first : first + _A_MONTH], "login1", _T0 + first * 300)
    lines_bytes = sum(path.stat().st_size for path in folder.iterdir())

    def opened() -> None:
        with open_history(folder):
            return

    built_ms = _cpu_ms(opened)
    size_mb = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
    database_ms = _database_ms(runs)
    more = [[_run(count + number)] for number in range(20)]

    def add() -> None:
        for each in more:
            append(folder, each, "login1", _T0)

    figures = [
        Figure("lines_mb_per_1000", lines_bytes / 1e3 / count),
        Figure("mb_per_1000", size_mb * 1e3 / count, at_most=1.0),
        Figure("add_one_ms", _cpu_ms(add) / 20, at_most=30.0),
        Figure("index_built_ms", built_ms),
        Figure("index_read_on_ms", _cpu_ms(opened)),
    ]
    with open_history(folder) as history:
        figures.append(Figure("last_20_ms", _cpu_ms(lambda: history.records(Wanted(), 20)), at_most=50.0))
        totals_ms = {by: _cpu_ms(lambda by=by: history.totals(Wanted(), by)) for by in BY}  # type: ignore[misc]
    return [
        *figures,
        Figure("slowest_totals_ms", max(totals_ms.values()), at_most=1_000.0),
        Figure("page_ms", _cpu_ms(lambda: _page(home)), at_most=3_000.0),
        Figure("page_mb", len(_page(home).encode()) / 1e6, at_most=2.0),
        Figure("totals_by_name_ms", totals_ms["name"]),
        Figure("totals_by_name_database_ms", database_ms),
        Figure("totals_by_name_parse_ms", _cpu_ms(lambda: _parsed_totals(folder))),
    ]


def _page(home: Home) -> str:
    """Return the longest page of the history."""
    return history_html(overview(Context(home, {}), Wanted(), "name", "ended", -1))


def _monitor(suffix: str, home: Path, times: int) -> Iterator[Figure]:
    """Measure what a monitor with this home pays for the history."""
    program = (sys.executable, "-m", "benchmarks.history_parts.ends", str(home), str(times))
    done = subprocess.run(program, cwd=_ROOT, stdout=subprocess.PIPE, text=True, check=True)
    measured = json.loads(done.stdout)
    yield Figure(f"modules of the history in an idle monitor{suffix}", len(measured["imported"]), at_most=0)
    for name in ("private_kb", "poll_ms", "diagnose_ms", "record_ms", "record_alone_ms"):
        yield Figure(f"{name}{suffix}", measured[name], _MAX_RECORD_MS if name == "record_ms" else None)


def _cpu_ms(work: Callable[[], object]) -> float:
    started_s = time.process_time()
    work()
    return 1e3 * (time.process_time() - started_s)


def _parsed_totals(folder: Path) -> dict[str, float]:
    hours: dict[str, float] = {}
    for path in folder.glob("*.jsonl"):
        for line in path.read_bytes().splitlines():
            run = json.loads(line)
            hours[run["name"]] = hours.get(run["name"], 0.0) + run["run_s"] * run["gpus"]
    return hours


def _database_ms(runs: list[HistoryRecord]) -> float:
    names = HistoryRecord._fields
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"CREATE TABLE runs ({', '.join(f'[{name}]' for name in names)})")
        insert = f"INSERT INTO runs VALUES ({', '.join('?' * len(names))})"  # noqa: S608 - our own words
        rows = (_values(run) for run in runs)
        database.executemany(insert, rows)
        query = "SELECT name, count(*), sum(run_s * gpus) FROM runs GROUP BY name"
        return _cpu_ms(lambda: database.execute(query).fetchall())


def _values(run: HistoryRecord) -> list[object]:
    written = to_json(run)
    values = [written.get(name) for name in HistoryRecord._fields]
    return [json.dumps(each) if isinstance(each, list | dict) else each for each in values]


if __name__ == "__main__":
    sys.exit(main())
