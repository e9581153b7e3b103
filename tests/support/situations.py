"""Running tasks as agents and logs show them, for the rules of triage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from jobmon_core.domain.artifacts.disk import Disk
from jobmon_core.domain.finding import Finding, Severity
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.logs.progress.model import History, Progress
from jobmon_core.domain.logs.progress.model import Sample as Step
from jobmon_core.domain.node.telemetry.model import Cpu, Gpu, Memory, Node, Sample, Worker
from jobmon_core.domain.node.triage.judge import judge
from jobmon_core.domain.node.triage.situation import NodeView, Situation

START_S = 1_700_000_000.0
GIB = 2**30


def gpu(index: int = 0, busy: float = 90.0, **figures: object) -> Gpu:
    """Return a GPU that draws much power while it is busy."""
    usual = Gpu(
        index,
        utilization_percent=busy,
        lowest_percent=busy,
        highest_percent=busy,
        memory=20 * GIB,
        memory_total=80 * GIB,
        power_w=100 + 4 * busy,
        power_limit_w=500,
        own_pids=(100 + index,),
        other_processes=0,
    )
    return replace(usual, **figures)  # type: ignore[arg-type]  # any field


def worker(rank: int = 0, cpu: float = 100.0, **figures: object) -> Worker:
    """Return a rank that computes."""
    usual = Worker(
        100 + rank,
        "python train.py",
        rank,
        started_s=START_S,
        cpu_percent=cpu,
        memory=4 * GIB,
        threads=4,
        gpus=(rank,),
        read_per_s=0.0,
        written_per_s=0.0,
    )
    return replace(usual, **figures)  # type: ignore[arg-type]  # any field


def sample(workers: Sequence[Worker] = (), gpus: Sequence[Gpu] = (), **parts: object) -> Sample:
    """Return what an agent measures of a healthy program on a node of 16 cores, 8 of them its own."""
    usual = Sample(
        span_s=60.0,
        node=Node("n1", 16, 8.0, 50.0, 0.0, 128 * GIB, 64 * GIB, 1e3, 1e3),
        workers=tuple(workers) or (worker(),),
        gpus=tuple(gpus),
        memory=Memory(8 * GIB, 32 * GIB, 0, "cgroup v2"),
        cpu=Cpu(8.0, sum(each.cpu_percent or 0.0 for each in workers) if workers else 100.0),
        disks=(Disk(500 * GIB, 1000 * GIB, 900_000, 1_000_000, "/scratch"),),
    )
    return replace(usual, **parts)  # type: ignore[arg-type]  # any field


def situation(
    at: Callable[[float], Sample] | Sample | None,
    minutes: float = 60,
    *,
    stuck_minutes: float | None = None,
    steps: bool = True,
    **known: object,
) -> Situation:
    """Return a task that has run for some minutes, with one sample a minute.

    Args:
        at: the sample at a minute since the start, or that of every minute; None: no agent reports.
        minutes: since the start.
        stuck_minutes: since its last step and output; None: it makes a step every 10 s.
        steps: whether its log shows steps.
        known: further fields.
    """
    now_s = START_S + 60 * minutes
    last_s = now_s - 60 * (stuck_minutes or 0.0)
    of_minute = at if callable(at) else lambda _minute: at or Sample()
    samples = tuple(
        replace(of_minute(minute), at_s=START_S + 60 * minute) for minute in range(1, int(minutes) + 1)
    )
    times_s = [last_s - 10.0 * back for back in range(100, -1, -1) if last_s - 10.0 * back >= START_S]
    history = History(START_S, tuple(Step(at_s, 1.0 + i) for i, at_s in enumerate(times_s)), 10.0, 10.0)
    progress = Progress(float(len(times_s)), 1e6)
    usual = Situation(
        now_s,
        START_S,
        (NodeView("n1", samples),) if at is not None else (),
        progress=progress if steps else None,
        history=history if steps else History(),
        has_output=True,
        log_idle_s=now_s - last_s,
        xids={
            79: Finding(Severity.CRITICAL, advice="Exclude the node.", title="the GPU has fallen off the bus")
        },
    )
    return replace(usual, **known)  # type: ignore[arg-type]  # any field


def names(found: Situation) -> list[str]:
    """Return the names of the verdicts about a situation, the worst first."""
    return [verdict.name for verdict in judge(found)]


def trouble(name: str, text: str, since_s: float = 50.0, **known: object) -> Event:
    """Return what a rule found, with its name as the title."""
    found = Event(since_s, EventKind.TROUBLE, text, subject=name, title=name)
    return replace(found, **known)  # type: ignore[arg-type]  # any field
