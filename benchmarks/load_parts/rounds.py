"""What one round over many jobs costs: real supervisors, with a Slurm that answers at once."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from jobmon_core.context import Context
from jobmon_core.domain.tracking.new_job import NewJob
from jobmon_core.monitor.wiring import MonitorFactory
from jobmon_core.scheduler.base import Scheduler
from jobmon_core.scheduler.slurm.client import SlurmScheduler
from jobmon_core.store.home import Home
from jobmon_core.system.clock import SystemClock
from jobmon_core.system.runner import NotStarted, Ran

_BEGAN_S = 1_800_000_000
_FIRST_JOB = 100_000
_INTERVAL_S = 61.0  # more than any default one: each round reads a new answer
_RECORD = (
    "JobId={id} JobName=load UserId=me(1000) GroupId=me(1000) MCS_label=N/A Priority=1 Nice=0 Account=me "
    "QOS=normal JobState=RUNNING Reason=None Dependency=(null) Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 "
    "ExitCode=0:0 RunTime=00:10:00 TimeLimit=UNLIMITED TimeMin=N/A SubmitTime={at} EligibleTime={at} "
    "AccrueTime={at} StartTime={at} EndTime=Unknown Deadline=N/A SuspendTime=None SecsPreSuspend=0 "
    "LastSchedEval={at} Scheduler=Main Partition=main AllocNode:Sid=login:1 ReqNodeList=(null) "
    "ExcNodeList=(null) NodeList=n1 BatchHost=n1 NumNodes=1 NumCPUs=1 NumTasks=1 CPUs/Task=1 "
    "Command=/w/job.sh WorkDir=/w StdErr=/w/{id}.out StdIn=/dev/null StdOut=/w/{id}.out Power= \n"
)


class Metronome(SystemClock):
    """Time that passes when it is told to."""

    now_s = float(_BEGAN_S + 600)

    def now(self) -> float:
        """Return the time in Unix seconds."""
        return self.now_s


@dataclass(slots=True)
class FullQueue:
    """A runner: a queue of so many running jobs, and the record of each."""

    jobs: int
    squeue: str = field(init=False)

    def __post_init__(self) -> None:
        """Write the queue down once."""
        row = "{id}|{id}|{id}|N/A|RUNNING|{at}|N/A|{at}|UNLIMITED|n1|None\n"
        ids = range(_FIRST_JOB, _FIRST_JOB + self.jobs)
        self.squeue = "".join(row.format(id=job_id, at=_BEGAN_S) for job_id in ids)

    def capture(self, argv: Sequence[str], timeout_s: float) -> Ran | NotStarted:  # noqa: ARG002 - as the seam has it
        """Answer what a monitor asks of jobs that run."""
        if argv[0] == "squeue":
            return Ran(tuple(argv), 0, "" if "-j" in argv else self.squeue, "")
        if "job" in argv:
            return Ran(tuple(argv), 0, _RECORD.format(id=argv[-1], at=_BEGAN_S), "")
        return Ran(tuple(argv), 0, "ClusterName = load\n", "")

    def run_attached(self, argv: Sequence[str], on_line: Callable[[str], None]) -> NotStarted:  # noqa: ARG002 - as the seam has it
        """Start nothing: the jobs are there."""
        return NotStarted(tuple(argv), "not part of this")


@dataclass(frozen=True, slots=True, eq=False)
class FullShop(Context):
    """The tools of somebody with so many jobs."""

    runner: FullQueue = field(default_factory=lambda: FullQueue(0))

    def scheduler(self, backend: str, cluster: str = "") -> Scheduler:  # noqa: ARG002 - there is but one
        """Return Slurm, as far as it answers."""
        return SlurmScheduler(self.runner, cluster)


def round_s(jobs: int, rounds: int = 10) -> float:
    """Return the CPU time of one round over so many running jobs, in seconds.

    It is the mean of several: what a monitor does only now and then, such as saving a quiet job, counts too.
    """
    with tempfile.TemporaryDirectory(prefix="jobmon-load-") as folder:
        clock = Metronome()
        ctx = FullShop(Home(Path(folder)), {}, clock=clock, runner=FullQueue(jobs))
        names = [_take(ctx, _FIRST_JOB + number) for number in range(jobs)]
        factory = MonitorFactory(ctx)
        job_monitors = [factory.job_monitor(name, lambda _: None) for name in names]
        took_s = []
        for _ in range(rounds + 1):
            clock.now_s += _INTERVAL_S
            began_s = time.process_time()
            for job_monitor in job_monitors:
                job_monitor.poll_once()
            took_s.append(time.process_time() - began_s)
        if any(job_monitor.job.answered_s != clock.now_s for job_monitor in job_monitors):
            raise SystemExit("a round left a job out")
    return fmean(took_s[1:])  # the first one asks for each job's record


def _take(ctx: Context, job_id: int) -> str:
    name = f"slurm-{job_id}-load"
    ctx.store.save(NewJob(name, job_id, _BEGAN_S, _BEGAN_S - 86_400, "slurm", user="me"))
    return name
