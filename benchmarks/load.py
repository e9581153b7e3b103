"""What jobmon costs those who run the cluster and the login node, with many jobs watched.

Run it on a real Slurm, here a private one. It works as the user nobody, since root's polls list all jobs::

    dev/with-slurm .venv/bin/python benchmarks/load.py

The polls are at their floor of 5 s, so that ten intervals take a minute; CPU shares are computed for the
default of 30 s from what one interval takes. Jobs wait, but for those of the array, which run. Requests are
counted by slurmctld itself (``sdiag``), runs of sacct by a program that stands before it on ``PATH``. In
full it takes about ten minutes. The exit status is 1 where a bound does not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tabulate import tabulate

from benchmarks.load_parts.projection import POLL_S, Projection
from benchmarks.load_parts.rounds import round_s
from benchmarks.load_parts.scenes import (
    Figures,
    Sizes,
    ending_array,
    many_adopted,
    one_monitor,
    per_job_monitors,
)
from benchmarks.load_parts.user import become_somebody

USERS, JOBS_EACH = 1000, 100
WHOLE_FROM = 100  # a figure is shown without decimals
MB = 1024.0  # kB, as the kernel counts
CPU_SHARE = 0.002
LINEAR = 1.0  # what a job may cost among the most jobs, in terms of one among the fewest


@dataclass(frozen=True, slots=True)
class Row:
    """One figure; without a bound it is for information."""

    what: str
    figure: float
    bound: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the figure keeps to its bound."""
        return None if self.bound is None else self.figure <= self.bound


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; return 0 if all bounds hold."""
    options = _options(arguments)
    become_somebody()
    sizes = Sizes(options.jobs, options.intervals, options.idle, options.tasks, options.adopted)
    with tempfile.TemporaryDirectory(prefix="jobmon-load-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        os.chdir(folder)
        each = per_job_monitors(folder / "each", sizes)
        one = one_monitor(folder / "one", sizes)
        array = ending_array(folder / "array", sizes)
        adopted = many_adopted(folder / "adopted", sizes)
    rows = [*_of_each(each, sizes), *_of_one(one, sizes), *_of_array(array, sizes)]
    rows += [*_of_adopted(adopted, sizes), *_of_rounds(options.rounds), *_projected(each)]
    print(json.dumps(_object(rows), indent=2) if options.json else _table(rows))
    return 1 if any(row.met is False for row in rows) else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=200, help="watched at once (default: 200)")
    parser.add_argument("--intervals", type=int, default=10, help="counted over (default: 10)")
    parser.add_argument("--idle", type=int, default=50, help="monitors that are weighed (default: 50)")
    parser.add_argument("--tasks", type=int, default=40, help="of the array that ends (default: 40)")
    parser.add_argument("--adopted", type=int, default=500, help="by the monitor weighed (default: 500)")
    parser.add_argument("--rounds", type=int, nargs="+", default=[10, 100, 1000], help="jobs in a round")
    parser.add_argument("--json", action="store_true", help="one object instead of the table")
    return parser.parse_args(arguments)


def _of_each(found: Figures, sizes: Sizes) -> Iterator[Row]:
    yield from _counted(found, f"{sizes.jobs} jobs, {found['monitors']:g} monitors")
    yield Row("PSS of one monitor alone, kB", found["pss_kb_alone"], 12 * MB)
    yield Row("its private memory, kB", found["private_kb_alone"])
    yield Row(f"PSS of the heaviest of {sizes.idle} idle monitors, kB", found["pss_kb_idle_max"], 12 * MB)
    yield Row("PSS of the median one, kB", found["pss_kb_idle_median"])
    yield Row("private memory of the heaviest one, kB", found["private_kb_idle_max"])
    yield Row("CPU of the median monitor, % of a core", _share(found, "median"), CPU_SHARE * 100)
    yield Row("CPU of the busiest one, % of a core", _share(found, "max"), CPU_SHARE * 100)
    yield Row("CPU of all their children (squeue), % of a core", _share(found, "of_all_children"))


def _of_one(found: Figures, sizes: Sizes) -> Iterator[Row]:
    yield from _counted(found, f"{sizes.jobs} jobs, {found['monitors']:g} monitor")
    yield Row(
        f"CPU of the monitor of {sizes.jobs}, % of a core for each job", _share(found, "max") / sizes.jobs
    )
    yield Row("CPU of its children (squeue), % of a core", _share(found, "of_all_children"))


def _counted(found: Figures, who: str) -> Iterator[Row]:
    yield Row(f"{who}: requests for the queue in an interval", found["listings_per_interval"], 1)
    yield Row(f"{who}: requests for single jobs while idle", found["records_while_nothing_happens"], 0)
    yield Row(f"{who}: all requests in an interval", found["requests_per_interval"], 2)
    yield Row(f"{who}: runs of sacct when all end at once", found["sacct_runs_for_all_endings"], 1)
    yield Row(f"{who}: requests for single jobs for each end", found["records_per_ending"])


def _of_array(found: Figures, sizes: Sizes) -> Iterator[Row]:
    yield Row(
        f"array: tasks of {sizes.tasks} not seen to end well", sizes.tasks - found["tasks_that_ended_well"], 0
    )
    yield Row("array: runs of sacct when all tasks end at once", found["sacct_runs"], 1)
    yield Row("array: requests for its record", found["record_requests"])


def _of_adopted(found: Figures, sizes: Sizes) -> Iterator[Row]:
    yield Row(f"monitors that adopt {sizes.adopted} jobs", found["monitors"], 1)
    yield Row("PSS of that one, kB", found["pss_kb"], 40 * MB)


def _of_rounds(counts: Sequence[int]) -> Iterator[Row]:
    took_s = {jobs: round_s(jobs) for jobs in counts}
    for jobs, each_s in took_s.items():
        yield Row(f"one round of {jobs} jobs, CPU ms", each_s * 1000)
    least, most = min(counts), max(counts)
    growth = (took_s[most] / most) / (took_s[least] / least)
    yield Row(f"a job among {most} costs that of one among {least} times", growth, LINEAR)


def _projected(found: Figures) -> Iterator[Row]:
    poll_us, naive_poll_us = (found[each] + found["partitions_us"] for each in ("listing_us", "record_us"))
    projection = Projection(USERS, JOBS_EACH, poll_us, naive_poll_us)
    for name, figure in projection.figures().items():
        bound = 1.0 if name in ("share_of_refill", "share_of_bucket", "core_share") else None
        yield Row(f"{USERS} users with {JOBS_EACH} jobs: {name.replace('_', ' ')}", figure, bound)


def _share(found: Figures, of: str) -> float:
    return 100 * found[f"cpu_s_per_interval_{of}"] / POLL_S


def _object(rows: Sequence[Row]) -> dict[str, dict[str, float | bool | None]]:
    return {row.what: {"figure": row.figure, "bound": row.bound, "met": row.met} for row in rows}


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= WHOLE_FROM else f"{value:.4g}"


def _table(rows: Sequence[Row]) -> str:
    words = {True: "yes", False: "NO", None: ""}
    shown = [
        (row.what, _number(row.figure), "" if row.bound is None else _number(row.bound), words[row.met])
        for row in rows
    ]
    return tabulate(shown, ("figure", "value", "bound", "met"), disable_numparse=True)


if __name__ == "__main__":
    sys.exit(main())
