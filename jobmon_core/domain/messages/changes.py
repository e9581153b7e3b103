"""Messages about changes of state: for the programs of the user, and about a start if the user wants that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from jobmon_core.domain.channels import Level, Route, Tone
from jobmon_core.domain.delivery.outbox import Change, Message, OutboxEntry
from jobmon_core.domain.humanize import count
from jobmon_core.domain.job.tracking.model import Task, WatchedJob
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.messages.parts import job_title, where_fields
from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.domain.slurm.states import Phase

STARTED = "started"
_MAX_CHANGES = 200  # in one message; the title counts all


def with_change_messages(before: WatchedJob, after: WatchedJob, policy: Policy, now_s: float) -> WatchedJob:
    """Return ``after`` with the messages about what has changed since ``before``."""
    changed = [
        (before.tasks.get(key), task)
        for key, task in after.tasks.items()
        if key not in before.tasks or before.tasks[key].raw_state != task.raw_state
    ]
    messages: list[Message] = []
    if changed and policy.has_programs:
        messages.append(_change_message(after, changed, now_s))
    if STARTED in policy.also and after.name:  # which the controller record provides
        messages += _start_messages(after, now_s)
    if not messages:
        return after
    alerted = tuple(message.id for message in messages if not message.changes)
    return replace(
        after,
        alerted=(*after.alerted, *alerted),
        outbox=(*after.outbox, *(OutboxEntry(message) for message in messages)),
    )


def _change_message(job: WatchedJob, changed: list[tuple[Task | None, Task]], now_s: float) -> Message:
    changes = tuple(
        Change(str(ref_of(job.job_id, task.key)), old.raw_state if old else "", task.raw_state)
        for old, task in changed[:_MAX_CHANGES]
    )
    first = changes[0]
    what = f"{first.before or 'new'} -> {first.after or 'not listed'}"
    more = ""
    if len(changed) > 1:
        more = f" and {count(len(changed) - 1, 'more change')}"
    return Message(
        id=f"{job.ref}/state-{int(now_s * 1000)}-{len(job.outbox)}",
        route=Route.SUCCESS,
        tone=Tone.RESOLVED,
        title=f"{job_title(job, changed[0][1].key)}: {what}{more}",
        created_s=int(now_s),
        changes=changes,
    )


def _start_messages(job: WatchedJob, now_s: float) -> Iterator[Message]:
    for task in job.tasks.values():
        key = task.key
        if job.is_array:
            key = ""
        message_id = f"{ref_of(job.job_id, key)}/{STARTED}-{0 if job.is_array else task.restarts}"
        if task.end or task.state.phase is not Phase.ACTIVE or message_id in job.alerted:
            continue
        what = "started"
        if job.is_array:
            what = "the first task started"
        yield Message(
            id=message_id,
            route=Route.SUCCESS,
            tone=Tone.RESOLVED,
            title=f"{job_title(job, key)}{': ' if job.is_array else ' '}{what}",
            headline="Started",
            fields=tuple(where_fields(job, task.nodes)),
            created_s=int(now_s),
            stated_level=Level.INFO,
        )
        if job.is_array:
            return
