"""The watched jobs: how they are, why they failed, and waiting for them; and what logs show."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from jobmon.api.records import Explanation, Job, JobResult, Progress, WaitResult, record_from, tell, words
from jobmon.commands.jobs_or_files import named_jobs
from jobmon.views.model import cause, doubt, leading, run_time_s, status_json
from jobmon_core.app.from_python import call, open_context, restart_monitors
from jobmon_core.app.jobs.find import find_job
from jobmon_core.app.jobs.overview import overview, statuses
from jobmon_core.app.jobs.progress import LogProgress, logs_of_job
from jobmon_core.app.wait import Result, WaitForJobs, overall, target_finder, wait_until_complete
from jobmon_core.domain.errors import JobmonError, StateUnreadable
from jobmon_core.domain.node.health.model import HealthReport
from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.lifecycle.health import Health as MonitorState

if TYPE_CHECKING:
    from pathlib import Path

    from jobmon.api.records import JobName
    from jobmon_core.app.jobs.progress import ProgressReport
    from jobmon_core.context import Context
    from jobmon_core.domain.job.job_progress import JobProgress
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.lifecycle.health import JobStatus


# the fields of a record that are those of the same name in `jobmon status --json`
_AS_IN_JSON = (
    *("job_id", "name", "phase", "outcome", "exit_code", "signal", "monitor", "undelivered"),
    *("backend", "cluster", "partition", "limit_s", "restarts"),
)


def jobs() -> tuple[Job, ...]:
    """Return all jobs with a readable record, in the order in which jobmon began to watch them."""
    ctx = open_context()
    known = overview(ctx)
    now_s = ctx.clock.now()
    found = sorted(known.jobs, key=lambda each: each.job.registered_s)
    return tuple(job_record(each, known.progress.get(each.job.id), now_s) for each in found)


def status(job: JobName) -> Job:
    """Return what jobmon knows about a job.

    Raises:
        UnknownJob: jobmon has no record of it; `watch` begins to watch a job.
        StateUnreadable: its record cannot be read.
    """
    ctx = open_context()
    found, _ = find_job(ctx, str(job))
    return record_of(ctx, found)


def wait(*jobs: JobName, at_most_s: float | None = None) -> WaitResult:
    """Wait until jobs, or all jobs of groups, are over: analysed, with their messages on their way.

    It costs the scheduler nothing: jobmon reads its own files. A monitor that is gone gets a successor; if
    none can be started within a minute, or by the end of ``at_most_s``, the result is UNKNOWN. After
    ``at_most_s``, it is RUNNING if a job is not over yet.

    Raises:
        UnknownJob, UnknownGroup: jobmon has no record of one of them.
        StateUnreadable: the record of one of them cannot be read.
    """
    ctx = open_context()
    names = words(jobs)
    started_s = ctx.clock.now()
    deadline_s = None if at_most_s is None else started_s + at_most_s
    answers = WaitForJobs(ctx, tell, restart_monitors).wait(target_finder(ctx, names), deadline_s)
    if all(answer.result is not Result.RUNNING for answer in answers):
        wait_until_complete(ctx, set(names).intersection(ctx.groups.names()), deadline_s)
    return WaitResult(
        result=overall(answer.result for answer in answers),
        waited_s=ctx.clock.now() - started_s,
        jobs=tuple(
            JobResult(
                job_id=str(answer.ref or ""),
                result=answer.result,
                why=answer.why,
                run=answer.run,
                job=record_of(ctx, answer.job) if answer.job else None,
            )
            for answer in answers
        ),
    )


def health(*jobs: JobName) -> tuple[HealthReport, ...]:
    """Return whether jobs, or all jobs of groups, are healthy, and why: one report for each task.

    ``healthy`` is None if nothing is known to be wrong and nothing shows that the job works. The scheduler is
    not asked.

    Raises:
        UnknownJob: jobmon has no record of one of them.
        StateUnreadable: the record of one of them cannot be read.
        JobmonError: no job is named, or a group has none yet.
    """
    if not jobs:
        raise JobmonError("health takes jobs or groups, e.g. health(8123)")
    return call(tuple[HealthReport, ...], ["health", "--", *words(jobs)], tell)


def record_of(ctx: Context, job: WatchedJob) -> Job:
    """Return the record of a job with what its monitor knows at present."""
    (found,) = statuses(ctx, [job])
    if found.health is MonitorState.DEAD:
        # its monitor may only have finished the job and ended since ``job`` was read: read the record again
        with suppress(StateUnreadable):  # the record was removed meanwhile
            job = ctx.store.load(job.id)
            (found,) = statuses(ctx, [job])
    progress = None if job.closed else ctx.progress_file(job.id).read()
    return job_record(found, progress, ctx.clock.now())


def job_record(status: JobStatus, progress: JobProgress | None, now_s: float) -> Job:
    """Return the record of a job as of ``now_s`` (Unix seconds)."""
    job, task = status.job, leading(status.job)
    known = status_json(status, now_s, progress)
    return Job(
        **{name: known[name] for name in _AS_IN_JSON},
        state=str(known["state"]),
        cause=cause(job),
        doubt=doubt(job),
        pending_reason=known["pending_reason"] or "",
        elapsed_s=run_time_s(task, now_s) if task and (task.end or not job.closed) else None,
        as_of_s=known["as_of"],
        stale_since_s=known["stale_since"],
        tasks=tuple(str(ref_of(job.job_id, key)) for key in job.tasks),
        stdout=job.logs.stdout,
        stderr=job.logs.stderr,
    )


def diagnose(*what: JobName | Path) -> Explanation:
    """Return why a job failed, or what log files show; of a running job, what is wrong with it now.

    Args:
        what: a job, or log files of one program; a text that is an existing file is a log.

    Raises:
        UnknownJob: neither jobmon nor the scheduler knows the job, or it has no such task.
        SchedulerUnavailable: jobmon does not know it, and the scheduler does not answer.
        JobmonError: it has not started yet, none of the files can be read, or several jobs are named.
    """
    refs = _one_job(open_context(), what, "diagnose")
    return call(Explanation, ["diagnose", "--", *(map(str, refs) if refs else words(what))], tell)


def progress(*what: JobName | Path) -> Progress:
    """Return how far along a program is: steps, epochs or items, loss, speed, and the time that is left.

    Args:
        what: a job or array task, or log files of one program; a text that is an existing file is a log.

    Raises:
        UnknownJob: jobmon has no record of the job.
        JobmonError: the job has no log yet, several tasks of it have started, or several jobs are named.
    """
    ctx = open_context()
    refs = _one_job(ctx, what, "progress")
    if not refs:
        return progress_record(LogProgress(tuple(words(what))).read(ended=True))
    job, ref = find_job(ctx, str(refs[0]))
    tasks = logs_of_job(ctx, job, ref)
    if len(tasks) > 1:
        named = ", ".join(str(each) for each, _ in tasks[:3])
        raise JobmonError(f"{len(tasks)} tasks of job {ref} have started; name one: {named} ...")
    (_, logs) = tasks[0]
    return progress_record(logs.estimated(logs.read(ended=True), ctx.clock.now()))


def _one_job(ctx: Context, what: tuple[JobName | Path, ...], function: str) -> list[JobRef]:
    """Return the one job that is named; an empty list if log files are."""
    refs = []
    if what:
        refs = named_jobs(ctx, words(what))
    if len(refs) > 1 or not what:
        raise JobmonError(f"{function} takes one job, or the log files of one program")
    return refs


def progress_record(report: ProgressReport) -> Progress:
    """Return the record of what logs show."""
    found, estimate = report.progress, report.estimate
    common = {name: getattr(report, name) for name in ("is_over", "updated_s", "logs", "unread", "pause_s")}
    if found is None:
        return Progress(**common)
    shortest_s, longest_s = report.range_s or (None, None)
    return record_from(
        Progress,
        found,
        **common,
        metrics=dict(found.metrics),
        rate_per_s=estimate.rate_per_s or found.rate_per_s,
        average_rate_per_s=estimate.average_rate_per_s,
        remaining_s=report.remaining_s,
        shortest_s=shortest_s,
        longest_s=longest_s,
        confidence=estimate.confidence if estimate.remaining_s is not None else None,
    )
