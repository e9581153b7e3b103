"""Compare the history of real jobs with what Slurm's accounting counts, and with a backfill from it.

It needs a private Slurm, and one of its own for the totals, since it changes the accounting for them::

    dev/with-slurm .venv/bin/python benchmarks/history_accounting.py --jobs 200 --tasks 1000

Jobs of all ends run (arrays, requeues, het jobs, time-outs, too much memory, cancelled, suspended), with CPUs
and GPUs, and an array of ``--tasks`` short tasks. jobmon watches them. Then the CPU and GPU seconds and the
runs in ``jobmon history`` are compared with those of sacct, and with sreport's, which are the totals of
slurmdbd. It makes them for hours that are over: the accounting is moved back by two hours for that (not with
``--no-totals``). A backfill into another home must give the same runs, field by field, and one into
the same home adds none of them.

Bounds: 0.1 % for all seconds, no difference in anything else. The exit status is 1 if a bound does not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "dev"))  # no package, as for the tests

from private_slurm import Cluster

from benchmarks.figures import Figure, report
from benchmarks.history_parts.accounting import by_sacct, by_sreport_totals, end_the_hour
from benchmarks.history_parts.mixed_jobs import Shape, run_all, shapes
from benchmarks.load_parts.user import BenchmarkUser
from benchmarks.options import options_parser

_SHARE = 0.001
_KEY = ("job_id", "submitted_at")
# what accounting does not know, or what jobmon knows better
_OWN = {"cause", "fingerprint", "script", "commit", "from_accounting", "doubtful", "backend"}
_MAX_SHOWN, _MAX_SHOWN_OF_FIELD = 20, 3

Runs = dict[tuple[Any, ...], dict[str, Any]]


def main() -> int:
    """Print the figures; return 0 if all bounds hold."""
    options = _options()
    cluster = Cluster.attach(os.environ["JOBMON_PRIVATE_SLURM"])
    with tempfile.TemporaryDirectory(prefix="jobmon-history-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        folders = [Path(name, each) for each in ("watching", "backfilling")]
        for each in folders:
            each.mkdir(mode=0o755)
        config = {"poll": {"running_s": 5, "pending_s": 5}, "agent": {"enabled": False}}
        user, other = (BenchmarkUser(each, config) for each in folders)
        started_s = time.monotonic()
        wanted = [*shapes(options.jobs, memory=cluster.has_cgroup_memory, time_outs=options.time_outs)]
        if options.tasks:
            wanted.append(Shape("short", options.tasks, "true"))
        try:
            ids = run_all(user, wanted)
        finally:
            _leave(user)
        print(f"all jobs are told after {time.monotonic() - started_s:.0f} s", file=sys.stderr)
        figures = [*_hours(user, ids), *_backfill(user, other, ids)]
        if options.totals:
            figures += _totals(user, cluster)
    return report(figures, as_json=options.json)


def _leave(user: BenchmarkUser) -> None:
    """Cancel what still runs after a failure; other jobs may run on this cluster."""
    jobs = [str(each.job.job_id) for each in user.unfinished()]
    user.kill_monitors()
    if jobs:
        user.run(["scancel", *jobs])


def _options() -> argparse.Namespace:
    parser = options_parser(
        __doc__, jobs=(200, "runs of mixed ends"), tasks=(1000, "tasks of an array of short ones")
    )
    for name, text in (("totals", "the totals of slurmdbd"), ("time-outs", "jobs that run out of time")):
        parser.add_argument(f"--{name}", action=argparse.BooleanOptionalAction, default=True, help=text)
    return parser.parse_args()


def _runs(user: BenchmarkUser, jobs: Mapping[str, int]) -> Runs:
    found = json.loads(user.jobmon("history", "-n", "0", "--json"))["runs"]
    wanted = set(jobs.values())
    ours = [run for run in found if int(run["job_id"].split("_")[0].split("+")[0]) in wanted]
    if len({tuple(run[name] for name in _KEY) for run in ours}) < len(ours):
        raise SystemExit("a run is in the history twice")
    return {tuple(run[name] for name in _KEY): run for run in ours}


def _hours(user: BenchmarkUser, ids: Mapping[str, int]) -> Iterator[Figure]:
    runs = _runs(user, ids).values()
    ours = _sums(user)
    counted = by_sacct(user, ids.values())
    states = Counter(run["state"] for run in runs)
    print(f"history: {dict(states)}\nsacct:   {dict(counted.states)}", file=sys.stderr)
    yield Figure("runs in the history", len(runs))
    yield Figure("runs in sacct", counted.runs)
    yield Figure(
        "runs of another number of a state",
        sum(((states - counted.states) + (counted.states - states)).values()),
        0,
    )
    for name, ours_s, theirs_s in (("CPU", ours[0], counted.cpu_s), ("GPU", ours[1], counted.gpu_s)):
        yield Figure(f"{name} seconds in the history", ours_s)
        yield Figure(f"{name} seconds in sacct", theirs_s)
        yield Figure(f"{name}: difference from sacct", _difference(ours_s, theirs_s), _SHARE)


def _sums(user: BenchmarkUser) -> tuple[float, float]:
    (total,) = json.loads(user.jobmon("history", "-n", "0", "--json"))["totals"]
    return 3600 * total["cpu_hours"], 3600 * total["gpu_hours"]


def _totals(user: BenchmarkUser, cluster: Cluster) -> Iterator[Figure]:
    ours = _sums(user)
    end_the_hour(cluster)
    for name, ours_s, kind in (("CPU", ours[0], "cpu"), ("GPU", ours[1], "gres/gpu")):
        theirs_s = by_sreport_totals(user, kind)
        yield Figure(f"{name} seconds by sreport, of the hours", theirs_s)
        yield Figure(f"{name}: difference from sreport's hours", _difference(ours_s, theirs_s), _SHARE)


def _difference(ours: float, theirs: float) -> float:
    return abs(ours - theirs) / theirs if theirs else float(ours > 0)


def _backfill(user: BenchmarkUser, other: BenchmarkUser, ids: Mapping[str, int]) -> Iterator[Figure]:
    other.jobmon("history", "backfill", "--since", "1d")
    live, filled = _runs(user, ids), _runs(other, ids)
    user.jobmon("history", "backfill", "--since", "1d")
    yield Figure("runs in the backfill", len(filled))
    # sacct lists no jobs in a period that could never start, e.g. because they were held
    missing = [key for key in live.keys() - filled.keys() if live[key]["eligible_at"] is not None]
    yield Figure("runs that could start and that only jobmon saw", len(missing), 0)
    yield Figure("runs that only accounting has", len(filled.keys() - live.keys()), 0)
    for key in sorted({*missing, *(filled.keys() - live.keys())}, key=str)[:_MAX_SHOWN]:
        print(f"{key}: only {'live' if key in live else 'in accounting'}", file=sys.stderr)
    differing: Counter[str] = Counter()
    late: Counter[str] = Counter()  # accounting had not told it yet when the message was due
    for key in live.keys() & filled.keys():
        for name in filled[key].keys() - _OWN:
            ours, theirs = live[key][name], filled[key][name]
            late[name] += ours is None and theirs is not None
            if ours is not None and theirs not in (None, ours):
                differing[name] += 1
                if differing[name] <= _MAX_SHOWN_OF_FIELD:
                    print(f"{key}: {name}: {live[key][name]} and {filled[key][name]}", file=sys.stderr)
    yield Figure("fields that differ", differing.total(), 0)
    yield Figure("fields that accounting told too late", late.total())
    yield Figure(
        "runs that a backfill of the same home changed",
        sum(run != live.get(key) for key, run in _runs(user, ids).items()),
        0,
    )


if __name__ == "__main__":
    sys.exit(main())
