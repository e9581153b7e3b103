"""What logs show: why a job failed, and how far along it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.api.arguments import tell, words
from jobmon.api.explanation import Explanation
from jobmon.api.records import Progress, record_from
from jobmon.commands.jobs_or_files import named_jobs
from jobmon_core.app.from_python import call, open_context
from jobmon_core.app.jobs.find import find_job
from jobmon_core.app.jobs.progress import LogProgress, logs_of_job
from jobmon_core.domain.errors import JobmonError

if TYPE_CHECKING:
    from pathlib import Path

    from jobmon.api.arguments import JobName
    from jobmon_core.app.jobs.progress import ProgressReport
    from jobmon_core.context import Context
    from jobmon_core.domain.slurm.job_ids import JobRef


def diagnose(*what: JobName | Path) -> Explanation:
    """Return why a job failed, or what log files show; of a running job, what is wrong with it now.

    Args:
        what: a job, or log files of one program; a text that is an existing file is a log.

    Raises:
        UnknownJob: neither jobmon nor the scheduler knows the job, or it has no such task.
        SchedulerUnavailable: jobmon does not know it, and the scheduler does not answer.
        JobmonError: the job has not started yet, none of the files can be read, or several jobs are named.
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
