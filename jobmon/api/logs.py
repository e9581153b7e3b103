"""What logs show: why a job failed, and how far along it is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon.api.arguments import words
from jobmon.api.records import Progress
from jobmon.commands.jobs_or_files import named_jobs
from jobmon_core.app.from_python.call import call
from jobmon_core.app.from_python.context import open_context
from jobmon_core.app.from_python.request import Diagnose
from jobmon_core.app.jobs.find import find_job
from jobmon_core.app.jobs.progress import LogProgress, logs_of_job
from jobmon_core.domain.errors import JobmonError

if TYPE_CHECKING:
    from pathlib import Path

    from jobmon.api.arguments import JobName
    from jobmon_core.app.from_python.explanation import Explanation
    from jobmon_core.app.jobs.progress import ProgressReport


def diagnose(*what: JobName | Path) -> Explanation:
    """Return why a job failed, or what log files show; of a running job, what is wrong with it now.

    Args:
        what: a job, or log files of one program; a text that is an existing file is a log.

    Raises:
        UnknownJob: neither jobmon nor the scheduler knows the job, or it has no such task.
        SchedulerUnavailable: jobmon does not know it, and the scheduler does not answer.
        JobmonError: the job has not started yet, none of the files can be read, or several jobs are named.
    """
    ctx = open_context()
    names = words(what)
    refs = named_jobs(ctx, names)
    if len(refs) > 1 or not names:
        raise JobmonError("diagnose takes one job, or the log files of one program")
    reply, _ = call(Diagnose(str(refs[0])) if refs else Diagnose(files=tuple(names)))
    if reply.explanation is None:
        raise JobmonError("the diagnosis is missing in the reply of jobmon's process")
    return reply.explanation


def progress(*what: JobName | Path) -> Progress:
    """Return how far along a program is: steps, epochs or items, loss, speed, and the time that is left.

    Args:
        what: a job or array task, or log files of one program; a text that is an existing file is a log.

    Raises:
        UnknownJob: jobmon has no record of the job.
        JobmonError: the job has no log yet, several tasks of it have started, or several jobs are named.
    """
    ctx = open_context()
    names = words(what)
    refs = named_jobs(ctx, names)
    if len(refs) > 1 or not names:
        raise JobmonError("progress takes one job, or the log files of one program")
    if not refs:
        return progress_record(LogProgress(tuple(names)).read(ended=True))
    job, ref = find_job(ctx, str(refs[0]))
    tasks = logs_of_job(ctx, job, ref)
    if len(tasks) > 1:
        named = ", ".join(str(each) for each, _ in tasks[:3])
        raise JobmonError(f"{len(tasks)} tasks of job {ref} have started; name one: {named} ...")
    (_, logs) = tasks[0]
    return progress_record(logs.estimated(logs.read(ended=True), ctx.clock.now()))


def progress_record(report: ProgressReport) -> Progress:
    """Return the record of what logs show."""
    common = Progress(
        is_over=report.is_over,
        updated_s=report.updated_s,
        logs=report.logs,
        unread=report.unread,
        pause_s=report.pause_s,
    )
    found, estimate = report.progress, report.estimate
    if found is None:
        return common
    return replace(
        common,
        current=found.current,
        total=found.total,
        unit=found.unit,
        fraction=found.fraction,
        epoch=found.epoch,
        epochs=found.epochs,
        loss=found.loss,
        learning_rate=found.learning_rate,
        metrics=dict(found.metrics),
        rate_per_s=estimate.rate_per_s or found.rate_per_s,
        average_rate_per_s=estimate.average_rate_per_s,
        remaining_s=report.remaining_s,
        shortest_s=estimate.shortest_s,
        longest_s=estimate.longest_s,
        confidence=estimate.confidence if estimate.remaining_s is not None else None,
    )
