"""The page of one job."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from jobmon.views.html.job import JobPage, job_html
from jobmon_core.app.health.collect import known_health
from jobmon_core.app.history.look import literal
from jobmon_core.app.jobs.find import StateGroup, find_job
from jobmon_core.app.jobs.output import known_files, last_lines, task_to_read
from jobmon_core.app.jobs.overview import current_status, lineages_of
from jobmon_core.app.jobs.report import collect_report, with_alike
from jobmon_core.app.messages.mute import job_alerts
from jobmon_core.domain.errors import JobmonError, StorageFailed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmon.views.html.parts import Visitor
    from jobmon_core.context import Context

_LOG_LINES = 200


def job_page(ctx: Context, name: str, query: Mapping[str, str], visitor: Visitor) -> str:
    """Return the page of the job that ``name`` names; ``query`` says which of its logs; UnknownJob."""
    now_s = ctx.clock.now()
    found, ref = find_job(ctx, name)
    job = current_status(ctx, found).job
    page = JobPage(job, str(ref), now_s, lineage=lineages_of(ctx, [job]).get(job.id))
    page = page._replace(alerts=job_alerts(ctx, job), done=query.get("done", ""), like=literal(job.label))
    try:
        report = collect_report(ctx, str(ref))
        with suppress(StorageFailed):  # the page then does not compare the run with earlier ones
            report = with_alike(ctx, report)
        page = page._replace(report=report)
    except JobmonError as error:
        page = page._replace(why_not=str(error).removeprefix(f"job {ref} "))
    task, live = task_to_read(job, ref.key), page.report.live if page.report else None
    if live and live.group is StateGroup.RUNNING:  # of an array, that of the task which the report is about
        page = page._replace(health=known_health(ctx, live.ref)[0])
    # only files that the job's own records name are opened
    logs = [*(live.progress.logs if live else ()), *(known_files(job, task) if task else ())]
    logs = list(dict.fromkeys(logs))
    number = query.get("log", "0")
    if not logs or not (number.isascii() and number.isdecimal() and int(number) < len(logs)):
        number = "0"
    log = last_lines(logs[int(number)], _LOG_LINES) if logs else None
    return job_html(page._replace(logs=logs, log=log), visitor)
