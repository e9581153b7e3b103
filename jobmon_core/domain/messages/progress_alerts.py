"""Messages about a running job: warnings, recoveries, and the further events that the user wants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jobmon_core.domain.backends import uses_slurm
from jobmon_core.domain.channels import Level, Route, Tone
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.job.tracking.tasks import waiting_task
from jobmon_core.domain.logs.progress.events.event import WARNINGS, Event, EventKind
from jobmon_core.domain.logs.progress.events.ongoing import ends
from jobmon_core.domain.messages.parts import job_title, where_fields, with_message, with_own_cancel_command
from jobmon_core.domain.node.triage.state import NODE_ENDS
from jobmon_core.domain.slurm.job_ids import ref_of

_HEADLINES = {
    EventKind.LAUNCH_FAILED: "The launch failed",
    EventKind.NO_OUTPUT: "Missing output",  # of the job, or of some of its workers
    EventKind.STALLED: "No progress",
    EventKind.SLOW: "Slower than before",
    EventKind.TIME_LIMIT: "The time limit is too short",
    EventKind.DIVERGED: "The training may have diverged",
    EventKind.ERROR: "An error in the log",
    EventKind.TROUBLE: "Something is wrong",
    EventKind.NOT_RESUMED: "The training may not have resumed",
    EventKind.LATE_WRITER: "An earlier attempt still writes",
    EventKind.UNUSUAL: "Unlike earlier runs",
    EventKind.LONG_WAIT: "A longer wait than usual",
    EventKind.TRACKER_ALERT: "An alert of the program",
    EventKind.TRACKER: "The tracker says something else",
    EventKind.RESUMED: "Resumed",
    EventKind.RECOVERED: "Recovered",
    EventKind.LAUNCHED: "Launched",
    EventKind.CHECKPOINT: "Checkpoint saved",
    EventKind.MILESTONE: "Progress",
    EventKind.PERIODIC: "Progress",
}
_ADVICE = {
    EventKind.LAUNCH_FAILED: "`jobmon show JOBID` shows what is missing; jobmon does not stop the job.",
    EventKind.NO_OUTPUT: (
        "It may still load its data, wait for a file or for another process, or hold its output back (Python "
        "does not if PYTHONUNBUFFERED=1 is set)."
    ),
    EventKind.STALLED: "Look at the end of its log with `jobmon logs JOBID`; `scancel JOBID` ends it.",
    EventKind.SLOW: "`jobmon show JOBID` shows its speed; other work on the same node may slow it down.",
    EventKind.TIME_LIMIT: (
        "Ask an administrator to extend the limit, e.g. with `scontrol update JobId=JOBID TimeLimit=...`, or "
        "make sure that the job saves a checkpoint before it."
    ),
    EventKind.DIVERGED: "Look at its log with `jobmon logs JOBID`; jobmon does not stop the job.",
    EventKind.ERROR: "Look at its log with `jobmon logs JOBID`; jobmon does not stop the job.",
    EventKind.TROUBLE: "`jobmon diagnose JOBID` shows the figures; jobmon does not stop the job.",
    EventKind.TRACKER_ALERT: "The program sent it to its tracker; jobmon does not stop the job.",
}
_LOCAL_ADVICE = {  # of jobs without Slurm
    **_ADVICE,
    EventKind.STALLED: "Look at the end of its log with `jobmon logs JOBID`; jobmon does not stop the job.",
    EventKind.SLOW: "`jobmon show JOBID` shows its speed; other work on the same machine may slow it down.",
    EventKind.TIME_LIMIT: "Make sure that it saves a checkpoint before the limit.",
}

_MAX_OF_KIND = 5
_SUBJECT = "/progress-"  # in the id of each of these messages
PERIODIC = f"progress-{EventKind.PERIODIC}-"  # before the time of a periodic message, in ids and `alerted`
_NO_MORE = ", but sends no more warnings of this kind about it; `jobmon top` shows them"


def with_progress_alerts(job: WatchedJob, events: Sequence[Event], now_s: float) -> WatchedJob:
    """Return the job with a queued message for each event that needs one and has none yet.

    ``events`` are the latest ones, oldest first. A recovery gets a message only after its warning, and only
    the first five warnings of one kind and subject get one: the tasks of an array often stall together. If a
    job survives an error before the message about it was sent, neither of the two is sent.
    """
    warned: list[Event] = []
    for event in events:
        is_warning = event.kind in WARNINGS
        if event.is_quiet:
            continue
        if not is_warning and not any(_ends(event, each) for each in warned):
            continue
        job = _with_alert(job, event, now_s)
        if not is_warning:
            warned = [each for each in warned if not _ends(event, each)]
        elif f"{event.task}:{_subject(event)}" in job.alerted:
            warned.append(event)
    return job


def _subject(event: Event) -> str:
    subject = f"progress-{event.kind.replace(' ', '-')}-{event.at_s:.0f}"
    if event.subject:
        subject += f"-{event.subject}"
    return subject


def _with_alert(job: WatchedJob, event: Event, now_s: float) -> WatchedJob:
    """Return the job with the message about an event, unless it was queued or there are too many."""
    subject, is_warning = _subject(event), event.kind in WARNINGS
    alerted = f"{event.task}:{subject}"
    if alerted in job.alerted:
        return job
    if waiting := _unsent_error(job, event):
        outbox = tuple(entry for entry in job.outbox if entry not in waiting)
        return replace(job, alerted=(*job.alerted, alerted), outbox=outbox)
    sent = _count(job, event)
    if is_warning and sent >= _MAX_OF_KIND:
        return job
    is_last = is_warning and sent == _MAX_OF_KIND - 1
    return with_message(job, _message(job, event, subject, now_s, is_last=is_last), alerted)


_FURTHER = {
    EventKind.LAUNCHED: "launched",
    EventKind.CHECKPOINT: "checkpoint",
    EventKind.MILESTONE: "progress",
}


def with_further_events(job: WatchedJob, events: Sequence[Event], policy: Policy, now_s: float) -> WatchedJob:
    """Return the job with a queued message for each periodic event and each that the policy names.

    Each resume has one, too, unless the user wants no such messages.
    """
    also = policy.also
    for event in events:
        subject = f"progress-{event.kind}-{event.at_s:.0f}"
        alerted = f"{event.task}:{subject}"
        is_wanted = event.kind is EventKind.PERIODIC or _FURTHER.get(event.kind) in also
        is_wanted |= event.kind is EventKind.RESUMED and bool(policy.progress_messages or also)
        if event.is_quiet or not is_wanted or alerted in job.alerted:
            continue
        if event.kind is EventKind.PERIODIC:
            job = _without_periodic(job)
        message = replace(
            _message(job, event, subject, now_s, is_last=False),
            route=Route.SUCCESS,
            tone=Tone.RESOLVED,
            summary="The job is still running.",
        )
        job = with_message(job, message, alerted)
    return job


def _without_periodic(job: WatchedJob) -> WatchedJob:
    """Return the job without its last periodic message, if that was not sent: the next one says more."""
    alerted = tuple(each for each in job.alerted if PERIODIC not in each)
    outbox = tuple(each for each in job.outbox if each.must_stay or PERIODIC not in each.message.id)
    return replace(job, alerted=alerted, outbox=outbox)


def headline(event: Event) -> str:
    """Return what happened, in a few words."""
    return event.title or _HEADLINES[event.kind]


def usual_advice(kind: EventKind, backend: str) -> str:
    """Return what to do about a kind of event, with JOBID for the id of the job."""
    return (_ADVICE if uses_slurm(backend) else _LOCAL_ADVICE).get(kind, "")


def without_waiting_alerts(job: WatchedJob) -> WatchedJob:
    """Return an ended job without the messages about its progress, except those that must stay.

    They say that the job is running, and might arrive after the message about its end.
    """
    outbox = tuple(entry for entry in job.outbox if entry.must_stay or _SUBJECT not in entry.message.id)
    return replace(job, outbox=outbox)


def _unsent_error(job: WatchedJob, event: Event) -> tuple[OutboxEntry, ...]:
    if event.ended is not EventKind.ERROR:
        return ()
    start = f"{ref_of(job.job_id, event.task)}{_SUBJECT}{EventKind.ERROR}-"
    entries = tuple(
        entry
        for entry in job.outbox
        if entry.message.id.startswith(start) and _subject_after(start, entry.message.id) == event.subject
    )
    if any(entry.must_stay or entry.counted for entry in entries):
        return ()
    return entries


def _ends(event: Event, warning: Event) -> bool:
    return event.task == warning.task and ends(event, warning)


def _count(job: WatchedJob, event: Event) -> int:
    start = f":progress-{event.kind.replace(' ', '-')}-"
    of_kind = [alerted for alerted in job.alerted if start in alerted]
    return sum(_subject_after(start, alerted) == event.subject for alerted in of_kind)


def _subject_after(start: str, text: str) -> str:
    """Return the subject of an event, e.g. ``memory-leak``, which follows ``start`` and the event's time."""
    return text.partition(start)[2].partition("-")[2]


