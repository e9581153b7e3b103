"""Measure the history of 100,000 runs, and the two rules that judge by it.

    .venv/bin/python benchmarks/history.py [--runs N] [--months N] [--trials N] [TRACES LOGS]

- Size and speed: lines as monitors write them, in a temporary folder, by CPU time. Compared with reading all
  lines for each question, as without an index (``parse``), and with a SQLite database that holds all fields
  (``database``), which monitors would have to write over NFS.
- What a monitor pays for it, with this history and without one: its memory and the CPU time of a poll while
  its job runs, and at the end that of the children that add a run and compare it with earlier ones.
- The rule about runs that are slower than usual: false alarms in series without a change, at several levels
  of noise, and how many runs that take 1.5 times as long are found.
- The same while a run goes on, at looks every minute of which each may be wrong: its pace so far wanders by
  some 5 % around that of the whole. With TRACES and LOGS, as `benchmarks/alarms.py` takes them, also the pace
  of recorded runs, each beside five that would have been like it.
- The rule about nodes: months of a user with 20 nodes and 10 runs a day, looked at each day, with a node that
  kills every run and without one.
- The rule about slow nodes: such months with a node that takes 1.5 times as long, and without one. Each day's
  runs are mostly on three nodes; the speed of a name changes at times, some days are slow everywhere, some
  runs for themselves.
- The forecast: how often users whose failures are independent get one, and how often a job that fails by one
  cause nine times of ten does.

Bounds: the last 20 runs in 50 ms, each kind of totals in 1 s, 1 MB for 1,000 runs with the index, 30 ms to
add a run; the page with charts 3 s and 2 MB; false alarms and false forecasts 3 %; no good node accused of
killing, one in 1,000 months of being slow; 90 % of the bad ones named, if they are slow and had ten runs.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.alarms import INTERVAL_S, read_recordings
from benchmarks.figures import Figure, report
from benchmarks.timed_logs import Recording, read_timed_logs
from jobmon.views.report.history import history_html
from jobmon_core.app.history.look import overview
from jobmon_core.context import Context
from jobmon_core.domain.job.history.baseline import COMPARED, Usual, is_unusual
from jobmon_core.domain.job.history.forecast import COUNTED, forecast
from jobmon_core.domain.job.history.nodes import DAY_S, WINDOW_S, slow_nodes, suspect_nodes
from jobmon_core.domain.job.history.record import HistoryRecord, step_s
from jobmon_core.domain.job.history.running import Comparison, RunSoFar, compared, has_pace
from jobmon_core.domain.job.history.totals import BY, Wanted
from jobmon_core.domain.logs.progress.events.event import EventKind
from jobmon_core.domain.logs.progress.history import add_sample
from jobmon_core.domain.logs.progress.model import History, Sample
from jobmon_core.store.history.index import open_history
from jobmon_core.store.history.lines import append
from jobmon_core.store.home import Home
from jobmon_core.system.json_codec import to_json

_ROOT = Path(__file__).resolve().parents[1]
_MAX_RECORD_MS = 30.0
_T0 = 1_700_000_000
_A_MONTH = 10_000  # runs in a file
_TRIALS = 10_000
_RUNS_A_DAY = 10
_NODES = 20
_ENOUGH_RUNS = 10  # on a slow node, in a month


def main() -> int:
    """Print the figures; the exit status is 1 if a bound does not hold."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--months", type=int, default=1_000)
    parser.add_argument("--trials", type=int, default=_TRIALS)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("recorded", nargs="*", type=Path, metavar="TRACES LOGS", help="recorded runs")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        home, empty = Path(folder, "home"), Path(folder, "empty")
        home.mkdir(mode=0o700)
        empty.mkdir(mode=0o700)
        figures = [
            *_speed(Home(home), options.runs),
            *_monitor("", home),
            *_monitor(" without history", empty),
        ]
    count = options.trials
    rules = [
        *_slower_rule(count),
        *_running_rule(count),
        *recorded(count, *options.recorded),
        *_node_rule(options.months),
        *_slow_node_rule(options.months),
        *_forecast_rule(),
    ]
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


def _monitor(suffix: str, home: Path) -> Iterator[Figure]:
    """Measure what a monitor with this home pays for the history."""
    program = (sys.executable, "-m", "benchmarks.history_parts.ends", str(home))
    done = subprocess.run(program, cwd=_ROOT, stdout=subprocess.PIPE, text=True, check=True)
    measured = json.loads(done.stdout)
    yield Figure(f"modules of the history in an idle monitor{suffix}", len(measured["imported"]), at_most=0)
    for name in ("private_kb", "poll_ms", "record_ms", "compare_ms", "compare_died_ms"):
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


