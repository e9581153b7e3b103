"""The page of one job: its report, live, with the files it writes, its attempts and the end of its log."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from jobmon.views.artifacts import artifacts_rows
from jobmon.views.health import WORDS, health_rows
from jobmon.views.html import parts
from jobmon.views.model import clock, pending_text, state
from jobmon.views.report import facts
from jobmon.views.report.html import report_sections
from jobmon.views.report.page import moment, prose, table
from jobmon.views.restarts import ATTEMPT_HEADERS, attempt_rows
from jobmon.views.trackers import tracker_text
from jobmon_core.app.jobs.find import StateGroup, group_of
from jobmon_core.domain.backends import uses_slurm
from jobmon_core.domain.redaction import redacted, redacted_lines
from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.domain.visible_text import in_html

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon.views.console import Lines
    from jobmon_core.app.jobs.output import OutputText
    from jobmon_core.app.jobs.report import ReportData
    from jobmon_core.app.live.tasks import LiveTask
    from jobmon_core.app.messages.mute import JobAlerts
    from jobmon_core.domain.job.restart.model import Lineage
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.node.health.model import HealthReport

_MAX_LINE = 2000  # characters of a line of a log
_MAX_NAME = 300  # characters
_MAX_LINKS = 20  # to pages of tasks
_MUTES = {"1h": "1 hour", "8h": "8 hours", "1d": "1 day"}
_HEALTH = {True: StateGroup.COMPLETED, False: StateGroup.FAILED, None: StateGroup.UNWATCHED}
# of the rows of `jobmon health`; the rest stands elsewhere on the page
_SHOWN = ("GPUs", "checkpoints", "disk", "not seen")
_PANEL = (
    "An empty panel of TensorBoard or another tracker does not mean that the run is dead: it shows only what "
    "the program has written out. The health of a job is judged by its log, its processes and the scheduler."
)
# what follows an action, by the word in the address
DONE = {
    "ack": "Acknowledged: no reminder follows.",
    "mute": "Muted. Critical messages, and a list of the others, follow when the mute ends.",
    "note": "Noted.",
}


class JobPage(NamedTuple):
    """What the page shows of a job."""

    job: WatchedJob
    ref: str
    now_s: float
    report: ReportData | None = None
    why_not: str = ""  # why there is no report
    logs: Sequence[str] = ()
    log: OutputText | None = None  # one of them
    lineage: Lineage | None = None
    alerts: JobAlerts | None = None
    health: HealthReport | None = None  # of a running task
    done: str = ""  # a word of `DONE`
    like: str = ""  # selects the runs of its name in the history


def job_html(page: JobPage, visitor: parts.Visitor) -> str:
    """Return the page."""
    title = f"{page.ref} {page.job.name[:_MAX_NAME]}".rstrip()
    return parts.site_page(title, "", _main(page, title, visitor), visitor)


def _main(page: JobPage, title: str, visitor: parts.Visitor) -> Lines:
    job, report = page.job, page.report
    word = facts.outcome(report) if report else state(job)
    group = report.live.group if report else group_of(job)
    beside = parts.mark(group, word)
    if page.health:
        beside += f' <a href="#health">{_health_mark(page.health)}</a>'
    yield parts.heading(title, f'<p class="state-now">{beside}</p>')
    named = {"partition": job.partition, "cluster": job.cluster}
    query = quote(page.like, safe="")
    about = [f"{name} {in_html(value)}" for name, value in named.items() if value]
    about.append(f'<a href="/history?name={query}">All runs of this name</a>')
    yield f'<p class="soft">{" · ".join(about)}</p>'
    if page.done in DONE:
        yield f'<p class="notice good" role="status"><b aria-hidden="true">✓</b> {DONE[page.done]}</p>'
    yield from _alerts(page)
    yield from _actions(page, visitor)
    if report is None:
        yield parts.empty(in_html(f"Job {page.ref} {page.why_not}."))
        if uses_slurm(job.backend) and (why := pending_text(job)):
            yield f"<p>It waits: {in_html(why)}. <code>jobmon why {in_html(page.ref)}</code> explains it.</p>"
    else:
        yield from report_sections(report)
        yield from _health_of(page)
        if page.health or report.live.tracked:
            yield from _trackers(report.live, page.now_s)
        yield from _files(report, page.now_s)
    yield from _attempts(page)
    yield from _log(page)


def _health_mark(report: HealthReport) -> str:
    word = WORDS[report.healthy].lower() if report.healthy is not None else "health not known"
    return parts.mark(_HEALTH[report.healthy], word)


def _health_of(page: JobPage) -> Lines:
    if page.health:
        which = f"Health of {page.health.ref}" if len(page.job.tasks) > 1 else "Health"
        yield from parts.section(which, None, _health(page.health), "health")
    elif running := [task for key, task in page.job.tasks.items() if key and task.state is JobState.RUNNING]:
        links = (parts.job_link(str(ref_of(page.job.job_id, each.key))) for each in running[:_MAX_LINKS])
        yield f'<p id="health">The health of a running task is on its page: {", ".join(links)}.</p>'


def _health(report: HealthReport) -> Lines:
    why = "" if report.wrong else f' <span class="soft">{in_html(report.why)}</span>'
    yield f"<p>{_health_mark(report)}{why}</p>"
    if report.wrong:
        yield '<ul class="findings">'
        for each in report.wrong:
            advice = f'<p class="advice">{prose(redacted(each.advice))}</p>' if each.advice else ""
            yield (
                '<li class="warn"><b aria-hidden="true">▲</b><span class="unseen">Warning: </span>'
                f'<p class="who">{in_html(each.title or each.id)}</p>'
                f"<div><p>{prose(redacted(each.text))}</p>{advice}</div></li>"
            )
        yield "</ul>"
    rows = [(name, text) for name, text in health_rows(report) if name in _SHOWN and text]
    yield parts.facts((name, redacted(text)) for name, text in rows)


def _trackers(live: LiveTask, now_s: float) -> Lines:
    """Yield the runs of trackers with links to their pages, and what an empty panel does not mean."""
    if live.tracked:
        yield '<h2>Trackers</h2><ul class="plain">'
        for run in live.tracked:
            text = in_html(tracker_text(run, live, now_s))
            yield f"<li>{text} · {parts.outside_link(run.url, run.url or run.place)}</li>"
        yield "</ul>"
    yield f'<p class="when">{_PANEL}</p>'


def _alerts(page: JobPage) -> Lines:
    if page.alerts and page.alerts.muted_until_s:
        until = clock(page.alerts.muted_until_s, page.now_s)
        yield f'<p class="notice"><b aria-hidden="true">!</b> Its messages are muted until {until}.</p>'
    if page.alerts and page.alerts.acknowledged_s:
        yield f'<p class="soft">Acknowledged {moment(page.alerts.acknowledged_s, page.now_s)}.</p>'


def _actions(page: JobPage, visitor: parts.Visitor) -> Lines:
    if not visitor.form_key:
        return
    times = "".join(f'<option value="{value}">{name}</option>' for value, name in _MUTES.items())
    choice = f'<select name="time" aria-label="Mute for">{times}</select>'
    text = (
        '<input name="text" aria-label="Note" placeholder="what was wrong, what helped" required="required"/>'
    )
    yield '<div class="acts">'
    yield parts.action(visitor, "ack", page.ref, "Acknowledge")
    yield parts.action(visitor, "mute", page.ref, "Mute", choice)
    yield parts.action(visitor, "note", page.ref, "Note", text)
    yield "</div>"


def _files(report: ReportData, now_s: float) -> Lines:
    is_running = report.live.group is StateGroup.RUNNING
    rows = [*artifacts_rows(report.live.artifacts, now_s, is_running=is_running)]
    if rows:
        yield from table("Outputs and checkpoints", ("", ""), rows)


def _attempts(page: JobPage) -> Lines:
    if page.lineage is None:
        return
    rows = [[cell.text for cell in row] for row in attempt_rows(page.lineage)]
    yield from table("Attempts", [header.capitalize() for header in ATTEMPT_HEADERS], rows)


def _log(page: JobPage) -> Lines:
    if page.log is None:
        return
    yield f'<h2 id="log">Log</h2><p class="source">{in_html(page.log.path)} {in_html(page.log.problem)}</p>'
    if len(page.logs) > 1:
        links = (
            f'<a href="?log={number}#log">{in_html(path.rpartition("/")[2])}</a>'
            for number, path in enumerate(page.logs)
        )
        yield f"<p>{' · '.join(links)}</p>"
    if not (page.log.lines or page.log.unfinished):
        return
    lines = [*page.log.lines, page.log.unfinished] if page.log.unfinished else page.log.lines
    cut = (
        line if len(line) <= _MAX_LINE else f"{line[:_MAX_LINE]}…" for line in redacted_lines(tuple(lines))
    )
    shown = in_html("\n".join(cut))
    yield f'<pre class="log" tabindex="0" role="region" aria-labelledby="log">{shown}</pre>'
    ref = in_html(page.ref)
    yield f'<p class="source">The last lines; <code>jobmon logs -f {ref}</code> follows them.</p>'
