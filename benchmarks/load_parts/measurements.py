"""The measurements; each starts without jobs and leaves none."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.load_parts.controller import OWN, RECORD, CountedSacct, RequestCounts, request_counts
from benchmarks.load_parts.processes import Cpu, cpu, memory
from benchmarks.load_parts.user import BenchmarkUser, wait_until
from jobmon_core.domain.config import MIN_POLL_S
from jobmon_core.domain.job.tracking.new_job import NewJob
from jobmon_core.domain.many.groups.model import Group, GroupSettings, Member
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.store.jobs import state_id
from jobmon_core.system.users import user_name

POLL_S = 30.0  # the default interval for running jobs, the shorter one
MB = 1024.0  # kB, as the kernel counts
_LATER = ("--begin=now+1day", "--wrap=true")  # stays pending; a held job would be reported to its user


@dataclass(frozen=True, slots=True)
class Sizes:
    """The numbers of jobs, intervals and tasks to measure with; see the options of load.py."""

    jobs: int
    intervals: int
    idle: int
    tasks: int
    adopted: int


@dataclass(frozen=True, slots=True)
class Load:
    """The requests and CPU time of monitors while nothing happened, and the requests when all jobs ended."""

    idle: RequestCounts
    cpu: list[Cpu]  # of each monitor while idle
    ends: RequestCounts
    sacct_runs: int  # for all ends


def monitor_per_job(folder: Path, sizes: Sizes) -> tuple[list[Figure], Load]:
    """Measure one monitor for each job: one, some, all; then all jobs end at the same time."""
    with _user(folder, sizes.jobs) as (user, sacct):
        user.submit(1, *_LATER)
        (alone,) = (memory(pid) for pid in user.settle(1))
        user.submit(sizes.idle - 1, *_LATER)
        idle = [memory(pid) for pid in user.settle(sizes.idle)]
        user.submit(sizes.jobs - sizes.idle, *_LATER)
        pids = user.settle(sizes.jobs)
        load = _load(user, sacct, pids, sizes.intervals)
    cpu_s = [each.own_s for each in load.cpu]
    return [
        *_requests(f"{sizes.jobs} jobs, {len(pids)} monitors", load, sizes),
        Figure("private memory of one monitor alone, kB", alone.private, 12 * MB),
        Figure("its PSS, kB", alone.pss),  # without a bound: a monitor alone pays for all of Python
        Figure(f"PSS of the largest of {sizes.idle} idle monitors, kB", max(m.pss for m in idle), 12 * MB),
        Figure("PSS of the median one, kB", statistics.median(m.pss for m in idle)),
        Figure("private memory of the largest one, kB", max(m.private for m in idle)),
        Figure("CPU of the median monitor, % of a core", _percent(statistics.median(cpu_s), sizes), 0.2),
        Figure("CPU of the busiest one, % of a core", _percent(max(cpu_s), sizes), 0.2),
        Figure("CPU of all their children (squeue), % of a core", _children_percent(load, sizes)),
    ], load


def one_monitor(folder: Path, sizes: Sizes) -> list[Figure]:
    """Measure one monitor that adopted all jobs."""
    with _user(folder, sizes.jobs) as (user, sacct):
        _adopt(user, sizes.jobs)
        pids = user.settle(sizes.jobs)
        load = _load(user, sacct, pids, sizes.intervals)
    per_job = _percent(max(each.own_s for each in load.cpu), sizes) / sizes.jobs
    return [
        *_requests(f"{sizes.jobs} jobs, {len(pids)} monitor", load, sizes),
        Figure(f"CPU of the monitor of {sizes.jobs}, % of a core for each job", per_job),
        Figure("CPU of its children (squeue), % of a core", _children_percent(load, sizes)),
    ]


def one_group(folder: Path, sizes: Sizes) -> list[Figure]:
    """Measure one monitor of a group with all jobs, which logs a poll of the group in each interval."""
    with _user(folder, sizes.jobs) as (user, sacct):
        state_ids = _save_submitted(user, sizes.jobs)
        members = {f"run{number}/task/epoch0": Member(state_id) for number, state_id in enumerate(state_ids)}
        user.ctx.groups.create(Group("load", time.time(), GroupSettings(interval_s=MIN_POLL_S), members))
        user.jobmon("recover")
        pids = user.settle(sizes.jobs)
        user.wait_for_poll()
        pss = max(memory(pid).pss for pid in user.settle(sizes.jobs))
        load = _load(user, sacct, pids, sizes.intervals)
        wait_until(lambda: bool(user.ctx.messages.paths()), "the group has a digest")
        name = f"a group of {sizes.jobs}"
        return [
            *_requests(f"{name}, {len(pids)} monitor", load, sizes),
            Figure(f"CPU of the monitor of {name}, % of a core", _percent(load.cpu[0].own_s, sizes), 2.0),
            Figure(f"PSS of the monitor of {name}, kB", pss, 40 * MB),
            Figure(f"state file of {name}, kB", user.ctx.groups.path("load").stat().st_size / 1000, 250),
            Figure(f"digests about {name}", len(user.ctx.messages.paths()), 1),
        ]


def many_adopted(folder: Path, sizes: Sizes) -> list[Figure]:
    """Measure the memory of one monitor that adopted even more jobs."""
    with _user(folder, sizes.jobs) as (user, _):
        _adopt(user, sizes.adopted)
        pids = user.settle(sizes.adopted)
        user.wait_for_poll()
        user.settle(sizes.adopted)
        return [
            Figure(f"monitors that adopt {sizes.adopted} jobs", len(pids), 1),
            Figure("PSS of that one, kB", max(memory(pid).pss for pid in pids), 40 * MB),
        ]


def ending_array(folder: Path, sizes: Sizes) -> list[Figure]:
    """Measure an array whose tasks all succeed at the same time."""
    with _user(folder, 1) as (user, sacct):
        gate = user.folder / "gate"
        os.mkfifo(gate)
        array = f"--array=0-{sizes.tasks - 1}"
        user.submit(1, array, "--mem=1", f"--wrap=read line < {gate}; true")
        user.settle(1)
        user.wait_until_running(sizes.tasks)
        before = request_counts()
        with gate.open("w", encoding="utf-8"):  # all tasks wait for this
            pass
        user.wait_until_done()
        unseen = sizes.tasks - user.tasks_in(JobState.COMPLETED)
        return [
            Figure(f"array: tasks of {sizes.tasks} not seen to end well", unseen, 0),
            Figure("array: runs of sacct when all tasks end at once", sacct.runs, 1),
            Figure("array: requests for its record", request_counts().since(before).by_kind[RECORD]),
        ]


def _adopt(user: BenchmarkUser, jobs: int) -> None:
    """Submit jobs and have `recover` start a monitor that adopts them."""
    _save_submitted(user, jobs)
    user.jobmon("recover")


def _save_submitted(user: BenchmarkUser, jobs: int) -> list[str]:
    """Submit jobs and save their state files; return their state ids."""
    names = []
    for job_id in user.sbatch(jobs, *_LATER):
        names.append(state_id("slurm", JobRef(job_id)))
        now_s = time.time()
        user.ctx.store.save(NewJob(names[-1], job_id, now_s, now_s - 3600, "slurm", user=user_name()))
    return names


def _load(user: BenchmarkUser, sacct: CountedSacct, pids: list[int], intervals: int) -> Load:
    """Let some poll intervals pass, then end all jobs at the same time."""
    user.wait_for_poll()
    before, cpu_before = request_counts(), [cpu(pid) for pid in pids]
    time.sleep((intervals + 0.5) * MIN_POLL_S)  # ends between two polls
    idle, cpu_after = request_counts().since(before), [cpu(pid) for pid in pids]
    spent = [after.since(start) for after, start in zip(cpu_after, cpu_before, strict=True)]
    before, runs = request_counts(), sacct.runs
    user.cancel_all()
    user.wait_until_done()
    return Load(idle, spent, request_counts().since(before), sacct.runs - runs)


def _requests(monitors: str, load: Load, sizes: Sizes) -> Iterator[Figure]:
    idle, intervals = load.idle, sizes.intervals
    by_user = (idle.by_uid[os.getuid()] - idle.by_kind[OWN]) / intervals
    yield Figure(f"{monitors}: requests for the queue in an interval", idle.listings / intervals, 1)
    yield Figure(f"{monitors}: requests for single jobs while idle", idle.by_kind[RECORD], 0)
    yield Figure(f"{monitors}: all requests in an interval", by_user, 2)
    yield Figure(f"{monitors}: runs of sacct when all end at once", load.sacct_runs, 1)
    yield Figure(f"{monitors}: requests for single jobs for each end", load.ends.by_kind[RECORD] / sizes.jobs)


def _children_percent(load: Load, sizes: Sizes) -> float:
    return _percent(sum(each.children_s for each in load.cpu), sizes)


def _percent(cpu_s: float, sizes: Sizes) -> float:
    """Return a CPU time in seconds over all intervals as percent of a core at the default interval."""
    return 100 * cpu_s / sizes.intervals / POLL_S


@contextmanager
def _user(folder: Path, monitors: int) -> Iterator[tuple[BenchmarkUser, CountedSacct]]:
    """Provide a user who may run this many monitors, and the sacct that counts its runs."""
    folder.mkdir(mode=0o755)
    sacct = CountedSacct(folder / "bin")
    poll = {"running_s": MIN_POLL_S, "pending_s": MIN_POLL_S}
    user = BenchmarkUser(folder, {"poll": poll, "monitors": {"at_most": monitors}}, str(sacct.folder))
    try:
        yield user, sacct
    finally:
        user.close()
