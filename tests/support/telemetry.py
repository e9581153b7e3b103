"""Histories as agents write them, for jobs of any size, and a job that went through everything.

The same arguments always give the same figures.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING

from jobmon_core.app.jobs.report import ReportData
from jobmon_core.app.live.tasks import live_tasks
from jobmon_core.domain.job.job_progress import FollowedTask, JobProgress
from jobmon_core.domain.job.report.series import Window
from jobmon_core.domain.job.report.usage import NodeHistory, gpu_uses, node_use
from jobmon_core.domain.job.tracking.model import End, Source, Task, WatchedJob
from jobmon_core.domain.logs.diagnosis.model import Diagnosis, Line
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.logs.progress.history import add_sample
from jobmon_core.domain.logs.progress.model import History, Progress
from jobmon_core.domain.logs.progress.model import Sample as ProgressSample
from jobmon_core.domain.node.telemetry.model import AgentReport, Cpu, Gpu, Memory, Node, Sample, Worker
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.store.json_file import JsonFile, encoded
from jobmon_core.store.telemetry import HISTORY, LATEST
from tests.support.job_records import status_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

START_S = 1_700_000_000
GIB = 2**30
_HOUR_S, _DAY_S = 3600.0, 86_400.0
_DENSE_S = 600.0  # an agent keeps each of its reports for so long, later one a minute
_STALL = 1.62, 1.93  # hours after the start
_SPIKE = 2.2


@dataclass(frozen=True, slots=True)
class Shape:
    """What an agent sees of a task on its node."""

    gpus: int = 4
    hours: float = 3.0
    stall: tuple[float, float] = (0.0, 0.0)  # from and to, in hours after the start
    leak_gib_per_hour: float = 0.0


def sample_times(hours: float) -> Iterator[tuple[float, float]]:
    """Yield the time since the start and the span of each sample of an agent, as it thins them out."""
    at_s = 0.0
    while at_s < hours * _HOUR_S:
        span_s = 5.0 if at_s < _DENSE_S else 60.0 if at_s < 3 * _DAY_S else 600.0
        at_s += span_s
        yield at_s, span_s


def make_samples(node: str = "n1", shape: Shape | None = None, seed: int = 0) -> tuple[Sample, ...]:
    """Return the history of an agent on a node."""
    shape, random = shape or Shape(), Random(f"{node} {seed}")  # noqa: S311 - test data
    return tuple(_sample(node, at_s, span_s, shape, random) for at_s, span_s in sample_times(shape.hours))


def _sample(node: str, at_s: float, span_s: float, shape: Shape, random: Random) -> Sample:
    hours = at_s / _HOUR_S
    is_loading, is_stalled = at_s < 180, shape.stall[0] < hours < shape.stall[1]
    load = 0.0 if is_loading else 0.0 if is_stalled else 0.9
    gpus = tuple(_gpu(index, load, hours, random) for index in range(shape.gpus))
    used = 38 * GIB + shape.leak_gib_per_hour * hours * GIB + random.gauss(0, 0.4) * GIB
    busy = 100.0 if is_stalled else 640.0 + random.gauss(0, 40)
    return Sample(
        START_S + at_s,
        span_s,
        Node(node, 64, load * 20, 12.0, 0.4, 512 * GIB, 400 * GIB, 1e6, 1e6),
        tuple(Worker(1000 + index, "python train.py", index, gpus=(index,)) for index in range(shape.gpus)),
        gpus,
        Memory(int(used), 96 * GIB, 0, "cgroup v2"),
        Cpu(16.0, 150.0 if is_loading else busy, 0.0),
    )


def _gpu(index: int, load: float, hours: float, random: Random) -> Gpu:
    saves = load and (hours * 60) % 30 < 1.2  # a checkpoint each half hour
    percent = min(100.0, max(0.0, 100 * load + random.gauss(0, 2.5) - (8 * index if load else 0)))
    percent = 25.0 + random.gauss(0, 4) if saves else percent
    memory = (61 + 2 * math.sin(hours * 3 + index) + index) * GIB if hours > 0.05 else 2.0 * GIB
    return Gpu(
        index,
        f"GPU-{index}",
        "NVIDIA H100 80GB HBM3",
        round(percent, 1),
        max(0.0, round(percent - 9, 1)),
        min(100.0, round(percent + 6, 1)),
        int(memory),
        80 * GIB,
        round(90 + 5.4 * percent + random.gauss(0, 6), 1),
        700.0,
        55.0,
        (1000 + index,),
        0,
    )


def write_telemetry(folder: Path, histories: Sequence[NodeHistory]) -> None:
    """Write histories as agents do, into the folder of a task."""
    for node in histories:
        (folder / node.name).mkdir(parents=True)
        content = b"".join(encoded(sample) + b"\n" for sample in node.samples)
        (folder / node.name / HISTORY).write_bytes(content)
        report = AgentReport(node.samples[-1], START_S, 5.0, unavailable=node.unavailable)
        JsonFile(folder / node.name / LATEST, AgentReport).write(report)


def two_nodes(shape: Shape | None = None) -> tuple[NodeHistory, ...]:
    """Return the histories of two nodes."""
    shape = shape or Shape(stall=_STALL, leak_gib_per_hour=17.5)
    return tuple(NodeHistory(name, make_samples(name, shape)) for name in ("gpu01", "gpu02"))


def eventful_history(hours: float = 3.0) -> History:
    """Return the progress of a job that stalls for a while and whose loss has a spike."""
    history, random, done = History(started_s=float(START_S)), Random(7), 0.0  # noqa: S311 - test data
    for number in range(int(hours * 120)):
        at_h = number / 120
        if at_h < 0.05 or _STALL[0] < at_h < _STALL[1]:  # it loads for three minutes
            continue
        done += 30 * (7.4 + random.gauss(0, 0.25))
        loss = 0.62 + 3.4 * math.exp(-at_h * 1.9) + abs(random.gauss(0, 0.03))
        loss += 6.5 * math.exp(-((at_h - _SPIKE) ** 2) / 0.0015)
        history = add_sample(history, ProgressSample(START_S + at_h * _HOUR_S, done, round(loss, 4)))
    return history


def eventful_events() -> tuple[Event, ...]:
    """Return the events of the job of `eventful_history`."""
    hours = (0.5, 0.74, 1.0, 1.49, 1.5, 1.72, 1.94, 2.2, 2.27, 2.6)
    at = {each: START_S + each * _HOUR_S for each in hours}
    return (
        Event(at[0.5], EventKind.CHECKPOINT, "saved checkpoint-13000"),
        Event(at[0.74], EventKind.MILESTONE, "25% complete"),
        Event(at[1.0], EventKind.CHECKPOINT, "saved checkpoint-26000"),
        Event(at[1.49], EventKind.MILESTONE, "50% complete"),
        Event(at[1.5], EventKind.CHECKPOINT, "saved checkpoint-39000"),
        Event(at[1.72], EventKind.STALLED, "no progress for 6m 05s (step 42,100 of 80,000)"),
        Event(at[1.94], EventKind.RECOVERED, "progress again after 18m 36s", ended=EventKind.STALLED),
        Event(at[2.2], EventKind.DIVERGED, "the loss rose to 7.1, far above its past (at most 1.4)"),
        Event(at[2.27], EventKind.RECOVERED, "the loss is back to 0.66", ended=EventKind.DIVERGED),
        Event(
            at[2.6],
            EventKind.TROUBLE,
            "memory grows by 17.5 GiB/h on gpu02 and reaches its limit in 42m",
            subject="memory-leak",
            is_critical=True,
            advice="Look for what is kept over all steps, e.g. losses with their graphs.",
            evidence=("38.4 GiB after 10m", "83.5 GiB after 2h 36m", "limit 96.0 GiB"),
        ),
    )


OOM_KILLED = Diagnosis(
    "slurm_oom.killed",
    "Out of memory",
    "The kernel ended a process of the job because the memory that it requested was used up.",
    "Request more with `--mem=120G`. Find what keeps growing: the memory rose by 17.5 GiB/h to the end.",
    (
        Line("/scratch/me/slurm-8123.out", 88_121, "step 74620 loss 0.6312 lr 1.9e-05"),
        Line(
            "/scratch/me/slurm-8123.out",
            88_122,
            "slurmstepd: error: Detected 1 oom_kill event in StepId=8123.0. Some of the step tasks have been "
            "OOM Killed.",
        ),
    ),
    log_path="/scratch/me/slurm-8123.out",
    label="slurm_oom",
    confidence=0.98,
    is_proved=True,
    work="reached step 74,620 of 80,000 (93%)",
)


def eventful_job(*, ended: bool = True) -> tuple[WatchedJob, JobProgress]:
    """Return a job of three hours on two nodes with a stall, a loss spike, a memory leak and an OOM."""
    end_s = START_S + int(3 * _HOUR_S)
    end = End(
        JobState.OUT_OF_MEMORY,
        "OUT_OF_MEMORY",
        Outcome.FAILURE,
        Source.ACCOUNTING,
        exit_code=0,
        signal=9,
        started_s=START_S,
        ended_s=end_s,
        limit_s=8 * 3600,
        nodes="gpu[01-02]",
    )
    task = Task("", JobState.RUNNING, "RUNNING", submit_s=START_S - 754, start_s=START_S)
    task = replace(task, limit_s=8 * 3600, nodes=end.nodes)
    if ended:
        task = replace(task, state=end.state, raw_state=end.raw_state, end=end, diagnosis=OOM_KILLED)
    job = WatchedJob(
        "slurm-8123-x",
        8123,
        START_S - 750.0,
        submitted_s=START_S - 754,
        name="train-llama-7b",
        partition="gpu",
        cluster="alps",
        answered_s=float(end_s),
        tasks={"": task},
        concluded_s=end_s + 40.0 if ended else None,
    )
    history = eventful_history()
    last = history.samples[-1]
    progress = Progress(round(last.current), 80_000, "step", 3, 4, loss=last.loss, learning_rate=1.9e-5)
    followed = FollowedTask(progress, history, ("/scratch/me/slurm-8123.out",), has_output=True)
    return job, JobProgress(float(end_s), {"": followed}, eventful_events())


def report_data(*, ended: bool = True, nodes: tuple[NodeHistory, ...] | None = None) -> ReportData:
    """Return the data of a report about `eventful_job`."""
    job, progress = eventful_job(ended=ended)
    now_s = START_S + 3 * _HOUR_S + (600 if ended else 0)
    (live,) = live_tasks(status_of(job), progress, now_s)
    assert live.task
    problems = () if ended else progress.events[-1:]
    window = Window(START_S, START_S + 3 * _HOUR_S)
    nodes = two_nodes() if nodes is None else nodes
    uses = gpu_uses(nodes), tuple(map(node_use, nodes))
    return ReportData(now_s, live, live.task, window, nodes, *uses, live.events, problems)
