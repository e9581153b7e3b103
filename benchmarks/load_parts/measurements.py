"""The measurements; each starts without jobs and leaves none."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.load_parts.controller import OWN, RECORD, CountedSacct, RequestCounts, request_counts
from benchmarks.load_parts.processes import Cpu, cpu, memory
from benchmarks.load_parts.user import BenchmarkUser
from jobmon_core.app.submit import state_id, user_name
from jobmon_core.domain.config import POLL_FLOOR_S
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.domain.tracking.new_job import NewJob

_LATER = ("--begin=now+1day", "--wrap=true")  # stays pending; a held job would be reported to its user

Values = dict[str, float]


@dataclass(frozen=True, slots=True)
class Sizes:
    """The numbers of jobs, intervals and tasks to measure with; see the options of load.py."""

    jobs: int
    intervals: int
    idle: int
    tasks: int
    adopted: int


def monitor_per_job(folder: Path, sizes: Sizes) -> Values:
    """Measure one monitor for each job: one, some, all; then all jobs end at the same time."""
    with _user(folder, sizes.jobs) as (user, sacct):
        user.submit(1, *_LATER)
        (alone,) = (memory(pid) for pid in user.settle(1))
        user.submit(sizes.idle - 1, *_LATER)
        idle = [memory(pid) for pid in user.settle(sizes.idle)]
        user.submit(sizes.jobs - sizes.idle, *_LATER)
        pids = user.settle(sizes.jobs)
        values = {
            "monitors": len(pids),
            "pss_kb_alone": alone.pss,
            "private_kb_alone": alone.private,
            "pss_kb_idle_median": statistics.median(each.pss for each in idle),
            "pss_kb_idle_max": max(each.pss for each in idle),
            "private_kb_idle_max": max(each.private for each in idle),
        }
        return values | _while_idle(user, pids, sizes.intervals) | _at_the_end(user, sacct, sizes.jobs)


def one_monitor(folder: Path, sizes: Sizes) -> Values:
    """Measure one monitor that adopted all jobs."""
    with _user(folder, sizes.jobs) as (user, sacct):
        _adopt(user, sizes.jobs)
        pids = user.settle(sizes.jobs)
        values = {"monitors": len(pids)} | _while_idle(user, pids, sizes.intervals)
        return values | _at_the_end(user, sacct, sizes.jobs)


def many_adopted(folder: Path, sizes: Sizes) -> Values:
    """Measure the memory of one monitor that adopted even more jobs."""
    with _user(folder, sizes.jobs) as (user, _):
        _adopt(user, sizes.adopted)
        pids = user.settle(sizes.adopted)
        user.wait_for_poll()
        user.settle(sizes.adopted)
        return {"monitors": len(pids), "pss_kb": max(memory(pid).pss for pid in pids)}


def ending_array(folder: Path, sizes: Sizes) -> Values:
    """Measure an array whose tasks all succeed at the same time."""
    with _user(folder, 1) as (user, sacct):
        gate = user.folder / "gate"
        os.mkfifo(gate)
        array = f"--array=0-{sizes.tasks - 1}"
        user.submit(1, array, "--mem=1", f"--wrap=read line < {gate}; true")
        user.settle(1)
        user.wait_until_running(sizes.tasks)
        before = request_counts()
        with gate.open("w", encoding="utf-8"):  # for which all tasks wait
            pass
        user.wait_until_done()
        return {
            "tasks_completed": user.tasks_in(JobState.COMPLETED),
            "sacct_runs": sacct.runs,
            "record_requests": request_counts().since(before).by_kind[RECORD],
        }


def _adopt(user: BenchmarkUser, jobs: int) -> None:
    """Submit jobs and have `recover` start a monitor that adopts them."""
    for job_id in user.sbatch(jobs, *_LATER):
        name = state_id("slurm", JobRef(job_id))
        now_s = time.time()
        user.ctx.store.save(NewJob(name, job_id, now_s, now_s - 3600, "slurm", user=user_name()))
    user.jobmon("recover")


def _while_idle(user: BenchmarkUser, pids: list[int], intervals: int) -> Values:
    """Measure requests and CPU time over some poll intervals in which nothing happens."""
    user.wait_for_poll()
    before, cpu_before = request_counts(), [cpu(pid) for pid in pids]
    time.sleep((intervals + 0.5) * POLL_FLOOR_S)  # ends between two polls
    requests, cpu_after = request_counts().since(before), [cpu(pid) for pid in pids]
    spent = [after.since(start) for after, start in zip(cpu_after, cpu_before, strict=True)]
    return _requests(requests, intervals) | _cpu(spent, intervals)


def _requests(requests: RequestCounts, intervals: int) -> Values:
    by_user = requests.by_uid[os.getuid()] - requests.by_kind[OWN]
    return {
        "listings_per_interval": requests.listings / intervals,
        "record_requests_while_idle": requests.by_kind[RECORD],
        "requests_per_interval": by_user / intervals,
        "listing_us": requests.mean_us("REQUEST_JOB_USER_INFO"),
        "partitions_us": requests.mean_us("REQUEST_PARTITION_INFO"),
    }


def _cpu(spent: list[Cpu], intervals: int) -> Values:
    return {
        "cpu_s_per_interval_median": statistics.median(each.own_s for each in spent) / intervals,
        "cpu_s_per_interval_max": max(each.own_s for each in spent) / intervals,
        "cpu_s_per_interval_of_all_children": sum(each.children_s for each in spent) / intervals,
    }


def _at_the_end(user: BenchmarkUser, sacct: CountedSacct, jobs: int) -> Values:
    """End all jobs at the same time; count runs of sacct and requests for records."""
    before, runs = request_counts(), sacct.runs
    user.cancel_all()
    user.wait_until_done()
    requests = request_counts().since(before)
    return {
        "sacct_runs_for_all_ends": sacct.runs - runs,
        "record_requests_per_end": requests.by_kind[RECORD] / jobs,
        "record_us": requests.mean_us(RECORD),
    }


@contextmanager
def _user(folder: Path, monitors: int) -> Iterator[tuple[BenchmarkUser, CountedSacct]]:
    """Provide a user who may run so many monitors, and the sacct that counts its runs."""
    folder.mkdir(mode=0o755)
    sacct = CountedSacct(folder / "bin")
    poll = {"running_s": POLL_FLOOR_S, "pending_s": POLL_FLOOR_S}
    user = BenchmarkUser(folder, {"poll": poll, "monitors": {"at_most": monitors}}, str(sacct.folder))
    try:
        yield user, sacct
    finally:
        user.close()