def _message(job: WatchedJob, event: Event, subject: str, now_s: float, *, is_last: bool) -> Message:
    ref, level = str(ref_of(job.job_id, event.task)), level_of(event)
    advice = with_own_cancel_command(event.advice or usual_advice(event.kind, job.backend), job)
    doing = "waiting" if waiting_task(job) else "running"
    tone = Tone.ATTENTION
    if level is Level.CRITICAL:
        tone = Tone.FAILURE
    return Message(
        id=f"{ref}/{subject}",
        route=Route.ERROR,
        tone=Tone.RESOLVED if event.kind is EventKind.RECOVERED else tone,
        title=f"{job_title(job, event.task)}: {event.text.replace('`', '')}",  # a lock screen shows no markup
        headline=headline(event),
        summary=f"The job is still {doing}. jobmon keeps monitoring it{_NO_MORE if is_last else ''}.",
        fields=tuple(where_fields(job)),
        evidence=event.evidence,
        advice=advice.replace("JOBID", ref),
        created_s=int(now_s),
        stated_level=level,
    )


_LEVELS = {
    EventKind.LAUNCH_FAILED: Level.CRITICAL,
    EventKind.LATE_WRITER: Level.CRITICAL,
    EventKind.LAUNCHED: Level.INFO,
    EventKind.RESUMED: Level.INFO,
    EventKind.CHECKPOINT: Level.INFO,
    EventKind.RESTARTED: Level.INFO,
    EventKind.RECOVERED: Level.INFO,
    EventKind.MILESTONE: Level.PROGRESS,
    EventKind.PERIODIC: Level.PROGRESS,
}
# the verdicts of agents that report a crash, no memory, room or node; the job may survive the other ones
_CRITICAL_VERDICTS = (
    "dead-worker",
    "oom-kill",
    "disk-full",
    "gpu-lost",
    "gpu-error",
    "gpu-memory-error",
    NODE_ENDS,
)
_DISK_FULL = "disk_full"  # how the ids of the patterns for it begin


def level_of(event: Event) -> Level:
    """Return the level of an event: `Level.WARNING` unless it is known to be more or less urgent."""
    if event.kind is EventKind.TROUBLE:
        is_critical = event.is_critical and event.subject in _CRITICAL_VERDICTS
    elif event.kind is EventKind.ERROR:
        is_critical = event.is_critical or event.subject.startswith(_DISK_FULL)
    elif event.kind in (EventKind.NOT_RESUMED, EventKind.TRACKER_ALERT):
        is_critical = event.is_critical
    else:
        return _LEVELS.get(event.kind, Level.WARNING)
    if is_critical:
        return Level.CRITICAL
    return Level.WARNING
