"""What a patrol saw of each job, for the next one to compare; a patrol as lines and as JSON."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING

from jobmon.views.console import Style
from jobmon.views.model import (
    cause,
    clock,
    doubt,
    failed_task,
    fields,
    known_fields,
    pending_reason,
    pending_text,
    span,
    state,
    state_counts,
)
from jobmon_core.app.jobs.find import StateGroup, group_of
from jobmon_core.domain.channels import Level
from jobmon_core.domain.finding import Finding, Severity
from jobmon_core.domain.humanize import count, filled, joined, listed
from jobmon_core.domain.logs.progress.events.event import EventKind
from jobmon_core.domain.logs.progress.figures import done
from jobmon_core.domain.many.patrol import OUTCOME, SeenJob
from jobmon_core.domain.messages.progress_alerts import level_of
from jobmon_core.domain.redaction import redacted
from jobmon_core.domain.slurm.pending_reasons import pending_hint
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.lifecycle.health import Health

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jobmon.views.console import Console, Lines
    from jobmon.views.model import Json
    from jobmon_core.app.live.job_view import JobView
    from jobmon_core.app.live.tasks import LiveTask
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.logs.progress.events.event import Event
    from jobmon_core.domain.logs.progress.model import Progress
    from jobmon_core.domain.many.patrol import Patrol


_NO_MONITOR = {
    Health.DEAD: "its monitor is dead; `jobmon recover` restarts it",
    Health.STALE: "its monitor on {host} gives no sign of life; `jobmon recover` replaces it",
}
_MAX_JOBS = 20  # about which lines follow
_MAX_STILL = 3  # problems that the one line names as still there
_STYLES = {Severity.INFO: Style.PLAIN, Severity.WARNING: Style.ATTENTION, Severity.CRITICAL: Style.BAD}
_QUOTE = "    | "


def seen_job(view: JobView) -> SeenJob:
    """Return what a patrol saw of a job."""
    job = view.job
    artifacts = view.progress.artifacts.values()  # of all tasks; those of a whole array once
    written = [each.outputs.count for each in artifacts if each.outputs]
    saved = [each.checkpoints for each in artifacts if each.checkpoints]
    newest = max((each.newest for each in saved if each.newest), key=attrgetter("modified_s"), default=None)
    reason = cause(job) or doubt(job)
    if not reason and not _stuck(job):
        reason = pending_text(job)
    seen = SeenJob(
        job.id,
        str(job.ref),
        job.name,
        group_of(job),
        state(job),
        job.outcome or "",
        redacted(reason),
        outputs=sum(written) if written else None,
        expected_outputs=job.own_settings.expected_outputs,
        checkpoints=sum(each.count for each in saved) if saved else None,
        newest_checkpoint=newest.name if newest else "",
        markers=view.files.markers,
        results=view.files.results,
        problems=tuple(_problems(view)),
        is_over=job.closed,
        is_unwatched=job.unwatched_s is not None,
    )
    return _with_progress(seen, view)


def _with_progress(seen: SeenJob, view: JobView) -> SeenJob:
    live = view.tasks[0]
    if len(view.tasks) > 1 or not (found := live.progress.progress):
        return seen
    return replace(seen, current=found.current, unit=found.unit, progress=_progress(live, found))


def summary(patrol: Patrol) -> str:
    """Return e.g. ``14:30: 2 running; nothing has changed since 14:00 (30m ago)``."""
    parts = [_counts(patrol), *_verdict(patrol), _what_changed(patrol), *_still(patrol)]
    if patrol.failed_before:
        parts.append(f"{patrol.failed_before} failed earlier: `jobmon status`")
    return f"{clock(patrol.at_s, patrol.at_s)}: {'; '.join(parts)}"


def patrol_lines(patrol: Patrol, console: Console) -> Lines:
    """Yield the one line, the problems that concern no single job, and the news of jobs."""
    yield from console.headed(summary(patrol), _STYLES[patrol.severity])
    for problem in patrol.problems:
        yield from console.prose(problem.text, "  ", "    ")
    news = patrol.with_news
    for job in news[:_MAX_JOBS]:
        yield from _job_lines(job, console)
    if len(news) > _MAX_JOBS:
        yield f"  and news of {count(len(news) - _MAX_JOBS, 'more job')}: `jobmon status` lists all"


def patrol_json(patrol: Patrol) -> Json:
    """Return the documented object; what is not known is null."""
    return {
        **fields(patrol, "failed_before", at="at_s", since="since_s", done="is_done"),
        "exit_code": int(patrol.severity),
        "summary": summary(patrol),
        "problems": _problems_json(patrol.problems),
        "jobs": [_job_json(job) for job in patrol.jobs],
    }


def _progress(live: LiveTask, progress: Progress) -> str:
    """Return e.g. ``67.3% (67,300/100,000 steps), 1h 13m left``."""
    if live.pause_s is not None and EventKind.STALLED not in live.problems:
        return f"{done(progress)}, no progress for {span(live.pause_s)}"
    left_s = live.estimate.remaining_s
    if left_s is None or progress.fraction == 1.0:
        return done(progress)
    return f"{done(progress)}, {span(left_s)} left"


def _stuck(job: WatchedJob) -> str:
    """Return why a pending job cannot start without help."""
    hint = None if job.closed else pending_hint(pending_reason(job))
    if hint and not hint.starts_by_itself:
        return hint.problem
    return ""


def _problems(view: JobView) -> Iterator[Finding]:
    job = view.job
    yield from (*_about_the_end(job), *_about_trackers(job))
    for live in view.tasks:
        prefix = f"{live.ref} " if len(job.tasks) > 1 else ""
        yield from (_about_a_task(event, prefix) for event in live.ongoing)
    if problem := _stuck(job):
        yield _warning("pending", f"{problem} (`jobmon why {job.ref}` says what to do)")
    host = view.status.owner.host if view.status.owner else "another host"
    if text := _NO_MONITOR.get(view.status.health):
        yield _warning("monitor", text.format(host=host))
    elif view.age_s is not None and not job.closed:
        yield _warning("stale", f"the scheduler last answered about it {span(view.age_s)} ago")
    if lost := [entry for entry in job.outbox if entry.given_up]:
        text = f"{count(len(lost), 'message')} not delivered: {lost[-1].given_up}"
        yield _warning("undelivered", redacted(text))


def _warning(name: str, text: str) -> Finding:
    return Finding(Severity.WARNING, text, id=name)


def _about_the_end(job: WatchedJob) -> Iterator[Finding]:
    if job.outcome in (Outcome.FAILURE, Outcome.UNKNOWN):
        how = "failed" if job.outcome is Outcome.FAILURE else "outcome unknown"
        text = f"{how}: {cause(job)}".removesuffix(": ")
        yield Finding(Severity.CRITICAL, redacted(text), id=OUTCOME)
    elif job.is_doubtful_success:
        yield _warning(OUTCOME, redacted(doubt(job)))
    elif failed := [task for task in job.tasks.values() if task.end and task.end.outcome is Outcome.FAILURE]:
        number = f"{len(failed)} of {count(state_counts(job).total(), 'task')} failed"
        text = redacted(f"{number}, {failed_task(job, failed[0])}")
        yield Finding(Severity.CRITICAL, text, id="tasks")


def _about_trackers(job: WatchedJob) -> Iterator[Finding]:
    found = (task.diagnosis.tracker_says for task in job.tasks.values() if task.diagnosis)
    yield from (Finding(Severity.INFO, redacted(text), id="tracker") for text in dict.fromkeys(found) if text)


def _about_a_task(event: Event, prefix: str) -> Finding:
    what = event.title or event.subject.replace("-", " ") or event.kind
    if event.kind in (EventKind.STALLED, EventKind.SLOW):
        what = event.kind
    severity = Severity.CRITICAL if level_of(event) is Level.CRITICAL else Severity.WARNING
    name = f"{event.kind} {event.subject} {event.task}".rstrip()
    return Finding(severity, redacted(f"{prefix}{what}: {event.text}"), id=name)


def _counts(patrol: Patrol) -> str:
    if not patrol.jobs:
        return "nothing is watched"
    numbers = Counter(job.group for job in patrol.jobs)
    return ", ".join(f"{numbers[group]} {group}" for group in StateGroup if numbers[group])


def _verdict(patrol: Patrol) -> Lines:
    named = (*(problem for job in patrol.jobs for problem in job.problems), *patrol.problems)
    numbers = Counter(problem.severity for problem in named)
    critical, warned = numbers[Severity.CRITICAL], numbers[Severity.WARNING]
    text = joined(filled("{} critical", critical), count(warned, "warning") if warned else "")
    if text:
        yield text


def _what_changed(patrol: Patrol) -> str:
    if patrol.since_s is None:
        return "the first patrol"
    since = f"since {clock(patrol.since_s, patrol.at_s)} ({span(max(0.0, patrol.at_s - patrol.since_s))} ago)"
    news = len(patrol.with_news)
    what = f"news of {count(news, 'job')}" if news else "nothing has changed"
    return f"{what} {since}"


def _still(patrol: Patrol) -> Lines:
    still = [
        f"{job.label} {problem.text}"
        for job in patrol.jobs
        if not job.has_news
        for problem in sorted(job.problems, key=lambda each: -each.severity)
    ]
    if still:
        yield f"still: {listed(still, _MAX_STILL)}"


def _job_lines(job: SeenJob, console: Console) -> Lines:
    changes = "; ".join(job.changes) or "new results"
    yield from console.headed(f"{job.label}: {changes}", _STYLES[job.severity], "  ", "    ")
    for quote in job.new_results:
        yield from console.prose(f"{quote.name}:", "    ")
        yield from (console.line(f"{_QUOTE}{line}") for line in quote.text.split("\n"))


def _job_json(job: SeenJob) -> Json:
    return {
        **fields(job, "name", "state", job_id="ref", items_processed="current"),
        **known_fields(job, "outcome", "reason", "progress", "unit", "newest_checkpoint"),
        **fields(job, "outputs", "expected_outputs", "checkpoints", "markers", "changes", new="is_new"),
        "problems": _problems_json(job.problems),
        "results": [
            {**fields(quote, "name", "text"), "new": quote in job.new_results} for quote in job.results
        ],
    }


def _problems_json(problems: Iterable[Finding]) -> list[dict[str, str]]:
    return [{"severity": each.severity.name.lower(), **fields(each, "text", kind="id")} for each in problems]
