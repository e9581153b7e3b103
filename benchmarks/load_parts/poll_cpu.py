"""The CPU time of one poll of many jobs: real job monitors, with a Slurm that answers at once."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jobmon_core.context import Context
from jobmon_core.domain.job.tracking.new_job import NewJob
from jobmon_core.monitor.wiring import MonitorFactory
from jobmon_core.scheduler.base import Scheduler
from jobmon_core.scheduler.slurm.client import SlurmScheduler
from jobmon_core.store.home import Home
from jobmon_core.store.owner import Owner
from jobmon_core.system.runner import NotStarted, Ran, Runner
from tests.support.clock import FakeClock

_STARTED_S = 1_800_000_000
_FIRST_JOB = 100_000
POLL_INTERVAL_S = 61.0  # longer than any default: each poll gets a new answer
_RECORD = """\
JobId={id} JobName=load
   UserId=me(1000) GroupId=me(1000) MCS_label=N/A
   Priority=1 Nice=0 Account=me QOS=normal
   JobState=RUNNING Reason=None Dependency=(null)
   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0
   RunTime=00:10:00 TimeLimit=UNLIMITED TimeMin=N/A
   SubmitTime={at} EligibleTime={at}
   StartTime={at} EndTime=Unknown Deadline=N/A
   Partition=main AllocNode:Sid=login:1
   NodeList=n1
   BatchHost=n1
   Command=/w/job.sh
   WorkDir=/w
   StdErr=/w/{id}.out
   StdIn=/dev/null
   StdOut=/w/{id}.out

"""


@dataclass(slots=True)
class RunningJobs(Runner):
    """A runner whose squeue and scontrol show ``jobs`` running jobs."""

    jobs: int
    squeue: str = field(init=False)
    records: int = field(init=False, default=0)  # of single jobs, which scontrol has shown

    def __post_init__(self) -> None:
        """Build the output of squeue once."""
        row = "{id}|{id}|{id}|N/A|RUNNING|{at}|N/A|{at}|UNLIMITED|n1|None\n"
        ids = range(_FIRST_JOB, _FIRST_JOB + self.jobs)
        self.squeue = "".join(row.format(id=job_id, at=_STARTED_S) for job_id in ids)

    def capture(self, argv: Sequence[str], timeout_s: float) -> Ran | NotStarted:  # noqa: ARG002 - as in Runner
        """Answer the commands of a monitor."""
        if argv[0] == "squeue":
            return Ran(tuple(argv), 0, "" if "-j" in argv else self.squeue, "")
        if "job" in argv:
            self.records += 1
            return Ran(tuple(argv), 0, _RECORD.format(id=argv[-1], at=_STARTED_S), "")
        return Ran(tuple(argv), 0, "ClusterName = load\n", "")

    def run_attached(self, argv: Sequence[str], *_callbacks: Callable[..., object] | None) -> NotStarted:
        """Start nothing."""
        return NotStarted(tuple(argv), "not replayed")


class ReplayedContext(Context):
    """A context whose Slurm commands are answered by `RunningJobs`."""

    runner: RunningJobs

    def scheduler(self, backend: str, cluster: str = "") -> Scheduler:  # noqa: ARG002 - as in Context
        """Return Slurm with answers of `RunningJobs`."""
        return SlurmScheduler(self.runner, cluster)


def poll_cpu_s(jobs: int, polls: int = 10) -> float:
    """Return the mean CPU time in seconds of one poll of ``jobs`` running jobs.

    The mean of several polls includes what a monitor does only now and then, such as saving a quiet job.
    """
    with tempfile.TemporaryDirectory(prefix="jobmon-load-") as folder:
        clock = FakeClock(_STARTED_S + 600.0)
        ctx = ReplayedContext(Home(Path(folder)), {}, clock=clock)
        ctx.runner = RunningJobs(jobs)
        names = [save_running(ctx, _FIRST_JOB + number) for number in range(jobs)]
        for name in names:
            ctx.owner_record(name).claim(Owner.this_process())
        factory = MonitorFactory(ctx)
        monitors = [factory.job_monitor(name, lambda _: None) for name in names]
        took_s = []
        for _ in range(polls + 1):
            clock.now_s += POLL_INTERVAL_S
            started_s = time.process_time()
            for monitor in monitors:
                monitor.poll_once()
            took_s.append(time.process_time() - started_s)
        if any(monitor.job.answered_s != clock.now_s for monitor in monitors):
            raise SystemExit("a job was not polled")
        if ctx.runner.records > jobs:
            raise SystemExit("a monitor asked again for the record of a job")
    return sum(took_s[1:]) / polls  # the first poll asks for the record of each job


def save_running(ctx: Context, job_id: int) -> str:
    """Save a new job of this id; return its state id."""
    name = f"slurm-{job_id}-load"
    ctx.store.save(NewJob(name, job_id, _STARTED_S, _STARTED_S - 86_400, "slurm", user="me"))
    return name