def _slower_rule(trials: int) -> list[Figure]:
    draw = random.Random(1)  # noqa: S311 - a simulation
    figures = []
    for noise in (0.03, 0.1, 0.15, 0.2, 0.4):
        series = [[draw.lognormvariate(0, noise) for _ in range(COMPARED + 1)] for _ in range(trials)]
        false = sum(is_unusual(each[0], each[1:]) for each in series) / trials
        found = sum(is_unusual(1.5 * each[0], each[1:]) for each in series) / trials
        figures.append(Figure(f"false_alarms_noise_{noise:.0%}", false, at_most=0.03))
        figures.append(Figure(f"slower_by_half_found_noise_{noise:.0%}", found))
    return figures


def _running_rule(trials: int) -> list[Figure]:
    figures = []
    for noise in (0.03, 0.1, 0.15, 0.2, 0.4):
        draw = random.Random(1)  # noqa: S311 - a simulation
        false = sum(_is_told(draw, noise, 1.0) for _ in range(trials)) / trials
        found = sum(_is_told(draw, noise, 1.5) for _ in range(trials // 10)) * 10 / trials
        figures.append(Figure(f"while_running_false_alarms_noise_{noise:.0%}", false, at_most=0.03))
        figures.append(Figure(f"while_running_found_noise_{noise:.0%}", found))
    return figures


def _is_told(draw: random.Random, noise: float, factor: float) -> bool:
    *five, own = (draw.lognormvariate(0, noise) for _ in range(COMPARED + 1))
    if not is_unusual(9 * max(five), five):  # as five that disagree: nothing is ever told
        return False
    wander = itertools.accumulate(draw.gauss(0, 0.2) for _ in range(90))
    paces = (factor * own * math.exp(total / (number + 16)) for number, total in enumerate(wander))
    return tells_slower(zip(range(900, 6300, 60), paces, strict=True), "step", tuple(five))


def tells_slower(looks: Iterable[tuple[float, float | None]], unit: str, five: tuple[float, ...]) -> bool:
    """Return whether a run is called slow at any look: its time and the pace so far, if it can be judged."""
    known = Comparison(0.0, Usual(unit, five))
    for at_s, pace in looks:
        run = HistoryRecord(1, 0, at_s, unit=unit, step_s=pace)
        known, events = compared(known, RunSoFar(at_s, run))
        if any(event.kind is EventKind.SLOW for event in events):
            return True
    return False


def recorded_looks(run: Recording) -> list[tuple[float, float | None]]:
    """Return the looks at a recorded run, as `tells_slower` takes them."""
    history, states, found = History(), iter(run.states), list[tuple[float, float | None]]()
    state, now_s = next(states, None), 0.0
    while state is not None:
        now_s += max(1.0, min(INTERVAL_S, run.duration_s / 200))
        while state is not None and state[0] <= now_s:
            history = add_sample(history, Sample(state[0], state[1].current))
            state = next(states, None)
        found.append((now_s, step_s(history.samples) if has_pace(history) else None))
    return found


def recorded(count: int, traces: Path | None = None, logs: Path | None = None) -> list[Figure]:
    """Return how often recorded runs are called slow, each beside five that would have been like it."""
    if traces is None or logs is None:
        return []
    judged = [recorded_looks(run) for run in (*read_recordings(traces), *read_timed_logs(logs))]
    judged = [looks for looks in judged if looks[-1][1]]
    draw, told = random.Random(1), {1.0: 0, 1.5: 0}  # noqa: S311 - a simulation
    count //= 500
    trials = count * 4 * len(judged)
    for looks, noise, _ in itertools.product(judged, (0.03, 0.1, 0.15, 0.2), range(count)):
        own, *five = ((looks[-1][1] or 0.0) * draw.lognormvariate(0, noise) for _ in range(COMPARED + 1))
        factor = own / (looks[-1][1] or 1.0)
        for slower in told:
            paces = ((at_s, pace and slower * factor * pace) for at_s, pace in looks[::4])
            told[slower] += tells_slower(paces, "step", tuple(five))
    return [
        Figure("recorded_runs", len(judged)),
        Figure("recorded_false_alarms", told[1.0] / trials, at_most=0.03),
        Figure("recorded_slower_by_half_found", told[1.5] / trials),
    ]


def _node_rule(months: int) -> list[Figure]:
    draw = random.Random(1)  # noqa: S311 - a simulation
    accused = sum(bool(_named(draw, has_bad_node=False) - {0}) for _ in range(months))
    few = max(1, months // 10)
    found = [_named(draw, has_bad_node=True) for _ in range(few)]
    return [
        Figure("months_with_a_good_node_accused", accused, at_most=0),
        Figure("bad_node_named", sum(0 in each for each in found) / few, at_least=0.9),
        Figure("good_node_accused_beside_it", sum(bool(each - {0}) for each in found), at_most=0),
    ]


def _named(draw: random.Random, *, has_bad_node: bool) -> set[int]:
    """Return the nodes that a month's daily looks name; if there is a bad node, it is number 0."""
    runs: list[HistoryRecord] = []
    named: set[int] = set()
    keep = int(WINDOW_S / DAY_S) * _RUNS_A_DAY
    base_rate = draw.choice((0.005, 0.02, 0.05))
    for day in range(30):
        for number in range(_RUNS_A_DAY):
            node = draw.randrange(_NODES)
            died = (has_bad_node and node == 0) or draw.random() < base_rate
            ended_s = int(day * DAY_S) + number
            outcome, cause = ("failure", "node_fail") if died else ("success", "")
            runs.append(
                HistoryRecord(number, 0, 0.0, nodes=str(node), ended_s=ended_s, outcome=outcome, cause=cause)
            )
        named |= {int(each.node) for each in suspect_nodes(runs[-keep:], (day + 1) * DAY_S)}
    return named


def _slow_node_rule(months: int) -> list[Figure]:
    draw = random.Random(1)  # noqa: S311 - a simulation
    accused = sum(bool(_named_slow(draw, has_slow_node=False)[0]) for _ in range(months))
    slow = [_named_slow(draw, has_slow_node=True) for _ in range(max(1, months // 5))]
    found = [0 in named for named, runs in slow if runs >= _ENOUGH_RUNS]
    return [
        Figure("months_with_a_good_node_called_slow", accused, at_most=months / 1_000),
        Figure("slow_node_named", sum(found) / max(1, len(found)), at_least=0.9),
        Figure("good_node_called_slow_beside_it", sum(bool(named - {0}) for named, _ in slow)),
    ]


def _named_slow(draw: random.Random, *, has_slow_node: bool) -> tuple[set[int], int]:
    """Return the nodes that a month's daily looks name, and the runs on the slow one, which is number 0."""
    runs: list[HistoryRecord] = []
    named: set[int] = set()
    speeds, noise = [1.0] * 4, draw.choice((0.03, 0.06, 0.1))
    for day in range(30):
        nodes = draw.sample(range(_NODES), 3)
        today = draw.choices((1.0, 1.5), (0.95, 0.05))[0]
        for number in range(_RUNS_A_DAY):
            name = draw.randrange(len(speeds))
            if draw.random() < 0.01:  # noqa: PLR2004 - its program changed
                speeds[name] *= draw.lognormvariate(0, 0.3)
            node = draw.choice(nodes) if draw.random() < 0.7 else draw.randrange(_NODES)  # noqa: PLR2004
            step_s = speeds[name] * draw.lognormvariate(0, noise) * today
            step_s *= draw.choices((1.0, draw.uniform(1.5, 3.0)), (0.98, 0.02))[0]
            step_s *= 1.5 if has_slow_node and node == 0 else 1.0
            ended_s, job_id = int(day * DAY_S) + number * 3_600, day * _RUNS_A_DAY + number
            run = HistoryRecord(job_id, 0, 0.0, name=str(name), nodes=str(node), ended_s=ended_s)
            runs.append(run._replace(outcome="success", unit="step", step_s=step_s))
        named |= {int(each.node) for each in slow_nodes(runs, (day + 1) * DAY_S)}
    return named, sum(run.nodes == "0" for run in runs)


def _forecast_rule() -> list[Figure]:
    draw = random.Random(1)  # noqa: S311 - a simulation
    false = {rate: _forecasts(draw, {"cuda_oom": rate}) for rate in (0.1, 0.2, 0.3)}
    mixed = {"cuda_oom": 0.2, "host_oom_kill": 0.1, "import_error": 0.1, "slurm_timeout": 0.1}
    return [
        *(Figure(f"false_forecasts_rate_{rate:.0%}", share, at_most=0.03) for rate, share in false.items()),
        Figure("false_forecasts_half_fail_by_four_causes", _forecasts(draw, mixed), at_most=0.03),
        Figure("failures_of_nine_of_ten_forecast", _forecasts(draw, {"cuda_oom": 0.9}), at_least=0.8),
    ]


def _forecasts(draw: random.Random, rates: dict[str, float]) -> float:
    """Return the share of jobs that get a forecast, if each earlier one failed by a cause at these rates."""
    causes, weights = [*rates, ""], [*rates.values(), 1 - sum(rates.values())]
    made = 0
    for _ in range(_TRIALS):
        drawn = draw.choices(causes, weights, k=COUNTED)
        runs = [
            HistoryRecord(number, 0, 0.0, outcome="failure" if cause else "success", cause=cause)
            for number, cause in enumerate(drawn)
        ]
        made += forecast(runs) is not None
    return made / _TRIALS


if __name__ == "__main__":
    sys.exit(main())
