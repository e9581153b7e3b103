"""Running jobs with their progress, for tests of the screen."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from jobmon_core.app.live.tasks import LiveTask
from jobmon_core.domain.artifacts.disk import Disk
from jobmon_core.domain.artifacts.model import Artifacts, Checkpoints, Growth, ListedFile, OutputFile, Outputs
from jobmon_core.domain.job.job_progress import FollowedTask, JobProgress
from jobmon_core.domain.job.tracking.model import Task, WatchedJob
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.logs.progress.model import (
    Confidence,
    Estimate,
    History,
    Progress,
    Sample,
)
from jobmon_core.domain.slurm.states import JobState
from tests.support.job_records import NOW_S, PENDING, job_of

_NAMES = (
    "train-llama-7b",
    "eval",
    "resnet50_imagenet",
    "preprocess-shards",
    "gromacs-npt",
    "学習-実験",
    "sweep",
)


def running_task(
    key: str = "", *, elapsed_s: float = 9240, limit_s: int | None = 28_800, now_s: float = NOW_S
) -> Task:
    """Return a task that has run for some time."""
    start_s = int(now_s - elapsed_s)
    return Task(key, JobState.RUNNING, "RUNNING", start_s=start_s, limit_s=limit_s, nodes="gpu[1-2]")


def progress_of(
    current: float,
    total: float | None,
    *,
    elapsed_s: float = 9240,
    unit: str = "step",
    loss: float | None = 0.35,
    now_s: float = NOW_S,
) -> FollowedTask:
    """Return a progress that advanced evenly, apart from small waves, with a loss that fell."""
    samples = []
    for number in range(61):
        share = number / 60
        waved = current * share + current / 300 * math.sin(number)
        fallen = None if loss is None else loss * (1 + 4 * math.exp(-6 * share))
        samples.append(Sample(now_s - elapsed_s * (1 - share), max(0.0, min(waved, current)), fallen))
    samples[-1] = samples[-1]._replace(current=current)
    latest = Progress(current, total, unit, loss=loss, learning_rate=1e-5 if loss else None)
    return FollowedTask(latest, History(now_s - elapsed_s, tuple(samples)))


def jobs(count: int, now_s: float = NOW_S) -> Iterator[tuple[WatchedJob, JobProgress]]:
    """Yield jobs in various situations, of which about one in five is pending."""
    for number in range(count):
        name = _NAMES[number % len(_NAMES)]
        job = replace(
            job_of(job_id=8123 + 7 * number, name=name), registered_s=now_s - 10_000, answered_s=now_s - 5
        )
        if number % 5 == 4:
            yield replace(job, tasks={"": PENDING}), JobProgress()
            continue
        elapsed_s = 9240 + 1000 * number
        task = running_task(elapsed_s=elapsed_s, limit_s=None if number % 7 == 3 else 86_400, now_s=now_s)
        yield replace(job, tasks={"": task}), _progress(number, elapsed_s, now_s)


def _progress(number: int, elapsed_s: float, now_s: float) -> JobProgress:
    if number % 8 == 3:
        return JobProgress(now_s)
    total = None if number % 8 == 6 else 100_000.0
    loss = None if number % 3 == 2 else 0.3451 + number
    followed = progress_of(67_300 / (1 + number % 4), total, elapsed_s=elapsed_s, loss=loss, now_s=now_s)
    events = [Event(now_s - 1200, EventKind.MILESTONE, "50% complete")]
    if number % 8 == 1:
        events.append(
            Event(now_s - 700, EventKind.STALLED, "no progress for 12m, the longest pause so far was 2m")
        )
    if number % 8 == 2:
        events.append(Event(now_s - 300, EventKind.SLOW, "throughput 31% below its best"))
        events.append(Event(now_s - 200, EventKind.TIME_LIMIT, "will end 2h after the time limit"))
    return JobProgress(now_s, {"": followed}, tuple(events))


def steady(live: LiveTask) -> LiveTask:
    """Return a task whose estimate follows from its average rate alone, whatever the estimator does."""
    progress, history = live.progress.progress, live.progress.history
    if progress is None or history.started_s is None:
        return live
    rate_per_s = progress.current / (history.samples[-1].at_s - history.started_s)
    if not progress.total:
        return replace(live, estimate=Estimate(rate_per_s, rate_per_s))
    left_s = (progress.total - progress.current) / rate_per_s
    found = Estimate(rate_per_s, rate_per_s, left_s, 0.95 * left_s, 1.05 * left_s, confidence=Confidence.HIGH)
    return replace(live, estimate=found)


def some_artifacts(files: int = 4, now_s: float = NOW_S) -> Artifacts:
    """Return outputs of which the last stands still, and checkpoints at an interval of half an hour."""
    mib = 2**20
    rate_per_s = mib / 2 / 60
    outputs = [
        OutputFile(f"output_{number}.jsonl", Growth((245 - number) * mib, now_s - 5, now_s - 1, rate_per_s))
        for number in range(files)
    ]
    stands = Growth(190 * mib, now_s - 725, now_s - 720, rate_per_s)
    outputs[-1] = OutputFile(outputs[-1].name, stands)
    total = Growth(files * 240 * mib, now_s - 5, now_s - 1, 2 * mib / 60)
    newest = ListedFile("epoch_5.pt", 3, now_s - 720)
    return Artifacts(
        now_s,
        Outputs("/scratch/me/out", files, total, tuple(outputs)),
        Checkpoints("/scratch/me/ckpt", 5, newest, interval_s=1800.0, reported_s=now_s - 720),
        Disk(234 * 2**30, 285 * 2**30),
    )
