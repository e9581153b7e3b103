"""Diagnose the ended tasks of a job in a helper process."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.analysis.job_logs import MAX_NAMED, log_files, logs_of_run, own_files
from jobmon_core.domain.backends import DEFAULT_BACKEND, is_single_machine, uses_slurm
from jobmon_core.domain.job.own_files import Origin
from jobmon_core.domain.job.tracking.model import End, Task, WatchedJob
from jobmon_core.domain.logs.diagnosis.exit_causes import TIME_LIMIT, YOU
from jobmon_core.domain.logs.diagnosis.model import Diagnosis, SlurmEvidence
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.system.users import user_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from jobmon_core.analysis.ending.files import EndFiles
    from jobmon_core.domain.job.job_progress import FollowedTask
    from jobmon_core.domain.logs.progress.model import TaskProgress
    from jobmon_core.domain.logs.tracker import TrackerRun

_MIN_SAMPLES = 3  # of the progress: with fewer, there is no course to draw


def diagnoses_of(job: WatchedJob, keys: Iterable[str], files: EndFiles) -> dict[str, Diagnosis]:
    """Return a diagnosis for each ended task, after reading on to the ends of the logs."""
    from jobmon_core.analysis.triage import with_workers  # not at the top: as in `explain_task`
    from jobmon_core.domain.job.tracking.announced_end import with_announced_end
    from jobmon_core.domain.job.tracking.lost_worker import with_lost_worker

    patterns = files.user_patterns if files.user_patterns.exists() else None
    progress = files.read_on()
    by_key = {}
    for key in keys:
        task = job.tasks[key]
        if task.end is not None:
            telemetry, followed = files.telemetry_of(job.id, key), progress.tasks.get(key)
            found = explain_task(job, task, task.end, patterns)
            found = with_progress(found, job, task.end, followed)
            found = with_lost_worker(found, task.end, progress.events, key)
            reports = (telemetry.report(node) for node in telemetry.nodes())
            found = with_announced_end(found, task.end, (each.notice for each in reports))
            found = with_workers(found, task.end, followed, telemetry)
            found = with_tracked_runs(found, job, task, followed)
            samples = followed.history.samples if followed else ()
            has_course = len(samples) >= _MIN_SAMPLES or bool(telemetry.nodes())
            by_key[key] = replace(found, has_course=has_course)
    return by_key


def explain_task(job: WatchedJob, task: Task, end: End, user_patterns: Path | None) -> Diagnosis:
    """Return why a task ended as ``end`` says, by the logs of its run."""
    # not at the top: the idle monitor must stay small
    from jobmon_core.analysis.explain import explain, job_patterns

    return explain(
        evidence_of(end, job.backend),
        *log_files(job, task),
        user_patterns,
        job_id=unique_job_id(job, task),
        earlier=job.earlier_logs,
        named_logs=logs_of_run(job, task),
        job_patterns=job_patterns(job.settings),
        own=own_files(job, task, Origin.FOUND),
    )


def with_progress(
    diagnosis: Diagnosis, job: WatchedJob, end: End, followed: TaskProgress | None
) -> Diagnosis:
    """Return the diagnosis with how far the task came."""
    from jobmon_core.domain.logs.progress.result import with_result, with_time_needed  # likewise

    if followed is None:
        return diagnosis
    if job.earlier_logs and len(followed.history.samples) < 2:  # noqa: PLR2004 - it did not move
        return diagnosis  # it may be the end of an earlier run in the same log
    # of several tasks, after a requeue, or of very many workers, the logs that were read count only a part
    is_whole = len(job.tasks) == 1 and not any(task.restarts for task in job.tasks.values())
    is_whole = is_whole and len(followed.logs) < MAX_NAMED
    expected = job.own_settings.total_items if is_whole else None
    found = with_result(diagnosis, followed, succeeded=end.outcome is Outcome.SUCCESS, expected=expected)
    if found.cause == TIME_LIMIT and end.ended_s is not None and end.elapsed_s is not None:
        return with_time_needed(found, followed, end.ended_s, end.elapsed_s)
    return found


def with_tracked_runs(
    diagnosis: Diagnosis, job: WatchedJob, task: Task, followed: FollowedTask | None
) -> Diagnosis:
    """Return the diagnosis of an ended task with what the trackers say to which it logged.

    Of a failed task that was not followed while it ran, its log leads to them.
    """
    from jobmon_core.analysis.tracked import runs_of_ended  # likewise
    from jobmon_core.domain.logs.tracker_end import with_trackers

    if task.end is None:
        return diagnosis
    runs: Sequence[TrackerRun] = followed.tracked if followed else ()
    if not followed and task.end.outcome is Outcome.FAILURE and not task.end.never_started:
        runs = runs_of_ended(job, task)
    return with_trackers(diagnosis, runs, task.end.outcome, followed)


def unique_job_id(job: WatchedJob, task: Task) -> int | None:
    """Return a job id that can be looked for in names of files.

    The id of a whole array is not that of one task. Ids of this machine's own jobs count from 1: any number
    in a name might be one.
    """
    if is_single_machine(job.backend) or (job.is_array and task.raw_job_id == job.job_id):
        return None
    return task.raw_job_id if job.is_array else job.job_id


def evidence_of(end: End, backend: str = DEFAULT_BACKEND) -> SlurmEvidence:
    """Return what the scheduler reports about an end."""
    return SlurmEvidence(
        state=end.state,
        exit_code=end.exit_code,
        exit_code_exact=end.exit_code_exact,
        signal=end.signal,
        derived_exit_code=end.derived_exit_code,
        reason=end.reason,
        max_rss_bytes=end.usage.max_rss_bytes,
        requested_bytes=end.usage.requested_bytes,
        step_cpu_s=end.usage.step_cpu_s,
        elapsed_s=end.elapsed_s,
        ended_s=end.ended_s,
        limit_s=end.limit_s,
        nodes=end.nodes,
        dependency=end.dependency,
        has_script=end.has_script,
        canceller="" if end.cancelled_by is None else canceller_name(end.cancelled_by),
        is_local=not uses_slurm(backend),
    )


def canceller_name(uid: int) -> str:
    """Return who cancelled a job: `YOU`, a user name, or ``user 1001``."""
    if uid == os.getuid():
        return YOU
    name = user_name(uid)
    return f"user {name}" if name.isdigit() else name
