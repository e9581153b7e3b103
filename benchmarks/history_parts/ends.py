"""Measure what a monitor pays for a history: HOME is its home, which may hold one.

It prints a JSON object: the private memory (KiB) and the CPU time of a poll (ms) of a process that only polls
a running job, and the CPU time (ms) of the children that add a run of this job to the history, and that
compare it with earlier ones. A process of its own, which has imported what monitors import and no more.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benchmarks.load_parts.poll_cpu import POLL_INTERVAL_S, ReplayedContext, RunningJobs, save_running
from benchmarks.load_parts.processes import memory
from jobmon_core.domain.job.tracking.model import End, Source, WatchedJob
from jobmon_core.domain.slurm.rows import Usage
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.monitor.wiring import MonitorFactory
from jobmon_core.polling.accounting import SharedAccounting
from jobmon_core.store.home import Home
from jobmon_core.store.owner import Owner
from jobmon_core.system.helper import Helper
from tests.support.clock import FakeClock

_JOB = 100_000
_POLLS = 200
_TIMES = 5
_TIMEOUT_S = 60.0
_NODE = "n[001-002]"


def main(home: str) -> None:
    """Print the figures."""
    clock = FakeClock(time.time())
    ctx = ReplayedContext(Home(Path(home)), {}, clock=clock)
    ctx.runner = RunningJobs(1)
    name = save_running(ctx, _JOB)
    ctx.owner_record(name).claim(Owner.this_process())
    monitor = MonitorFactory(ctx).job_monitor(name, lambda _: None)
    monitor.poll_once()
    started_s = time.process_time()
    for _ in range(_POLLS):
        clock.now_s += POLL_INTERVAL_S
        monitor.poll_once()
    poll_ms = 1e3 * (time.process_time() - started_s) / _POLLS
    private = memory(os.getpid()).private
    imported = sorted(each for each in sys.modules if ".history" in each and each.startswith("jobmon_core"))
    figures = {"private_kb": private, "poll_ms": poll_ms, "imported": imported}
    print(json.dumps(figures | _ends(ctx, monitor.job, clock.now())))


def _ends(ctx: ReplayedContext, running: WatchedJob, now_s: float) -> dict[str, float]:
    job = _ended(running, JobState.COMPLETED, Outcome.SUCCESS, now_s)
    died = _ended(job, JobState.NODE_FAIL, Outcome.FAILURE, now_s)
    accounting = SharedAccounting(
        ctx.scheduler(job.backend), ctx.shared_answer("accounting", job.backend), ctx.clock, frozenset
    )

    def record() -> bool:
        from jobmon_core.monitor.history import write_records  # in the child, as monitors do

        return write_records(ctx, job, accounting)

    return {
        "record_ms": _children_ms(record),
        "compare_ms": _children_ms(lambda: _compare(ctx, job)),
        "compare_died_ms": _children_ms(lambda: _compare(ctx, died, "node_fail")),
        "fork_ms": _children_ms(lambda: True),
    }


def _ended(job: WatchedJob, state: JobState, outcome: Outcome, now_s: float) -> WatchedJob:
    usage = Usage(max_rss_bytes=8 << 30, run_s=600, cpus=8, gpus=2)
    end = End(
        state,
        state,
        outcome,
        Source.QUEUE,
        started_s=int(now_s) - 600,
        ended_s=int(now_s),
        nodes=_NODE,
        usage=usage,
    )
    (task,) = job.tasks.values()
    return replace(job, name="train-7", tasks={task.key: replace(task, end=end)})


def _compare(ctx: ReplayedContext, job: WatchedJob, cause: str | None = None) -> bool:
    from jobmon_core.analysis.ending.files import EndFiles
    from jobmon_core.analysis.ending.history import with_history
    from jobmon_core.domain.logs.diagnosis.model import Diagnosis

    read, home = ctx.progress_file(job.id).read, ctx.home
    files = EndFiles(
        read,
        read,
        home.patterns,
        lambda _: {},
        home.bundle_file,
        ctx.telemetry,
        home.history,
        ctx.clock.now,
    )
    return bool(with_history(job, {key: Diagnosis(cause, "", "", "") for key in job.tasks}, files))


def _children_ms(work: Callable[[], bool]) -> float:
    """Return the median CPU time of helpers that do this work."""
    times = []
    for _ in range(_TIMES):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        Helper().run(bool, work, _TIMEOUT_S)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return 1e3 * sorted(times)[_TIMES // 2]


if __name__ == "__main__":
    main(*sys.argv[1:])
