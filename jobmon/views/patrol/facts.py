"""What a patrol saw of each job, in words and figures that the next patrol can compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.views.model import cause, doubt, failed_task, pending_reason, span, state, state_counts
from jobmon_core.app.jobs.selection import Group, group_of
from jobmon_core.domain.channels import Level
from jobmon_core.domain.humanize import count
from jobmon_core.domain.messages.levels import level_of
from jobmon_core.domain.patrol.compare import OUTCOME
from jobmon_core.domain.patrol.model import Problem, SeenJob, Severity
from jobmon_core.domain.pending.categories import pending_words
from jobmon_core.domain.progress.events.event import EventKind
from jobmon_core.domain.progress.figures import percentage, units
from jobmon_core.domain.redaction import redacted
from jobmon_core.domain.slurm.pending_reasons import pending_hint
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.lifecycle.health import Health

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon_core.app.live.tasks import LiveTask
    from jobmon_core.app.patrol.look import LookedAt
    from jobmon_core.domain.artifacts.model import Artifacts
    from jobmon_core.domain.tracking.model import WatchedJob

_NO_MONITOR = {
    Health.DEAD: "its monitor is dead; `jobmon recover` restarts it",
    Health.STALE: "its monitor on {host} gives no sign of life; `jobmon recover` replaces it",
}


def seen_job(looked: LookedAt) -> SeenJob:
    """Return what a patrol saw of a job."""
    status = looked.status
    job, live = status.job, _only_task(looked.tasks)
    followed = live.progress.progress if live else None
    artifacts = _artifacts(looked)
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
        redacted(cause(job) or doubt(job) or _why_pending(job)),
        followed.current if followed else None,
        followed.unit if followed else "",
        _progress(live) if live else "",
        sum(written) if written else None,
        job.settings.expected_outputs if job.settings else None,
        sum(each.count for each in saved) if saved else None,
        newest.name if newest else "",
        looked.files.markers,
        looked.files.results,
        tuple(_problems(looked)),
        job.closed,
        job.unwatched_s is not None,
    )


def _only_task(tasks: Sequence[LiveTask]) -> LiveTask | None:
    return tasks[0] if len(tasks) == 1 and tasks[0].task else None


def _artifacts(looked: LookedAt) -> list[Artifacts]:
    """Return the outputs and checkpoints of all tasks, those of the whole array once."""
    return list(looked.progress.artifacts.values())


def _progress(live: LiveTask) -> str:
    """Return e.g. ``67.3% (67,300/100,000 steps), 1h 13m left``; empty if it is not known."""
    progress = live.progress.progress
    if progress is None:
        return ""
    done = units(progress)
    if progress.fraction is not None:
        done = f"{percentage(progress.fraction)} ({done})"
    if live.pause_s is not None and EventKind.STALLED not in live.problems:
        return f"{done}, no progress for {span(live.pause_s)}"
    left_s = live.estimate.remaining_s if progress.fraction != 1.0 else None
    return done if left_s is None else f"{done}, {span(left_s)} left"


def _why_pending(job: WatchedJob) -> str:
    reason = pending_reason(job)
    if group_of(job) is not Group.PENDING or _stuck(job):
        return ""  # the problem of a stuck job says it
    return f"{pending_words(reason)} ({reason})" if reason else ""


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
    if job.outcome is Outcome.FAILURE:
        yield Problem(redacted(f"failed: {cause(job)}".removesuffix(": ")), Severity.CRITICAL, OUTCOME)
    elif job.outcome is Outcome.UNKNOWN:
        yield Problem(
            redacted(f"outcome unknown: {cause(job)}".removesuffix(": ")), Severity.CRITICAL, OUTCOME
        )
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
