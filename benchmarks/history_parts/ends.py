"""Measure what a monitor pays for a history: HOME TIMES; HOME may hold one, TIMES ends of a job are measured.

It prints a JSON object: the private memory (KiB) and the CPU time of a poll (ms) of a process that only polls
a running job, and at the end of this job the CPU time (ms) of the child that diagnoses it, what more it takes
to add the run to the history (``record_ms``, the median of alternate pairs), and that of a child that only
adds one (``record_alone_ms``). A process of its own, which has imported what monitors import and no more.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from benchmarks.load_parts.poll_cpu import POLL_INTERVAL_S, ReplayedContext, RunningJobs, save_running
from benchmarks.load_parts.processes import memory
from jobmon_core.domain.job.tracking.model import End, Source, WatchedJob
from jobmon_core.domain.job.tracking.tasks import with_diagnoses
from jobmon_core.domain.logs.diagnosis.model import Diagnosis
from jobmon_core.domain.slurm.rows import Usage
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.monitor.wiring import MonitorFactory
from jobmon_core.polling.accounting import SharedAccounting
from jobmon_core.store.home import Home
from jobmon_core.store.owner import Owner
from jobmon_core.system.helper import Helper, Step
from tests.support.clock import FakeClock

Diagnoses = dict[str, Diagnosis]

_JOB = 100_000
_POLLS_PER_END = 6
_TIMEOUT_S = 60.0
_NODE = "n[001-002]"


def main(home: str, times: str) -> None:
    """Print the figures."""
    clock = FakeClock(time.time())
    ctx = ReplayedContext(Home(Path(home)), {}, clock=clock)
    ctx.runner = RunningJobs(1)
    name = save_running(ctx, _JOB)
    ctx.owner_record(name).claim(Owner.this_process())
    monitor = MonitorFactory(ctx).job_monitor(name, lambda _: None)
    monitor.poll_once()
    polls = _POLLS_PER_END * int(times)
    started_s = time.process_time()
    for _ in range(polls):
        clock.now_s += POLL_INTERVAL_S
        monitor.poll_once()
    poll_ms = 1e3 * (time.process_time() - started_s) / polls
    private = memory(os.getpid()).private
    imported = sorted(each for each in sys.modules if ".history" in each and each.startswith("jobmon_core"))
    figures = {"private_kb": private, "poll_ms": poll_ms, "imported": imported}
    print(json.dumps(figures | _ends(ctx, monitor.job, clock.now(), int(times))))


def _ends(ctx: ReplayedContext, running: WatchedJob, now_s: float, times: int) -> dict[str, float]:
    job = _ended(running, now_s)
    accounting = SharedAccounting(
        ctx.scheduler(job.backend), ctx.shared_answer("accounting", job.backend), ctx.clock, frozenset
    )

    from jobmon_core.analysis.ending.complete import end_steps  # after an end, as monitors do
    from jobmon_core.analysis.ending.files import EndFiles
    from jobmon_core.analysis.ending.run_changes import changes_lines

    read, home = ctx.progress_file(job.id).read, ctx.home
    files = EndFiles(
        read,
        read,
        home.patterns,
        lambda found: changes_lines(home, ctx.store, job, found),
        home.bundle_file,
        ctx.telemetry,
        home.history,
        ctx.clock.now,
    )

    def record(found: Diagnoses) -> Diagnoses:
        from jobmon_core.monitor.recording import write_records  # in the child

        write_records(ctx, with_diagnoses(job, found), files, accounting)
        return found

    steps, last = end_steps(job, tuple(job.tasks), files), Step(record, _TIMEOUT_S)
    end_ms = [(_child_ms(steps), _child_ms([*steps, last])) for _ in range(times)]
    return {
        "diagnose_ms": median(without for without, _ in end_ms),
        "record_ms": median(with_it - without for without, with_it in end_ms),
        "record_alone_ms": median(_child_ms([last]) for _ in range(times)),
        "fork_ms": median(_child_ms([Step(lambda found: found, _TIMEOUT_S)]) for _ in range(times)),
    }


def _ended(job: WatchedJob, now_s: float) -> WatchedJob:
    usage = Usage(max_rss_bytes=8 << 30, run_s=600, cpus=8, gpus=2)
    end = End(
        JobState.COMPLETED,
        "COMPLETED",
        Outcome.SUCCESS,
        Source.QUEUE,
        started_s=int(now_s) - 600,
        ended_s=int(now_s),
        nodes=_NODE,
        usage=usage,
    )
    (task,) = job.tasks.values()
    return replace(job, name="train-7", tasks={task.key: replace(task, end=end)})


def _child_ms(steps: Sequence[Step[Diagnoses]]) -> float:
    """Return the CPU time of a helper that does these steps."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    Helper().run_steps(dict[str, Diagnosis], {}, steps, sys.exit)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


if __name__ == "__main__":
    main(*sys.argv[1:])
