"""Measure the load of many watched jobs on slurmctld, accounting and the login node.

Run it on a real Slurm, here a private one. Started by root it runs as the user nobody, since for root
slurmctld lists the jobs of all users::

    dev/with-slurm .venv/bin/python benchmarks/load.py

The poll interval is the shortest one, 5 s, so that ten intervals take a minute; CPU shares are computed for
the default of 30 s. All jobs are pending except those of the array, which run. Requests are counted by
slurmctld (``sdiag``), runs of sacct by a script before it on ``PATH``. A full run takes about ten minutes.
The exit status is 1 if a bound does not hold.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.figures import Figure, report
from benchmarks.load_parts.measurements import (
    Sizes,
    Values,
    ending_array,
    many_adopted,
    monitor_per_job,
    one_monitor,
)
from benchmarks.load_parts.poll_cpu import poll_cpu_s
from benchmarks.load_parts.user import drop_root

USERS, JOBS_EACH = 1000, 100
BUCKET, REFILL_PER_S = 30, 2.0  # requests of a user
POLL_S = 30.0  # the default interval for running jobs, the shorter one
PER_POLL = 2  # requests of squeue --local -u: the jobs of the user, and the partitions
PER_NAIVE_POLL = 3  # of squeue -j: the job, the partitions, and the federation
MB = 1024.0  # kB, as the kernel counts
CPU_PERCENT = 0.2


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; return 0 if all bounds hold."""
    options = _options(arguments)
    drop_root()
    sizes = Sizes(options.jobs, options.intervals, options.idle, options.tasks, options.adopted)
    with tempfile.TemporaryDirectory(prefix="jobmon-load-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        os.chdir(folder)
        per_job = monitor_per_job(folder / "per_job", sizes)
        one = one_monitor(folder / "one", sizes)
        array = ending_array(folder / "array", sizes)
        adopted = many_adopted(folder / "adopted", sizes)
    figures = [
        *_monitor_per_job(per_job, sizes),
        *_one_monitor(one, sizes),
        Figure(
            f"array: tasks of {sizes.tasks} not seen to end well", sizes.tasks - array["tasks_completed"], 0
        ),
        Figure("array: runs of sacct when all tasks end at once", array["sacct_runs"], 1),
        Figure("array: requests for its record", array["record_requests"]),
        Figure(f"monitors that adopt {sizes.adopted} jobs", adopted["monitors"], 1),
        Figure("PSS of that one, kB", adopted["pss_kb"], 40 * MB),
        *_poll_cpu(options.rounds),
        *_projection(per_job),
    ]
    return report(figures, as_json=options.json)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=200, help="jobs watched at once (default: 200)")
    parser.add_argument(
        "--intervals", type=int, default=10, help="poll intervals to count over (default: 10)"
    )
    parser.add_argument(
        "--idle", type=int, default=50, help="idle monitors whose memory is measured (default: 50)"
    )
    parser.add_argument("--tasks", type=int, default=40, help="tasks of the array that ends (default: 40)")
    parser.add_argument(
        "--adopted", type=int, default=500, help="jobs that one monitor adopts (default: 500)"
    )
    parser.add_argument(
        "--rounds",
        type=int,
        nargs="+",
        metavar="JOBS",
        default=[10, 100, 1000],
        help="numbers of jobs for which one poll is timed (default: 10 100 1000)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    return parser.parse_args(arguments)


def _monitor_per_job(values: Values, sizes: Sizes) -> Iterator[Figure]:
    yield from _requests(values, f"{sizes.jobs} jobs, {values['monitors']:g} monitors")
    yield Figure("PSS of one monitor alone, kB", values["pss_kb_alone"], 12 * MB)
    yield Figure("its private memory, kB", values["private_kb_alone"])
    yield Figure(f"PSS of the largest of {sizes.idle} idle monitors, kB", values["pss_kb_idle_max"], 12 * MB)
    yield Figure("PSS of the median one, kB", values["pss_kb_idle_median"])
    yield Figure("private memory of the largest one, kB", values["private_kb_idle_max"])
    yield Figure("CPU of the median monitor, % of a core", _percent(values, "median"), CPU_PERCENT)
    yield Figure("CPU of the busiest one, % of a core", _percent(values, "max"), CPU_PERCENT)
    yield Figure("CPU of all their children (squeue), % of a core", _percent(values, "of_all_children"))


def _one_monitor(values: Values, sizes: Sizes) -> Iterator[Figure]:
    yield from _requests(values, f"{sizes.jobs} jobs, {values['monitors']:g} monitor")
    per_job = _percent(values, "max") / sizes.jobs
    yield Figure(f"CPU of the monitor of {sizes.jobs}, % of a core for each job", per_job)
    yield Figure("CPU of its children (squeue), % of a core", _percent(values, "of_all_children"))


def _requests(values: Values, monitors: str) -> Iterator[Figure]:
    yield Figure(f"{monitors}: requests for the queue in an interval", values["listings_per_interval"], 1)
    yield Figure(f"{monitors}: requests for single jobs while idle", values["record_requests_while_idle"], 0)
    yield Figure(f"{monitors}: all requests in an interval", values["requests_per_interval"], 2)
    yield Figure(f"{monitors}: runs of sacct when all end at once", values["sacct_runs_for_all_ends"], 1)
    yield Figure(f"{monitors}: requests for single jobs for each end", values["record_requests_per_end"])


def _poll_cpu(job_counts: Sequence[int]) -> Iterator[Figure]:
    took_s = {jobs: poll_cpu_s(jobs) for jobs in job_counts}
    for jobs, seconds in took_s.items():
        yield Figure(f"one poll of {jobs} jobs, CPU ms", seconds * 1000)
    fewest, most = min(job_counts), max(job_counts)
    growth = (took_s[most] / most) / (took_s[fewest] / fewest)
    yield Figure(f"CPU of one job among {most}, compared with one among {fewest}", growth, 1.0)


def _projection(values: Values) -> Iterator[Figure]:
    """Compute the load of a whole cluster of users, beside that of users who poll each job with squeue.

    The limits are those of Slurm's ``rl_enable`` by default (23.02 and later).
    """
    poll_us, naive_poll_us = (values[name] + values["partitions_us"] for name in ("listing_us", "record_us"))
    polls_per_s = USERS / POLL_S
    naive_per_s = polls_per_s * JOBS_EACH
    figures = {
        "requests per s": (polls_per_s * PER_POLL, None),
        "core share": (polls_per_s * poll_us / 1e6, 1.0),
        "requests per s of a user": (PER_POLL / POLL_S, None),
        "share of refill": (PER_POLL / POLL_S / REFILL_PER_S, 1.0),
        "share of bucket": (PER_POLL / BUCKET, 1.0),
        "naive requests per s": (naive_per_s * PER_NAIVE_POLL, None),
        "naive core share": (naive_per_s * naive_poll_us / 1e6, None),
        "naive share of refill": (JOBS_EACH * PER_NAIVE_POLL / POLL_S / REFILL_PER_S, None),
    }
    for name, (value, at_most) in figures.items():
        yield Figure(f"{USERS} users with {JOBS_EACH} jobs: {name}", value, at_most)


def _percent(values: Values, name: str) -> float:
    """Return a CPU time as percent of a core at the default poll interval."""
    return 100 * values[f"cpu_s_per_interval_{name}"] / POLL_S


if __name__ == "__main__":
    sys.exit(main())
