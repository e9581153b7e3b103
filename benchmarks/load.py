"""Measure the load of many watched jobs on slurmctld, accounting and the login node.

Run it on a real Slurm, here a private one. If root starts it, it continues as the user nobody, because
slurmctld lists the jobs of all users for root::

    dev/with-slurm .venv/bin/python benchmarks/load.py

The poll interval is the shortest one, 5 s, so that ten intervals take a minute; CPU shares are computed for
the default of 30 s. All jobs are pending except those of the array, which run. Requests are counted by
slurmctld (``sdiag``), runs of sacct by a wrapper script on ``PATH``. A full run takes about ten minutes.
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
from benchmarks.load_parts.controller import RECORD
from benchmarks.load_parts.measurements import (
    POLL_S,
    Load,
    Sizes,
    ending_array,
    many_adopted,
    monitor_per_job,
    one_group,
    one_monitor,
)
from benchmarks.load_parts.poll_cpu import poll_cpu_s
from benchmarks.load_parts.user import drop_root
from benchmarks.options import options_parser

USERS, JOBS_EACH = 1000, 100
BUCKET, REFILL_PER_S = 30, 2.0  # requests of a user
PER_POLL = 2  # requests of squeue --local -u: the jobs of the user, and the partitions
PER_NAIVE_POLL = 3  # of squeue -j: the job, the partitions, and the federation


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; return 0 if all bounds hold."""
    options = _options(arguments)
    drop_root()
    sizes = Sizes(options.jobs, options.intervals, options.idle, options.tasks, options.adopted)
    with tempfile.TemporaryDirectory(prefix="jobmon-load-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        os.chdir(folder)
        per_job, load = monitor_per_job(folder / "per_job", sizes)
        figures = [
            *per_job,
            *one_monitor(folder / "one", sizes),
            *one_group(folder / "group", sizes),
            *ending_array(folder / "array", sizes),
            *many_adopted(folder / "adopted", sizes),
        ]
    figures += [*_poll_cpu(options.rounds), *_projection(load)]
    return report(figures, as_json=options.json)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = options_parser(
        __doc__,
        jobs=(200, "jobs watched at once"),
        intervals=(10, "poll intervals to count over"),
        idle=(50, "idle monitors whose memory is measured"),
        tasks=(40, "tasks of the array that ends"),
        adopted=(500, "jobs that one monitor adopts"),
    )
    parser.add_argument(
        "--rounds",
        type=int,
        nargs="+",
        metavar="JOBS",
        default=[10, 100, 1000],
        help="numbers of jobs for which one poll is timed (default: 10 100 1000)",
    )
    return parser.parse_args(arguments)


def _poll_cpu(job_counts: Sequence[int]) -> Iterator[Figure]:
    took_s = {jobs: poll_cpu_s(jobs) for jobs in job_counts}
    for jobs, seconds in took_s.items():
        yield Figure(f"one poll of {jobs} jobs, CPU ms", seconds * 1000)
    fewest, most = min(job_counts), max(job_counts)
    growth = (took_s[most] / most) / (took_s[fewest] / fewest)
    yield Figure(f"CPU of one job among {most}, compared with one among {fewest}", growth, 1.0)


def _projection(load: Load) -> Iterator[Figure]:
    """Yield the load of many users, computed for jobmon and for users who poll each job with squeue.

    The limits are those of Slurm's ``rl_enable`` by default (23.02 and later).
    """
    partitions_us = load.idle.mean_us("REQUEST_PARTITION_INFO")
    poll_us = load.idle.mean_us("REQUEST_JOB_USER_INFO") + partitions_us
    naive_poll_us = load.ends.mean_us(RECORD) + partitions_us
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


if __name__ == "__main__":
    sys.exit(main())
