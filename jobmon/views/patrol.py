"""What a patrol saw of each job, in words that the next one can compare; a patrol as lines and as JSON."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from jobmon.views.console import Style
from jobmon.views.model import (
    cause,
    clock,
    doubt,
    failed_task,
    pending_reason,
    pending_text,
    span,
    state,
    state_counts,
)
from jobmon.views.record import fields, known_fields
from jobmon_core.app.jobs.find import Group, group_of
from jobmon_core.domain.channels import Level
from jobmon_core.domain.humanize import count, listed
from jobmon_core.domain.logs.progress.events.event import EventKind
from jobmon_core.domain.logs.progress.figures import done
from jobmon_core.domain.many.patrol import OUTCOME, Problem, SeenJob, Severity
from jobmon_core.domain.messages.levels import level_of
from jobmon_core.domain.redaction import redacted
from jobmon_core.domain.slurm.pending_reasons import pending_hint
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.lifecycle.health import Health

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jobmon.views.console import Console
    from jobmon_core.app.live.tasks import LiveTask
    from jobmon_core.app.patrol.look import LookedAt
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.many.patrol import Patrol, PatrolledJob

_NO_MONITOR = {
    Health.DEAD: "its monitor is dead; `jobmon recover` restarts it",
    Health.STALE: "its monitor on {host} gives no sign of life; `jobmon recover` replaces it",
}


def seen_job(looked: LookedAt) -> SeenJob:
    """Return what a patrol saw of a job."""
    status = looked.status
    job = status.job
    live = looked.tasks[0] if len(looked.tasks) == 1 and looked.tasks[0].task else None
    followed = live.progress.progress if live else None
    artifacts = looked.progress.artifacts.values()  # of all tasks; those of a whole array once
    saved = [each.checkpoints for each in artifacts if each.checkpoints]
    newest = max(
        (each.newest for each in saved if each.newest), key=lambda file: file.modified_s, default=None
    )
    written = [each.outputs.count for each in artifacts if each.outputs]
    return SeenJob(
        job.id,
        str(job.ref),
        job.name,
        group_of(job),
        state(job),
        job.outcome or "",
        redacted(cause(job) or doubt(job) or ("" if _stuck(job) else pending_text(job))),
        followed.current if followed else None,
        followed.unit if followed else "",
        _progress(live) if live else "",
        sum(written) if written else None,
        job.own_settings.expected_outputs,
        sum(each.count for each in saved) if saved else None,
        newest.name if newest else "",
        looked.files.markers,
        looked.files.results,
        tuple(_problems(looked)),
        job.closed,
        job.unwatched_s is not None,
    )


def summary(patrol: Patrol) -> str:
    """Return the patrol in one line, e.g. ``14:30: 2 running; nothing has changed since 14:00 (30m ago)``."""
    earlier = [f"{patrol.failed_before} failed earlier: `jobmon status`"] if patrol.failed_before else []
    parts = [_counts(patrol), *_verdict(patrol), _what_changed(patrol), *_still(patrol), *earlier]
    return f"{clock(patrol.at_s, patrol.at_s)}: {'; '.join(parts)}"


def patrol_lines(patrol: Patrol, console: Console) -> Iterator[str]:
    """Yield the one line, the problems that concern no single job, and the news of jobs, the worst first."""
    first, *more = console.prose(summary(patrol), hanging="  ")
    yield console.styled(first, _STYLES[patrol.severity])
    yield from more
    for problem in patrol.problems:
        yield from console.prose(problem.text, "  ", "    ")
    news = patrol.with_news
    for job in news[:_MAX_JOBS]:
        yield from _job_lines(job, console)
    if len(news) > _MAX_JOBS:
        yield f"  and news of {count(len(news) - _MAX_JOBS, 'more job')}: `jobmon status` lists all"


def patrol_json(patrol: Patrol) -> dict[str, Any]:
    """Return the documented object; times are Unix seconds, and what is not known is null."""
    return {
        **fields(patrol, "failed_before", at="at_s", since="since_s", done="is_done"),
        "exit_code": int(patrol.severity),
        "summary": summary(patrol),
        "problems": _problems_json(patrol.problems),
        "jobs": [_job_json(job) for job in patrol.jobs],
    }


def _progress(live: LiveTask) -> str:
    """Return e.g. ``67.3% (67,300/100,000 steps), 1h 13m left``; empty if it is not known."""
    progress = live.progress.progress
    if progress is None:
        return ""
    if live.pause_s is not None and EventKind.STALLED not in live.problems:
        return f"{done(progress)}, no progress for {span(live.pause_s)}"
    left_s = live.estimate.remaining_s if progress.fraction != 1.0 else None
    return done(progress) if left_s is None else f"{done(progress)}, {span(left_s)} left"


def _stuck(job: WatchedJob) -> str:
    """Return why a pending job cannot start without help; empty if it can."""
    hint = None if job.closed else pending_hint(pending_reason(job))
    return hint.problem if hint and not hint.starts_by_itself else ""


def _problems(looked: LookedAt) -> Iterator[Problem]:
    job = looked.status.job
    yield from _about_the_end(job)
    for live in looked.tasks:
        yield from _about_a_task(live, several=len(job.tasks) > 1)
    if problem := _stuck(job):
        yield Problem(f"{problem} (`jobmon why {job.ref}` says what to do)", kind="pending")
    host = looked.status.owner.host if looked.status.owner else "another host"
    if text := _NO_MONITOR.get(looked.status.health):
        yield Problem(text.format(host=host), kind="monitor")
    elif looked.age_s is not None and not job.closed:
        yield Problem(f"the scheduler last answered about it {span(looked.age_s)} ago", kind="stale")
    if lost := [entry for entry in job.outbox if entry.given_up]:
        why = redacted(lost[-1].given_up)
        yield Problem(f"{count(len(lost), 'message')} not delivered: {why}", kind="undelivered")


def _about_the_end(job: WatchedJob) -> Iterator[Problem]:
    if job.outcome in (Outcome.FAILURE, Outcome.UNKNOWN):
        how = "failed" if job.outcome is Outcome.FAILURE else "outcome unknown"
        yield Problem(redacted(f"{how}: {cause(job)}".removesuffix(": ")), Severity.CRITICAL, OUTCOME)
    elif job.is_doubtful_success:
        yield Problem(redacted(doubt(job)), Severity.WARNING, OUTCOME)
    elif failed := [task for task in job.tasks.values() if task.end and task.end.outcome is Outcome.FAILURE]:
        number = f"{len(failed)} of {count(state_counts(job).total(), 'task')} failed"
        yield Problem(redacted(f"{number}, {failed_task(job, failed[0])}"), Severity.CRITICAL, "tasks")


def _about_a_task(live: LiveTask, *, several: bool) -> Iterator[Problem]:
    prefix = f"{live.ref} " if several else ""
    for event in live.ongoing:
        what = event.title or event.subject.replace("-", " ") or event.kind
        what = event.kind if event.kind in (EventKind.STALLED, EventKind.SLOW) else what
        text = redacted(f"{prefix}{what}: {event.text}")
        severity = Severity.CRITICAL if level_of(event) is Level.CRITICAL else Severity.WARNING
        yield Problem(text, severity, f"{event.kind} {event.subject} {event.task}".rstrip())


_MAX_JOBS = 20  # about which lines follow
_MAX_STILL = 3  # problems that the one line names as still there
_STYLES = {Severity.WELL: Style.PLAIN, Severity.WARNING: Style.ATTENTION, Severity.CRITICAL: Style.BAD}
_QUOTE = "    | "


def _counts(patrol: Patrol) -> str:
    if not patrol.jobs:
        return "nothing is watched"
    numbers = Counter(job.seen.group for job in patrol.jobs)
    return ", ".join(f"{numbers[group]} {group}" for group in Group if numbers[group])


def _verdict(patrol: Patrol) -> Iterator[str]:
    """Yield how many problems are critical and how many are warnings; nothing if there are none."""
    named = (*(problem for job in patrol.jobs for problem in job.seen.problems), *patrol.problems)
    numbers = Counter(problem.severity for problem in named)
    parts = [
        f"{numbers[Severity.CRITICAL]} critical" if numbers[Severity.CRITICAL] else "",
        count(numbers[Severity.WARNING], "warning") if numbers[Severity.WARNING] else "",
    ]
    if text := ", ".join(filter(None, parts)):
        yield text


def _what_changed(patrol: Patrol) -> str:
    if patrol.since_s is None:
        return "the first patrol"
    since = f"since {clock(patrol.since_s, patrol.at_s)} ({span(max(0.0, patrol.at_s - patrol.since_s))} ago)"
    news = len(patrol.with_news)
    return f"news of {count(news, 'job')} {since}" if news else f"nothing has changed {since}"


def _still(patrol: Patrol) -> Iterator[str]:
    """Yield what is still wrong with the jobs that have no news."""
    still = [
        f"{job.seen.label} {problem.text}"
        for job in patrol.jobs
        if not job.has_news
        for problem in sorted(job.seen.problems, key=lambda each: -each.severity)
    ]
    if still:
        yield f"still: {listed(still, _MAX_STILL)}"


def _job_lines(job: PatrolledJob, console: Console) -> Iterator[str]:
    style = _STYLES[job.severity]
    changes = "; ".join(job.changes) or "new results"
    first, *more = console.prose(f"{job.seen.label}: {changes}", "  ", "    ")
    yield console.styled(first, style)
    yield from more
    for quote in job.new_results:
        yield from console.prose(f"{quote.name}:", "    ")
        yield from (console.line(f"{_QUOTE}{line}") for line in quote.text.split("\n"))


def _job_json(job: PatrolledJob) -> dict[str, Any]:
    seen = job.seen
    return {
        **fields(seen, "name", "state", job_id="ref", items_processed="current"),
        **known_fields(seen, "outcome", "reason", "progress", "unit", "newest_checkpoint"),
        **fields(seen, "outputs", "expected_outputs", "checkpoints", "markers"),
        **fields(job, "changes", new="is_new"),
        "problems": _problems_json(seen.problems),
        "results": [
            {**fields(quote, "name", "text"), "new": quote in job.new_results} for quote in seen.results
        ],
    }


def _problems_json(problems: Iterable[Problem]) -> list[dict[str, str]]:
    return [{"severity": each.severity.name.lower(), **fields(each, "kind", "text")} for each in problems]
