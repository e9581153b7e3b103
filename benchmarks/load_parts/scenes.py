"""What is measured, scene by scene; each starts with no job and leaves none."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.load_parts.controller import OWN, RECORD, CountedSacct, Served, served
from benchmarks.load_parts.processes import Cpu, cpu, memory
from benchmarks.load_parts.user import INTERVAL_S, Somebody
from jobmon_core.app.submit import state_id
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.tracking.new_job import NewJob
from jobmon_core.system.process import user_name

_LATER = ("--begin=now+1day", "--wrap=true")  # it waits; of one that is held its user would be told

Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many of everything."""

    jobs: int
    intervals: int
    idle: int
    tasks: int
    adopted: int


def per_job_monitors(folder: Path, sizes: Sizes) -> Figures:
    """Have a monitor for each job: one, then some, then all; then all jobs end at one moment."""
    with _somebody(folder, sizes.jobs) as (user, sacct):
        user.submit(1, *_LATER)
        (alone,) = (memory(pid) for pid in user.settle(1))
        user.submit(sizes.idle - 1, *_LATER)
        idle = [memory(pid) for pid in user.settle(sizes.idle)]
        user.submit(sizes.jobs - sizes.idle, *_LATER)
        pids = user.settle(sizes.jobs)
        figures = {
            "monitors": len(pids),
            "pss_kb_alone": alone.pss,
            "private_kb_alone": alone.private,
            "pss_kb_idle_median": statistics.median(each.pss for each in idle),
            "pss_kb_idle_max": max(each.pss for each in idle),
            "private_kb_idle_max": max(each.private for each in idle),
        }
        return figures | _steady(user, pids, sizes.intervals) | _endings(user, sacct, sizes.jobs)


def one_monitor(folder: Path, sizes: Sizes) -> Figures:
    """Have one monitor that adopted as many jobs, whose own ones were killed."""
    with _somebody(folder, sizes.jobs) as (user, sacct):
        _adopted(user, sizes.jobs)
        pids = user.settle(sizes.jobs)
        figures = {"monitors": len(pids)} | _steady(user, pids, sizes.intervals)
        return figures | _endings(user, sacct, sizes.jobs)


def many_adopted(folder: Path, sizes: Sizes) -> Figures:
    """Weigh one monitor that adopted even more."""
    with _somebody(folder, sizes.jobs) as (user, _):
        _adopted(user, sizes.adopted)
        pids = user.settle(sizes.adopted)
        user.next_poll()
        user.settle(sizes.adopted)
        found = [memory(pid) for pid in pids]
        return {"monitors": len(pids), "pss_kb": max(each.pss for each in found)}


def ending_array(folder: Path, sizes: Sizes) -> Figures:
    """Have all tasks of an array end well at one moment."""
    with _somebody(folder, 1) as (user, sacct):
        gate = user.folder / "gate"
        os.mkfifo(gate)
        array = f"--array=0-{sizes.tasks - 1}"
        user.submit(1, array, "--mem=1", f"--wrap=read line < {gate}; true")
        user.settle(1)
        user.await_running(sizes.tasks)
        before = served()
        with gate.open("w", encoding="utf-8"):  # all wait for this
            pass
        user.await_told()
        after = served().since(before)
        return {
            "tasks_that_ended_well": user.successes(),
            "sacct_runs": sacct.runs,
            "record_requests": after.count[RECORD],
        }


def _adopted(user: Somebody, jobs: int) -> None:
    """Have jobs that were watched by monitors which are gone."""
    for job_id in user.sbatch(jobs, *_LATER):
        name = state_id("slurm", JobRef(job_id))
        now_s = time.time()
        user.ctx.store.save(NewJob(name, job_id, now_s, now_s - 3600, "slurm", user=user_name()))
    user.jobmon("recover")


def _steady(user: Somebody, pids: list[int], intervals: int) -> Figures:
    """Measure over so many intervals while nothing happens, from one poll on."""
    user.next_poll()
    before, cpu_before = served(), [cpu(pid) for pid in pids]
    time.sleep((intervals + 0.5) * INTERVAL_S)  # till the middle between two polls
    asked, took = served().since(before), [cpu(pid) for pid in pids]
    spent = [each.since(first) for each, first in zip(took, cpu_before, strict=True)]
    return _requests(asked, intervals) | _cpu(spent, intervals)


def _requests(asked: Served, intervals: int) -> Figures:
    mine = asked.users[os.getuid()] - asked.count[OWN]
    return {
        "listings_per_interval": asked.listings / intervals,
        "records_while_nothing_happens": asked.count[RECORD],
        "requests_per_interval": mine / intervals,
        "listing_us": asked.mean_us("REQUEST_JOB_USER_INFO"),
        "partitions_us": asked.mean_us("REQUEST_PARTITION_INFO"),
    }


def _cpu(spent: list[Cpu], intervals: int) -> Figures:
    return {
        "cpu_s_per_interval_median": statistics.median(each.own_s for each in spent) / intervals,
        "cpu_s_per_interval_max": max(each.own_s for each in spent) / intervals,
        "cpu_s_per_interval_of_all_children": sum(each.children_s for each in spent) / intervals,
    }


def _endings(user: Somebody, sacct: CountedSacct, jobs: int) -> Figures:
    """End all at one moment: how often was accounting asked, and slurmctld for records?"""
    before, runs = served(), sacct.runs
    user.end_all()
    asked = served().since(before)
    return {
        "sacct_runs_for_all_endings": sacct.runs - runs,
        "records_per_ending": asked.count[RECORD] / jobs,
        "record_us": asked.mean_us(RECORD),
    }


@contextmanager
def _somebody(folder: Path, monitors: int) -> Iterator[tuple[Somebody, CountedSacct]]:
    folder.mkdir(mode=0o755)
    sacct = CountedSacct(folder / "counted")
    user = Somebody(folder, monitors, sacct.install())
    try:
        yield user, sacct
    finally:
        user.leave()
